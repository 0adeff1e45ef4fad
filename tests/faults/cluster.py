"""A PostgreSQL cluster of the test's own, which flushes its commits, and can be killed."""

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Final

from sqlalchemy import create_engine, make_url
from sqlalchemy.pool import NullPool

from tests.databases import PostgresqlDatabases, cluster, start_cluster

PATIENCE_S: Final = 60.0


class Cluster:
    """A server that is stopped, killed and started again; its databases outlive that."""

    def __init__(self, server: str) -> None:
        self._server: Final = server
        self.databases: Final = PostgresqlDatabases(server)
        self._data: Final = Path(str(make_url(server).query["host"]))

    def stop(self) -> None:
        """Cut every connection and stop in order: `pg_ctl stop -m fast`."""
        self._end(signal.SIGINT)

    def stop_at_once(self) -> None:
        """Stop without writing anything more: `pg_ctl stop -m immediate`."""
        self._end(signal.SIGQUIT)

    def kill(self) -> None:
        """Kill the server and all that it started, in the middle of whatever it does."""
        self._end(signal.SIGKILL)
        # Where nobody collects the dead, it would still count as running.
        for lock in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            (self._data / lock).unlink()

    def start(self) -> None:
        """Start it; it first recovers what it was killed in."""
        start_cluster(self._data)

    def number(self, statement: str) -> int:
        """Return the number that a statement gives."""
        engine = create_engine(self._server, poolclass=NullPool)
        with engine.connect() as connection:
            return int(connection.exec_driver_sql(statement).scalar_one() or 0)

    @property
    def postmaster(self) -> int:
        """Return the process id of the server."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def _end(self, number: signal.Signals) -> None:
        pid = self.postmaster
        processes = [pid, *_children(pid)]
        for each in processes if number is signal.SIGKILL else [pid]:
            kill(each, number)
        deadline = monotonic() + PATIENCE_S
        while any(map(_is_alive, processes)):
            assert monotonic() < deadline, "the server does not end"
            Event().wait(0.01)


@contextmanager
def own_cluster() -> Generator[Cluster]:
    """Give a cluster that is gone at the end, whatever was done to it."""
    with cluster() as server:
        own = Cluster(server)
        try:
            yield own
        finally:
            own.databases.disconnect()


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process, if it is still there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
