"""Did this batch of a runner's dispatch come before, and what did it become?

Its facts are in the log: what is asked again gets the same answer, read from them, and nothing is
recorded or leased anew. What is asked under its number and is something else is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from domain import events as e
from domain.canonical import canonical
from domain.dispatch.outcomes import Continuation
from domain.json_text import parse
from domain.keys import Keys
from domain.offloading import Incomplete, inline
from domain.readiness import Readiness
from domain.recorded import Recorded
from domain.refusals import Fenced, NoSuchSession, RecordConflict
from domain.state import GONE, Head, State
from infrastructure import runs
from infrastructure.hosting.became import Request
from infrastructure.mapper import recorded_of
from infrastructure.producers import earlier_batch, facts_digest, proposals_digest
from infrastructure.recorder import stream_facts

_FOLLOWING = 101
"""So many gates can be consumed at once, and one more fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A dispatch that came before: what it began.

    Attributes:
        decision: The one word for it.
        started: What was told of a harness that was to be started.
        seat_id: The seat that it began or went on with.
        asides: How many messages, said aside, the harness of that was to be told first.
        consumed: The gates whose answers it gave out.
        fence: Of the lease that it got, if nobody was given it since.
        records: How many events of its turn are counted by now.
        rest: Whether its text is still to be dispatched.
        through: The version up to which its harness had to be told the history.
    """

    decision: str
    turn_id: str | None
    head: Head
    readiness: Readiness
    continuation: Continuation | None = None
    started: e.HarnessStarted | None = None
    seat_id: str | None = None
    asides: int = 0
    consumed: Sequence[str] = ()
    queue_id: str | None = None
    fence: int | None = None
    records: int = 0
    rest: bool = False
    through: int = 0


def replayed(request: Request, known: tuple[int | None, State]) -> Replayed | None:
    """Return what the same batch became; None if it is new.

    Raises:
        Fenced: a newer epoch of the producer exists.
        RecordConflict: its sequence number was used for something else.
        NoSuchSession: it is gone.
    """
    key, state = known
    stamp, batch = request.ask.producer, request.ask.batch
    if stamp is None or batch is None:
        return None
    handler, attempt, target = request.handler, request.attempt, request.target
    if stamp.epoch < batch.current:
        attempt.commit.check()
        raise Fenced(stamp.epoch, batch.current)
    last = state.producers.get(stamp.producer_id)
    if key is None or last is None or last.epoch != stamp.epoch or last.sequence < stamp.sequence:
        return None
    handler.check_current(attempt, target, state.head)
    if state.head.status in GONE:
        raise NoSuchSession
    stream = (target.project_id, target.session_id, key)
    earlier = earlier_batch(attempt.connection, stream, stamp)
    facts = earlier.facts
    asked = request.ask.rewind.asked if request.ask.rewind is not None else None
    if not _is_same(request, facts) or (earlier.rewound is not None and earlier.asked != asked):
        raise RecordConflict(stamp.sequence)
    after = stream_facts(
        attempt.connection, stream, gt=facts[-1].envelope.version, limit=_FOLLOWING
    )
    return _told(request, key, facts, [recorded_of(stored) for stored in after])


def _told(
    request: Request, key: int, facts: Sequence[Recorded], after: Sequence[Recorded]
) -> Replayed:
    ask = request.ask
    turn_id = next((f.envelope.turn_id for f in reversed(facts) if f.envelope.turn_id), None)
    wanted = Keys(turns=frozenset({turn_id} if turn_id else ()), seats=frozenset(_seats(facts)))
    _, state = request.handler.state(request.attempt, request.target, wanted)
    turn = None if turn_id is None else state.turns.get(turn_id)
    consumed: list[str] = []
    for fact in after:
        if not isinstance(fact.event, e.GateConsumed):
            break
        consumed.append(fact.event.gate_id)
    told = next((f.event for f in facts if isinstance(f.event, e.HarnessStarted)), None)
    went_on = next((f.event for f in facts if isinstance(f.event, e.HarnessResumed)), None)
    seat_id = told.seat_id if told else went_on.seat_id if went_on else None
    queued = next((f.event for f in facts if isinstance(f.event, e.InputQueued)), None)
    begun = _begun(facts)
    waits = turn is not None and turn.open_gates > 0
    external = bool(after) and isinstance(after[0].event, e.ContinuationReady)
    continuation: Continuation | None = None
    if begun is None and queued is None:
        on = seat_id is not None or bool(consumed)
        continuation = (
            "external" if external else "pending" if waits else "started" if on else "blocked"
        )
    word = (
        "queue"
        if queued is not None
        else "cold"
        if told is not None
        else "resume"
        if went_on is not None
        else "live"
        if consumed
        else continuation or "blocked"
    )
    return Replayed(
        decision=word,
        turn_id=turn_id,
        head=state.head,
        readiness=request.handler.readiness(request.attempt, state, key),
        continuation=continuation,
        started=told,
        seat_id=seat_id,
        asides=(went_on.asides or 0) if went_on else 0,
        consumed=consumed,
        queue_id=None if queued is None else queued.queue_id,
        fence=_fence(request, key, turn_id, facts, state),
        records=0 if turn is None else turn.records,
        rest=ask.start is not None and begun is None and queued is None,
        through=(begun.envelope.version - 1 if begun else facts[-1].envelope.version),
    )


def _fence(
    request: Request, key: int, turn_id: str | None, facts: Sequence[Recorded], state: State
) -> int | None:
    """Return the fence that the batch was given, unless somebody else went on since."""
    run = runs.find(request.attempt.connection, key)
    if run is None or not run.is_of(turn_id) or run.owner != request.ask.owner:
        return None
    told = {fact.envelope.version for fact in facts}
    seats = [state.seats[name] for name in _seats(facts) if name in state.seats]
    if any(seat.changed_version in told and seat.state == "busy" for seat in seats):
        return run.fence
    return run.begun if any(isinstance(f.event, e.TurnStarted) for f in facts) else None


def _seats(facts: Sequence[Recorded]) -> list[str]:
    return [
        fact.event.seat_id
        for fact in facts
        if isinstance(fact.event, e.HarnessStarted | e.HarnessResumed)
    ]


def _begun(facts: Sequence[Recorded]) -> Recorded | None:
    """Return the start of a turn by text."""
    return next((f for f in facts if isinstance(f.event, e.TurnStarted) and f.event.messages), None)


def _is_same(request: Request, facts: Sequence[Recorded]) -> bool:
    """Tell whether a batch is what this request would have become; what is gone cannot differ."""
    ask = request.ask
    says = any(isinstance(fact.event, e.InputQueued) for fact in facts) or _begun(facts) is not None
    answers = bool(ask.answers) or ask.continued is not None
    return (
        bool(facts)
        and (says or answers)
        and all(_is_of(request, fact) for fact in facts)
        and _continues_same(request, facts)
    )


def _is_of(request: Request, fact: Recorded) -> bool:
    ask = request.ask
    match fact.event:
        case e.TurnStarted(messages=()):
            return True
        case e.TurnStarted():
            digest = facts_digest([fact])
            return ask.start is not None and digest in {None, proposals_digest([ask.start])}
        case e.GateDecided():
            return facts_digest([fact]) in {None, *(proposals_digest([a]) for a in ask.answers)}
        case e.InputQueued():
            return _queued(fact) in {None, canonical(parse(request.means.request))}
        case e.HarnessStarted() | e.HarnessResumed() | e.HarnessEvicted() as event:
            return event.owner == ask.owner
        case _:
            return False


def _continues_same(request: Request, facts: Sequence[Recorded]) -> bool:
    wanted = request.ask.continued
    if wanted is None:
        return True
    started = next((f for f in facts if isinstance(f.event, e.TurnStarted)), None)
    return started is not None or any(f.envelope.turn_id == wanted for f in facts)


def _queued(fact: Recorded) -> bytes | None:
    """Return the request that was queued; None if it is gone."""
    if fact.body is None:
        return None
    try:
        said = parse(inline(fact.body, fact.blobs))
    except Incomplete:
        return None
    return canonical(said["request"]) if isinstance(said, dict) and "request" in said else None
