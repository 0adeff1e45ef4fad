"""Can the seat that there is go on, and if not, what is the first thing that forbids it?"""

from typing import Final

from domain.dispatch.kinds import PURE_ANSWERS
from domain.dispatch.outcomes import MOVING, Label, Steps
from domain.dispatch.situation import Credentials, Seat, Situation

_CREDENTIALS: Final[dict[Credentials, Label]] = {
    "expired": "credentials-expired",
    "rotated": "credentials-rotated",
    "expiring": "credentials-expiring",
}


def usable(situation: Situation, before: Steps) -> bool:
    """Tell whether there is a seat that can go on after these steps."""
    return situation.seat is not None and unusable(situation, situation.seat, before) is None


def unusable(situation: Situation, seat: Seat, before: Steps) -> Label | None:
    """Return the first label that a seat fails on after these steps; None if it can go on.

    The configuration is not compared for an answer: the harness is in the middle of its turn. What
    a parked harness waits for is asked last, since each other label says more.
    """
    return (
        _not_at_hand(seat)
        or _forgetful(situation, seat, before)
        or _misconfigured(situation, seat)
        or _CREDENTIALS.get(seat.credentials)
        or _waits_for_another(situation, seat)
    )


def _not_at_hand(seat: Seat) -> Label | None:
    if seat.state == "busy":
        return "not-parked"
    if not seat.ours:
        return "other-owner"
    if seat.life == "unnamed":
        return "seat-lost"
    return "process-died" if seat.life == "died" else None


def _forgetful(situation: Situation, seat: Seat, before: Steps) -> Label | None:
    """What was said aside is told with a prompt, so only to a harness that waits for one."""
    prompted = seat.state == "idle" and situation.kind not in PURE_ANSWERS
    remembers = seat.lacks == "nothing" or (seat.lacks == "asides" and prompted)
    return None if remembers and MOVING.isdisjoint(before) else "history"


def _misconfigured(situation: Situation, seat: Seat) -> Label | None:
    compared = situation.kind not in PURE_ANSWERS
    return "config" if compared and seat.config == "differs" else None


def _waits_for_another(situation: Situation, seat: Seat) -> Label | None:
    """An idle harness waits for a prompt, one that awaits approval for its answer.

    Answers that were given before may have reached it or not; then both will do.
    """
    if situation.kind == "answer+text" and situation.answers == "same-again":
        return None
    answered = situation.kind in PURE_ANSWERS or situation.kind == "answer+text"
    return None if answered == (seat.state == "awaiting") else "tail"
