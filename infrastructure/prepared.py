"""How does a Core statement run at the driver's speed?

It is compiled once for each dialect and then executed as text with named parameters. Only plain
types pass: integers, text, bytes, None; rows come back as the driver gives them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import ClauseElement, Connection, CursorResult

Params: TypeAlias = Mapping[str, object]


class Prepared:
    """One statement; `build` makes it for a dialect's name."""

    def __init__(self, build: Callable[[str], ClauseElement]) -> None:
        self._build: Final = build
        self._known: Final[dict[str, tuple[str, dict[str, object]]]] = {}

    def run(self, connection: Connection, params: Params) -> CursorResult[Any]:
        """Execute once."""
        sql, constants = self._compiled(connection)
        return connection.exec_driver_sql(sql, {**constants, **params})

    def many(self, connection: Connection, params: Sequence[Params]) -> None:
        """Execute for each of `params`; nothing at all for none."""
        if params:
            sql, constants = self._compiled(connection)
            connection.exec_driver_sql(sql, [{**constants, **each} for each in params])

    def _compiled(self, connection: Connection) -> tuple[str, dict[str, object]]:
        dialect = connection.dialect
        known = self._known.get(dialect.name)
        if known is None:
            compiled = self._build(dialect.name).compile(dialect=dialect)
            constants = {
                name: value for name, value in (compiled.params or {}).items() if value is not None
            }
            known = self._known[dialect.name] = (str(compiled), constants)
        return known
