"""A PostgreSQL that is killed keeps what was promised, and turnlog goes on by itself."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic

import pytest
from sqlalchemy import create_engine, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from infrastructure.database import open_database
from infrastructure.trouble import trouble
from tests.faults.cluster import PATIENCE_S, Cluster, kill
from tests.faults.promising import Promise, assert_kept, assert_once, promised, request
from tests.infrastructure.writing import Store

SESSIONS = ("s0", "s1", "s2")
ROUNDS = 2
BETWEEN = 6


class Writers:
    """Threads that append to a session each, and ask again until they are answered."""

    def __init__(self, store: Store) -> None:
        self.promises: list[Promise] = []
        self.refusals = 0
        self.stop = Event()
        self._store = store

    def keep_writing(self, session_id: str) -> int:
        """Return how many numbers were promised."""
        sequence = 0
        while not self.stop.is_set():
            sequence += 1
            self._insist(session_id, sequence)
        return sequence

    def wait_for(self, more: int) -> None:
        """Wait until there are so many promises more."""
        enough = len(self.promises) + more
        deadline = monotonic() + PATIENCE_S
        while len(self.promises) < enough:
            assert monotonic() < deadline, "nobody gets an answer any more"
            self.stop.wait(0.005)

    def _insist(self, session_id: str, sequence: int) -> None:
        sent = request(session_id, sequence)
        deadline = monotonic() + PATIENCE_S
        while True:
            try:
                answer = self._store.send(sent, session_id)
            except DBAPIError as error:
                if trouble(error) != "away" or monotonic() > deadline:
                    raise
                self.refusals += 1
                self.stop.wait(0.01)
            else:
                self.promises.append(promised(session_id, sent, answer))
                return


def kill_a_backend(cluster: Cluster, url: str) -> None:
    """Kill one of the server's processes that serve us; the server then restarts them all."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        pid = connection.exec_driver_sql(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() ORDER BY state <> 'active', random() LIMIT 1"
        ).scalar_one()
    assert pid != cluster.postmaster
    kill(pid)


def kill_the_server(cluster: Cluster, _: str) -> None:
    """Kill everything at once, and start it again."""
    cluster.kill()
    cluster.start()


def stop_at_once(cluster: Cluster, _: str) -> None:
    """Stop as in an emergency, and start again."""
    cluster.stop_at_once()
    cluster.start()


@pytest.mark.parametrize("blow", [kill_a_backend, kill_the_server, stop_at_once])
def test_a_postgresql_that_is_killed_loses_no_promise(
    own_postgresql: Cluster, cluster_url: str, blow: Callable[[Cluster, str], None]
) -> None:
    with Store(open_database(make_url(cluster_url))) as store:
        writers = Writers(store)
        with ThreadPoolExecutor(len(SESSIONS)) as threads:
            running = [threads.submit(writers.keep_writing, each) for each in SESSIONS]
            try:
                for _ in range(ROUNDS):
                    writers.wait_for(BETWEEN)
                    blow(own_postgresql, cluster_url)
                writers.wait_for(BETWEEN)
            finally:
                writers.stop.set()
                for each in running:
                    each.result()
        assert writers.refusals > 0
        for session_id, through in zip(SESSIONS, [each.result() for each in running], strict=True):
            assert_kept(store, session_id, writers.promises)
            assert_once(store, session_id, session_id, through)
