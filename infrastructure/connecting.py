"""How is a connection made, what does it check before it is used, and how long does it wait?

Commits are durable by the database's own settings, which each connection checks and none assumes.
Nobody waits for ever: not for another writer, not for a server that says nothing.
"""

import sqlite3
from threading import Event
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool

from infrastructure.prepared import run_driver
from infrastructure.sqlite_connection import TidyConnection

BUSY_MS: Final = 10_000
"""How long a writer waits for the writer of another process to let go of the SQLite file."""
PAUSE_S: Final = 0.01
LOCK_MS: Final = 2_000
"""How long a writer waits on PostgreSQL for another writer of the same session."""
IDLE_MS: Final = 60_000
"""How long a transaction on PostgreSQL may stand still before the server ends it: it holds up
whoever follows any log of the cluster."""
CONNECT_S: Final = 10
"""How long PostgreSQL may take to answer at all."""
RECYCLED_S: Final = 600
"""How old a connection to PostgreSQL gets before another, checked anew, takes its place."""
FLUSHED: Final = "FULL"
UNFLUSHED: Final = (
    "commits could be lost (TURNLOG_ALLOW_UNSAFE_DURABILITY=true serves it all the same)"
)
FLUSHING: Final = ("fsync", "full_page_writes", "synchronous_commit")
"""What PostgreSQL must not have turned off."""
_FULL: Final = 2  # how SQLite answers


class UnfitDatabase(Exception):
    """The database cannot be served as it is; the message says what mends it."""


def existing(url: URL) -> URL:
    """Return the URL of a file that must be there: an empty one is no answer to a lost one."""
    query = {**url.query, "mode": "rw", "uri": "true"}
    return url.set(database=f"file:{quote(str(url.database))}", query=query)


def sqlite_engine(url: URL, *, begin: str | None, size: int, allow_unsafe: bool = True) -> Engine:
    """Return what connects to a file; each transaction begins with `begin`, if it is given.

    With `allow_unsafe` a connection is used even if its commits are not flushed.
    """
    engine = create_engine(
        url,
        hide_parameters=True,  # what was said must not reach an error's text
        paramstyle="named",
        poolclass=QueuePool,
        pool_size=size,
        max_overflow=0 if size == 1 else 100,
        connect_args={
            "check_same_thread": False,
            "isolation_level": None,
            "factory": TidyConnection,
        },
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:  # noqa: ANN401 - the driver's own
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        journal = _to_wal(cursor)
        cursor.execute(f"PRAGMA synchronous={FLUSHED}")
        (flushed,) = cursor.execute("PRAGMA synchronous").fetchone()
        cursor.execute("PRAGMA foreign_keys=ON")
        # Without it INSERT OR REPLACE would remove rows behind the back of the triggers.
        cursor.execute("PRAGMA recursive_triggers=ON")
        cursor.close()
        if not allow_unsafe and (journal != "wal" or flushed < _FULL):
            connection.close()
            raise UnfitDatabase(f"SQLite's journal is {journal}, flushed at {flushed}: {UNFLUSHED}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if begin is not None:
            run_driver(connection, begin)

    _ = (_prepare, _begin)
    return engine


def postgres_engine(url: URL, pool_size: int) -> Engine:
    """Return what connects to a server, by `pool_size` connections at most."""
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    # Who is silent for a while is gone; without these it would be waited for for hours.
    silence = {
        "connect_timeout": CONNECT_S,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,
    }
    return create_engine(
        url,
        hide_parameters=True,
        connect_args={name: value for name, value in silence.items() if name not in url.query},
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=0,
        pool_recycle=RECYCLED_S,
        isolation_level="READ COMMITTED",
    )


def check_each(engine: Engine, *, allow_unsafe: bool) -> None:
    """Have every connection to PostgreSQL refuse what does not flush, and bound how it waits."""
    statement = (
        f"SELECT set_config('lock_timeout', '{LOCK_MS}', false), "
        f"set_config('idle_in_transaction_session_timeout', '{IDLE_MS}', false), "
        + ", ".join(f"current_setting('{name}')" for name in FLUSHING)
    )

    @event.listens_for(engine, "connect")
    def _check(connection: Any, _: Any) -> None:  # noqa: ANN401 - the driver's own
        connection.autocommit = True
        row = connection.execute(statement).fetchone()
        connection.autocommit = False
        off = [name for name, value in zip(FLUSHING, row[2:], strict=True) if value == "off"]
        if off and not allow_unsafe:
            connection.close()
            raise UnfitDatabase(f"PostgreSQL's {off[0]} is off: {UNFLUSHED}")

    _ = _check


def _to_wal(cursor: Any) -> str:  # noqa: ANN401 - the driver's own
    """Have the file be written by a write-ahead log; return what it is written by.

    Whoever does so while another process does is refused at once, whatever the busy timeout says.
    """
    deadline = monotonic() + BUSY_MS / 1_000
    while True:
        try:
            return str(cursor.execute("PRAGMA journal_mode=WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() >= deadline:
                raise
            Event().wait(PAUSE_S)
