"""A connection to PostgreSQL that is lost leaves open whether it was written: the same again tells.

Whatever was sent without waiting for its answer, a batch that comes again is there once.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from domain.keys import Keys
from infrastructure.appending import append_batch
from infrastructure.rebuilding import rebuild
from infrastructure.runner import Attempt
from infrastructure.trouble import trouble
from tests.conftest import NewDatabase
from tests.infrastructure.cut_connection import Wire, wire_to
from tests.infrastructure.test_remembered import remembered
from tests.infrastructure.writing import NOBODY, Store, batch, note, opened, target


@pytest.fixture
def wired(new_database: NewDatabase) -> Iterator[tuple[Store, Wire]]:
    with (
        TemporaryDirectory() as directory,  # a socket's path has to be short
        wire_to(new_database("postgresql"), Path(directory)) as (url, wire),
        opened(url) as store,
    ):
        yield store, wire


@pytest.fixture
def two(new_database: NewDatabase) -> Iterator[tuple[Store, Store]]:
    url = new_database("postgresql")
    with opened(url) as store, opened(url) as other:
        yield store, other


def is_whole(store: Store, versions: int) -> None:
    assert [fact.version for fact in store.facts()] == list(range(1, versions + 1))
    assert rebuild(store.database, store.runner, check_only=True).differences == ()


def hang_up(store: Store) -> None:
    """End every connection to the database but this one."""
    with store.database.read() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_batch_whose_answer_was_lost_is_there_once(
    wired: tuple[Store, Wire], before: int
) -> None:
    store, wire = wired
    for _ in range(before):
        store.append([note(b"0")])
    request = batch([note(b"1"), note(b"2")], sequence=before + 1)

    wire.cut_after_commit()
    with pytest.raises(DBAPIError) as lost:
        store.send(request)

    assert wire.was_cut.is_set()
    assert trouble(lost.value) == "away"
    assert store.send(request).replayed
    assert not store.send(batch([note(b"3")], sequence=before + 2)).replayed
    is_whole(store, before + 4)


def test_a_batch_is_there_once_after_the_server_hung_up_before_it(two: tuple[Store, Store]) -> None:
    store, other = two
    store.append([note(b"1")])
    store.append([note(b"2")])
    request = batch([note(b"3")], sequence=3)
    hang_up(other)
    with suppress(DBAPIError):  # what was used a moment ago is not asked whether it still works
        store.send(request)
    store.send(request)
    is_whole(store, 4)


@pytest.mark.parametrize("after_writing", [False, True])
def test_a_batch_is_there_once_after_the_server_hung_up_in_it(
    two: tuple[Store, Store], after_writing: bool
) -> None:
    store, other = two
    store.append([note(b"1")])
    request = batch([note(b"2")], sequence=2)

    def interrupted(attempt: Attempt) -> None:
        where = target("s1")
        if after_writing:
            append_batch(store.handler, attempt, where, request, NOBODY)
        else:
            store.handler.state(attempt, where, Keys(producers=frozenset({"p1"})))
        hang_up(other)
        if not after_writing:
            append_batch(store.handler, attempt, where, request, NOBODY)

    with pytest.raises(DBAPIError) as lost:
        store.runner.run(interrupted)

    assert trouble(lost.value) == "away"
    assert not store.send(request).replayed
    is_whole(store, 3)


def test_what_a_lost_connection_left_is_not_remembered(two: tuple[Store, Store]) -> None:
    store, other = two
    store.append([note(b"1")])

    def interrupted(attempt: Attempt) -> None:
        append_batch(store.handler, attempt, target("s1"), batch([note(b"2")], sequence=2), NOBODY)
        hang_up(other)

    with pytest.raises(DBAPIError):
        store.runner.run(interrupted)
    known = remembered(store)
    assert known is None or known.head.version == 2
