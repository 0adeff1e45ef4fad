"""How is a list of keys handed to a statement that is compiled once? As one text of JSON.

What is joined to the keys has to be joined to the left, so that SQLite begins with them.
"""

from typing import Any, NamedTuple

from sqlalchemy import String, bindparam, cast, func, text
from sqlalchemy.dialects.postgresql import JSONB


class Given(NamedTuple):
    """The keys that are given, one a row: a text each, or a pair of texts."""

    rows: Any
    text: Any
    pair: tuple[Any, Any]


def given(dialect: str, name: str) -> Given:
    """Return the keys in the parameter `name`, a JSON array of texts or of pairs of texts."""
    keys = bindparam(name, type_=String())
    if dialect == "sqlite":
        rows: Any = func.json_each(keys).table_valued("value", name=f"{name}_given")
        value = rows.c.value
        first, second = (func.json_extract(value, f"$[{n}]") for n in range(2))
        return Given(rows, value, (first, second))
    each: Any = func.jsonb_array_elements(cast(keys, JSONB))
    rows = each.table_valued("value", name=f"{name}_given").render_derived()
    value = rows.c.value
    first, second = (value.op("->>")(n) for n in range(2))
    return Given(rows, value.op("#>>")(text("'{}'")), (first, second))
