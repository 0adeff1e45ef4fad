"""A blob goes when nobody names it any more, and never from under an event that does."""

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from threading import Event

from sqlalchemy import select

from domain.blobs import blob_of
from domain.commands import Proposal
from infrastructure import tables as t
from infrastructure.blobs import keep
from infrastructure.collecting import AT_ONCE, KEPT_US, collect, remove, unnamed
from infrastructure.commit import Commit
from infrastructure.reclaiming import reclaim
from infrastructure.verification import verify
from tests.conftest import NewDatabase
from tests.infrastructure.large import LONG, asking, event
from tests.infrastructure.writing import NEW_YEAR, Store, opened

LATER = NEW_YEAR + KEPT_US
NAME = sha256(LONG.encode()).digest()


def put(store: Store, *contents: bytes, at: int = NEW_YEAR) -> None:
    with store.database.write() as connection:
        for content in contents:
            keep(connection, "default", blob_of(content), at)


def names(store: Store) -> set[bytes]:
    with store.database.read() as connection:
        return set(map(bytes, connection.execute(select(t.blobs.c.sha256)).scalars()))


def naming() -> list[Proposal]:
    content = [{"type": "attachment", "attachment_id": "a", "sha256": NAME.hex()}]
    data = {"turn_id": "t1", "messages": [{"role": "user", "content": content}]}
    return [event("turn-started", data)]


def test_what_is_named_stays_and_what_is_not_goes_after_a_day(store: Store) -> None:
    store.append(asking())
    kept = names(store)
    put(store, b"nobody's")
    assert collect(store.database, LATER - 1) == 0
    assert collect(store.database, LATER) == 1
    assert names(store) == kept
    assert verify(store.database, "default", "s1").ok


def test_more_than_one_transaction_takes_go_too(store: Store) -> None:
    put(store, *(str(number).encode() for number in range(AT_ONCE + 1)))
    assert reclaim(store.database, LATER, quick=True).blobs == AT_ONCE + 1
    assert names(store) == set()


def test_what_another_project_names_does_not_keep_it(store: Store) -> None:
    store.append(asking())
    with store.database.write() as connection:
        keep(connection, "other", blob_of(LONG.encode()), NEW_YEAR)
    assert collect(store.database, LATER) == 1
    assert NAME in names(store)


def test_what_was_named_since_it_was_looked_for_stays(store: Store) -> None:
    put(store, LONG.encode())
    with store.database.read() as connection:
        found = unnamed(connection, LATER)
    store.append(naming())
    with store.database.write() as connection:
        assert remove(connection, found, LATER) == 0
    assert names(store) == {NAME}


def test_an_append_that_names_a_blob_while_it_is_collected_keeps_it(
    new_database: NewDatabase,
) -> None:
    url = new_database("postgresql")
    with opened(url) as store, ThreadPoolExecutor(1) as pool:
        put(store, LONG.encode())
        with store.transaction() as commit:
            store.carry_out(commit, "s1", *naming())
            assert collect(store.database, LATER) == 0  # passed over: it is locked
        assert names(store) == {NAME}
        store.append([event("data-recorded", {"kind": "k", "data": LONG})], "s2")
        assert pool.submit(collect, store.database, LATER).result() == 0
        assert verify(store.database, "default", "s1").ok


def test_an_append_that_brings_a_blob_that_is_being_collected_keeps_it_anew(
    new_database: NewDatabase,
) -> None:
    url = new_database("postgresql")
    begun = Event()
    with opened(url) as store, opened(url) as other, ThreadPoolExecutor(1) as pool:
        put(store, LONG.encode())

        def bring(commit: Commit) -> None:
            begun.set()
            other.carry_out(commit, "s1", event("data-recorded", {"kind": "k", "data": LONG}))

        def append() -> None:
            with other.transaction() as commit:
                bring(commit)

        with store.database.write() as connection:
            assert remove(connection, unnamed(connection, LATER), LATER) == 1
            waiting = pool.submit(append)
            begun.wait()
        waiting.result()
        assert names(store) == {NAME}
        assert verify(store.database, "default", "s1").ok
