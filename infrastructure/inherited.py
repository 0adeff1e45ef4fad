"""What does the database hold of the history that a fork shares with others?

Each look-up is one statement over all of them, and the nearest one that has a record is believed.
Records say what came of them later in their own session: that is taken back here.
"""

from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, bindparam, func, or_, select, text

from domain.state import Branch, Call, Gate, Loss, Move, Placed, Turn
from infrastructure import tables as t
from infrastructure.prepared import Prepared
from infrastructure.view_rows import (
    branch_of,
    call_of,
    gate_of,
    loss_of,
    message_of,
    move_of,
    turn_of,
)


class Inherited:
    """Records from before a fork's own first fact, as they were there."""

    def __init__(self, connection: Connection, session_key: int) -> None:
        """Take the key of the fork."""
        self._connection: Final = connection
        self._key: Final = session_key

    def branch(self, number: int) -> Branch | None:
        """Return the branch with this id."""
        row = self._first(_BRANCH, number=number)
        return None if row is None else branch_of(row)

    def turn(self, turn_id: str) -> Turn | None:
        """Return the turn with this id."""
        row = self._first(_TURN, turn_id=turn_id)
        return None if row is None else _turn(row)

    def turn_numbered(self, number: int) -> Turn | None:
        """Return the turn with this number."""
        row = self._first(_NUMBERED, number=number)
        return None if row is None else _turn(row)

    def calls(self, turn_id: str, tool_call_id: str) -> list[Call]:
        """Return the calls of this id, in order."""
        found: dict[int, Call] = {}
        for row in self._rows(_CALLS, turn_id=turn_id, tool_call_id=tool_call_id):
            call = _call(row)
            if call is not None:
                found.setdefault(call.occurrence, call)
        return [found[occurrence] for occurrence in sorted(found)]

    def waiting(self, turn_id: str, version: int) -> set[tuple[str, str]]:
        """Return the calls of a turn that waited for their results at a version."""
        rows = self._rows(_WAITING_AT, turn_id=turn_id, version=version)
        return {(row.turn_id, row.tool_call_id) for row in rows}

    def gate(self, gate_id: str) -> Gate | None:
        """Return the gate with this id."""
        row = self._first(_GATE, gate_id=gate_id)
        return None if row is None else gate_of(row)

    def closed_by_permission(self, permission_id: str) -> Gate | None:
        """Return the newest closed gate with this permission id."""
        row = self._first(_CLOSED_BY_PERMISSION, name=permission_id)
        return None if row is None else gate_of(row)

    def closed_by_call(self, tool_call_id: str) -> Gate | None:
        """Return the newest closed gate of this tool call."""
        row = self._first(_CLOSED_BY_CALL, name=tool_call_id)
        return None if row is None else gate_of(row)

    def message(self, index: int) -> Placed | None:
        """Return the message with this index."""
        row = self._first(_MESSAGE, index=index)
        return None if row is None else message_of(row)

    def stretch(self, first: int, end: int) -> dict[int, Placed]:
        """Return the messages from index `first` to before `end` that there are, by index."""
        found: dict[int, Placed] = {}
        for row in self._rows(_STRETCH, first=first, end=end):
            found.setdefault(row.index, message_of(row))
        return found

    def named(self, message_id: str) -> Placed | None:
        """Return the message that was given this id."""
        row = self._first(_NAMED, message_id=message_id)
        return None if row is None else message_of(row)

    def loss(self, version: int) -> Loss | None:
        """Return the loss that was declared at a version."""
        row = self._first(_LOSS, version=version)
        return None if row is None else _loss(row)

    def move(self, version: int) -> Move | None:
        """Return the move at this version."""
        row = self._first(_MOVE, version=version)
        return None if row is None else move_of(row)

    def _first(self, statement: Prepared, **params: object) -> Any:  # noqa: ANN401 - a row
        return next(iter(self._rows(statement, **params)), None)

    def _rows(self, statement: Prepared, **params: object) -> list[Any]:
        return statement.run(self._connection, {"session_key": self._key, **params})


def _turn(row: Any) -> Turn:  # noqa: ANN401 - a row
    turn = turn_of(row)
    return turn._replace(open_calls=turn.open_calls + row.answered_later)


def _call(row: Any) -> Call | None:  # noqa: ANN401 - a row
    call = call_of(row)
    if call.completed_version is None or call.completed_version <= row.shared:
        return call
    if call.requested_version is None:
        return None
    return call._replace(status="open", completed_version=None)


def _loss(row: Any) -> Loss:  # noqa: ANN401 - a row
    loss = loss_of(row)
    later = loss.healed_version is not None and loss.healed_version > row.shared
    return replace(loss, healed_version=None) if later else loss


def _shared(table: Table, begun: Any, *where: Any, more: Any = ()) -> Select[Any]:  # noqa: ANN401
    """Select rows of the shared history; `begun` is the version that each began at."""
    return (
        select(table, t.lineages.c.version.label("shared"), *more)
        .join_from(t.lineages, table, table.c.session_key == t.lineages.c.ancestor_key)
        .where(
            t.lineages.c.session_key == bindparam("session_key"),
            begun <= t.lineages.c.version,
            *where,
        )
        .order_by(t.lineages.c.version.desc())
    )


def _first(table: Table, begun: Any, name: str, parameter: str | None = None) -> Prepared:  # noqa: ANN401
    return Prepared(
        lambda _: _shared(table, begun, table.c[name] == bindparam(parameter or name)).limit(1)
    )


def _turn_by(name: str, parameter: str) -> Prepared:
    """Return what finds a turn, with how many of its calls were answered after the fork began."""
    call, turn = t.calls.c, t.turns.c
    later = (
        select(func.count(call.requested_version))  # a condition would have an index of it used
        .where(
            call.session_key == turn.session_key,
            call.turn_id == turn.turn_id,
            call.completed_version > t.lineages.c.version,
        )
        .correlate(t.turns, t.lineages)
        .scalar_subquery()
        .label("answered_later")
    )
    return Prepared(
        lambda _: _shared(
            t.turns,
            turn.started_version,
            turn[name] == bindparam(parameter),
            more=(later,),
        ).limit(1)
    )


def _closed_by(column: str) -> Prepared:
    gate = t.gates.c
    return Prepared(
        lambda _: (
            _shared(
                t.gates,
                gate.opened_version,
                gate[column] == bindparam("name"),
                gate.status != "open",
            )
            .order_by(None)
            .order_by(gate.opened_version.desc(), t.lineages.c.version.desc())
            .limit(1)
        )
    )


_CALL: Final = t.calls.c
_CALL_BEGUN: Final = func.coalesce(_CALL.requested_version, _CALL.completed_version)
_BRANCH: Final = Prepared(
    lambda _: (
        select(t.branches)
        .join_from(t.lineages, t.branches, t.branches.c.session_key == t.lineages.c.ancestor_key)
        .where(
            t.lineages.c.session_key == bindparam("session_key"),
            t.branches.c.first_turn <= t.lineages.c.started,
            t.branches.c.first_turn == bindparam("number"),
        )
        .limit(1)
    )
)
_TURN: Final = _turn_by("turn_id", "turn_id")
_NUMBERED: Final = _turn_by("number", "number")
_CALLS: Final = Prepared(
    lambda _: _shared(
        t.calls,
        _CALL_BEGUN,
        _CALL.turn_id == bindparam("turn_id"),
        _CALL.tool_call_id == bindparam("tool_call_id"),
    )
)
_WAITING_AT: Final = Prepared(
    lambda _: _shared(
        t.calls,
        _CALL.requested_version,
        _CALL.turn_id == bindparam("turn_id"),
        _CALL.requested_version <= bindparam("version"),
        or_(_CALL.completed_version.is_(None), _CALL.completed_version > bindparam("version")),
    )
)
_GATE: Final = _first(t.gates, t.gates.c.opened_version, "gate_id")
_CLOSED_BY_PERMISSION: Final = _closed_by("permission_id")
_CLOSED_BY_CALL: Final = _closed_by("tool_call_id")
_MESSAGE: Final = _first(t.messages, t.messages.c.version, "index")
_STRETCH: Final = Prepared(
    lambda _: _shared(
        t.messages,
        t.messages.c.version,
        t.messages.c.index >= bindparam("first"),
        t.messages.c.index < bindparam("end"),
    )
)
_NAMED: Final = Prepared(
    lambda _: _shared(
        t.messages,
        t.messages.c.version,
        t.messages.c.message_id == bindparam("message_id"),
        text("messages.named"),  # as the index says it
    ).limit(1)
)
_LOSS: Final = _first(t.losses, t.losses.c.version, "version")
_MOVE: Final = _first(t.moves, t.moves.c.version, "version")
