"""Which turns of a project went which way, or took long?

Newest first, in the order of an index that also has everything that is asked for: a turn that does
not fit is passed over there. What a fork says of a turn of its parent is not listed twice.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, exists, func, literal, select, tuple_

from domain.events import Fact
from domain.state import Turn, TurnPath
from infrastructure import tables as t
from infrastructure.blobs import whole
from infrastructure.reading.turns import TurnFilter
from infrastructure.serialization import decode
from infrastructure.view_rows import turn_of

DAY: Final = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTurn:
    """A turn, its session, and the fact that ended it."""

    session_key: int
    session_id: str
    turn: Turn
    end: Fact | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTurnQuery:
    """Which turns, after which; times in microseconds.

    Attributes:
        reason: Why no parked harness went on with it.
        min_ms: Those that took at least so long.
        since, until: Begun at or after the one, and before the other.
        after: (`started_at`, session's key, number) of the last turn of the page before.
    """

    project_id: str
    path: TurnPath | None = None
    reason: str | None = None
    min_ms: int | None = None
    status: TurnFilter | None = None
    since: int | None = None
    until: int | None = None
    after: tuple[int, int, int] | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PathCounts:
    """How many turns went which way, and for which reasons."""

    by_path: Mapping[str, int]
    by_reason: Mapping[str, int]


def project_turns(connection: Connection, query: ProjectTurnQuery) -> Sequence[ProjectTurn]:
    """Return a page of the project's turns, in sight or not; none of a deleted session."""
    page = _page(query).subquery("page")
    ended = page.c.ended_version
    statement = (
        select(page, t.streams.c.session_id, t.events.c.type, t.events.c.schema, t.bodies.c.body)
        .join(t.streams, t.streams.c.session_key == page.c.session_key)
        .outerjoin(
            t.events,
            (t.events.c.session_key == page.c.session_key) & (t.events.c.version == ended),
        )
        .outerjoin(
            t.bodies,
            (t.bodies.c.session_key == page.c.session_key) & (t.bodies.c.version == ended),
        )
    )
    found = [_view(connection, row) for row in connection.execute(statement)]
    # Within a page, whose order a join need not keep.
    return sorted(found, key=place_of_turn, reverse=True)


def place_of_turn(found: ProjectTurn) -> tuple[int, int, int]:
    """Return where a turn stands in the list."""
    return found.turn.started_at, found.session_key, found.turn.number


def path_counts(connection: Connection, project_id: str, since: int) -> PathCounts:
    """Return how many of the turns begun since a time went which way."""
    c = t.turns.c
    statement = (
        select(c.path, c.path_reason, func.count())
        .where(c.project_id == project_id, c.started_at >= since, c.path.is_not(None))
        .group_by(c.path, c.path_reason)
    )
    by_path: Counter[str] = Counter({"warm": 0, "cold": 0, "evicted": 0})
    by_reason: Counter[str] = Counter()
    for path, reason, count in connection.execute(statement):
        by_path[path] += count
        if reason is not None:
            by_reason[reason] += count
    return PathCounts(by_path=dict(by_path), by_reason=dict(by_reason))


def _page(query: ProjectTurnQuery) -> Select[Any]:
    c = t.turns.c
    order = (c.started_at, c.session_key, c.number)
    deleted = exists().where(t.heads.c.session_key == c.session_key, t.heads.c.status == "deleted")
    statement = (
        select(t.turns)
        .where(c.project_id == query.project_id, ~deleted)
        .order_by(*(column.desc() for column in order))
        .limit(query.limit)
    )
    for column, wanted in ((c.path, query.path), (c.path_reason, query.reason)):
        if wanted is not None:
            statement = statement.where(column == wanted)
    if query.min_ms is not None:
        statement = statement.where(c.total_ms >= query.min_ms)
    if query.since is not None:
        statement = statement.where(c.started_at >= query.since)
    if query.until is not None:
        statement = statement.where(c.started_at < query.until)
    if query.after is not None:
        statement = statement.where(tuple_(*order) < tuple_(*map(literal, query.after)))
    if query.status is not None:
        statement = _standing(statement, query.status)
    return statement


def _standing(statement: Select[Any], status: TurnFilter) -> Select[Any]:
    c = t.turns.c
    if status not in {"running", "paused"}:
        return statement.where(c.status == status)
    waits = (c.open_gates > 0) & (c.open_calls <= c.gated_calls)
    return statement.where(c.status == "running", waits if status == "paused" else ~waits)


def _view(connection: Connection, row: Row[Any]) -> ProjectTurn:
    end = None
    if row.type is not None:
        end = decode(row.type, row.schema, whole(connection, row.session_key, row.body))
    return ProjectTurn(
        session_key=row.session_key, session_id=row.session_id, turn=turn_of(row), end=end
    )
