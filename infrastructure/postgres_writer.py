"""How does this process write to PostgreSQL in few round trips?

The driver would begin a transaction with a round trip of its own, and end it with another. Here
BEGIN goes out with the first statement, COMMIT with the last, and a connection that was used a
moment ago is taken to be alive.
"""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError, InvalidatePoolError

from infrastructure.prepared import begin_pipeline, end_pipeline, run_driver

BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
FRESH_S: Final = 0.25
"""A connection that was given back so lately is used without asking whether it still works."""


class PostgresWriter:
    """Transactions whose statements are sent together."""

    def __init__(self, engine: Engine) -> None:
        """Take the engine whose pool the transactions share."""
        self._engine: Final = engine.execution_options(isolation_level="AUTOCOMMIT")

        @event.listens_for(self._engine, "before_cursor_execute")
        def _leave(connection: Connection, *_: object) -> None:
            end_pipeline(connection)  # SQLAlchemy reads each answer at once

        _ = _leave

    @contextmanager
    def write(self) -> Generator[Connection]:
        """Give a transaction that commits at the end, or rolls back on any error.

        Raises:
            DBAPIError: what went wrong in it, at the latest at the end.
            RuntimeError: it had failed before, and whoever saw that went on.
        """
        with self._engine.connect() as connection:
            try:
                begin_pipeline(connection)
                run_driver(connection, BEGIN).close()
                yield connection
                _commit(connection)
            except BaseException:
                _roll_back(connection)
                raise


def _commit(connection: Connection) -> None:
    begin_pipeline(connection)
    committing = run_driver(connection, "COMMIT")
    end_pipeline(connection)
    if committing.statusmessage != "COMMIT":  # so PostgreSQL ends what failed before
        raise RuntimeError("what had failed before was rolled back")


def _roll_back(connection: Connection) -> None:
    if connection.invalidated:  # by SQLAlchemy, which saw it break; nothing is left to undo
        connection.rollback()
        return
    with suppress(DBAPIError):
        end_pipeline(connection)
    driver: Any = connection.connection.driver_connection
    try:
        driver.rollback()
    except connection.dialect.loaded_dbapi.Error:
        connection.invalidate()


def ask_idle_ones(engine: Engine) -> None:
    """Have connections that were idle for a while asked whether they still work.

    Once one is found broken, each of the others is asked, too.
    """
    broken = 0.0

    @event.listens_for(engine, "invalidate")
    def _broke(*_: object) -> None:
        nonlocal broken
        broken = monotonic()

    @event.listens_for(engine, "checkin")
    def _note(_: object, record: Any) -> None:  # noqa: ANN401 - the pool's own
        record.info["used"] = monotonic()

    @event.listens_for(engine, "checkout")
    def _ask(connection: Any, record: Any, _: object) -> None:  # noqa: ANN401 - the driver's own
        used = record.info.get("used", 0.0)
        if used > broken and monotonic() - used < FRESH_S:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error

    _ = (_broke, _note, _ask)
