"""How did a session's turns go?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, Row, Select, select

from domain.events import Fact
from domain.refusals import NoSuchTurn
from domain.state import Turn
from infrastructure import tables as t
from infrastructure.serialization import decode
from infrastructure.view_rows import turn_of

TurnFilter: TypeAlias = Literal["running", "paused", "completed", "failed", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A turn, and the fact that ended it."""

    turn: Turn
    end: Fact | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQuery:
    """Which turns, after which: newest first unless `ascending`.

    Attributes:
        after: The number of the last turn of the page before.
    """

    status: TurnFilter | None = None
    after: int | None = None
    ascending: bool = False
    limit: int = 50


def turns(connection: Connection, key: int, query: TurnQuery) -> Sequence[TurnView]:
    """Return a page of turns."""
    number = t.turns.c.number
    statement = (
        _turns(key).order_by(number if query.ascending else number.desc()).limit(query.limit)
    )
    if query.status is not None:
        statement = statement.where(_is(query.status))
    if query.after is not None:
        beyond = number > query.after if query.ascending else number < query.after
        statement = statement.where(beyond)
    return [_view(row) for row in connection.execute(statement)]


def turn(connection: Connection, key: int, turn_id: str) -> TurnView:
    """Return one turn.

    Raises:
        NoSuchTurn: the session has none of this id.
    """
    row = connection.execute(_turns(key).where(t.turns.c.turn_id == turn_id)).first()
    if row is None:
        raise NoSuchTurn(turn_id)
    return _view(row)


def _turns(key: int) -> Select[Any]:
    ended = t.turns.c.ended_version
    return (
        select(t.turns, t.events.c.type, t.events.c.schema, t.bodies.c.body)
        .outerjoin(t.events, (t.events.c.session_key == key) & (t.events.c.version == ended))
        .outerjoin(t.bodies, (t.bodies.c.session_key == key) & (t.bodies.c.version == ended))
        .where(t.turns.c.session_key == key)
    )


def _is(status: TurnFilter) -> ColumnElement[bool]:
    """Say of a row what `Turn.paused` says of a turn."""
    c = t.turns.c
    paused = (c.status == "running") & (c.open_gates > 0) & (c.open_calls <= c.gated_calls)
    match status:
        case "paused":
            return paused
        case "running":
            return (c.status == "running") & ~((c.open_gates > 0) & (c.open_calls <= c.gated_calls))
        case _:
            return c.status == status


def _view(row: Row[Any]) -> TurnView:
    end = None if row.type is None else decode(row.type, row.schema, row.body)
    return TurnView(turn=turn_of(row), end=end)
