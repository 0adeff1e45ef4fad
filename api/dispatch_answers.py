"""What is a runner told that asked how a turn goes on?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from sqlalchemy import Connection

from api.gate_shapes import gate_shape
from api.provider_forms import Form, shown_shape
from api.shapes import Shape, head_shape, readiness_shape
from domain import events as e
from domain.dispatch.outcomes import (
    MOVING,
    Cold,
    Deliver,
    Live,
    Queue,
    Resume,
    Step,
    history_from,
    path_of,
    reason_of,
)
from domain.readiness import Readiness
from domain.state import Head
from infrastructure.command_handler import Target
from infrastructure.hosting.became import Dispatched
from infrastructure.hosting.dispatching import word
from infrastructure.hosting.redispatching import Replayed
from infrastructure.reading.approvals import gate
from infrastructure.reading.moment import At, Moment, moment
from infrastructure.reading.transcript import live_view, newest

Kind = TypeVar("Kind")
_AGAIN: Final = "This request came before; this is what came of it then."


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An answer, but for what is read after the commit.

    Attributes:
        shape: The rest of it.
        status: Its HTTP status: 201 if the batch's number was used up, 202 if the input waits.
        path: How the turn gets its harness, if it gets one.
        gates: Those whose answers the harness is to be told.
        through: The version up to which its harness has to be told the history; None if it has all
            of that.
        asides: How many messages, said aside, a parked harness has to be told; 0: a new one is told
            everything.
        head, readiness: Where the session stands.
    """

    shape: Shape
    status: int
    path: str | None
    gates: Sequence[str]
    through: int | None
    head: Head
    readiness: Readiness
    asides: int = 0


def told_of(done: Dispatched, *, rest: bool) -> Told:
    """Return what a decision is told by; `rest` if its text is still to be dispatched."""
    decision, appended = done.decision, done.appended
    outcome: Live | Resume | Cold | None = getattr(decision, "outcome", None)
    before: Sequence[Step] = getattr(decision, "before", ())
    head = done.found.state.head if appended is None else appended.head
    readiness = done.found.readiness if appended is None else appended.readiness
    path = None if outcome is None else path_of(outcome)
    shape: Shape = {
        "decision": word(decision),
        "reason": _reason(done, outcome),
        "explain": done.explain,
        "path": path,
        "history_from": None if outcome is None else history_from(outcome),
        "evict": outcome.evict if isinstance(outcome, Cold) else None,
        "before": [str(step.value) for step in before],
        "seat_id": _seat_id(done, outcome),
    }
    if isinstance(decision, Deliver):
        shape["continuation"] = decision.continuation
        if decision.reasons:
            shape["reasons"] = list(decision.reasons)
    if rest:
        shape["rest"] = "text"
    if done.fence is not None:
        shape["fence"] = done.fence
    turn = None if appended is None else appended.open_turn
    if turn is not None and turn.turn_id == done.turn_id:
        shape["turn"] = {"turn_id": turn.turn_id, "records": turn.records}
    elif done.turn_id is not None:
        shape["turn"] = {"turn_id": done.turn_id, "records": None}
    queued = _of(done, e.InputQueued)
    if queued:
        shape["queue_id"] = queued[0].queue_id
    batch = done.ask.batch
    used = appended is not None and bool(appended.proposed)
    if batch is not None:
        shape["next_sequence"] = batch.sequence + used
    return Told(
        shape=shape,
        status=202 if isinstance(decision, Queue) and used else 201 if used else 200,
        path=path,
        gates=[event.gate_id for event in _of(done, e.GateConsumed)],
        through=_through(done, outcome, before),
        head=head,
        readiness=readiness,
        asides=_asides(done, outcome),
    )


def told_again(known: Replayed, sequence: int) -> Told:
    """Return the same of a dispatch that came before."""
    started = known.started
    path = started.path if started else "warm" if known.seat_id else None
    shape: Shape = {
        "decision": known.decision,
        "reason": started.reason if started else None,
        "explain": _AGAIN,
        "path": path,
        "history_from": (started.history_from if started else "harness") if path else None,
        "evict": started.reason if started and started.path == "evicted" else None,
        "before": [],
        "seat_id": known.seat_id,
    }
    if known.continuation is not None:
        shape["continuation"] = known.continuation
    if known.rest:
        shape["rest"] = "text"
    if known.fence is not None:
        shape["fence"] = known.fence
    if known.turn_id is not None:
        shape["turn"] = {"turn_id": known.turn_id, "records": known.records}
    if known.queue_id is not None:
        shape["queue_id"] = known.queue_id
    shape["next_sequence"] = sequence + 1
    return Told(
        shape=shape,
        status=202 if known.queue_id is not None else 201,
        path=path,
        gates=known.consumed,
        through=known.through if started or known.asides else None,
        head=known.head,
        readiness=known.readiness,
        asides=known.asides,
    )


def whole(
    connection: Connection,
    target: Target,
    told: Told,
    form: Form,
    *,
    history: bool,
) -> Shape:
    """Return the whole answer: in this form what was said aside, and the `history` if it is wanted.

    Each only where a harness needs it.
    """
    shape = dict(told.shape)
    if told.gates:
        views = [gate(connection, target.project_id, name) for name in told.gates]
        shape["answers"] = [gate_shape(view) for view in views]
    if told.through is not None and (told.asides or history):
        found = moment(connection, target, At(version=told.through))
        shape |= _to_tell(connection, found, told.asides, form)
    return shape | {
        "head": head_shape(told.head),
        "readiness": readiness_shape(told.readiness, told.head),
    }


def _to_tell(connection: Connection, found: Moment, asides: int, form: Form) -> Shape:
    """Return what a harness has to be told: so many messages said aside, or the whole history."""
    if asides:
        said = newest(connection, found, asides)
        return {"asides": {"format": form, **shown_shape(connection, found, form, said)}}
    live = live_view(connection, found)
    shown = shown_shape(connection, found, form, live.messages, live.earlier_calls)
    return {"history": {"format": form, **shown, "through_version": found.through}}


def _reason(done: Dispatched, outcome: Live | Resume | Cold | None) -> str | None:
    match done.decision:
        case Deliver(blocked_by=blocked) if blocked is not None:
            return blocked
        case _:
            return None if outcome is None else reason_of(outcome)


def _seat_id(done: Dispatched, outcome: Live | Resume | Cold | None) -> str | None:
    match outcome:
        case Resume() if done.found.seat is not None:
            return done.found.seat.seat_id
        case Cold():
            return done.new.seat_id if done.appended is not None else None
        case _:
            return None


def _asides(done: Dispatched, outcome: Live | Resume | Cold | None) -> int:
    return len(done.found.asides) if isinstance(outcome, Resume) and outcome.asides else 0


def _through(
    done: Dispatched, outcome: Live | Resume | Cold | None, before: Sequence[Step]
) -> int | None:
    """Return the version before the turn's own input; what is not recorded moves nothing."""
    if not isinstance(outcome, Cold) and not _asides(done, outcome):
        return None
    if done.appended is None:
        return None if not MOVING.isdisjoint(before) else done.found.state.head.version
    for fact in done.appended.facts:
        match fact.event:
            case e.TurnStarted(messages=messages, turn_id=turn_id) if (
                messages and turn_id == done.turn_id
            ):
                return fact.version - 1
            case _:
                pass
    return done.appended.proposed[-1].version


def _of(done: Dispatched, kind: type[Kind]) -> list[Kind]:
    facts = () if done.appended is None else done.appended.facts
    return [fact.event for fact in facts if isinstance(fact.event, kind)]
