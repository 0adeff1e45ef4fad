"""What may be asked of a lane, and what follows from it? Every rule, but which session it is."""

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from domain.events import lane as e
from domain.fields import check_name
from domain.lanes.resolving import Standing, is_suspended
from domain.lanes.state import Lane
from domain.refusals import LaneHasSessions, LaneIsSuspended, NoSuchLane


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendLane:
    """Have whoever comes next get a new session."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkResume:
    """Say that a turn was cut off that could be gone on with."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearResume:
    """Say that there is nothing to go on with any more."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchLane:
    """Make an earlier session the current one."""

    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PinLane:
    """Keep the lane from being pruned, or do not any more."""

    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneLane:
    """Give the lane up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeLane:
    """Destroy where the lane was, who spoke there, and what became of it.

    Attributes:
        has_sessions: Whether a session that it has or had is neither deleted nor purged.
    """

    has_sessions: bool


LaneCommand: TypeAlias = (
    SuspendLane | MarkResume | ClearResume | SwitchLane | PinLane | PruneLane | PurgeLane
)


def decide(lane: Lane, standing: Standing, command: LaneCommand) -> tuple[e.LaneEvent, ...]:
    """Return the facts that follow; none where it is so already.

    Raises:
        NoSuchLane: it was given up, or its conversation moved on.
        LaneIsSuspended: nothing is gone on with in a suspended lane.
        LaneHasSessions: what was said in a lane that is to be purged is still there.
        InvalidValue: a reason is none.
    """
    if isinstance(command, PurgeLane):
        return _purged(lane, command)
    if lane.status != "open":
        raise NoSuchLane
    match command:
        case SuspendLane() | MarkResume() | ClearResume():
            check_name(command.reason, "reason")
            return _stood(lane, standing, command)
        case SwitchLane(session_id=session_id):
            return _switched(lane, session_id)
        case PinLane(pinned=pinned):
            return () if lane.pinned == pinned else (e.LanePinned(pinned=pinned),)
        case PruneLane():
            return (e.LanePruned(),)
        case _:
            assert_never(command)


def _purged(lane: Lane, command: PurgeLane) -> tuple[e.LaneEvent, ...]:
    if lane.status == "purged":
        raise NoSuchLane
    if command.has_sessions:
        raise LaneHasSessions
    return (e.LanePurged(events=lane.version),)


def _stood(
    lane: Lane, standing: Standing, command: SuspendLane | MarkResume | ClearResume
) -> tuple[e.LaneEvent, ...]:
    match command:
        case SuspendLane(reason=reason):
            return () if lane.suspended_reason else (e.LaneSuspended(reason=reason),)
        case MarkResume(reason=reason):
            return _marked(lane, standing, reason)
        case ClearResume(reason=reason):
            return () if lane.resume_reason is None else (e.LaneResumeCleared(reason=reason),)
        case _:
            assert_never(command)


def _marked(lane: Lane, standing: Standing, reason: str) -> tuple[e.LaneEvent, ...]:
    if is_suspended(lane, standing):
        raise LaneIsSuspended
    if lane.resume_reason is not None or standing.resume_reason is not None:
        return ()  # what is known of it already is not made less exact
    return (e.LaneResumeMarked(reason=reason),)


def _switched(lane: Lane, session_id: str) -> tuple[e.LaneEvent, ...]:
    if session_id == lane.session_id:
        return ()
    return (e.LaneSwitched(session_id=session_id, previous_session_id=lane.session_id),)
