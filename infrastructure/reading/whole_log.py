"""Which facts does the whole log hold after a position, of every session or of one project?

Never one that a late commit could still precede: on PostgreSQL readers stay below the oldest
running transaction, so that whoever goes on from the last position has missed nothing.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, select, text

from infrastructure import tables as t
from infrastructure.mapper import StoredFact
from infrastructure.recorder import COLUMNS, HORIZON, WITH_BODIES, stored_fact


class Found(NamedTuple):
    """A fact, and its session's number in the tables."""

    session_key: int
    stored: StoredFact


def visible_through(connection: Connection) -> int:
    """Return the highest position that can be read; 0 if there is none."""
    statement = _below_horizon(connection, select(func.max(t.events.c.position)))
    return int(connection.execute(statement).scalar_one() or 0)


def newest_position(connection: Connection) -> int:
    """Return the highest position that was given, to be read already or not; 0 if none was."""
    statement = select(func.max(t.events.c.position))
    return int(connection.execute(statement).scalar_one() or 0)


def log_page(
    connection: Connection,
    *,
    after: int,
    limit: int,
    types: Sequence[str] = (),
    project_id: str | None = None,
) -> tuple[list[Found], int]:
    """Return up to `limit` facts after a position, in order, and how far was looked.

    That far there is no other such fact, and never will be.
    """
    through = max(after, visible_through(connection))
    if through == after:
        return [], through
    position = t.events.c.position
    statement = (
        select(t.streams, *COLUMNS)
        .select_from(WITH_BODIES.join(t.streams, t.streams.c.session_key == t.events.c.session_key))
        .where(position > after, position <= through)
        .order_by(position)
        .limit(limit)
    )
    if types:
        statement = statement.where(t.events.c.type.in_(types))
    if project_id is not None:
        statement = statement.where(t.streams.c.project_id == project_id)
    found = [
        Found(
            row.session_key,
            stored_fact(row, (row.project_id, row.session_id, row.session_key), b""),
        )
        for row in connection.execute(statement)
    ]
    return found, found[-1].stored.position if len(found) == limit else through


def _below_horizon(connection: Connection, statement: Select[Any]) -> Select[Any]:
    if connection.dialect.name == "postgresql":
        return statement.where(t.events.c.position < text(HORIZON))
    return statement
