"""Rows that nobody read to their end hold up no writer, and show nobody an old moment."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, text

from infrastructure import sqlite_connection
from infrastructure.prepared import Prepared
from infrastructure.runner import Attempt
from tests.conftest import NewDatabase
from tests.infrastructure.writing import Store, note, opened

EVENTS = "SELECT version FROM events"
Leave = Callable[[Connection], Any]


class BrokenOffError(Exception):
    """What somebody raises before all rows are read."""


@pytest.fixture
def two(new_database: NewDatabase) -> Iterator[tuple[Store, Store]]:
    """Two who write to one SQLite file."""
    sqlite_url = new_database("sqlite")
    with opened(sqlite_url) as store, opened(sqlite_url) as other:
        store.append([note(b"1"), note(b"2")])
        yield store, other


def by_driver(connection: Connection) -> object:
    """Return a statement that was sent, and whose rows nobody read."""
    return Prepared(lambda _: text(EVENTS).columns()).sent(connection, {})


def by_library(connection: Connection) -> object:
    """Return a result of which one row was read."""
    result = connection.execute(text(EVENTS))
    result.fetchone()
    return result


WAYS: list[Leave] = [by_driver, by_library]


@pytest.mark.parametrize("leave", WAYS)
def test_who_breaks_off_holds_up_nobody_who_writes_after_another(
    two: tuple[Store, Store], leave: Leave
) -> None:
    store, other = two
    kept: list[object] = []

    def broken_off(attempt: Attempt) -> None:
        kept.append(leave(attempt.connection))
        raise BrokenOffError

    with pytest.raises(BrokenOffError):
        store.runner.run(broken_off)
    other.append([note(b"3")], "other")
    store.append([note(b"4")])

    assert [fact.version for fact in store.facts()] == [1, 2, 3, 4]


@pytest.mark.parametrize("leave", WAYS)
def test_who_commits_holds_up_nobody_who_writes_after_another(
    two: tuple[Store, Store], leave: Leave
) -> None:
    store, other = two
    kept = [store.runner.run(lambda attempt: leave(attempt.connection))]

    other.append([note(b"3")], "other")
    store.append([note(b"4")])

    assert [fact.version for fact in store.facts()] == [1, 2, 3, 4]
    assert len(kept) == 1


@pytest.mark.parametrize("leave", WAYS)
@pytest.mark.parametrize("breaks_off", [True, False])
def test_who_reads_next_sees_what_was_written_since(
    two: tuple[Store, Store], leave: Leave, breaks_off: bool
) -> None:
    store, other = two
    kept: list[object] = []

    def look() -> None:
        with store.database.read() as connection:
            kept.append(leave(connection))
            if breaks_off:
                raise BrokenOffError

    try:
        look()
    except BrokenOffError as error:
        kept.append(error)
    other.append([note(b"3")], "other")

    assert store.sessions() == [("default", "s1"), ("default", "other")]


def test_among_many_statements_the_one_that_was_not_read_ends(
    two: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_connection, "AT_MOST", 3)
    store, other = two
    kept: list[object] = []

    def broken_off(attempt: Attempt) -> None:
        kept.append(by_driver(attempt.connection))
        for _ in range(10):
            attempt.connection.execute(text(EVENTS)).all()
        raise BrokenOffError

    with pytest.raises(BrokenOffError):
        store.runner.run(broken_off)
    other.append([note(b"3")], "other")
    store.append([note(b"4")])

    assert len(store.facts()) == 4
