"""What does one write transaction make of a request for a turn?

Look, decide, record: the decision, what the client's history becomes, the turn's start, what is
told of its harness and its lease stand in one commit, or nothing does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from domain import commands as c
from domain import events as e
from domain.dispatch.decision import dispatch
from domain.dispatch.explaining import explain
from domain.dispatch.kinds import PURE_ANSWERS
from domain.dispatch.outcomes import (
    Begin,
    Cold,
    Decision,
    Deliver,
    Label,
    Live,
    Queue,
    Refuse,
    Resume,
    Steer,
    Step,
    Steps,
)
from domain.keys import keys_of
from domain.raw_json import RawJson, dumped
from domain.refusals import MessageExists, Refusal
from domain.state import Gate, State
from infrastructure import runs
from infrastructure.command_handler import Appended, Caller, CommandHandler, Target
from infrastructure.commit import Contended
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.carrying import NewSeat, steps_before, steps_of_outcome
from infrastructure.hosting.placing import place_in_request, place_of_new
from infrastructure.hosting.priors import count_prior
from infrastructure.hosting.seeds import unconsumed
from infrastructure.hosting.situating import Found, situate
from infrastructure.runner import Attempt

_OF_ANSWERS = frozenset({"no-such-gate", "ambiguous-gate", "gate-already-decided", "gate-gone"})
_DECIDED = frozenset({"allowed", "denied", "denied-by-policy", "answered"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What whoever asks could run a turn with.

    Attributes:
        facets: Of the configuration that its seat's harness applied.
        new: The seat that it would start a harness in.
        only_warm: Whether it cannot start one in this transaction: a decision for a new harness is
            then told, and nothing is recorded.
        request: What was asked, as JSON, should it have to wait.
        queue_id: Under which id.
        consumes: Whether the answers are given to the harness by the one who asks, who then does
            not tell of it by itself.
    """

    new: NewSeat
    facets: Mapping[str, str] = field(default_factory=dict[str, str])
    only_warm: bool = False
    request: bytes = b"null"
    queue_id: str = ""
    consumes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of which session, by whom, within which transaction."""

    handler: CommandHandler
    attempt: Attempt
    target: Target
    ask: Ask
    means: Means
    caller: Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    """What became of it.

    Attributes:
        appended: What was recorded; None if nothing was.
        turn_id: The turn that runs, or goes on, by it.
        fence: Of the lease that was given for it.
        new: The seat that a harness would be started in.
        label: Why the seat that there is has to go, if it has to.
        again: Whether these very answers came before, and their turn went on with them.
        deferred: Whether the decision is for a harness that has to be started first.
    """

    found: Found
    decision: Decision
    ask: Ask
    new: NewSeat
    label: Label | None = None
    appended: Appended | None = None
    turn_id: str | None = None
    fence: int | None = None
    deferred: bool = False
    again: bool = False

    @property
    def explain(self) -> str:
        """Return for a person why it goes on so."""
        return explain(self.decision, self.found.situation)

    @property
    def evicted(self) -> str | None:
        """Return why a harness that was parked had to go for this turn's."""
        return self.label or self.new.evicted

    @property
    def history_from(self) -> str:
        """Return where the history of the turn's harness comes from."""
        outcome = getattr(self.decision, "outcome", None)
        return outcome.source if isinstance(outcome, Cold) else "harness"


def begin(request: Request, known: tuple[int | None, State] | None = None) -> Dispatched:
    """Decide what comes of a request, and record it; `known` is what was looked up for it.

    Raises:
        Refusal: a rule of the log forbids it; nothing is recorded.
        Contended: another writer came first.
    """
    handler, attempt, ask, means = request.handler, request.attempt, request.ask, request.means
    found = situate(handler, attempt, request.target, ask, means.facets, known)
    if (message_id := _said_before(found, ask)) is not None:
        raise MessageExists(message_id).inside(*place_of_new(ask))
    if not ask.continues and _was_answered(found):
        return Dispatched(
            found=found,
            decision=Deliver(continuation="started"),
            ask=ask,
            new=means.new,
            turn_id=_turn_of(found),
            again=True,
        )
    decision = dispatch(found.situation)
    match decision:
        case Queue():
            queued = e.InputQueued(queue_id=means.queue_id, request=RawJson(means.request))
            proposed = ask.batch is not None
            waits = c.Note(event=queued, proposed=proposed)
            steps = [*steps_before(found, ask, decision.before), waits]
            appended = _carry_out(request, found, steps)
            return Dispatched(
                found=found, decision=decision, ask=ask, new=means.new, appended=appended
            )
        case Steer(before=before) if before:
            appended = _carry_out(request, found, steps_before(found, ask, before))
            return Dispatched(
                found=found, decision=decision, ask=ask, new=means.new, appended=appended
            )
        case Refuse() | Steer():
            handler.check_current(attempt, request.target, found.state.head)
            return Dispatched(found=found, decision=decision, ask=ask, new=means.new)
        case Deliver():
            return _delivered(request, found, decision)
        case Begin():
            return _begun(request, found, decision)
        case _:
            assert_never(decision)


def refused(request: Request, refusal: Refuse) -> Appended:
    """Record that a request was refused; the session stays as it was.

    Raises:
        NoSuchSession: there is none to record it in.
    """
    ask = request.ask
    event: e.DispatchRefused | e.GateAnswerRefused
    if refusal.code in _OF_ANSWERS and ask.answers:
        event = e.GateAnswerRefused(named=_named(ask), code=refusal.code)
    else:
        event = e.DispatchRefused(
            code=refusal.code,
            request=ask.shape.kind,
            reasons=refusal.reasons,
            seat=refusal.seat,
        )
    steps = [c.Note(event=event)]
    return request.handler.carry_out(request.attempt, request.target, steps, caller=request.caller)


def _named(ask: Ask) -> str:
    event = ask.answers[0].event
    if not isinstance(event, e.GateDecided) or event.gate_id is not None:
        return "gate_id"
    return "permission_id" if event.permission_id is not None else "tool_call_id"


def _begun(request: Request, found: Found, decision: Begin) -> Dispatched:
    ask, means = request.ask, request.means
    starts = isinstance(decision.outcome, Cold)
    if Step.FINISH_TURN in decision.before or (means.only_warm and starts):
        label = _label(decision.outcome)
        return Dispatched(
            found=found, decision=decision, ask=ask, new=means.new, label=label, deferred=True
        )
    assert ask.start is not None  # noqa: S101 - a turn begins with new text
    steps = [
        *steps_before(found, ask, decision.before),
        *(() if ask.configure is None else (ask.configure,)),
        c.Record(proposal=ask.start),
        *_dequeued(ask),
        *steps_of_outcome(found, ask, decision.outcome, ask.turn_id, means.new),
    ]
    appended = _carry_out(request, found, steps)
    _count(request, found)
    return Dispatched(
        found=found,
        decision=decision,
        ask=ask,
        new=means.new,
        label=_label(decision.outcome),
        appended=appended,
        turn_id=ask.turn_id,
        fence=_lease(request, found, ask.turn_id, decision.before),
    )


def _count(request: Request, found: Found) -> None:
    """Count whether the history that the turn came with is the log's."""
    if found.compared is not None and found.key is not None:
        count_prior(
            request.attempt.connection,
            found.compared,
            project_id=request.target.project_id,
            key=found.key,
            version=found.state.head.version,
            now=request.handler.now(),
        )


def _dequeued(ask: Ask) -> list[c.SessionCommand]:
    if ask.queue_id is None:
        return []
    return [c.Note(event=e.InputDequeued(queue_id=ask.queue_id, turn_id=ask.turn_id))]


def _delivered(request: Request, found: Found, decision: Deliver) -> Dispatched:
    """Take the answers; the turn that waits for them goes on, or is told to whoever runs it.

    A turn whose owner was lost is over: the answers begin one that goes on with it.
    """
    ask, means, outcome = request.ask, request.means, decision.outcome
    turn_id = _turn_of(found)
    label = _label(outcome)
    deferred = request.means.only_warm and isinstance(outcome, Cold)
    if deferred:  # the answers are durable at once, whether a harness can be started or not
        decision = replace(decision, before=(Step.TAKE_ANSWERS,), outcome=None)
        outcome = None
    steps = steps_before(found, ask, decision.before)
    if Step.INTERRUPT_LOST in decision.before and outcome is not None:
        turn_id = ask.turn_id
        steps.append(c.Record(proposal=going_on(turn_id)))
    if decision.continuation == "external" and steps and turn_id is not None:
        ready = e.ContinuationReady(turn_id=turn_id, gate_ids=tuple(_gate_ids(found)))
        steps.append(c.Note(event=ready))
    consumed = []
    if means.consumes and outcome is not None:
        consumed = _consumed(request, found, outcome)
    if means.consumes and decision.continuation == "pending" and not consumed:
        decision, outcome = replace(decision, outcome=None), None  # there is nothing to tell
    goes_on = isinstance(outcome, Resume | Cold)
    if isinstance(outcome, Resume | Cold) and turn_id is not None:
        steps += steps_of_outcome(found, ask, outcome, turn_id, request.means.new)
    steps += consumed
    if not steps:
        request.handler.check_current(request.attempt, request.target, found.state.head)
        return Dispatched(
            found=found,
            decision=decision,
            ask=ask,
            new=means.new,
            label=label,
            turn_id=turn_id,
            deferred=deferred,
        )
    appended = _carry_out(request, found, steps)
    fence = None
    if goes_on and turn_id is not None:
        fence = _lease(request, found, turn_id, decision.before)
    return Dispatched(
        found=found,
        decision=decision,
        ask=ask,
        new=means.new,
        label=label,
        appended=appended,
        turn_id=turn_id,
        fence=fence,
        deferred=deferred,
    )


def _label(outcome: Live | Resume | Cold | None) -> Label | None:
    return outcome.evict if isinstance(outcome, Cold) else None


def going_on(turn_id: str) -> c.Proposal:
    """Return the start of a turn that goes on with one whose owner was lost."""
    event = e.TurnStarted(turn_id=turn_id, messages=(), history_sent="answer")
    body = dumped({"turn_id": turn_id, "messages": [], "history_sent": "answer"})
    return c.Proposal(event=event, body=body)


def _said_before(found: Found, ask: Ask) -> str | None:
    """Return the id of the new message if one of the session has it, whatever is in its way now."""
    start = None if ask.start is None else ask.start.event
    if not isinstance(start, e.TurnStarted):
        return None
    known = found.state.message_ids
    return next((m.message_id for m in start.messages if m.message_id in known), None)


def _was_answered(found: Found) -> bool:
    """Tell whether the same answers came before, and a harness was given them, or none waits."""
    situation = found.situation
    if situation.kind not in PURE_ANSWERS or situation.answers != "same-again":
        return False
    gates = [each.gate for each in found.answered if each.gate is not None]
    open_turn = found.state.head.turn_id
    return all(gate.consumed_version is not None or gate.turn_id != open_turn for gate in gates)


def _turn_of(found: Found) -> str | None:
    named = next((each.gate.turn_id for each in found.answered if each.gate is not None), None)
    return named or found.state.head.turn_id


def _gate_ids(found: Found) -> Sequence[str]:
    return [each.gate.gate_id for each in found.answered if each.gate is not None]


def _consumed(
    request: Request, found: Found, outcome: Live | Resume | Cold
) -> list[c.SessionCommand]:
    """Tell that the answers are given to the harness by the one who asks.

    Also those that were given before, and that no harness knows of yet.
    """
    held = request.ask.seat
    seat_id = None if held is None else held.seat_id
    if isinstance(outcome, Cold):
        seat_id = request.means.new.seat_id
    gates = {
        gate.gate_id: gate
        for gate in (each.gate for each in found.answered)
        if gate is not None and _unconsumed(gate)
    }
    turn_id = _turn_of(found)
    if found.key is not None and turn_id is not None:
        for gate in unconsumed(request.attempt.connection, found.key, turn_id):
            gates.setdefault(gate.gate_id, gate)
    return [
        c.Note(event=e.GateConsumed(gate_id=gate.gate_id, turn_id=gate.turn_id, seat_id=seat_id))
        for gate in gates.values()
    ]


def _unconsumed(gate: Gate) -> bool:
    return gate.consumed_version is None and (gate.status == "open" or gate.status in _DECIDED)


def _lease(request: Request, found: Found, turn_id: str, before: Steps) -> int | None:
    """Give the lease to the one who asks; as it was found, unless a turn is ended on purpose.

    So whoever held it before, and was heard of meanwhile, keeps it.
    """
    if found.key is None:
        return None
    ask, project_id = request.ask, request.target.project_id
    connection, now = request.attempt.connection, request.handler.now()
    run = found.run
    if run is not None and run.kind == "turn" and Step.INTERRUPT_RUNNING not in before:
        return runs.take_over(connection, run, turn_id, ask.owner, ask.lease_s, now)
    return runs.begin(connection, found.key, project_id, turn_id, ask.owner, ask.lease_s, now)


def _carry_out(request: Request, found: Found, steps: Sequence[c.SessionCommand]) -> Appended:
    """Carry out `steps`; what the look-up for the decision did not bring is looked up again."""
    handler, ask = request.handler, request.ask
    begun: list[c.SessionCommand] = []
    if ask.batch is not None:
        begun = [c.BeginBatch(batch=ask.batch, events=len(steps))]
    known: tuple[int | None, State] = (found.key, found.state)
    if _brings_more(steps, ask):
        known = handler.state(request.attempt, request.target, keys_of([*begun, *steps]))
        if known[1].head != found.state.head:
            raise Contended  # what was decided was decided of another history
    whole = [*begun, *steps]
    own = [step for step in steps if _is_own(step)]
    try:
        return handler.carry_out(
            request.attempt,
            request.target,
            whole,
            caller=request.caller,
            producer=ask.producer,
            batch=len(own) if begun else None,
            known=known,
        )
    except Refusal as refusal:
        refusal.at = place_in_request(ask, whole, refusal.at)
        raise


def _is_own(step: c.SessionCommand) -> bool:
    """Tell whether a step is a fact of the producer's batch."""
    match step:
        case c.Record(imported=imported):
            return not imported
        case c.Note(proposed=proposed):
            return proposed
        case _:
            return False


def _brings_more(steps: Sequence[c.SessionCommand], ask: Ask) -> bool:
    """Tell whether anything is recorded that the request did not name itself."""
    known = {id(ask.start), *(id(answer) for answer in ask.answers)}
    for step in steps:
        match step:
            case c.Record(proposal=c.Proposal(event=e.HarnessResumed())):
                pass
            case c.Note(event=e.HarnessResumed()):
                pass
            case c.Record(proposal=proposal) if id(proposal) in known:
                pass
            case c.Record() | c.Note():
                return True
            case _:
                pass
    return False
