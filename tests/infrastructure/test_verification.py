"""Whatever is changed behind the log's back is found, and said to be where it is."""

from hashlib import sha256

import pytest
from sqlalchemy import select

from domain.refusals import NoSuchSession
from infrastructure import tables as t
from infrastructure.canonical_import import import_export
from infrastructure.export import export_session
from infrastructure.rebuilding import rebuild
from infrastructure.verification import (
    Damage,
    Reason,
    Receipt,
    Verification,
    verify,
    verify_all,
)
from tests.infrastructure.journeys import by_hand, eventful
from tests.infrastructure.large import LONG, PNG, asking, event
from tests.infrastructure.writing import Store, note


def verified(store: Store, session_id: str = "s1", receipt: Receipt | None = None) -> Verification:
    return verify(store.database, "default", session_id, receipt)


def change(store: Store, statement: str) -> None:
    with by_hand(store) as connection:
        assert connection.exec_driver_sql(statement).rowcount > 0


def test_an_eventful_session_is_what_was_written(store: Store) -> None:
    eventful(store)
    facts = store.facts()
    assert verified(store) == Verification(
        project_id="default",
        session_id="s1",
        events=19,
        version=19,
        hash=facts[-1].hash,
        first_bad=None,
        bad=0,
    )
    assert verified(store).ok


def test_a_session_that_is_not_there_cannot_be_verified(store: Store) -> None:
    with pytest.raises(NoSuchSession):
        verified(store)


@pytest.mark.parametrize(
    ("statement", "version", "reason", "bad"),
    [
        ("DELETE FROM events WHERE version = 5", 5, "missing-event", 1),
        ("DELETE FROM events WHERE version IN (5, 6)", 5, "missing-event", 2),
        ("DELETE FROM events WHERE version = 1", 1, "missing-event", 1),
        ("DELETE FROM events WHERE version >= 18", 18, "missing-event", 2),
        ("DELETE FROM bodies WHERE version = 7", 7, "missing-body", 1),
        ("UPDATE bodies SET body = salt WHERE version = 7", 7, "body-mismatch", 1),
        ("UPDATE bodies SET salt = body WHERE version = 7", 7, "body-mismatch", 1),
        ("UPDATE events SET actor = 'me' WHERE version = 8", 8, "hash-mismatch", 1),
        ("UPDATE events SET recorded_at = 1 WHERE version = 8", 8, "hash-mismatch", 1),
        ("UPDATE events SET history = NOT history WHERE version = 8", 8, "hash-mismatch", 1),
        ("UPDATE events SET hash = body_digest WHERE version = 8", 8, "hash-mismatch", 2),
        ("UPDATE events SET body_digest = hash WHERE version = 8", 8, "body-mismatch", 2),
        ("UPDATE heads SET hash = fingerprint", 19, "head-mismatch", 1),
        ("UPDATE heads SET version = 18", 18, "head-mismatch", 1),
        ("DELETE FROM heads", 19, "missing-head", 1),
    ],
)
def test_the_first_damage_is_named(
    store: Store, statement: str, version: int, reason: str, bad: int
) -> None:
    eventful(store)
    change(store, statement)
    found = verified(store)
    assert found.first_bad is not None
    assert (found.first_bad.version, found.first_bad.reason) == (version, reason)
    assert found.bad == bad
    assert not found.ok


def test_a_damaged_session_is_readable_before_and_after_the_damage(store: Store) -> None:
    eventful(store)
    change(store, "DELETE FROM events WHERE version = 5")
    assert [fact.version for fact in store.facts()] == [*range(1, 5), *range(6, 20)]
    assert verified(store).events == 18


def test_a_receipt_of_the_chain_as_it_was_is_honoured(store: Store) -> None:
    store.append([note(b"1")])
    kept = Receipt(version=2, hash=verified(store).hash)
    store.append([note(b"2")])
    assert verified(store, receipt=kept).ok


def test_a_chain_written_anew_does_not_fit_the_receipt_of_the_first(store: Store) -> None:
    store.append([note(b"1")])
    kept = Receipt(version=2, hash=bytes(32))
    assert verified(store, receipt=kept).first_bad == Damage(version=2, reason="receipt-mismatch")


def test_a_receipt_of_more_than_there_is_tells_of_a_loss(store: Store) -> None:
    store.append([note(b"1")])
    kept = Receipt(version=3, hash=bytes(32))
    assert verified(store, receipt=kept).first_bad == Damage(version=3, reason="receipt-ahead")


def test_the_whole_store_is_verified_session_by_session(store: Store) -> None:
    for session_id in ("s1", "s2", "s3"):
        store.append([note(b"1")], session_id)
    change(store, "DELETE FROM bodies WHERE version = 1 AND session_key = 2")
    found = {each.session_id: each.ok for each in verify_all(store.database)}
    assert found == {"s1": True, "s2": False, "s3": True}
    assert list(verify_all(store.database, "another")) == []


def test_a_session_longer_than_a_page_is_verified_and_exported_whole(store: Store) -> None:
    for _ in range(3):
        store.append([note(b"1")] * 100)
    assert verified(store).events == 301
    lines = list(export_session(store.database, "default", "s1"))
    assert len(lines) == 303
    assert import_export(store.log, store.runner, "default", lines).added == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "missing-blob"), (b"other bytes", "blob-mismatch"), (PNG + b"!", "blob-mismatch")],
)
def test_a_blob_that_is_not_as_it_was_kept_is_found_where_it_is_first_needed(
    store: Store, content: bytes | None, reason: Reason
) -> None:
    store.append(asking())
    assert verify(store.database, "default", "s1").ok
    mine = t.blobs.c.sha256 == sha256(PNG).digest()
    damage = t.blobs.delete() if content is None else t.blobs.update().values(content=content)
    with store.database.write() as connection:
        connection.execute(damage.where(mine))
    found = verify(store.database, "default", "s1")
    assert found.first_bad == Damage(version=2, reason=reason)
    assert found.bad == 2


def test_a_blob_whose_size_or_whose_name_was_lost_is_found_and_named_again(store: Store) -> None:
    store.append(asking())
    with store.database.write() as connection:
        kept = sorted(map(tuple, connection.execute(select(t.blob_references))))
        connection.execute(t.blob_references.delete())
    found = verify(store.database, "default", "s1")
    assert found.first_bad == Damage(version=2, reason="unreferenced-blob")
    assert found.bad == len(kept)
    (told,) = rebuild(store.database, store.runner).differences
    assert (told.table, told.missing) == ("blob_references", len(kept))
    with store.database.read() as connection:
        assert sorted(map(tuple, connection.execute(select(t.blob_references)))) == kept
    assert verify(store.database, "default", "s1").ok
    assert rebuild(store.database, store.runner).equal == 1
    with store.database.write() as connection:
        connection.execute(t.blobs.update().values(size=t.blobs.c.size + 1))
    reason = verify(store.database, "default", "s1").first_bad
    assert reason == Damage(version=2, reason="blob-mismatch")


def test_a_blob_that_an_event_only_names_need_not_be_there(store: Store) -> None:
    part = {"type": "attachment", "attachment_id": "a", "sha256": "0" * 64, "size": 7}
    message = {"role": "user", "content": [part]}
    store.append([event("turn-started", {"turn_id": "t1", "messages": [message]})])
    assert verify(store.database, "default", "s1").ok


def test_a_text_of_another_size_than_its_event_says_is_found(store: Store) -> None:
    store.append([event("data-recorded", {"kind": "k", "data": LONG})])
    with store.database.write() as connection:
        connection.execute(t.blobs.update().values(content=b"short"))
    reason = verify(store.database, "default", "s1").first_bad
    assert reason == Damage(version=2, reason="blob-mismatch")
