"""Space that nobody needs goes back, and nothing that was said goes with it."""

from pathlib import Path

import pytest
from sqlalchemy import make_url, select

from domain.commands import ArchiveSession
from infrastructure import tables as t
from infrastructure.database import open_database
from infrastructure.idempotency import KEPT_US, IdempotencyKey, claim
from infrastructure.reclaiming import InTheWay, NoRoom, reclaim, size
from infrastructure.runner import Attempt
from infrastructure.verification import verify_all
from tests.databases import SqliteDatabases
from tests.infrastructure.journeys import eventful
from tests.infrastructure.writing import NEW_YEAR, NOBODY, Store, opened, target, turn


def claim_keys(store: Store, count: int, at: int) -> None:
    with store.database.write() as connection:
        for number in range(count):
            name = f"{at}-{number}-{'k' * 200}"
            key = IdempotencyKey(project_id="default", key=name, request_digest=b"d")
            claim(connection, key, at)


def test_old_idempotency_keys_go_and_everything_else_stays(store: Store) -> None:
    eventful(store)
    now = NEW_YEAR + 3 * KEPT_US
    claim_keys(store, 3, NEW_YEAR)
    claim_keys(store, 2, now)
    with store.database.write() as connection:  # what a claim forgets at once, put back
        connection.execute(t.idempotency.delete())
    claim_keys(store, 3, NEW_YEAR)
    before = store.rows()
    assert reclaim(store.database, now).idempotency_keys == 3
    assert store.rows() == before
    assert [each.ok for each in verify_all(store.database)] == [True]


def test_a_key_of_today_is_kept(store: Store) -> None:
    claim_keys(store, 2, NEW_YEAR)
    assert reclaim(store.database, NEW_YEAR + KEPT_US - 1).idempotency_keys == 0
    with store.database.read() as connection:
        assert len(connection.execute(select(t.idempotency)).all()) == 2


def test_sqlite_gives_its_free_pages_and_its_write_ahead_log_back(
    sqlite: SqliteDatabases,
) -> None:
    url = sqlite.ready()
    with opened(url) as store:
        claim_keys(store, 3000, NEW_YEAR)
        found = reclaim(store.database, NEW_YEAR + KEPT_US)
        path = str(make_url(url).database)
        assert found.idempotency_keys == 3000
        assert found.after < found.before / 2
        assert found.after == size(store.database) == Path(path).stat().st_size


def test_quick_gives_the_write_ahead_log_back_and_leaves_the_file_as_long(
    sqlite: SqliteDatabases,
) -> None:
    url = sqlite.ready()
    with opened(url) as store:
        claim_keys(store, 3000, NEW_YEAR)
        found = reclaim(store.database, NEW_YEAR + KEPT_US, quick=True)
        assert Path(f"{make_url(url).database}-wal").stat().st_size == 0
        assert found.after < found.before
        assert reclaim(store.database, NEW_YEAR).after < found.after


def test_without_room_nothing_is_tried(sqlite: SqliteDatabases) -> None:
    with opened(sqlite.ready()) as store, pytest.raises(NoRoom, match="there are 1"):
        reclaim(store.database, NEW_YEAR, free=lambda _: 1)


def test_a_reader_in_the_way_is_told(
    sqlite: SqliteDatabases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infrastructure.connecting.BUSY_MS", 50)
    with opened(sqlite.ready()) as store:
        eventful(store)
        other = open_database(store.database.url, allow_unsafe=True)
        with other.read() as connection:
            connection.execute(select(t.store)).all()
            eventful(store, "s2")
            with pytest.raises(InTheWay):
                reclaim(store.database, NEW_YEAR)
        other.close()
        assert reclaim(store.database, NEW_YEAR).after > 0


def test_what_archived_sessions_left_behind_is_given_back_and_they_are_not(store: Store) -> None:
    names = [f"s{number}" for number in range(200)]
    for name in names:
        with store.transaction() as commit:
            store.carry_out(commit, name, *turn("t1"))
            archived = [ArchiveSession()]
            attempt = Attempt(commit, patient=False)
            store.handler.carry_out(attempt, target(name), archived, caller=NOBODY)
    before = store.rows()
    found = reclaim(store.database, NEW_YEAR)
    if store.database.kind == "sqlite":
        assert found.after < found.before
        main = Path(str(store.database.url.database))
        assert found.after == size(store.database) == main.stat().st_size
    assert store.rows() == before
    assert all(each.ok for each in verify_all(store.database))
    assert store.sessions() == [("default", name) for name in names]
