"""Which harnesses are kept where, as the log tells it?

Only what is not gone, newest first, in the order of an index: whatever else the sessions hold. A
process that ended without a word leaves seats that are gone and not told of; their time runs out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, literal, select, text, tuple_

from domain.state import Seat
from infrastructure import tables as t
from infrastructure.view_rows import seat_of

_TAKEN = "seats.state <> 'gone'"
"""A literal, so that the index of seats that are not gone serves it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatView:
    """A seat, and whose it is."""

    session_key: int
    session_id: str
    seat: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatQuery:
    """Which seats, after which.

    Attributes:
        after: (`changed_at`, session's key, seat's id) of the last one of the page before.
    """

    project_id: str
    after: tuple[int, int, str] | None = None
    limit: int = 50


def seats(connection: Connection, query: SeatQuery) -> Sequence[SeatView]:
    """Return a page of the project's seats that are not gone, the last changed first."""
    c = t.seats.c
    order = (c.changed_at, c.session_key, c.seat_id)
    statement = (
        select(t.seats, t.streams.c.session_id)
        .join(t.streams, t.streams.c.session_key == c.session_key)
        .where(c.project_id == query.project_id, text(_TAKEN))
        .order_by(*(column.desc() for column in order))
        .limit(query.limit)
    )
    if query.after is not None:
        statement = statement.where(tuple_(*order) < tuple_(*map(literal, query.after)))
    return [_view(row) for row in connection.execute(statement)]


def seats_by_state(connection: Connection) -> Mapping[str, int]:
    """Return how many seats there are in each state but gone, in every project."""
    statement = (
        select(t.seats.c.state, func.count().label("seats"))
        .where(text(_TAKEN))
        .group_by(t.seats.c.state)
    )
    return {row.state: row.seats for row in connection.execute(statement)}


def on_record(connection: Connection, owner: str) -> frozenset[str]:
    """Return the ids of an owner's seats that the log tells to wait for a turn.

    That stands in one commit with the end of the turn before: all that it did is on record.
    """
    c = t.seats.c
    statement = select(c.seat_id).where(text(_TAKEN), c.owner == owner, c.state == "idle")
    return frozenset(connection.execute(statement).scalars())


def _view(row: Row[Any]) -> SeatView:
    return SeatView(session_key=row.session_key, session_id=row.session_id, seat=seat_of(row))
