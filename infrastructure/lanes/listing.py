"""Which lanes does a project have, and which sessions did one have?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    TextClause,
    literal,
    literal_column,
    select,
    text,
    tuple_,
    union_all,
)

from infrastructure import tables as t
from infrastructure.lanes.lookup import COLUMNS, JOINED, FoundLane, found_in

MOST_SORTED: Final = 1_000
"""Of more lanes that moved, were given up or are pinned, a page is found by going through all."""

LaneFilter: TypeAlias = Literal[
    "open", "suspended", "resume-pending", "moved", "pruned", "purged", "all"
]


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
        .where(t.lanes.c.project_id == query.project_id, activity.touched_at.is_not(None))
        .order_by(*(column if query.ascending else column.desc() for column in order))
        .limit(query.limit)
    )
    statement = statement.where(*_wanted(connection, query))
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


def _wanted(connection: Connection, query: LaneQuery) -> list[ColumnElement[bool]]:
    """Return what holds for the lanes: of few, which they are; of many, where their order is."""
    is_open = t.lanes.c.status == literal_column("'open'")
    if query.status == "suspended":
        return [is_open, _marked(query.project_id, _SUSPENDED)]
    if query.status == "resume-pending":
        return [is_open, _marked(query.project_id, _PENDING, of_all=True)]
    where = [] if query.status == "all" else [t.lanes.c.status == literal(query.status)]
    few = _aside(query) if query.is_long else None
    if few is not None and len(connection.execute(few.limit(MOST_SORTED + 1)).all()) <= MOST_SORTED:
        return [*where, t.lanes.c.session_key.in_(few)]
    return [*where, t.lane_activity.c.project_id == query.project_id]


_ASIDE: Final = t.lanes.alias("aside")


def _aside(query: LaneQuery) -> Select[tuple[int]] | None:
    """Return which lanes the index of those set aside has, if it has those that are wanted."""
    if query.status in {"moved", "pruned", "purged"}:
        as_index = text("aside.status <> 'open'")
    elif query.pinned:
        as_index = text("aside.pinned")
    else:
        return None
    few = select(_ASIDE.c.session_key).where(_ASIDE.c.project_id == query.project_id, as_index)
    return few if query.status == "all" else few.where(_ASIDE.c.status == literal(query.status))


_MARKED: Final = t.lanes.alias("marked")
_HEAD: Final = t.heads.alias("marked_head")
_STREAM: Final = t.streams.alias("marked_stream")
_OF_HEAD: Final = t.lanes.alias("of_head")
# As the indexes say it, so that they are taken.
_SUSPENDED: Final = (text("marked.suspended_reason IS NOT NULL"), text("marked_head.suspended"))
_PENDING: Final = (
    text("marked.resume_reason IS NOT NULL"),
    text("marked_head.resume_turn IS NOT NULL"),
)


def _marked(
    project_id: str, marks: tuple[TextClause, TextClause], *, of_all: bool = False
) -> ColumnElement[bool]:
    """Tell whether a lane has a mark itself, or its current session has.

    Of marks that have one index for all projects (`of_all`), no index of the project's is taken:
    that has the lanes and sessions without a mark, too.
    """
    own, of_session = marks
    session = _HEAD.join(_STREAM, _STREAM.c.session_key == _HEAD.c.session_key).join(
        _OF_HEAD,
        (_OF_HEAD.c.project_id == _STREAM.c.project_id)
        & (_OF_HEAD.c.session_id == _STREAM.c.session_id),
    )
    project, project_of_head = (
        each.c.project_id.concat("") if of_all else each.c.project_id for each in (_MARKED, _HEAD)
    )
    few = union_all(
        select(_MARKED.c.session_key).where(project == project_id, own),
        select(_OF_HEAD.c.session_key)
        .select_from(session)
        .where(project_of_head == project_id, of_session),
    )
    return t.lanes.c.session_key.in_(few)
