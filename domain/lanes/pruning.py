"""Which lanes are given up, since nothing came for long?

Those that are open, to which something came last before a time, and which nothing holds: nobody
pinned them, and nothing is left to do or to decide in their current session. How old a lane is does
not matter, only how long it has rested. Its sessions stay as they are.
"""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from domain.lanes.state import LaneStatus

DAY_US: Final = 24 * 60 * 60 * 1_000_000
"""So many lanes go by one request, if it does not say how many; and if it does."""
Spared: TypeAlias = Literal["pinned", "suspended", "in_use", "resume_pending"]
"""Why a lane stays, though nothing came for long."""


class Resting(NamedTuple):
    """How a lane stands to which nothing came for a while.

    Attributes:
        touched_at: When something last came; microseconds since 1970, None if that is not known.
        suspended: It is, or its current session.
        in_use: Something runs, waits or is parked in its current session that did not come by
            another lane; or that cannot be told.
        resume_pending: Something was cut off that could be gone on with.
    """

    status: LaneStatus
    touched_at: int | None
    pinned: bool = False
    suspended: bool = False
    in_use: bool = False
    resume_pending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutoff:
    """How long lanes may rest.

    Attributes:
        before: That to which something came at this time or later stays; microseconds since 1970.
        include_pinned: Whether being pinned keeps none.
    """

    before: int
    include_pinned: bool = False


def cutoff(days: int | None, now: int, *, include_pinned: bool = False) -> Cutoff | None:
    """Return what it means that lanes may rest so many days; None if they may for ever.

    They may where nobody says how long, and with 0 days or fewer.
    """
    if days is None or days <= 0:
        return None
    return Cutoff(before=now - days * DAY_US, include_pinned=include_pinned)


def why_spared(lane: Resting, given: Cutoff) -> Spared | None:
    """Return what holds a lane, the first of several; None if nothing does."""
    if lane.pinned and not given.include_pinned:
        return "pinned"
    if lane.suspended:
        return "suspended"
    if lane.in_use:
        return "in_use"
    return "resume_pending" if lane.resume_pending else None


def may_go(lane: Resting, given: Cutoff) -> bool:
    """Tell whether a lane that stands so is given up."""
    rested = lane.touched_at is not None and lane.touched_at < given.before
    return lane.status == "open" and rested and why_spared(lane, given) is None
