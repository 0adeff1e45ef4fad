"""What does a decision record, and in which order?

The one translation from what was decided to commands: all of them are carried out together, with
the turn's start, or none is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from domain import commands as c
from domain import events as e
from domain.decided import fact
from domain.dispatch.outcomes import Cold, Label, Resume, Step, Steps, path_of, reason_of
from domain.raw_json import RawJson, dumped
from domain.registry import NAMES
from domain.restarts import OWNER_LOST
from domain.state import Seat
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.priors import steps_for
from infrastructure.hosting.situating import Found
from infrastructure.proposing import proposal_of
from infrastructure.serialization import encode

SUPERSEDED = "superseded"
"""Why a turn was interrupted that waited, or ran, when another one was asked for instead."""
_FOLLOWED = frozenset({Step.ADOPT_PRIOR, Step.ASSERT_PRIOR})
"""Steps that bring the rewind that is asked for with them: they may go back further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSeat:
    """The seat of a harness that is to be started.

    Attributes:
        evicted: Why the one that was parked had to go, if whoever asks let it go already.
        detail: What differed, as JSON.
    """

    seat_id: str
    evicted: str | None = None
    detail: bytes | None = None


def steps_before(found: Found, ask: Ask, before: Steps) -> list[c.SessionCommand]:
    """Return what is recorded before the outcome."""
    steps: list[c.SessionCommand] = []
    for step in before:
        if step is not Step.REWIND or _FOLLOWED.isdisjoint(before):
            steps += _steps(found, ask, step)
    return steps


def _steps(found: Found, ask: Ask, step: Step) -> Sequence[c.SessionCommand]:
    turn_id = found.state.head.turn_id
    match step:
        case Step.TAKE_ANSWERS:
            return [
                c.Record(proposal=proposal)
                for proposal, answered in zip(ask.answers, found.answered, strict=True)
                if answered.standing == "open"
            ]
        case Step.INTERRUPT_RUNNING | Step.WITHDRAW_GATES if turn_id is not None:
            return [c.InterruptTurn(turn_id=turn_id, reason=SUPERSEDED)]
        case Step.INTERRUPT_LOST if turn_id is not None:
            return [c.InterruptTurn(turn_id=turn_id, reason=OWNER_LOST)]
        case Step.REWIND if ask.rewind is not None:
            return [ask.rewind]
        case Step.ADOPT_PRIOR | Step.ASSERT_PRIOR | Step.SETTLE_REASONS:
            assert ask.prior is not None  # noqa: S101 - without one it is not decided so
            assert found.compared is not None  # noqa: S101
            reasons = [reason.code for reason in found.readiness.reasons]
            return steps_for(step, ask.prior, found.compared, reasons)
        case (
            Step.INTERRUPT_RUNNING
            | Step.WITHDRAW_GATES
            | Step.INTERRUPT_LOST
            | Step.REWIND
            | Step.STOP_COMPACTION
            | Step.FINISH_TURN
        ):
            return []
        case _:
            assert_never(step)


def steps_of_outcome(
    found: Found, ask: Ask, outcome: Resume | Cold, turn_id: str, new: NewSeat
) -> list[c.SessionCommand]:
    """Return what is recorded of the harness that runs the turn from now on.

    Of a parked one it is told that it goes on; of a new one that it was started, by which way and
    why. Whoever else still keeps a harness for the session is asked to let it go.
    """
    if isinstance(outcome, Resume):
        assert found.seat is not None  # noqa: S101 - without one nothing is resumed
        seat_id = found.seat.seat_id
        asides = len(found.asides) if outcome.asides else None
        resumed = e.HarnessResumed(seat_id=seat_id, owner=ask.owner, turn_id=turn_id, asides=asides)
        return [_told(ask, resumed)]
    label = outcome.evict or new.evicted
    told = _difference(found, outcome.evict) if outcome.evict else new.detail
    detail = None if told is None else RawJson(told)
    steps: list[c.SessionCommand] = []
    kept = _kept(found)
    newest = max((seat.started_version for seat in kept), default=0)
    for seat in kept:
        if seat.owner != ask.owner:
            if seat.changed_version < newest:
                continue  # it was asked when that one was started, and its owner may be no more
            asked = e.SeatCloseRequested(
                seat_id=seat.seat_id, owner=seat.owner, reason=outcome.evict or "history"
            )
            steps.append(c.Note(event=asked))
        elif seat.seat_id != new.seat_id and (label or not ask.hosted):
            gone = e.HarnessEvicted(
                seat_id=seat.seat_id,
                owner=seat.owner,
                reason=label or "seat-lost",
                turn_id=turn_id,
                detail=detail,
            )
            steps.append(_told(ask, gone))
    started = e.HarnessStarted(
        seat_id=new.seat_id,
        owner=ask.owner,
        path="cold" if label is None else "evicted",
        turn_id=turn_id,
        reason=label or reason_of(outcome),
        detail=detail,
        history_from=outcome.source,
    )
    return [*steps, _told(ask, started)]


def _told(ask: Ask, event: e.HarnessEvent) -> c.SessionCommand:
    """Record it as ours, or as the runner's that asks, in its batch."""
    if ask.batch is None:
        return c.Note(event=event)
    return c.Record(proposal=proposal_of(NAMES[type(event)], encode(fact(event))))


def difference(found: Found, label: Label | None) -> bytes | None:
    """Return what a seat failed on, as JSON: digests, versions and types, nothing that was said."""
    return None if label is None else _difference(found, label)


def _difference(found: Found, label: Label) -> bytes | None:
    shape: Mapping[str, object] | None = None
    match label:
        case "history" if found.moved:
            shape = {
                "moved_by": [{"version": row.version, "type": row.type} for row in found.moved]
            }
        case "history" if found.seat is not None:
            shape = {"pinned_version": found.seat.pin_version}
        case "config":
            told = found.situation.told
            shape = {
                "facets": list(told.facets),
                "before": found.seat.config_fingerprint if found.seat else None,
                "after": found.wanted.fingerprint,
            }
        case _:
            pass
    return None if shape is None else dumped(shape)


def _kept(found: Found) -> Sequence[Seat]:
    if found.kept:
        return found.kept
    return () if found.seat is None else (found.seat,)


__all__ = [
    "SUPERSEDED",
    "NewSeat",
    "difference",
    "path_of",
    "steps_before",
    "steps_of_outcome",
]
