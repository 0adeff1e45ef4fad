"""How does a runner with a pool of its own get its decision, and its turn, by one call?

With a place in its producer's sequence the decision is carried out: the turn's start, what is told
of its harness and the lease are one batch of that producer. The same batch again gets the same
decision, read from what it became.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from domain import events as e
from domain.dispatch.decision import dispatch
from domain.dispatch.outcomes import Decision, Deliver, Refuse
from domain.keys import Keys
from domain.recorded import ProducerStamp, Recorded
from domain.refusals import Fenced, RecordConflict
from infrastructure import runs
from infrastructure.hosting.beginning import Dispatched, Request, begin
from infrastructure.hosting.situating import situate
from infrastructure.producers import current_epoch, earlier_batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A call that came before: what it began.

    Attributes:
        facts: What its batch became.
        fence: Of the lease that it got, if its turn still has it.
    """

    turn_id: str
    resumed: str | None
    started: e.HarnessStarted | None
    facts: Sequence[Recorded]
    fence: int | None


def dispatched(request: Request, *, carry_out: bool) -> Dispatched | Replayed:
    """Return what comes of a runner's request; recorded only if `carry_out` says so.

    Raises:
        Refusal: a rule of the log forbids it; nothing is recorded.
        Contended: another writer came first.
    """
    batch = request.ask.batch
    if batch is not None and carry_out:
        project_id, commit = request.target.project_id, request.attempt.commit
        current = current_epoch(commit, project_id, batch.producer_id, request.handler.now())
        request = replace(request, ask=replace(request.ask, batch=replace(batch, current=current)))
        known = _replayed(request, current)
        if known is not None:
            return known
    if carry_out:
        return begin(request)
    found = situate(
        request.handler, request.attempt, request.target, request.ask, request.means.facets
    )
    request.handler.check_current(request.attempt, request.target, found.state.head)
    decision = dispatch(found.situation)
    return Dispatched(found=found, decision=decision, ask=request.ask, new=request.means.new)


def _replayed(request: Request, current: int) -> Replayed | None:
    """Return what the same batch became; None if it is new.

    Raises:
        Fenced: a newer epoch of the producer exists.
        RecordConflict: its sequence number was used for something else.
    """
    ask, target = request.ask, request.target
    stamp = ask.producer
    if stamp is None:
        return None
    if stamp.epoch < current:
        raise Fenced(stamp.epoch, current)
    wanted = Keys(producers=frozenset({stamp.producer_id}))
    key, state = request.handler.state(request.attempt, target, wanted)
    last = state.producers.get(stamp.producer_id)
    if key is None or last is None or last.epoch != stamp.epoch or last.sequence < stamp.sequence:
        return None
    stream = (target.project_id, target.session_id, key)
    earlier = earlier_batch(request.attempt.connection, stream, stamp)
    turn_id = _turn_of(earlier.facts, request, stamp)
    run = runs.find(request.attempt.connection, key)
    held = run is not None and run.is_of(turn_id) and run.owner == ask.owner
    return Replayed(
        turn_id=turn_id,
        resumed=next(
            (f.event.seat_id for f in earlier.facts if isinstance(f.event, e.HarnessResumed)), None
        ),
        started=next(
            (f.event for f in earlier.facts if isinstance(f.event, e.HarnessStarted)), None
        ),
        facts=earlier.facts,
        fence=run.fence if held and run is not None else None,
    )


def _turn_of(facts: Sequence[Recorded], request: Request, stamp: ProducerStamp) -> str:
    """Return the turn that a batch of a dispatch was about."""
    start = None if request.ask.start is None else request.ask.start.event
    for fact in facts:
        match fact.event:
            case e.TurnStarted() as event if start is not None and event == start:
                return event.turn_id
            case e.GateDecided() if start is None and fact.envelope.turn_id is not None:
                return fact.envelope.turn_id
            case (
                e.HarnessResumed(turn_id=str(turn_id)) | e.HarnessStarted(turn_id=str(turn_id))
            ) if start is None:
                return turn_id
            case _:
                pass
    raise RecordConflict(stamp.sequence)


def word(decision: Decision) -> str:
    """Return the one word for a decision."""
    if isinstance(decision, Refuse):
        return "refuse"
    if isinstance(decision, Deliver):
        return decision.continuation if decision.outcome is None else _outcome(decision.outcome)
    outcome = getattr(decision, "outcome", None)
    return type(decision).__name__.lower() if outcome is None else _outcome(outcome)


def _outcome(outcome: object) -> str:
    return type(outcome).__name__.lower()
