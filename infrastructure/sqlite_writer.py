"""How does this process write to a SQLite file: through one connection, one transaction at a time.

The driver begins and commits; SQLAlchemy's own bookkeeping of a transaction costs more than the
database's part in it, and knows nothing that the driver does not.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from infrastructure.prepared import named, run_driver

BEGIN: Final = "BEGIN IMMEDIATE"


class SqliteWriter:
    """The one connection that writes. Close it when done."""

    def __init__(self, engine: Engine, check: Callable[[], None]) -> None:
        """Take what gives a connection that begins nothing by itself, and what must hold."""
        self._engine: Final = engine
        self._check: Final = check
        self._lock: Final = Lock()
        self._open: Connection | None = None
        self.written = 0

    @contextmanager
    def write(self) -> Generator[Connection]:
        """Give a transaction that commits at the end, or rolls back on any error.

        Raises:
            DBAPIError: it cannot begin or commit.
        """
        with self._lock:
            connection = self._connected()
            self.written += 1
            run_driver(connection, BEGIN).close()
            try:
                self._check()
                yield connection
                commit(connection)
            except BaseException:
                self._roll_back(connection)
                raise

    @contextmanager
    def outside(self) -> Generator[Callable[[str], Any]]:
        """Give what runs a statement outside of any transaction."""
        with self._lock:
            self.written += 1
            driver: Any = self._connected().connection.driver_connection
            yield driver.execute

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None
            self._engine.dispose()

    def _connected(self) -> Connection:
        if self._open is None:
            self._open = self._engine.connect()
        return self._open

    def _roll_back(self, connection: Connection) -> None:
        """Undo the transaction; a connection that cannot say so is let go, which undoes it too."""
        try:
            connection.rollback()
            driver: Any = connection.connection.driver_connection
            driver.rollback()
        except (SQLAlchemyError, connection.dialect.loaded_dbapi.Error):
            self._open = None
            connection.invalidate()
            connection.close()


def commit(connection: Connection) -> None:
    """Commit; SQLAlchemy is told only if it was used, and then believes that it began."""
    if connection.in_transaction():
        connection.commit()
        return
    driver: Any = connection.connection.driver_connection
    try:
        driver.commit()
    except connection.dialect.loaded_dbapi.Error as error:
        raise named(error, "COMMIT", connection) from error
