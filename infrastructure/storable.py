"""Can these records stand in the views' tables, on either database?

The rules see to it for what is appended; an export can be written by anybody, with hashes that fit.
"""

from typing import Final

from sqlalchemy import BigInteger, SmallInteger, Table

from domain.fields import TITLE_LIMIT
from domain.identifiers import is_line, is_name
from domain.state import Changes
from infrastructure import tables as t
from infrastructure.view_rows import Values, message_values, values


def is_storable(changes: Changes) -> bool:
    """Tell whether every column holds what `changes` would write to it."""
    return (
        _fits(_HEAD, values(changes.head))
        and all(_fits(_TURN, values(turn)) for turn in changes.turns)
        and all(_fits(_CALL, values(call)) for call in changes.calls)
        and all(_fits(_GATE, values(gate)) for gate in changes.gates)
        and all(_fits(_MESSAGE, message_values(message)) for message in changes.messages)
        and all(_fits(_LOSS, values(loss)) for loss in changes.losses)
    )


def _fits(largest: dict[str, int], row: Values) -> bool:
    return all(_value_fits(name, value, largest.get(name, 0)) for name, value in row.items())


def _value_fits(name: str, value: object, largest: int) -> bool:
    if isinstance(value, str):
        if name == "title":
            return len(value) <= TITLE_LIMIT and is_line(value)
        return name == "versions" or is_name(value)
    if isinstance(value, int):
        return -largest <= value <= largest or isinstance(value, bool)
    return True


def _largest(table: Table) -> dict[str, int]:
    return {column.name: _most(column.type) for column in table.columns}


def _most(kind: object) -> int:
    if isinstance(kind, SmallInteger):
        return 2**15 - 1
    return 2**63 - 1 if isinstance(kind, BigInteger) else 2**31 - 1


_HEAD: Final = _largest(t.heads)
_TURN: Final = _largest(t.turns)
_CALL: Final = _largest(t.calls)
_GATE: Final = _largest(t.gates)
_MESSAGE: Final = _largest(t.messages)
_LOSS: Final = _largest(t.losses)
