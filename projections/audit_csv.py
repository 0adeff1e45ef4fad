"""How is an audit a table of a spreadsheet? Comma-separated values, RFC 4180.

The columns and their order stay as they are; one that is added comes last. No cell begins with what
a spreadsheet takes for a formula.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, cast

COLUMNS: Final = (
    "version",
    "at",
    "actor",
    "producer_id",
    "producer_epoch",
    "producer_sequence",
    "type",
    "turn_id",
    "tool",
    "what",
    "effect",
    "bears_on",
    "late",
    "rewound_by",
    "id",
    "hash",
)
_FORMULA: Final = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
"""What a formula begins with, and the same signs in full width."""
_ENDS: Final = re.compile(r'[",\r\n]')


def csv_header() -> bytes:
    """Return the first line: the names of the columns."""
    return _line(COLUMNS)


def csv_line(shape: Mapping[str, object]) -> bytes:
    """Return a line of the audit, given as the JSON object that is shown of it."""
    cells = {**shape, **_producer(shape.get("producer"))}
    return _line(_cell(cells.get(name)) for name in COLUMNS)


def _producer(value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {}
    members = cast("Mapping[str, object]", value)
    return {f"producer_{name}": member for name, member in members.items()}


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case tuple() | list():
            return " ".join(map(str, cast("Iterable[object]", value)))
        case str():
            return f"'{value}" if _is_formula(value) else value
        case _:
            return str(value)


def _is_formula(text: str) -> bool:
    """Tell whether a spreadsheet could take a cell for a formula; blanks before one are skipped."""
    return text[:1] in {"\t", "\r", "\n"} or text.lstrip()[:1] in _FORMULA


def _line(cells: Iterable[str]) -> bytes:
    return (",".join(map(_quoted, cells)) + "\r\n").encode("utf-8", "backslashreplace")


def _quoted(cell: str) -> str:
    """Return a cell in quotes if something in it would end it."""
    return '"' + cell.replace('"', '""') + '"' if _ENDS.search(cell) else cell
