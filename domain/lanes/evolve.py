"""What does a fact make of a lane? No rule is here; every recorded fact is taken."""

from collections.abc import Mapping
from typing import assert_never, cast

from domain.events import lane as e
from domain.lanes.state import Bound, Lane
from domain.recorded import Recorded


def evolve(lane: Lane, recorded: Recorded, event: e.LaneEvent | None) -> Lane:
    """Return the lane after a fact; one that this build cannot read only moves its version."""
    at = recorded.envelope.recorded_at
    lane = lane._replace(
        version=recorded.version,
        hash=recorded.hash,
        created_at=lane.created_at or at,
        updated_at=at,
    )
    if event is None:
        return lane._replace(unreadable=lane.unreadable + 1)
    if isinstance(event, e.LaneOpened):
        return _opened(lane, event)
    if isinstance(event, e.LaneBound | e.LaneReset | e.LaneSwitched):
        return _bound(lane, event, at)
    if isinstance(event, e.LanePurged):
        return _purged(lane)
    return _noted(lane, event, at)


def bound(recorded: Recorded, event: e.LaneEvent | None) -> Bound | None:
    """Return the session that a fact made the current one; None if it did not."""
    if not isinstance(event, e.LaneBound | e.LaneReset | e.LaneSwitched):
        return None
    reason = "switched" if isinstance(event, e.LaneSwitched) else event.reason
    return Bound(event.session_id, recorded.version, recorded.envelope.recorded_at, reason)


def _opened(lane: Lane, event: e.LaneOpened) -> Lane:
    source = _mapping(event.source)
    return Lane(
        version=lane.version,
        hash=lane.hash,
        lane_key=event.lane_key,
        platform=str(source.get("platform", "")),
        chat_type=str(source.get("chat_type", "")),
        owner=event.owner,
        shared=event.shared,
        source=source,
        policy=_mapping(event.policy),
        session_id=lane.session_id,
        moved_to=lane.moved_to,
        moved_from=event.moved_from,
        pinned=lane.pinned,
        unreadable=lane.unreadable,
        created_at=lane.created_at,
        updated_at=lane.updated_at,
    )


def _purged(lane: Lane) -> Lane:
    return Lane(
        version=lane.version,
        hash=lane.hash,
        status="purged",
        created_at=lane.created_at,
        updated_at=lane.updated_at,
    )


def _bound(lane: Lane, event: e.LaneBound | e.LaneReset | e.LaneSwitched, at: int) -> Lane:
    lane = lane._replace(
        session_id=event.session_id,
        previous_session_id=event.previous_session_id,
        bound_at=at,
        suspended_reason=None,
        resume_reason=None,
        resume_at=0,
    )
    if isinstance(event, e.LaneReset):
        return lane._replace(
            reset_reason=event.reason, reset_at=at, had_activity=event.had_activity
        )
    return lane._replace(reset_reason=None, reset_at=0, had_activity=False)


def _noted(
    lane: Lane,
    event: e.LaneSuspended
    | e.LaneResumeMarked
    | e.LaneResumeCleared
    | e.LaneMoved
    | e.LanePinned
    | e.LanePruned,
    at: int,
) -> Lane:
    match event:
        case e.LaneSuspended(reason=reason):
            return lane._replace(suspended_reason=reason)
        case e.LaneResumeMarked(reason=reason):
            return lane._replace(resume_reason=reason, resume_at=at)
        case e.LaneResumeCleared():
            return lane._replace(resume_reason=None, resume_at=0)
        case e.LaneMoved(to_lane_id=to, follow=follow):
            return lane._replace(status="moved", moved_to=to, follows=follow)
        case e.LanePinned(pinned=pinned):
            return lane._replace(pinned=pinned)
        case e.LanePruned():
            return lane._replace(status="pruned")
        case _:
            assert_never(event)


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
