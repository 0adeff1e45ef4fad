"""Which lanes does a project have, and which sessions did one have?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from sqlalchemy import Connection, literal, literal_column, select, tuple_

from infrastructure import tables as t
from infrastructure.lanes.lookup import COLUMNS, JOINED, FoundLane, found_in

LaneFilter: TypeAlias = Literal["open", "suspended", "resume-pending", "moved", "pruned", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneQuery:
    """Which lanes, newest activity first, after which.

    Attributes:
        after: (activity, key) of the last one of the page before.
        id_prefix: Only lanes whose id begins so.
        active_since: Only lanes where something came at this time or later; microseconds.
    """

    project_id: str
    status: LaneFilter = "open"
    id_prefix: str | None = None
    lane_key: str | None = None
    platform: str | None = None
    session_id: str | None = None
    active_since: int | None = None
    pinned: bool | None = None
    after: tuple[int, int] | None = None
    ascending: bool = False
    limit: int = 50

    @property
    def is_long(self) -> bool:
        """Tell whether all lanes of a project may be looked through to find the few."""
        if self.lane_key is not None or self.session_id is not None:
            return False
        filtered = self.platform is not None or self.pinned is not None
        return filtered or self.status not in {"open", "all"}


def lanes(connection: Connection, query: LaneQuery) -> Sequence[FoundLane]:
    """Return a page of lanes."""
    activity = t.lane_activity.c
    order = (activity.touched_at, activity.session_key)
    statement = (
        select(*COLUMNS)
        .select_from(JOINED)
        .where(t.lanes.c.project_id == query.project_id, activity.project_id == query.project_id)
        .order_by(*(column if query.ascending else column.desc() for column in order))
        .limit(query.limit)
    )
    statement = statement.where(*_wanted(query.status))
    if query.id_prefix is not None:
        begins = t.lanes.c.lane_id.between(query.id_prefix, f"{query.id_prefix}g")
        statement = statement.where(begins)
    if query.lane_key is not None:
        statement = statement.where(t.lanes.c.lane_key == query.lane_key)
    if query.platform is not None:
        statement = statement.where(t.lanes.c.platform == query.platform)
    if query.session_id is not None:
        statement = statement.where(t.lanes.c.session_id == query.session_id)
    if query.pinned is not None:
        statement = statement.where(t.lanes.c.pinned.is_(query.pinned))
    if query.active_since is not None:
        statement = statement.where(activity.touched_at >= query.active_since)
    if query.after is not None:
        place, after = tuple_(*order), tuple_(*map(literal, query.after))
        statement = statement.where(place > after if query.ascending else place < after)
    return [found_in(row) for row in connection.execute(statement)]


class LaneSession(NamedTuple):
    """A session that a lane has or had; of one that is gone, only that."""

    session_id: str
    bound_at: int
    reason: str
    is_current: bool
    status: str | None
    archived_reason: str | None
    title: str | None
    updated_at: int | None


def lane_sessions(
    connection: Connection, found: FoundLane, *, after: tuple[int, str] | None, limit: int
) -> Sequence[LaneSession]:
    """Return the sessions of a lane, the newest binding first; `after` (bound_at, session)."""
    bound = t.lane_sessions.c
    order = (bound.bound_at, bound.session_id)
    statement = (
        select(
            t.lane_sessions,
            t.heads.c.status,
            t.heads.c.archived_reason,
            t.heads.c.title,
            t.heads.c.updated_at,
        )
        .select_from(
            t.lane_sessions.outerjoin(
                t.streams,
                (t.streams.c.project_id == found.project_id)
                & (t.streams.c.session_id == bound.session_id),
            ).outerjoin(t.heads, t.heads.c.session_key == t.streams.c.session_key)
        )
        .where(bound.session_key == found.key)
        .order_by(*(column.desc() for column in order))
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(tuple_(*order) < tuple_(*map(literal, after)))
    return [
        LaneSession(
            session_id=row.session_id,
            bound_at=row.bound_at,
            reason=row.reason,
            is_current=row.session_id == found.lane.session_id,
            status=row.status,
            archived_reason=row.archived_reason,
            title=row.title,
            updated_at=row.updated_at,
        )
        for row in connection.execute(statement)
    ]


def _wanted(status: LaneFilter) -> list[Any]:
    column = t.lanes.c.status
    is_open = column == literal_column("'open'")
    suspended = t.lanes.c.suspended_reason.is_not(None) | t.heads.c.suspended
    match status:
        case "all":
            return []
        case "suspended":
            return [is_open, suspended]
        case "resume-pending":
            pending = t.lanes.c.resume_reason.is_not(None) | t.heads.c.resume_turn.is_not(None)
            return [is_open, pending]
        case _:
            return [column == literal(status)]
