"""Which session does a message at a place belong to? One pure decision, and why.

A suspended lane gets a new session, whatever else is so; one with something to go on with keeps its
session, and the mark stays until a turn succeeds; else it is the session that it was. Time alone
never ends a conversation.
"""

from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeAlias

from domain.events import lane as e
from domain.lanes.state import Lane
from domain.state import Status

Reason: TypeAlias = Literal[
    "created",
    "existing",
    "resume-pending",
    "suspended",
    "forced",
    "session-ended",
    "recovered",
    "healed",
]
EndedBecause: TypeAlias = Literal["lane-reset", "lane-switched", "lane-suspended"]
ACCIDENTAL: Final = frozenset({"agent-close", "orphan-reaped"})
"""Why a session was ended though nobody meant the conversation to be over."""


class Standing(NamedTuple):
    """How a lane's current session stands.

    Attributes:
        ended_because: Why it was archived; None if it is not, or a person did it.
        resume_reason, resume_at: Why there is something to go on with in it, and since when.
        is_running: Whether a turn of it has not ended.
        has_activity: Whether anything was said in it.
        is_shared: Whether another lane has it as its current one too.
    """

    status: Status = "absent"
    ended_because: str | None = None
    resume_reason: str | None = None
    resume_at: int = 0
    is_running: bool = False
    has_activity: bool = False
    is_shared: bool = False
    is_suspended: bool = False


class Resolution(NamedTuple):
    """Which session it is, and what has to be recorded for that.

    Attributes:
        facts: The lane's, in their order.
        created: Whether the session is to be opened first.
        heals: Whether the session is to be taken out of the archive.
        ends: Why the session before is to be archived; None if it is left as it is.
    """

    session_id: str
    reason: Reason
    facts: tuple[e.LaneEvent, ...] = ()
    created: bool = False
    heals: bool = False
    ends: EndedBecause | None = None
    previous_session_id: str | None = None

    @property
    def writes(self) -> bool:
        """Tell whether anything has to be recorded."""
        return bool(self.facts) or self.heals


def resolve(
    lane: Lane | None, standing: Standing, opening: e.LaneOpened, new_id: str, *, force_new: bool
) -> Resolution:
    """Return the session of a lane, None if the place is new; `new_id` is what a new one is called.

    A lane whose conversation moved on, and is not to be followed, is a place that is new.
    """
    if lane is None or lane.status == "moved" or not lane.session_id:
        made = e.LaneBound(session_id=new_id, reason="created")
        return Resolution(new_id, "created", (opening, made), created=True)
    if lane.status == "pruned":
        return _reopened(lane, standing, opening, new_id, force_new=force_new)
    if is_suspended(lane, standing):
        return reset(lane, standing, new_id, "suspended")
    if force_new:
        return reset(lane, standing, new_id, "forced")
    if has_ended(standing):
        return _ended(lane, new_id)
    heals = standing.status == "archived"
    reason: Reason = "healed" if heals else "existing"
    if is_resume_pending(lane, standing):
        reason = "resume-pending"
    return Resolution(lane.session_id, reason, heals=heals)


def reset(lane: Lane, standing: Standing, new_id: str, because: e.ResetBecause) -> Resolution:
    """Return a new session in the place of the current one, which ends unless others use it."""
    made = e.LaneReset(
        session_id=new_id,
        previous_session_id=lane.session_id,
        reason=because,
        had_activity=standing.has_activity,
    )
    ended: EndedBecause = "lane-suspended" if because == "suspended" else "lane-reset"
    return Resolution(
        new_id,
        "suspended" if because == "suspended" else "forced",
        (made,),
        created=True,
        ends=ended if can_be_ended(standing) else None,
        previous_session_id=lane.session_id,
    )


def moved(lane: Lane, opening: e.LaneOpened, lane_id: str) -> tuple[e.LaneEvent, ...]:
    """Return what is recorded of the place where a lane's conversation goes on.

    What stood in the lane's way stands there too.
    """
    found: list[e.LaneEvent] = [
        replace(opening, moved_from=lane_id),
        e.LaneBound(session_id=lane.session_id, reason="moved"),
    ]
    if lane.suspended_reason is not None:
        found.append(e.LaneSuspended(reason=lane.suspended_reason))
    if lane.resume_reason is not None:
        found.append(e.LaneResumeMarked(reason=lane.resume_reason))
    if lane.pinned:
        found.append(e.LanePinned(pinned=True))
    return tuple(found)


def is_suspended(lane: Lane, standing: Standing) -> bool:
    """Tell whether the lane's session is not gone on with."""
    return lane.suspended_reason is not None or standing.is_suspended


def is_resume_pending(lane: Lane, standing: Standing) -> bool:
    """Tell whether there is something to go on with; a suspended lane goes on with nothing."""
    marked = lane.resume_reason is not None or standing.resume_reason is not None
    return marked and not is_suspended(lane, standing)


def has_ended(standing: Standing) -> bool:
    """Tell whether a session is over for good: it is gone, or somebody put it away."""
    if standing.status in {"absent", "deleted", "purged"}:
        return True
    return standing.status == "archived" and standing.ended_because not in ACCIDENTAL


def goes_on(lane: Lane, standing: Standing) -> bool:
    """Tell whether the lane's session is the one for what comes next, unless another is forced."""
    lost = lane.status == "moved" or not lane.session_id
    return not lost and not is_suspended(lane, standing) and not has_ended(standing)


def can_be_ended(standing: Standing) -> bool:
    """Tell whether a session that a lane leaves is put away: nothing runs, and no lane has it."""
    idle = not standing.is_running and not standing.is_shared
    return idle and standing.status in {"open", "suspended"}


def _ended(lane: Lane, new_id: str) -> Resolution:
    made = e.LaneBound(
        session_id=new_id, reason="session-ended", previous_session_id=lane.session_id
    )
    return Resolution(
        new_id,
        "session-ended",
        (made,),
        created=True,
        previous_session_id=lane.session_id,
    )


def _reopened(
    lane: Lane, standing: Standing, opening: e.LaneOpened, new_id: str, *, force_new: bool
) -> Resolution:
    """Return what becomes of a lane that was given up: its conversation goes on, if it can."""
    lost = force_new or is_suspended(lane, standing) or has_ended(standing)
    session_id = new_id if lost else lane.session_id
    made = e.LaneBound(
        session_id=session_id,
        reason="created" if lost else "recovered",
        previous_session_id=lane.session_id if lost else None,
    )
    return Resolution(
        session_id,
        "created" if lost else "recovered",
        (opening, made),
        created=lost,
        heals=not lost and standing.status == "archived",
        previous_session_id=lane.session_id if lost else None,
    )
