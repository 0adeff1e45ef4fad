"""Which database is this, is it fit to serve, and how is it read and written?

A schema that this build does not know is refused with the command that mends it, and a file that is
not the one that was opened is not written to.
"""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias
from uuid import uuid4

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.exc import DatabaseError, OperationalError

import migrations
from infrastructure import clock
from infrastructure.connecting import (
    UnfitDatabase,
    check_each,
    existing,
    postgres_engine,
    sqlite_engine,
)
from infrastructure.postgres_writer import PostgresWriter, ask_idle_ones
from infrastructure.sqlite_writer import SqliteWriter
from infrastructure.tables import store
from infrastructure.trouble import trouble

Kind: TypeAlias = Literal["sqlite", "postgresql"]
_SCHEMA_LOCK: Final = 7_231_965_021  # any constant; two upgrades of one database exclude each other


class Readable(Protocol):
    """What can be read as of one moment: a database, or a transaction that is open."""

    def read(self) -> AbstractContextManager[Connection]:
        """Give a transaction that sees one moment throughout."""
        ...


class Database:
    """One database, opened. Close it when done."""

    def __init__(
        self,
        url: URL,
        *,
        pool_size: int = 8,
        allow_unsafe: bool = False,
        create: bool = False,
    ) -> None:
        self.url: Final = url
        self.kind: Final[Kind] = "sqlite" if url.get_backend_name() == "sqlite" else "postgresql"
        if self.kind == "sqlite":
            file = url if create else existing(url)
            self._writer = sqlite_engine(file, begin=None, size=1, allow_unsafe=allow_unsafe)
            self._lane = SqliteWriter(self._writer, self._check_place)
            self._reader = sqlite_engine(
                file, begin="BEGIN", size=pool_size, allow_unsafe=allow_unsafe
            )
        else:
            self._writer = postgres_engine(url, pool_size)
            check_each(self._writer, allow_unsafe=allow_unsafe)
            ask_idle_ones(self._writer)
            self._pipelined = PostgresWriter(self._writer)
            self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ")
        self._path: Final = str(url.database)
        self._file: tuple[int, int] | None = None

    def write(self) -> AbstractContextManager[Connection]:
        """Give a transaction that commits at the end, or rolls back on any error.

        Raises:
            UnfitDatabase: what is written would not be found again.
        """
        return self._lane.write() if self.kind == "sqlite" else self._writer.begin()

    def write_quickly(self) -> AbstractContextManager[Connection]:
        """Give a transaction as `write` does; on PostgreSQL errors may come at its end only."""
        return self.write() if self.kind == "sqlite" else self._pipelined.write()

    def on_connect(self, called: Callable[[], None]) -> None:
        """Have `called` be called for each new connection to PostgreSQL."""

        @event.listens_for(self._writer, "connect")
        def _call(*_: object) -> None:
            called()

        _ = _call

    def written(self) -> int:
        """Return how many write transactions were begun here, on SQLite."""
        return self._lane.written

    @contextmanager
    def read(self) -> Generator[Connection]:
        """Give a transaction that sees one moment of the database throughout."""
        with self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def outside(self) -> Generator[Callable[[str], Any]]:
        """Give what runs a statement outside of any transaction, as VACUUM wants to be run."""
        if self.kind == "postgresql":
            engine = self._writer.execution_options(isolation_level="AUTOCOMMIT")
            with engine.connect() as connection:
                yield connection.exec_driver_sql
            return
        with self._lane.outside() as run:
            yield run

    def is_read_only(self) -> bool:
        """Tell whether nothing can be written, as on a standby or to a protected file."""
        if self.kind == "sqlite":
            return not os.access(str(self.url.database), os.W_OK)
        with self.read() as connection:
            return bool(connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on")

    def close(self) -> None:
        """Let go of every connection."""
        if self.kind == "sqlite":
            self._lane.close()
        self._writer.dispose()
        self._reader.dispose()

    def _check_place(self) -> None:
        """Refuse to write to a file that is not where the database is any more.

        It stays open without its name: what is written to it would be gone with the process.
        """
        try:
            found = os.stat(self._path)  # noqa: PTH116 - asked before each commit: a Path costs ten times as much
        except OSError as error:
            raise UnfitDatabase(
                "the database file is not where it was opened; put it back"
            ) from error
        if self._file is None:
            self._file = (found.st_dev, found.st_ino)
        if self._file != (found.st_dev, found.st_ino):
            raise UnfitDatabase(
                "another file lies where the database was opened; restart turnlog to serve it"
            )

    def check(self) -> None:
        """Refuse what cannot be served.

        Raises:
            UnfitDatabase: not reachable, no schema or another one, or commits are not flushed.
        """
        try:
            with self.read() as connection:
                _check_schema(connection, self.url)
                if self.kind == "sqlite":
                    self._check_place()
        except OperationalError as error:
            raise UnfitDatabase(f"{shown(self.url)} {_why(self.url, error)}") from error
        except DatabaseError as error:
            raise UnfitDatabase(f"{shown(self.url)} cannot be read as a database") from error


def open_database(
    url: URL, *, pool_size: int = 8, allow_unsafe: bool = False, create: bool = False
) -> Database:
    """Return a database that is fit to serve.

    Args:
        url: Where it is.
        pool_size: Connections kept at most.
        allow_unsafe: Whether commits may go unflushed.
        create: Whether an absent or empty SQLite database is made on the way.

    Raises:
        UnfitDatabase: with what mends it.
    """
    if create and url.get_backend_name() == "sqlite" and _is_empty(url):
        create_schema(url.render_as_string(hide_password=False))
    database = Database(url, pool_size=pool_size, allow_unsafe=allow_unsafe)
    try:
        database.check()
    except UnfitDatabase:
        database.close()
        raise
    return database


def create_schema(url: str) -> None:
    """Bring the database to the newest schema; an up-to-date one stays as it is."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        engine = sqlite_engine(parsed, begin="BEGIN IMMEDIATE", size=1)
    else:
        engine = postgres_engine(parsed, 1)
    try:
        with engine.begin() as connection:
            lock_schema(connection)
            upgrade_schema(connection)
            _found_store(connection)
    finally:
        engine.dispose()


def lock_schema(connection: Connection) -> None:
    """Keep everybody else from changing the schema until this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})")


def upgrade_schema(connection: Connection) -> None:
    """Bring the database to the newest schema, in the transaction that is open."""
    config = migration_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def migration_config() -> Config:
    """Return Alembic's configuration, without any file."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config


def shown(url: URL) -> str:
    """Return the database's name for people: no password, no host."""
    if url.get_backend_name() == "sqlite":
        return f"the SQLite database {url.database}"
    return f"the PostgreSQL database {url.database}"


def schema_versions(connection: Connection) -> tuple[str | None, str]:
    """Return the schema revision of the database and the one this build serves."""
    return MigrationContext.configure(connection).get_current_revision(), newest_schema()


def newest_schema() -> str:
    """Return the schema revision that this build serves."""
    return ScriptDirectory.from_config(migration_config()).get_current_head() or ""


def _check_schema(connection: Connection, url: URL) -> None:
    found, wanted = schema_versions(connection)
    if found == wanted:
        return
    if found is None:
        raise UnfitDatabase(f"{shown(url)} has no turnlog schema; run: turnlog db upgrade")
    known = {script.revision for script in _scripts()}
    if found in known:
        raise UnfitDatabase(
            f"{shown(url)} has schema {found}, this build serves {wanted}; run: turnlog db upgrade"
        )
    raise UnfitDatabase(
        f"{shown(url)} has schema {found}, newer than {wanted} of this build; upgrade turnlog"
    )


def _scripts() -> Iterator[Any]:
    yield from ScriptDirectory.from_config(migration_config()).walk_revisions()


def _why(url: URL, error: OperationalError) -> str:
    """Say what keeps a database from being opened."""
    if url.get_backend_name() == "sqlite":
        path = Path(url.database or "")
        if not path.exists():
            return "is not there: it has no turnlog schema; run: turnlog db upgrade"
        writable = os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)
        if trouble(error) == "read-only" or not writable:
            return (
                "is read-only and cannot be opened: its write-ahead log needs a file beside it; "
                "let turnlog write to the file and its directory"
            )
    return "has no room left" if trouble(error) == "full" else "cannot be reached"


def _found_store(connection: Connection) -> None:
    """Write the row that says which store this is, once."""
    if connection.execute(store.select()).first() is None:
        connection.execute(
            store.insert().values(
                one=1,
                store_id=str(uuid4()),
                incarnation=1,
                known_after=0,
                base=0,
                created_at=clock.now(),
            )
        )


def _is_empty(url: URL) -> bool:
    path = Path(url.database or "")
    if not path.exists() or path.stat().st_size == 0:
        return True
    engine = sqlite_engine(url, begin="BEGIN", size=1)
    try:
        with engine.connect() as connection:
            return connection.exec_driver_sql("SELECT 1 FROM sqlite_schema").first() is None
    except DatabaseError:
        return False  # the check says what is wrong with it
    finally:
        engine.dispose()
