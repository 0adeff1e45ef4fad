"""What is known of a lane, and how does its current session stand?"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, literal, literal_column, select

from domain.lanes.resolving import Standing
from domain.lanes.state import NO_LANE, Lane
from domain.refusals import NoSuchLane
from infrastructure import tables as t
from infrastructure.lanes.rows import lane_in
from infrastructure.prepared import Prepared

MOST_MOVES: Final = 16
"""So far back at most is looked for the lanes whose conversation moved to one."""

_OTHER: Final = t.lanes.alias("other")
_SESSION: Final = t.streams.alias("session")
_SHARED: Final = (
    select(literal(1))
    .where(
        _OTHER.c.project_id == t.lanes.c.project_id,
        _OTHER.c.session_id == t.lanes.c.session_id,
        _OTHER.c.session_key != t.lanes.c.session_key,
        _OTHER.c.status == literal_column("'open'"),
    )
    .exists()
    .label("has_others")
)
JOINED: Final = (
    t.lanes.outerjoin(t.lane_activity, t.lane_activity.c.session_key == t.lanes.c.session_key)
    .outerjoin(
        _SESSION,
        (_SESSION.c.project_id == t.lanes.c.project_id)
        & (_SESSION.c.session_id == t.lanes.c.session_id),
    )
    .outerjoin(t.heads, t.heads.c.session_key == _SESSION.c.session_key)
)
"""Lanes, with how each one's current session stands."""
COLUMNS: Final = (
    *(column for column in t.lanes.columns if column.name != "last_xid"),
    t.lane_activity.c.touched_at,
    t.heads.c.status.label("head_status"),
    t.heads.c.archived_reason.label("head_archived_reason"),
    t.heads.c.suspended.label("head_suspended"),
    t.heads.c.resume_reason.label("head_resume_reason"),
    t.heads.c.resume_at.label("head_resume_at"),
    t.heads.c.turn_id.label("head_turn_id"),
    t.heads.c.started.label("head_started"),
    t.heads.c.title.label("head_title"),
    t.heads.c.updated_at.label("head_updated_at"),
    _SHARED,
)
_FIND: Final = Prepared(
    lambda _: (
        select(*COLUMNS)
        .select_from(JOINED)
        .where(
            t.lanes.c.project_id == bindparam("project_id"),
            t.lanes.c.lane_id == bindparam("lane_id"),
        )
    )
)


class FoundLane(NamedTuple):
    """A lane as it stands.

    Attributes:
        key: The key of its stream in the tables.
        touched_at: When something last came to it; microseconds since 1970.
        turn_id: The turn of its current session that has not ended.
        title: Of its current session.
    """

    key: int
    project_id: str
    lane_id: str
    lane: Lane
    standing: Standing
    touched_at: int
    turn_id: str | None = None
    title: str | None = None


def find_lane(connection: Connection, project_id: str, lane_id: str) -> FoundLane | None:
    """Return a lane, whatever became of it; None if there never was one."""
    row = _FIND.run(connection, {"project_id": project_id, "lane_id": lane_id}).first()
    return None if row is None else found_in(row)


def followed(connection: Connection, project_id: str, lane_id: str) -> FoundLane | None:
    """Return the lane where what comes to this one belongs: itself, or where it moved.

    However often it moved: to stop on the way would begin another conversation there. A lane that
    was purged is no place to go to: nothing is known of where it was.
    """
    found = find_lane(connection, project_id, lane_id)
    seen: set[str] = set()
    while found is not None and found.lane.moved_to is not None and found.lane.follows:
        if found.lane_id in seen:
            break  # the views are damaged: no facts lead in a circle
        seen.add(found.lane_id)  # one that was opened again follows nothing
        there = find_lane(connection, project_id, found.lane.moved_to)
        if there is not None and there.lane.status == "purged":
            break
        found = there
    return found


def the_lane(connection: Connection, project_id: str, lane_id: str) -> FoundLane:
    """Return a lane that is open, or where it moved.

    Raises:
        NoSuchLane: there never was one, or it was given up.
    """
    found = followed(connection, project_id, lane_id)
    if found is None or found.lane.status != "open":
        raise NoSuchLane
    return found


def lanes_of(connection: Connection, project_id: str, session_id: str) -> Sequence[FoundLane]:
    """Return the open lanes whose current session this is."""
    rows = connection.execute(
        select(*COLUMNS)
        .select_from(JOINED)
        .where(
            t.lanes.c.project_id == project_id,
            t.lanes.c.session_id == session_id,
            t.lanes.c.status == literal_column("'open'"),
        )
        .order_by(t.lanes.c.session_key)
    )
    return [found_in(row) for row in rows]


def lane_version(connection: Connection, key: int) -> int | None:
    """Return the version of the lane whose stream has this key, as it is kept."""
    kept = select(t.lanes.c.version).where(t.lanes.c.session_key == key)
    return connection.execute(kept).scalar_one_or_none()


def found_in(row: Any) -> FoundLane:  # noqa: ANN401 - a row of `COLUMNS`
    """Return the lane in a row."""
    lane = lane_in(row)
    standing = Standing()
    if row.head_status is not None:
        standing = Standing(
            status=row.head_status,
            ended_because=row.head_archived_reason,
            resume_reason=row.head_resume_reason,
            resume_at=row.head_resume_at,
            is_running=row.head_turn_id is not None,
            has_activity=row.head_started > 0,
            is_shared=bool(row.has_others),
            is_suspended=bool(row.head_suspended),
        )
    return FoundLane(
        key=row.session_key,
        project_id=row.project_id,
        lane_id=row.lane_id,
        lane=lane,
        standing=standing,
        touched_at=row.touched_at or lane.updated_at,
        turn_id=row.head_turn_id,
        title=row.head_title,
    )


def lane_or_none(found: FoundLane | None) -> Lane:
    """Return the lane, or one of which nothing is known."""
    return NO_LANE if found is None else found.lane
