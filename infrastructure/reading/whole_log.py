"""Which facts does the whole log hold after a position, of every session or of one project?

Never one that a late commit could still precede: on PostgreSQL readers stay below the oldest
running transaction, so that whoever goes on from the last position has missed nothing.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, func, select, text

from infrastructure import tables as t
from infrastructure.commit import ORDINAL_BITS
from infrastructure.mapper import StoredFact
from infrastructure.prepared import Prepared
from infrastructure.recorder import (
    ADDRESS,
    COLUMNS,
    HORIZON,
    WITH_BODIES,
    WITH_TURNS,
    addressed_fact,
    stored_fact,
)

_NAMED: Final = WITH_BODIES.join(t.streams, t.streams.c.session_key == t.events.c.session_key)
_ADDRESSED: Final = WITH_TURNS.join(t.streams, t.streams.c.session_key == t.events.c.session_key)


_VISIBLE: Final = Prepared(
    lambda dialect: _below_horizon(dialect, select(func.max(t.events.c.position)))
)


class Found(NamedTuple):
    """A fact, and its session's number in the tables."""

    session_key: int
    stored: StoredFact


def visible_through(connection: Connection) -> int:
    """Return the highest position that can be read; 0 if there is none."""
    return int(_VISIBLE.run(connection, {}).scalar_one() or 0)


def newest_position(connection: Connection) -> int:
    """Return the highest position that was given, to be read already or not; 0 if none was."""
    statement = select(func.max(t.events.c.position))
    return int(connection.execute(statement).scalar_one() or 0)


def is_lost(connection: Connection, position: int) -> bool:
    """Tell whether a position was given before the store was restored, to what is not in it."""
    incarnation, base = connection.execute(select(t.store.c.incarnation, t.store.c.base)).one()
    # On PostgreSQL the base is added to a transaction's id.
    given = base if connection.dialect.name == "sqlite" else base << ORDINAL_BITS
    if incarnation == 1 or not 0 < position <= given:
        return False
    found = connection.execute(select(1).where(t.events.c.position == position))
    return found.first() is None


def log_page(  # noqa: PLR0913 - what a page of the log can be asked for
    connection: Connection,
    *,
    after: int,
    limit: int,
    size: int | None = None,
    types: Sequence[str] = (),
    project_id: str | None = None,
    addressed: bool = False,
) -> tuple[list[Found], int]:
    """Return up to `limit` facts after a position, in order, and how far was looked.

    That far there is no other such fact, and never will be. With `size` they say not more bytes
    together, or it is one fact. `addressed`: with where the answers of their turns go.
    """
    through = max(after, visible_through(connection))
    if through == after:
        return [], through
    position = t.events.c.position
    wanted = [position > after, position <= through]
    if types:
        wanted.append(t.events.c.type.in_(types))
    if project_id is not None:
        wanted.append(t.streams.c.project_id == project_id)
    if size is not None:
        limit = _fitting(connection, wanted, limit, size)
    statement = (
        select(t.streams, *COLUMNS, *(ADDRESS if addressed else ()))
        .select_from(_ADDRESSED if addressed else _NAMED)
        .where(*wanted)
        .order_by(position)
        .limit(limit)
    )
    form = addressed_fact if addressed else stored_fact
    found = [
        Found(row.session_key, form(row, (row.project_id, row.session_id, row.session_key), b""))
        for row in connection.execute(statement)
    ]
    return found, found[-1].stored.position if len(found) == limit else through


def _fitting(
    connection: Connection, wanted: Sequence[ColumnElement[bool]], limit: int, size: int
) -> int:
    """Return how many of these facts say not more than `size` bytes together; at least one."""
    sizes = (
        select(func.coalesce(func.length(t.bodies.c.body), 0))
        .select_from(_NAMED)
        .where(*wanted)
        .order_by(t.events.c.position)
        .limit(limit)
    )
    sums: Iterator[int] = accumulate(connection.execute(sizes).scalars())
    return max(1, sum(total <= size for total in sums))


def _below_horizon(dialect: str, statement: Select[Any]) -> Select[Any]:
    if dialect == "postgresql":
        return statement.where(t.events.c.position < text(HORIZON))
    return statement
