"""Which errors were there in a project, newest first?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from infrastructure import tables as t
from infrastructure.followers import tracking
from infrastructure.followers.errors import errors_of
from projections.errors import Errors

VIEW: Final = "errors"
_E: Final = t.errors.c


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorQuery:
    """Which errors.

    Attributes:
        session_key: Those that began in this session.
        since: Those that came again at this time or later, in microseconds since 1970.
        before: The position of the last error before the page.
    """

    project_id: str
    source: str | None = None
    code: str | None = None
    kind: str | None = None
    session_key: int | None = None
    since: int | None = None
    before: int | None = None
    limit: int


class ErrorItem(NamedTuple):
    """Errors, and the session that they began in."""

    session_id: str
    errors: Errors


def errors(connection: Connection, query: ErrorQuery) -> Sequence[ErrorItem]:
    """Return errors, the newest first."""
    read = tracking.live(connection, VIEW)
    if read is None:
        return []
    statement = (
        select(t.errors, t.streams.c.session_id)
        .join_from(t.errors, t.streams, t.streams.c.session_key == _E.session_key)
        .where(_E.generation == read.generation, _E.project_id == query.project_id, *_where(query))
        .order_by(_E.position.desc())
        .limit(query.limit)
    )
    return [ErrorItem(row.session_id, errors_of(row)) for row in connection.execute(statement)]


def _where(query: ErrorQuery) -> list[ColumnElement[bool]]:
    equal = (
        (_E.source, query.source),
        (_E.code, query.code),
        (_E.kind, query.kind),
        (_E.session_key, query.session_key),
    )
    where = [column == value for column, value in equal if value is not None]
    if query.since is not None:
        where.append(_E.last_at >= query.since)
    if query.before is not None:
        where.append(_E.position < query.before)
    return where
