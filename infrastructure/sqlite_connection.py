"""How does a connection to a SQLite file see to it that no transaction outlives its end?

A statement whose rows were not all read keeps its transaction open for reading, also after a
rollback, until somebody frees it; whoever raised in between keeps it for as long as the error is
kept. The connection would see an old moment again, and could not write once another had written.
"""

import sqlite3
from typing import Any, TypeVar, cast
from weakref import ref

AT_MOST = 1_000
"""So many cursors are remembered before those that are gone are forgotten."""
Made = TypeVar("Made", bound=sqlite3.Cursor)


class TidyConnection(sqlite3.Connection):
    """A connection whose cursors are closed where a transaction ends."""

    def __init__(self, *given: Any, **more: Any) -> None:  # noqa: ANN401 - as the driver's own
        super().__init__(*given, **more)
        self._cursors: list[ref[sqlite3.Cursor]] = []

    def cursor(self, factory: type[Made] | None = None) -> Made:  # type: ignore[override]
        """Return a new cursor, for this transaction."""
        made = super().cursor(factory or cast("type[Made]", sqlite3.Cursor))
        if len(self._cursors) >= AT_MOST:
            self._cursors = [known for known in self._cursors if known() is not None]
        self._cursors.append(ref(made))
        return made

    def commit(self) -> None:
        """Commit, and end what was not read to its end."""
        super().commit()
        self._close_all()

    def rollback(self) -> None:
        """End what was not read to its end, and undo."""
        self._close_all()
        super().rollback()

    def _close_all(self) -> None:
        for known in self._cursors:
            cursor = known()
            if cursor is not None:
                cursor.close()
        self._cursors.clear()
