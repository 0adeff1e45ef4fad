"""How do lanes look outside?"""

from api.shapes import Shape
from domain.lanes.resolving import Standing, is_resume_pending, is_suspended
from domain.lanes.source import description, recorded_source
from domain.lanes.state import Lane
from domain.times import rfc3339
from infrastructure.lanes.listing import LaneSession
from infrastructure.lanes.lookup import FoundLane
from infrastructure.lanes.resolving import Resolved


def resolved_shape(resolved: Resolved) -> Shape:
    """Return which session a message belongs to, and why."""
    found = resolved.found
    shape: Shape = {
        "lane_id": found.lane_id,
        "lane_key": found.lane.lane_key,
        "session_id": resolved.session_id,
        "created": resolved.created,
        "reason": resolved.reason,
        "shared": found.lane.shared,
        "resume_pending": resolved.resume_pending,
    }
    if resolved.previous_session_id is not None:
        shape["previous_session_id"] = resolved.previous_session_id
        shape["had_activity"] = found.lane.had_activity
    return shape | {"policy": dict(found.lane.policy)}


def lane_shape(found: FoundLane) -> Shape:
    """Return a lane as it stands."""
    lane, standing = found.lane, found.standing
    shape: Shape = {
        "lane_id": found.lane_id,
        "lane_key": lane.lane_key,
        "status": lane.status,
        "platform": lane.platform,
        "chat_type": lane.chat_type,
        "description": description(recorded_source(lane.source)) if lane.source else "",
        "shared": lane.shared,
        "session_id": lane.session_id,
        "session": _session(found),
        "suspended": is_suspended(lane, standing),
        "resume_pending": is_resume_pending(lane, standing),
        "pinned": lane.pinned,
        "source": dict(lane.source),
        "policy": dict(lane.policy),
        "created_at": rfc3339(lane.created_at),
        "updated_at": rfc3339(found.touched_at),
        "bound_at": rfc3339(lane.bound_at) if lane.bound_at else None,
        "version": lane.version,
    }
    return shape | _where_it_applies(lane, standing)


def lane_session_shape(each: LaneSession) -> Shape:
    """Return a session that a lane has or had."""
    return {
        "session_id": each.session_id,
        "current": each.is_current,
        "reason": each.reason,
        "bound_at": rfc3339(each.bound_at),
        "status": each.status or "absent",
        "archived_reason": each.archived_reason,
        "title": each.title,
        "updated_at": None if each.updated_at is None else rfc3339(each.updated_at),
    }


def _session(found: FoundLane) -> Shape | None:
    if found.standing.status == "absent":
        return None
    return {
        "status": found.standing.status,
        "title": found.title,
        "turn_id": found.turn_id,
    }


def _where_it_applies(lane: Lane, standing: Standing) -> Shape:
    shape: Shape = {}
    if lane.suspended_reason is not None or standing.is_suspended:
        shape["suspended_reason"] = lane.suspended_reason or "restart-loop"
    if lane.resume_reason is not None or standing.resume_reason is not None:
        shape["resume_reason"] = lane.resume_reason or standing.resume_reason
        at = lane.resume_at or standing.resume_at
        shape["resume_marked_at"] = rfc3339(at) if at else None
    if lane.previous_session_id is not None:
        shape["previous_session_id"] = lane.previous_session_id
    if lane.reset_reason is not None:
        shape["reset"] = {
            "reason": lane.reset_reason,
            "at": rfc3339(lane.reset_at),
            "automatic": lane.reset_reason == "suspended",
            "had_activity": lane.had_activity,
            "fresh": not standing.has_activity,
        }
    if lane.status == "moved":
        shape["moved_to"] = lane.moved_to
    if lane.moved_from is not None:
        shape["moved_from"] = lane.moved_from
    return shape
