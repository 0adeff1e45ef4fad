"""What a view says of its place is true at every moment; who waits for it does not wait long."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from statistics import median
from time import monotonic

import pytest
from sqlalchemy import ColumnElement, Connection, func, select

from infrastructure import tables as t
from infrastructure.followers import following as following_module
from infrastructure.followers import tracking
from infrastructure.followers.following import Following, StillBehindError
from tests.infrastructure.followers.watching import begun, following, spent
from tests.infrastructure.writing import Store, opened

WRITERS = 3
TURNS = 60
LONGEST_S = 5.0
ASLEEP_S = 60.0
"""So long followers do nothing by themselves, in a test in which somebody wakes them."""


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with opened(database_url) as store:
        yield store


@pytest.fixture
def views(store: Store) -> Iterator[Following]:
    with following(store) as views:
        views.start()
        yield views


def write(store: Store, session_id: str) -> None:
    for number in range(TURNS):
        name = f"{session_id}-{number}"
        usage = [spent(name, 1) for _ in range(number % 4)]
        store.append([begun(name, "go"), *usage], f"{session_id}-{number}", session_id)


def count(connection: Connection, *which: ColumnElement[bool]) -> int:
    found = connection.execute(select(func.count()).select_from(t.events).where(*which))
    return int(found.scalar_one())


def lag_now(store: Store) -> int:
    """Return how far `usage` is behind; see to it that it says so, and has the rest."""
    position = t.events.c.position
    with store.database.read() as connection:
        lag = tracking.lag(connection, "usage", store.clock())
        behind = count(connection, position > lag.position)
        usage = t.events.c.type == "usage-recorded"
        taken = count(connection, position <= lag.position, usage)
        summed = connection.execute(select(func.sum(t.usage.c.records))).scalar_one()
    assert (lag.events, int(summed or 0)) == (behind, taken)
    return lag.events


def test_a_view_says_at_every_moment_what_it_has_and_what_not(
    store: Store, views: Following
) -> None:
    lags: set[int] = set()
    with ThreadPoolExecutor(WRITERS) as threads:
        writing: list[Future[None]] = [
            threads.submit(write, store, f"s{number}") for number in range(WRITERS)
        ]
        while not all(each.done() for each in writing):
            lags.add(lag_now(store))
        for each in writing:
            each.result()
    assert len(lags) > 1
    with store.database.read() as connection:
        newest = connection.execute(select(func.max(t.events.c.position))).scalar_one()
    views.wait_for("usage", int(newest))
    assert lag_now(store) == 0


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_what_an_open_transaction_holds_back_counts_as_behind(
    store: Store, views: Following
) -> None:
    with store.transaction() as late:
        store.carry_out(late, "slow", begun("t1", "go"))
        newest = store.append([begun("t1", "go")], "quick").facts[-1].position
        with pytest.raises(StillBehindError):
            views.wait_for("usage", newest, 0.1)
        assert lag_now(store) == 2
    views.wait_for("usage", newest)
    assert lag_now(store) == 0


def test_a_reader_wakes_the_views_and_does_not_wait_for_their_next_look(
    store: Store, views: Following, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pause in ("GAP_S", "QUICK_S", "SLOW_S"):
        monkeypatch.setattr(following_module, pause, ASLEEP_S)
    waited: list[float] = []
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(write, store, "other")
        for number in range(20):
            facts = store.append([begun(f"t{number}", "go")], f"own-{number}").facts
            began = monotonic()
            views.wait_for("search", facts[-1].position)
            waited.append(monotonic() - began)
        writing.result()
    assert median(waited) < LONGEST_S
