"""Disks that can be filled under a database.

A file system of its own in memory, where this process may mount one. Elsewhere, and in tests of
their own everywhere, a stand-in makes the database answer what it answers when its disk is full:
SQLite by a limit of its pages, PostgreSQL by a trigger that raises `disk_full`.
"""

import os
import pwd
import secrets
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from sqlalchemy import make_url

from infrastructure.composition import Turnlog
from tests.databases import DatabaseKind, Databases, PostgresqlDatabases, prepare

SQLITE_MIB = 4
POSTGRESQL_MIB = 48


class Disk(Protocol):
    """Where one database is kept, and how its room runs out."""

    url: str

    def fill(self, log: Turnlog, /) -> None:
        """Leave next to no room; a database may have some of its own left."""
        ...

    def free(self, log: Turnlog, /) -> None:
        """Make room again."""
        ...


class RealDisk:
    """A file system with nothing on it but the database."""

    def __init__(self, url: str, place: Path) -> None:
        self.url = url
        self._filler = place / "filler"

    def fill(self, _: Turnlog) -> None:
        """Write until the system says that there is no room."""
        with self._filler.open("wb", buffering=0) as filler:
            for size in (65536, 4096, 1):
                try:
                    while filler.write(b"\0" * size):
                        pass
                except OSError:
                    continue

    def free(self, _: Turnlog) -> None:
        """Remove what took the room."""
        self._filler.unlink()


class LimitedPages:
    """An SQLite database that may not grow: it answers as on a full disk."""

    def __init__(self, url: str) -> None:
        self.url = url

    def fill(self, log: Turnlog, /) -> None:
        """Have no page more."""
        self._limit(log, 1)

    def free(self, log: Turnlog, /) -> None:
        """Have as many as there can be."""
        self._limit(log, 4_294_967_294)

    def _limit(self, log: Turnlog, pages: int) -> None:
        with log.database.outside() as run:
            run(f"PRAGMA max_page_count={pages}")


class RefusingServer:
    """A PostgreSQL whose log has a trigger that raises what a full disk raises."""

    def __init__(self, url: str) -> None:
        self.url = url

    def fill(self, log: Turnlog, /) -> None:
        """Raise it at every insert."""
        with log.database.write() as connection:
            connection.exec_driver_sql(
                "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$"
            )
            connection.exec_driver_sql(
                "CREATE TRIGGER full_disk BEFORE INSERT ON bodies EXECUTE FUNCTION full_disk()"
            )

    def free(self, log: Turnlog, /) -> None:
        """Raise it no more."""
        with log.database.write() as connection:
            connection.exec_driver_sql("DROP TRIGGER full_disk ON bodies")
            connection.exec_driver_sql("DROP FUNCTION full_disk")


@contextmanager
def stand_in(kind: DatabaseKind, databases: Databases) -> Generator[Disk]:
    """Give a database that answers as on a full disk."""
    url = databases.ready()
    yield LimitedPages(url) if kind == "sqlite" else RefusingServer(url)
    databases.drop(url)


@contextmanager
def small_disk(kind: DatabaseKind, databases: Databases) -> Generator[Disk]:
    """Give a database on a disk of its own, or a stand-in where none can be mounted."""
    # Not where pytest keeps files, which the server's user may not enter.
    with TemporaryDirectory(prefix="turnlog-disk-") as directory:
        place = Path(directory)
        size = SQLITE_MIB if kind == "sqlite" else POSTGRESQL_MIB
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}m", "turnlog-test", directory]
        unmount = ["umount", directory]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            with stand_in(kind, databases) as disk:
                yield disk
            return
        try:
            if isinstance(databases, PostgresqlDatabases):
                with _in_tablespace(databases, place) as url:
                    yield RealDisk(url, place)
            else:
                url = f"sqlite:///{place / 'turnlog.db'}"
                prepare(url)
                yield RealDisk(url, place)
        finally:
            subprocess.run(unmount, check=True)


@contextmanager
def _in_tablespace(databases: PostgresqlDatabases, place: Path) -> Generator[str]:
    owner = pwd.getpwnam("pgserver")  # whom the server of these tests runs as for root
    os.chown(place, owner.pw_uid, owner.pw_gid)
    space = f"space_{secrets.token_hex(4)}"
    databases.execute(f"CREATE TABLESPACE {space} LOCATION '{place}'")
    url = databases.ready()
    name = make_url(url).database
    databases.execute(f'ALTER DATABASE "{name}" SET TABLESPACE {space}')
    yield url
    databases.drop(url)
    databases.execute(f"DROP TABLESPACE {space}")
