"""How does a Core statement run at the driver's speed?

It is compiled once for each dialect, and then executed by the driver's own cursor in SQLAlchemy's
transaction: a commit of a few rows costs less than the layers above it would. Only plain types
pass: integers, text, bytes, None; rows come back as the driver gives them, with names.
"""

import re
from collections import namedtuple
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

from sqlalchemy import (
    BigInteger,
    Boolean,
    ClauseElement,
    Connection,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
)
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.exc import DBAPIError

AT_ONCE: Final = 16
"""Up to so many rows go to PostgreSQL in one statement, which costs more than a row.

Each number of rows is a statement of its own, of which psycopg keeps 100 prepared.
"""
Params: TypeAlias = Mapping[str, object]
Values: TypeAlias = tuple[object, ...]


class Rows(list[Any]):
    """What a statement answered: rows whose columns are attributes."""

    def first(self) -> Any:  # noqa: ANN401 - a row of whatever was selected
        """Return the first row, or None."""
        return self[0] if self else None

    def scalar_one_or_none(self) -> Any:  # noqa: ANN401 - a column of whatever was selected
        """Return the first column of the only row, or None."""
        return self[0][0] if self else None

    def scalar_one(self) -> Any:  # noqa: ANN401 - as `scalar_one_or_none`
        """Return the first column of the only row."""
        return self[0][0]


@dataclass(slots=True)
class _Compiled:
    """A statement's text, with its parameters in the order in which the driver wants them."""

    sql: str
    order: tuple[str, ...]
    constants: dict[str, object]
    answers: bool
    row: Callable[..., Any] | None = None

    def arranged(self, params: Params) -> Values:
        given = {**self.constants, **params} if self.constants else params
        return tuple([given[name] for name in self.order])


class Prepared:
    """One statement; `build` makes it for a dialect's name."""

    def __init__(self, build: Callable[[str], ClauseElement]) -> None:
        self._build: Final = build
        self._known: Final[dict[str, _Compiled]] = {}

    def run(self, connection: Connection, params: Params) -> Rows:
        """Execute once.

        Raises:
            DBAPIError: what the driver raised, as SQLAlchemy names it.
        """
        compiled = self._compiled(connection)
        found = self._once(connection, compiled, compiled.arranged(params))
        if not compiled.answers:
            end_pipeline(connection)  # whoever asks is told here what went wrong
        return found

    def send(self, connection: Connection, params: Params) -> "Sent":
        """Execute once, and have the answer later: within a pipeline, without waiting for it.

        Raises:
            DBAPIError: as `run`; within a pipeline perhaps later.
        """
        compiled = self._compiled(connection)
        return self._sent(connection, compiled, compiled.arranged(params))

    def _once(self, connection: Connection, compiled: _Compiled, values: Values) -> Rows:
        sent = self._sent(connection, compiled, values)
        return sent.rows() if compiled.answers else sent.unread()

    def _sent(self, connection: Connection, compiled: _Compiled, values: Values) -> "Sent":
        cursor = _cursor(connection)
        try:
            cursor.execute(compiled.sql, values)
        except connection.dialect.loaded_dbapi.Error as error:
            cursor.close()
            raise named(error, compiled.sql, connection) from error
        return Sent(connection, compiled, cursor)

    def sent(self, connection: Connection, params: Params) -> Any:  # noqa: ANN401 - the driver's own
        """Execute and return the driver's cursor; in a pipeline there is no answer to read yet.

        Raises:
            DBAPIError: as `run`.
        """
        compiled = self._compiled(connection)
        cursor = _cursor(connection)
        driver: Any = connection.dialect.loaded_dbapi
        if connection.dialect.name == "postgresql":  # as text, a byte would be spelled with two
            cursor.format = driver.pq.Format.BINARY
        try:
            cursor.execute(compiled.sql, compiled.arranged(params))
        except connection.dialect.loaded_dbapi.Error as error:
            raise named(error, compiled.sql, connection) from error
        return cursor

    def many(self, connection: Connection, params: Iterable[Params]) -> None:
        """Execute for each of `params`; nothing at all for none.

        Raises:
            DBAPIError: as `run`.
        """
        self._each(connection, list(map(self._compiled(connection).arranged, params)))

    def _each(self, connection: Connection, rows: Sequence[Values]) -> None:
        if not rows:
            return
        compiled = self._compiled(connection)
        cursor = _cursor(connection)
        try:
            cursor.executemany(compiled.sql, rows)
        except connection.dialect.loaded_dbapi.Error as error:
            raise named(error, compiled.sql, connection) from error
        finally:
            cursor.close()

    def _compiled(self, connection: Connection) -> _Compiled:
        name = connection.dialect.name
        known = self._known.get(name)
        if known is None:
            statement: Any = self._build(name)
            built = statement.compile(dialect=_POSITIONAL[name]())
            params = cast("dict[str, object]", built.params or {})
            constants = {n: value for n, value in params.items() if value is not None}
            known = self._known[name] = _Compiled(
                # Of psycopg's other cursor, a percent sign would begin a parameter.
                _numbered(str(built)).replace("%%", "%") if name == "postgresql" else str(built),
                tuple(built.positiontup),
                constants,
                answers=statement.is_select or bool(statement.returning_column_descriptions),
            )
        return known


class Sent:
    """A statement that was sent to the database."""

    def __init__(self, connection: Connection, compiled: _Compiled, cursor: Any) -> None:  # noqa: ANN401 - the driver's own
        self._connection: Final = connection
        self._compiled: Final = compiled
        self._cursor: Final = cursor

    def rows(self) -> Rows:
        """Return what it answers, once it does.

        Raises:
            DBAPIError: as `Prepared.run`.
        """
        compiled, cursor = self._compiled, self._cursor
        try:
            found = cursor.fetchall()
            if compiled.row is None:
                compiled.row = _row_class(tuple(column[0] for column in cursor.description))
            return Rows(map(compiled.row, found))
        except self._connection.dialect.loaded_dbapi.Error as error:
            raise named(error, compiled.sql, self._connection) from error
        finally:
            cursor.close()

    def unread(self) -> Rows:
        """Return nothing: it has no answer."""
        self._cursor.close()
        return Rows()


class PreparedRows(Prepared):
    """A statement that is executed for whole rows: tuples with the columns `names`, in order."""

    def __init__(self, build: Callable[[str], ClauseElement], names: Sequence[str]) -> None:
        super().__init__(build)
        self.names: Final = tuple(names)
        self._wider: Final[dict[int, _Compiled]] = {}
        self._picks: Final[dict[str, Callable[[Values], Values]]] = {}

    def rows(self, connection: Connection, rows: Sequence[Values]) -> None:
        """Execute for each of `rows`; nothing at all for none.

        Raises:
            DBAPIError: as `run`.
        """
        if not rows:
            return
        pick = self._picks.get(connection.dialect.name) or self._pick(connection)
        if connection.dialect.name != "postgresql" or len(rows) == 1:
            self._each(connection, list(map(pick, rows)))
            return
        with pipelined(connection):
            for start in range(0, len(rows), AT_ONCE):
                some = rows[start : start + AT_ONCE]
                values = tuple(chain.from_iterable(map(pick, some)))
                self._once(connection, self._for_rows(connection, len(some)), values)

    def row(self, connection: Connection, row: Values) -> Rows:
        """Execute for one row, and return what the statement answers.

        Raises:
            DBAPIError: as `run`.
        """
        pick = self._picks.get(connection.dialect.name) or self._pick(connection)
        return self._once(connection, self._compiled(connection), pick(row))

    def send_row(self, connection: Connection, row: Values) -> Sent:
        """Execute for one row, and have the answer later.

        Raises:
            DBAPIError: as `send`.
        """
        pick = self._picks.get(connection.dialect.name) or self._pick(connection)
        return self._sent(connection, self._compiled(connection), pick(row))

    def _for_rows(self, connection: Connection, number: int) -> _Compiled:
        """Return the statement for so many rows at once."""
        found = self._wider.get(number)
        if found is None:
            one = self._compiled(connection)
            _, _, group = one.sql.partition(" VALUES ")
            group = group[: group.index(")") + 1]
            sql = _numbered(one.sql.replace(group, ", ".join([group] * number), 1))
            found = self._wider[number] = _Compiled(sql, (), {}, answers=one.answers)
        return found

    def _pick(self, connection: Connection) -> Callable[[Values], Values]:
        order = self._compiled(connection).order
        pick = cast(
            "Callable[[Values], Values]", itemgetter(*(self.names.index(name) for name in order))
        )
        self._picks[connection.dialect.name] = pick
        return pick


_PIPELINE: Final = "turnlog-pipeline"
_POSITIONAL: Final[Mapping[str, Callable[[], Any]]] = {
    "sqlite": partial(cast("Any", SQLiteDialect_pysqlite), paramstyle="qmark"),
    "postgresql": partial(cast("Any", PGDialect_psycopg), paramstyle="format"),
}
"""Values in a tuple cost the drivers less than values by name."""


@contextmanager
def pipelined(connection: Connection) -> Generator[None]:
    """Send what is executed within without waiting for each answer: one round trip on PostgreSQL.

    Nothing within may read an answer.

    Raises:
        DBAPIError: as `Prepared.run`, at the latest at the end.
    """
    if connection.dialect.name != "postgresql" or _PIPELINE in connection.info:
        yield
        return
    begin_pipeline(connection)
    try:
        yield
    except BaseException:
        with suppress(DBAPIError):
            end_pipeline(connection)
        raise
    end_pipeline(connection)


def is_pipelined(connection: Connection) -> bool:
    """Tell whether a pipeline is open."""
    return _PIPELINE in connection.info


def begin_pipeline(connection: Connection) -> None:
    """Have PostgreSQL take statements without waiting for each answer, until `end_pipeline`."""
    if _PIPELINE not in connection.info:
        pipeline = cast("Any", connection.connection.driver_connection).pipeline()
        pipeline.__enter__()
        connection.info[_PIPELINE] = pipeline


def end_pipeline(connection: Connection) -> None:
    """Wait for what is still to be answered, if a pipeline is open.

    Raises:
        DBAPIError: the first thing that went wrong in it.
    """
    pipeline = connection.info.pop(_PIPELINE, None)
    if pipeline is None:
        return
    try:
        pipeline.__exit__(None, None, None)
    except connection.dialect.loaded_dbapi.Error as error:
        raise named(error, "a pipeline", connection) from error


def run_driver(connection: Connection, sql: str) -> Any:  # noqa: ANN401 - the driver's own cursor
    """Execute a statement without parameters by the driver alone.

    Raises:
        DBAPIError: as `Prepared.run`.
    """
    cursor = _cursor(connection)
    try:
        return cursor.execute(sql)
    except connection.dialect.loaded_dbapi.Error as error:
        raise named(error, sql, connection) from error


def together(connection: Connection, *asked: tuple[Prepared, Params]) -> list[list[Any]]:
    """Return the rows that each statement answers, as plain tuples; one round trip on PostgreSQL.

    Raises:
        DBAPIError: as `Prepared.run`.
    """
    with ExitStack() as stack:
        with pipelined(connection):
            cursors = [
                stack.enter_context(closing(statement.sent(connection, params)))
                for statement, params in asked
            ]
        try:
            return [cursor.fetchall() for cursor in cursors]
        except connection.dialect.loaded_dbapi.Error as error:
            raise named(error, "statements that were sent together", connection) from error


def copy_rows(connection: Connection, table: Table, rows: Iterable[Values]) -> None:
    """Insert rows, each in the order of its columns, into a table of PostgreSQL by COPY.

    A pipeline that is open ends before.

    Raises:
        DBAPIError: as `Prepared.run`.
    """
    end_pipeline(connection)
    names = [column.name for column in table.columns]
    statement = f"COPY {table.name} ({', '.join(names)}) FROM STDIN (FORMAT BINARY)"
    cursor = _cursor(connection)
    try:
        with cursor.copy(statement) as copy:
            copy.set_types([_COPIED_AS[type(column.type)] for column in table.columns])
            for row in rows:
                copy.write_row(row)
    except connection.dialect.loaded_dbapi.Error as error:
        raise named(error, statement, connection) from error
    finally:
        cursor.close()


_COPIED_AS: Final[Mapping[type[Any], str]] = {
    BigInteger: "int8",
    Integer: "int4",
    SmallInteger: "int2",
    String: "varchar",
    LargeBinary: "bytea",
    Boolean: "bool",
}


def _cursor(connection: Connection) -> Any:  # noqa: ANN401 - the driver's own
    """Return a cursor that takes SQL as the database does: psycopg's other one parses it first."""
    if connection.dialect.name == "postgresql":
        driver: Any = connection.dialect.loaded_dbapi
        return driver.RawCursor(connection.connection.driver_connection)
    return connection.connection.cursor()


def _numbered(sql: str) -> str:
    """Return SQL with its parameters numbered in their order, as PostgreSQL wants them."""
    number = count(1)
    return _PARAMETER.sub(lambda _: f"${next(number)}", sql)


_PARAMETER: Final = re.compile(r"%s|\$\d+")


def named(error: Exception, sql: str, connection: Connection) -> BaseException:
    """Return the driver's error as SQLAlchemy would raise it, without any parameter."""
    dialect = connection.dialect
    return cast(
        "BaseException",
        DBAPIError.instance(
            sql,
            None,
            error,
            dialect.loaded_dbapi.Error,
            hide_parameters=True,
            dialect=dialect,
        ),
    )


def _row_class(names: tuple[str, ...]) -> Callable[..., Any]:
    row = namedtuple("Row", names)  # type: ignore[misc]  # noqa: PYI024 # pyright: ignore[reportUntypedNamedTuple] - the columns are known only now
    row._mapping = property(lambda self: self._asdict())  # type: ignore[attr-defined]  # noqa: SLF001
    return cast("Callable[..., Any]", row._make)
