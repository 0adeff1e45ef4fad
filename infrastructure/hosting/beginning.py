"""What does one write transaction make of a request for a turn?

Look, decide, record: the decision, what the client's history becomes, the turn's start, what is
told of its harness and its lease stand in one commit, or nothing does.
"""

from typing import assert_never

from domain import commands as c
from domain import events as e
from domain.dispatch.decision import dispatch
from domain.dispatch.outcomes import Begin, Cold, Decision, Deliver, Queue, Refuse, Steer, Step
from domain.raw_json import RawJson
from domain.refusals import MessageExists
from domain.state import State
from infrastructure.command_handler import Appended
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.became import Dispatched, Request, label_of
from infrastructure.hosting.carrying import steps_before, steps_of_outcome
from infrastructure.hosting.carrying_out import carried_out, lease
from infrastructure.hosting.delivering import delivered, turn_of, was_answered
from infrastructure.hosting.placing import place_of_new
from infrastructure.hosting.priors import count_prior
from infrastructure.hosting.queueing import next_input
from infrastructure.hosting.situating import Found, situate


class InputsBefore(Exception):
    """Inputs wait for their turn, and nothing is in their way: they come first.

    Attributes:
        queue_id: Of the first of them.
    """

    def __init__(self, queue_id: str) -> None:
        """Take the first of them."""
        super().__init__()
        self.queue_id = queue_id


_OF_ANSWERS = frozenset({"no-such-gate", "ambiguous-gate", "gate-already-decided", "gate-gone"})
_AHEAD = frozenset({Step.REWIND, Step.FINISH_TURN, Step.WITHDRAW_GATES})
"""What comes before a turn that begins before those that wait for theirs."""


def begin(request: Request, known: tuple[int | None, State] | None = None) -> Dispatched:
    """Decide what comes of a request, and record it; `known` is what was looked up for it.

    Raises:
        Refusal: a rule of the log forbids it; nothing is recorded.
        InputsBefore: it would begin a turn before those that wait for theirs.
        Contended: another writer came first.
    """
    handler, attempt, ask, means = request.handler, request.attempt, request.ask, request.means
    found = situate(handler, attempt, request.target, ask, means.facets, known)
    if (message_id := _said_before(found, ask)) is not None:
        raise MessageExists(message_id).inside(*place_of_new(ask))
    if not ask.continues and was_answered(found):
        return Dispatched(
            found=found,
            decision=Deliver(continuation="started"),
            ask=ask,
            new=means.new,
            turn_id=turn_of(found),
            again=True,
        )
    decision: Decision = dispatch(found.situation)
    if isinstance(decision, Begin):
        decision = _in_line(request, found, decision)
    match decision:
        case Queue() | Steer():
            return _set_aside(request, found, decision)
        case Refuse():
            handler.check_current(attempt, request.target, found.state.head)
            return Dispatched(found=found, decision=decision, ask=ask, new=means.new)
        case Deliver():
            return delivered(request, found, decision)
        case Begin():
            return _begun(request, found, decision)
        case _:
            assert_never(decision)


def _set_aside(request: Request, found: Found, decision: Queue | Steer) -> Dispatched:
    """Record the answers that came with new text, and the text if it waits here.

    What steers the turn of the runner that asks is told to its harness, and recorded, by itself.
    """
    ask, means, steps = (
        request.ask,
        request.means,
        steps_before(found, request.ask, decision.before),
    )
    if ask.hosted or isinstance(decision, Queue):
        queued = e.InputQueued(
            queue_id=means.queue_id,
            request=RawJson(means.request),
            steers=found.state.head.turn_id if isinstance(decision, Steer) else None,
            lane_id=ask.lane_id,
            reply_to=ask.reply_to,
        )
        steps.append(c.Note(event=queued, proposed=ask.batch is not None))
    if not steps:
        request.handler.check_current(request.attempt, request.target, found.state.head)
        return Dispatched(found=found, decision=decision, ask=ask, new=means.new)
    appended = carried_out(request, found, steps)
    return Dispatched(found=found, decision=decision, ask=ask, new=means.new, appended=appended)


def _in_line(request: Request, found: Found, decision: Begin) -> Begin | Queue:
    """Return how new text goes on that would begin a turn: not before what waits.

    What interrupts does not wait for its turn, nor what goes back in history first: it changes what
    the others are said to. Nor does what answers a gate, or has it withdrawn: the others wait for
    that. New text beside answers gets in line when the turn is over that these were for.

    Raises:
        InputsBefore: something waits that can begin now.
    """
    ask = request.ask
    comes = ask.hosted and ask.start is not None and ask.queue_id is None
    ahead = ask.policies.on_busy == "interrupt" or not _AHEAD.isdisjoint(decision.before)
    if not comes or ahead or not found.state.head.queued:
        return decision
    first = next_input(request.attempt.connection, request.target)
    if first is None:
        return decision
    if not ask.in_line:
        raise InputsBefore(first.queue_id)
    return Queue(behind="turn")


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
        label = label_of(decision.outcome)
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
    appended = carried_out(request, found, steps)
    _count(request, found)
    return Dispatched(
        found=found,
        decision=decision,
        ask=ask,
        new=means.new,
        label=label_of(decision.outcome),
        appended=appended,
        turn_id=ask.turn_id,
        fence=lease(request, found, ask.turn_id, decision.before),
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


def _said_before(found: Found, ask: Ask) -> str | None:
    """Return the id of the new message if one of the session has it, whatever is in its way now."""
    start = None if ask.start is None else ask.start.event
    if not isinstance(start, e.TurnStarted):
        return None
    known = found.state.message_ids
    return next((m.message_id for m in start.messages if m.message_id in known), None)
