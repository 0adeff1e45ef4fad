"""How does space that nobody needs go back to the file system?

Old idempotency keys go first, and blobs that no event names; then the database gives back what is
free within it. Nothing that was said is removed.
"""

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, delete, inspect, text

from infrastructure import tables as t
from infrastructure.collecting import collect
from infrastructure.database import Database
from infrastructure.idempotency import KEPT_US

SIZES_NEEDED: Final = 2
"""VACUUM writes the database twice: to a temporary file and to the write-ahead log."""


class NoRoom(Exception):
    """There is too little space to give space back."""

    def __init__(self, needed: int, free: int) -> None:
        super().__init__(f"compacting needs up to {needed} bytes free, there are {free}")


class InTheWay(Exception):
    """Another connection keeps the database from giving space back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaimed:
    """What it took before and takes after, in bytes, with the write-ahead log of SQLite."""

    before: int
    after: int
    idempotency_keys: int
    blobs: int = 0


def free_bytes(folder: Path) -> int:
    """Return how many bytes can still be written there."""
    return shutil.disk_usage(folder).free


def reclaim(
    database: Database,
    now: int,
    *,
    quick: bool = False,
    free: Callable[[Path], int] = free_bytes,
) -> Reclaimed:
    """Give space back; `quick` leaves out what needs room and keeps writers out.

    Raises:
        NoRoom: SQLite has to write the database anew, and there is no room.
        InTheWay: others read or write all the time.
    """
    before = size(database)
    with database.write() as connection:
        keys = connection.execute(
            delete(t.idempotency).where(t.idempotency.c.claimed_at <= now - KEPT_US)
        ).rowcount
    blobs = collect(database, now)
    if database.kind == "sqlite":
        _reclaim_sqlite(database, free, quick=quick)
    else:
        _reclaim_postgresql(database)
    return Reclaimed(before=before, after=size(database), idempotency_keys=keys, blobs=blobs)


def size(database: Database) -> int:
    """Return how many bytes the database takes on its disk."""
    if database.kind == "sqlite":
        return sum(path.stat().st_size for path in _files(database) if path.exists())
    with database.read() as connection:
        found = connection.execute(text("SELECT pg_database_size(current_database())"))
        return int(found.scalar_one())


def _reclaim_sqlite(database: Database, free: Callable[[Path], int], *, quick: bool) -> None:
    main = _files(database)[0]
    with database.outside() as run:
        _truncate(run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
        if quick:
            return
        needed = SIZES_NEEDED * main.stat().st_size
        room = free(main.parent)
        if room < needed:
            raise NoRoom(needed, room)
        for name in _indexes(database):
            # What was removed from it stays in it until its pieces are merged.
            with suppress(sqlite3.DatabaseError):  # one that is broken is made anew some day
                run(f"INSERT INTO {name} ({name}) VALUES ('optimize')")  # noqa: S608 - ours
        try:
            run("VACUUM")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise InTheWay from error
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                raise NoRoom(needed, room) from error
            raise
        _truncate(run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())


def _truncate(answer: Sequence[int]) -> None:
    if answer[0]:
        raise InTheWay


def _reclaim_postgresql(database: Database) -> None:
    with database.read() as connection:
        names = _tables(connection)
    with database.outside() as run:
        for name in names:
            run(f'VACUUM (ANALYZE) "{name}"')


def _indexes(database: Database) -> Sequence[str]:
    """Return the search indexes of SQLite."""
    with database.read() as connection:
        names = connection.execute(
            text("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'")
        ).scalars()
        return [name for name in names if name.startswith("search_index_")]


def _tables(connection: Connection) -> Sequence[str]:
    """Return our tables, with those that followers made."""
    ours = {table.name for table in t.metadata.tables.values()}
    return [
        name
        for name in inspect(connection).get_table_names()
        if name in ours or name.startswith("search_index_")
    ]


def _files(database: Database) -> tuple[Path, Path]:
    path = str(database.url.database)
    return Path(path), Path(f"{path}-wal")
