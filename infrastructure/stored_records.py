"""What does the database hold of a session that the rules come by on their way through it?

One look-up by an index for each record that is asked for.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Integer, Select, bindparam, case, cast, literal, select, text

from domain.state import ROOT, Branch, Call, Loss, Move, Placed, QueuedInput, Turn
from infrastructure import tables as t
from infrastructure.prepared import Prepared
from infrastructure.view_rows import (
    branch_of,
    call_of,
    loss_of,
    message_of,
    move_of,
    queued_of,
    turn_of,
)


class StoredRecords:
    """A session's records, as `domain.records.Records` asks for them."""

    def __init__(self, connection: Connection, session_key: int, started: int) -> None:
        """Take the session's key, and how many turns were started."""
        self._connection = connection
        self._key = session_key
        self._started = started

    def branch(self, number: int) -> Branch:
        """Return the branch with this id."""
        row = self._first(_BRANCH, number=number) if number else None
        return ROOT if row is None else branch_of(row)

    def turn(self, turn_id: str) -> Turn | None:
        """Return the turn with this id."""
        row = self._first(TURN, turn_id=turn_id)
        return None if row is None else turn_of(row)

    def turn_numbered(self, number: int) -> Turn | None:
        """Return the turn with this number."""
        row = self._first(_NUMBERED, number=number)
        return None if row is None else turn_of(row)

    def turn_started_after(self, version: int) -> Turn | None:
        """Return the first turn, in sight or not, that started after a version."""
        row = self._first(_STARTED_AFTER, version=version, newest=self._started)
        found = None if row is None else self._first(_NUMBERED_FROM, number=int(row[0]))
        return None if found is None else turn_of(found)

    def message(self, index: int) -> Placed | None:
        """Return the message with this index."""
        row = self._first(MESSAGE, index=index)
        return None if row is None else message_of(row)

    def stretch(self, first: int, end: int) -> Sequence[Placed]:
        """Return the messages with indexes from `first` to before `end` that there are."""
        return placed_in(self._connection, self._key, first, end)

    def named(self, message_id: str) -> Placed | None:
        """Return the message that was given this id."""
        row = self._first(NAMED, message_id=message_id)
        return None if row is None else message_of(row)

    def move(self, version: int) -> Move | None:
        """Return the move at this version."""
        row = self._first(_MOVE, version=version)
        return None if row is None else move_of(row)

    def last_move(self, through: int) -> Move | None:
        """Return the newest move up to a version."""
        row = self._first(_LAST_MOVE, through=through)
        return None if row is None else move_of(row)

    def loss(self, version: int) -> Loss | None:
        """Return the loss that was declared at this version."""
        row = self._first(LOSS, version=version)
        return None if row is None else loss_of(row)

    def queued(self, queue_id: str) -> QueuedInput | None:
        """Return the queued input with this id."""
        row = self._first(QUEUED, queue_id=queue_id)
        return None if row is None else queued_of(row)

    def calls(self, turn_id: str, tool_call_id: str) -> list[Call]:
        """Return the calls of this id in a turn, in order."""
        params = {"session_key": self._key, "turn_id": turn_id, "tool_call_id": tool_call_id}
        return [call_of(row) for row in CALLS.run(self._connection, params)]

    def _first(self, statement: Prepared, **params: object) -> Any:  # noqa: ANN401 - a row
        return statement.run(self._connection, {"session_key": self._key, **params}).first()


def placed_in(connection: Connection, session_key: int, first: int, end: int) -> list[Placed]:
    """Return the messages that a stream has with indexes from `first` to before `end`."""
    params = {"session_key": session_key, "first": first, "end": end}
    return [message_of(row) for row in _STRETCH.run(connection, params)]


def _started_after(_: str) -> Select[Any]:
    """Halve the numbers until one is left, inside one statement: they rise as versions do."""
    newest = cast(bindparam("newest"), Integer)
    search = select(literal(1).label("low"), (newest + 1).label("high")).cte(
        "search", recursive=True
    )
    middle = (search.c.low + search.c.high) // 2
    turn = t.turns.c
    started = (
        select(turn.started_version)
        .where(turn.session_key == bindparam("session_key"), turn.number >= middle)
        .order_by(turn.number)
        .limit(1)
        .scalar_subquery()
    )
    late = started > bindparam("version")
    search = search.union_all(
        select(
            case((late, search.c.low), else_=middle + 1),
            case((late, middle), else_=search.c.high),
        ).where(search.c.low < search.c.high)
    )
    return select(search.c.low).where(search.c.low == search.c.high)


def _by(table: Any, name: str, parameter: str | None = None) -> Prepared:  # noqa: ANN401
    return Prepared(
        lambda _: select(table).where(
            table.c.session_key == bindparam("session_key"),
            table.c[name] == bindparam(parameter or name),
        )
    )


_BRANCH: Final = _by(t.branches, "first_turn", "number")
TURN: Final = _by(t.turns, "turn_id")
_NUMBERED: Final = _by(t.turns, "number")
_NUMBERED_FROM: Final = Prepared(
    lambda _: (
        select(t.turns)
        .where(
            t.turns.c.session_key == bindparam("session_key"),
            t.turns.c.number >= bindparam("number"),
        )
        .order_by(t.turns.c.number)
        .limit(1)
    )
)
MESSAGE: Final = _by(t.messages, "index")
_STRETCH: Final = Prepared(
    lambda _: (
        select(t.messages)
        .where(
            t.messages.c.session_key == bindparam("session_key"),
            t.messages.c.index >= bindparam("first"),
            t.messages.c.index < bindparam("end"),
        )
        .order_by(t.messages.c.index)
    )
)
_MOVE: Final = _by(t.moves, "version")
CALLS: Final = Prepared(
    lambda _: (
        select(t.calls)
        .where(
            t.calls.c.session_key == bindparam("session_key"),
            t.calls.c.turn_id == bindparam("turn_id"),
            t.calls.c.tool_call_id == bindparam("tool_call_id"),
        )
        .order_by(t.calls.c.occurrence)
    )
)
LOSS: Final = _by(t.losses, "version")
QUEUED: Final = _by(t.queue, "queue_id")
SEAT: Final = _by(t.seats, "seat_id")
_LAST_MOVE: Final = Prepared(
    lambda _: (
        select(t.moves)
        .where(
            t.moves.c.session_key == bindparam("session_key"),
            t.moves.c.version <= bindparam("through"),
        )
        .order_by(t.moves.c.version.desc())
        .limit(1)
    )
)
NAMED: Final = Prepared(
    lambda _: select(t.messages).where(
        t.messages.c.session_key == bindparam("session_key"),
        t.messages.c.message_id == bindparam("message_id"),
        text("messages.named"),  # as the index says it; `= 1`, SQLite would read every message
    )
)
_STARTED_AFTER: Final = Prepared(_started_after)
