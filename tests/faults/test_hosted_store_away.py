"""A database that is away for ten seconds holds hosted turns up, and costs nothing of them."""

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from time import monotonic

from sqlalchemy import make_url

from tests.databases import SqliteDatabases
from tests.faults.cluster import Cluster
from tests.faults.hosting import Forking, Servers, assert_sound, eventually, servers_of

AWAY_S = 10.0
"""A turn waits twice as long for what it has to record."""


@contextmanager
def lasting(seconds: float) -> Generator[None]:
    """Take so long in all, whatever goes on meanwhile takes of it."""
    until = monotonic() + seconds
    yield
    Event().wait(max(until - monotonic(), 0))


@contextmanager
def locked(url: str) -> Generator[None]:
    """Hold the lock of a SQLite database, as a long transaction of another program does."""
    path = make_url(url).database
    assert path is not None
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def held(servers: Servers, away: Callable[[], None]) -> None:
    """Have the store go away in a turn, while another is asked for, and between turns."""
    server = servers.start()
    server.open()
    server.open("other")
    server.said("remember x=1", "other")
    running = server.begun('remember x=2\ntool: wait {"ms":1500}')
    asked = server.asked("other")

    away()

    turn = server.over(running)
    assert turn["status"] == "completed", turn
    assert server.decide(asked).status_code == 202
    eventually(lambda: server.last("other")["status"] == "completed")
    assert server.said("what is x?")["messages"][-1]["parts"][-1]["text"] == "x is 2."
    assert set(servers.calls().values()) == {1}
    assert set(servers.calls("other").values()) == {1}
    assert server.process()["busy"] == 0
    assert_sound(servers, server, "s", "other")


def refused(servers: Servers) -> None:
    """Ask for a turn that cannot be begun now, and is not to be begun later."""
    server = servers.started[-1]
    answer = server.say("Hello?", "other", message_id="m1", on_gate="withdraw")
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["Retry-After"]) > 0


def test_a_postgresql_that_is_started_anew_costs_no_turn(
    own_postgresql: Cluster, cluster_url: str, forking_process: Forking, tmp_path: Path
) -> None:
    with servers_of(forking_process, tmp_path, cluster_url) as servers:

        def away() -> None:
            own_postgresql.stop()
            try:
                with lasting(AWAY_S):
                    refused(servers)
            finally:
                own_postgresql.start()

        held(servers, away)


def test_a_sqlite_file_that_is_locked_costs_no_turn(
    sqlite: SqliteDatabases, forking_process: Forking, tmp_path: Path
) -> None:
    with servers_of(forking_process, tmp_path, sqlite.ready()) as servers:

        def away() -> None:
            with locked(servers.database_url), lasting(AWAY_S):
                refused(servers)

        held(servers, away)


def test_a_postgresql_that_stays_away_frees_the_harness_and_the_session(
    own_postgresql: Cluster, cluster_url: str, forking_process: Forking, tmp_path: Path
) -> None:
    with servers_of(forking_process, tmp_path, cluster_url) as servers:
        server = servers.start(harness_lease_s=2)
        server.open()
        turn_id = server.begun("delay: 1500 Hello")
        eventually(server.agents)

        own_postgresql.stop()
        try:  # what came has to be recorded, and cannot be
            eventually(server.agents, lambda agents: not agents, within=90)
        finally:
            own_postgresql.start()

        assert server.over(turn_id)["reason"] == "owner-lost"
        assert server.said("Hello again")["status"] == "completed"
        assert_sound(servers, server)
