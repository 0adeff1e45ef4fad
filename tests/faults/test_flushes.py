"""What is answered was flushed; a database that does not flush is refused, whenever it begins to.

A killed process leaves its pages to the system, which still writes them: that a commit outlives a
power cut shows only in what was flushed before the answer.
"""

from collections.abc import Iterator
from threading import Event
from time import monotonic

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from infrastructure import connecting
from infrastructure.connecting import UnfitDatabase
from infrastructure.database import open_database
from infrastructure.trouble import trouble
from tests.api.batches import append, batch, event, problem
from tests.api.serving import served
from tests.conftest import NewDatabase
from tests.faults.cluster import Cluster
from tests.faults.promising import assert_once, request
from tests.faults.sqlite_flushes import Flushes, counted_flushes
from tests.infrastructure.writing import Store

APPENDS = 12


@pytest.fixture
def flushes() -> Iterator[Flushes]:
    """What SQLite flushes of what is opened from now on."""
    with counted_flushes() as flushes:
        yield flushes


def assert_sqlite_flushes_each(url: str, flushes: Flushes) -> None:
    with Store(open_database(make_url(url), allow_unsafe=True)) as store:
        store.send(request("p1", 1))
        assert flushes.opened > 0
        for sequence in range(2, APPENDS):
            before = flushes.count
            store.send(request("p1", sequence))
            assert flushes.count > before


def assert_postgresql_flushes_each(url: str, cluster: Cluster) -> None:
    with Store(open_database(make_url(url), allow_unsafe=True)) as store:
        before = wal_flushes(cluster)
        for sequence in range(1, APPENDS):
            store.send(request("p1", sequence))
    # A server's process tells what it flushed at its end, before it is gone.
    wait_until_alone(cluster, url)
    assert wal_flushes(cluster) - before >= APPENDS - 1


def wal_flushes(cluster: Cluster) -> int:
    """Return how often those who serve clients have flushed the write-ahead log."""
    return cluster.number(
        "SELECT sum(fsyncs) FROM pg_stat_io "
        "WHERE object = 'wal' AND backend_type = 'client backend'"
    )


def wait_until_alone(cluster: Cluster, url: str) -> None:
    """Wait until nobody is connected to a database any more."""
    name = make_url(url).database
    deadline = monotonic() + 10
    while cluster.number(f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"):
        assert monotonic() < deadline, "somebody stays connected"
        Event().wait(0.01)


def test_sqlite_flushes_each_append_before_it_is_answered(
    new_database: NewDatabase, flushes: Flushes
) -> None:
    assert_sqlite_flushes_each(new_database("sqlite"), flushes)


@pytest.mark.parametrize("level", ["NORMAL", "OFF"])
def test_an_sqlite_that_does_not_flush_is_seen_by_the_count_and_refused(
    new_database: NewDatabase, flushes: Flushes, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    url = new_database("sqlite")
    monkeypatch.setattr(connecting, "FLUSHED", level)
    with pytest.raises(AssertionError):
        assert_sqlite_flushes_each(url, flushes)
    with pytest.raises(UnfitDatabase, match="commits could be lost"):
        open_database(make_url(url))


def test_an_append_whose_flush_failed_is_not_answered_and_can_be_sent_again(
    new_database: NewDatabase, flushes: Flushes
) -> None:
    with Store(open_database(make_url(new_database("sqlite")))) as store:
        store.send(request("p1", 1))
        flushes.failing = True
        with pytest.raises(OperationalError) as failed:
            store.send(request("p1", 2))
        assert trouble(failed.value) == "away"
        flushes.failing = False
        assert_once(store, "s1", "p1", 1)


def test_postgresql_flushes_each_append_before_it_is_answered(
    own_postgresql: Cluster, cluster_url: str
) -> None:
    assert_postgresql_flushes_each(cluster_url, own_postgresql)


def test_a_postgresql_that_does_not_flush_is_seen_by_the_count(
    own_postgresql: Cluster, cluster_url: str
) -> None:
    name = make_url(cluster_url).database
    own_postgresql.databases.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    with pytest.raises(AssertionError):
        assert_postgresql_flushes_each(cluster_url, own_postgresql)


WAYS = {
    "of the database": 'ALTER DATABASE "{name}" {verb} synchronous_commit',
    "of the server": "ALTER SYSTEM {verb} full_page_writes",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_postgresql_that_stops_flushing_is_refused_by_each_new_connection_and_served_again(
    own_postgresql: Cluster, cluster_url: str, way: str
) -> None:
    name = make_url(cluster_url).database
    off, on = (WAYS[way].format(name=name, verb=verb) for verb in ("SET", "RESET"))
    note = event("data-recorded", kind="k", data=1)
    with (
        served("postgresql", cluster_url, allow_unsafe_durability="false") as server,
        server.client("p") as client,
    ):
        assert append(client, "s", batch(1, note)).status_code == 201
        try:
            change(own_postgresql, cluster_url, f"{off} = off")
            refused = append(client, "s", batch(2, note))
            assert problem(refused) == (503, "unfit-database", [])
            assert refused.json()["action"] == "retry"
            assert "is off: commits could be lost" in refused.json()["detail"]
        finally:
            change(own_postgresql, cluster_url, on)
        assert append(client, "s", batch(2, note)).status_code == 201


def change(cluster: Cluster, url: str, statement: str) -> None:
    """Change a setting, and cut the connections that still have the old one."""
    name = make_url(url).database
    cluster.databases.execute(statement, "SELECT pg_reload_conf()")
    expected = "off" if statement.endswith("off") else "on"
    if "SYSTEM" in statement:
        deadline = monotonic() + 10
        while cluster.databases.setting("full_page_writes") != expected:
            assert monotonic() < deadline, "the server did not reload its settings"
    cluster.databases.execute(
        f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'"
    )
