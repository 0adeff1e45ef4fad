"""An export holds everything, takes it back anywhere, and is refused if it is not whole."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256

import pytest

from domain.blobs import blob_of
from domain.events import Opaque
from domain.recorded import GENESIS, chained_hash
from domain.refusals import ImportConflict, NoSuchSession
from infrastructure.canonical_import import ImportedExport, import_export
from infrastructure.export import export_session
from infrastructure.export_format import (
    BadExport,
    blob_line,
    end_line,
    event_line,
    read_manifest,
)
from infrastructure.reading.moment import At, moment
from infrastructure.rebuilding import rebuild
from infrastructure.stored_stream import find_stream, stored_facts
from infrastructure.verification import verify
from tests.conftest import NewDatabase
from tests.databases import DATABASE_KINDS, DatabaseKind
from tests.infrastructure.journeys import by_hand, eventful, unheard_of
from tests.infrastructure.large import asking, ending, event
from tests.infrastructure.writing import Store, note, opened, target, turn


def exported(store: Store, session_id: str = "s1") -> list[bytes]:
    return list(export_session(store.database, "default", session_id))


def taken(store: Store, lines: list[bytes], project_id: str = "default") -> ImportedExport:
    return import_export(store.log, store.runner, project_id, lines)


def test_the_lines_are_a_manifest_the_events_and_an_end(store: Store) -> None:
    store.append([note(b'"x"')])
    manifest, *events, end = exported(store)
    facts = store.facts()
    assert json.loads(manifest) == {
        "format": "turnlog-export-1",
        "project_id": "default",
        "session_id": "s1",
        "events": 2,
        "head": {
            "version": 2,
            "history_version": 0,
            "hash": facts[-1].hash.hex(),
            "fingerprint": sha256(b"").hexdigest(),
        },
    }
    fact = facts[1]
    salt, digest = (fact.salt or b"").hex(), fact.envelope.body_digest.hex()
    assert events[1].decode() == (
        f'{{"version":2,"id":"{fact.envelope.event_id}","type":"data-recorded","schema":1,'
        '"affects":"none","recorded_at":"2026-01-01T00:00:00.000000Z","occurred_at":null,'
        '"actor":null,"producer":{"id":"p1","epoch":1,"sequence":1},"batch":1,"turn_id":null,'
        f'"trace_id":null,"salt":"{salt}","body_digest":"{digest}","hash":"{fact.hash.hex()}",'
        '"data":{"kind":"note","data":"x"}}\n'
    )
    whole = sha256(manifest + b"".join(events)).hexdigest()
    assert json.loads(end) == {"end": "turnlog-export-1", "events": 2, "sha256": whole}


def test_there_is_no_export_of_a_session_that_is_not_there(store: Store) -> None:
    with pytest.raises(NoSuchSession):
        export_session(store.database, "default", "s1")


@pytest.mark.parametrize("other", DATABASE_KINDS)
def test_an_export_goes_to_either_database_and_comes_back_the_same(
    store: Store, new_database: NewDatabase, other: DatabaseKind
) -> None:
    eventful(store)
    lines = exported(store)
    with opened(new_database(other)) as elsewhere:
        assert taken(elsewhere, lines) == ImportedExport(session_id="s1", events=19, added=19)
        assert exported(elsewhere) == lines
        assert verify(elsewhere.database, "default", "s1").ok
        assert rebuild(elsewhere.database, elsewhere.runner, check_only=True).differences == ()
        assert [fact.body for fact in elsewhere.facts()] == [f.body for f in store.facts()]
        elsewhere.append([note(b"1")], producer_id="p3")
        assert verify(elsewhere.database, "default", "s1").ok


def test_a_fact_of_an_unknown_type_passes_through(store: Store, new_database: NewDatabase) -> None:
    store.append([note(b"1")])
    unheard_of(store, "s1", "future.v9", b'{"x": 1 }')
    with opened(new_database("sqlite")) as elsewhere:
        taken(elsewhere, exported(store))
        fact = elsewhere.facts()[-1]
        assert (fact.event, fact.body) == (Opaque(reason="unknown-type"), b'{"x": 1 }')
        assert elsewhere.facts()[-1].envelope == store.facts()[-1].envelope


def test_a_body_that_is_gone_stays_gone(store: Store, new_database: NewDatabase) -> None:
    eventful(store)
    with by_hand(store) as connection:
        connection.exec_driver_sql("DELETE FROM bodies WHERE version = 3")
    rebuild(store.database, store.runner)
    lines = exported(store)
    assert b'"salt":null' in lines[3]
    assert lines[3].endswith(b'"data":null}\n')
    with opened(new_database("sqlite")) as elsewhere:
        taken(elsewhere, lines)
        assert exported(elsewhere) == lines


def test_the_same_export_again_adds_nothing_and_a_longer_one_the_rest(
    store: Store, new_database: NewDatabase
) -> None:
    eventful(store)
    shorter = exported(store)
    store.append(turn("t3"))
    longer = exported(store)
    with opened(new_database("sqlite")) as elsewhere:
        taken(elsewhere, shorter)
        assert taken(elsewhere, shorter).added == 0
        assert taken(elsewhere, longer).added == 4
        assert taken(elsewhere, shorter).added == 0
        assert exported(elsewhere) == longer
        assert rebuild(elsewhere.database, elsewhere.runner, check_only=True).differences == ()


def test_an_export_of_a_session_that_went_another_way_is_refused(
    store: Store, new_database: NewDatabase
) -> None:
    eventful(store)
    shorter = exported(store)
    store.append([note(b"1")], producer_id="p3")
    with opened(new_database("sqlite")) as elsewhere:
        taken(elsewhere, shorter)
        elsewhere.append([note(b"2")], producer_id="p3")
        before = exported(elsewhere)
        with pytest.raises(ImportConflict):
            taken(elsewhere, exported(store))
        assert exported(elsewhere) == before


def test_an_export_is_taken_into_its_own_project_only(store: Store) -> None:
    store.append([note(b"1")])
    with pytest.raises(BadExport, match="project default") as caught:
        taken(store, exported(store), project_id="another")
    assert (caught.value.line, caught.value.code) == (1, "other-project")


def test_a_session_is_exported_as_it_was_when_the_export_began(store: Store) -> None:
    store.append([note(b"1")])
    before = exported(store)
    lines = export_session(store.database, "default", "s1")
    begun = next(lines)
    store.append([note(b"2")])
    assert [begun, *lines] == before


LINES = 19 + 2


@pytest.mark.parametrize("number", [1, 2, 10, LINES - 1, LINES])
def test_a_line_less_is_noticed_and_nothing_is_taken(
    store: Store, new_database: NewDatabase, number: int
) -> None:
    eventful(store)
    lines = exported(store)
    assert len(lines) == LINES
    with opened(new_database(store.database.kind)) as elsewhere:
        with pytest.raises(BadExport) as caught:
            taken(elsewhere, [*lines[: number - 1], *lines[number:]])
        assert caught.value.line == number
        assert elsewhere.sessions() == []


@pytest.mark.parametrize(
    ("number", "old", "new", "code"),
    [
        (1, b"turnlog-export-1", b"turnlog-export-2", "format"),
        (1, b'"events":2', b'"events":3', "not-canonical"),
        (1, b'"head":', b'"head" :', "not-canonical"),
        (1, b'"project_id":"default"', b'"project_id":"../x"', "not-canonical"),
        (2, b'"actor":null', b'"actor":"a\\u0000b"', "not-canonical"),
        (2, b'"actor":null', b'"actor":"me"', "hash-mismatch"),
        (2, b'"schema":1', b'"schema":true', "not-canonical"),
        (2, b'"schema":1', b'"schema":1.0', "not-canonical"),
        (2, b'"trace_id":null', b'"trace_id":7', "not-canonical"),
        (2, b'"affects":"none"', b'"affects":"all"', "not-canonical"),
        (2, b'"data":{}', b'"data":{"title":"x"}', "body-mismatch"),
        (2, b'"data":{}', b'"data":{},"more":1', "not-canonical"),
        (2, b'"data":{}', b'"data_base64":"e30="', "not-canonical"),
        (2, b"}\n", b"}\r\n", "not-canonical"),
        (2, b"}\n", b"\n", "not-json"),
        (3, b'"version":2', b'"version":9', "version-gap"),
        (3, b'"recorded_at":"2026', b'"recorded_at":"2025', "hash-mismatch"),
        (3, b'"recorded_at":"2026', b'"recorded_at":"soon', "not-canonical"),
        (3, b"2026-01-01T00:00:00.000000Z", b"0001-01-01T00:00:00+14:00", "not-canonical"),
        (3, b'"epoch":1', b'"epoch":99999999999', "not-canonical"),
        (4, b'"events":2', b'"events":1', "end"),
        (4, b"}\n", b"}\n{}\n", "end"),
    ],
)
def test_a_line_that_was_changed_is_named(
    store: Store, number: int, old: bytes, new: bytes, code: str
) -> None:
    store.append([note(b'"secret"')])
    lines = exported(store)
    assert old in lines[number - 1]
    lines[number - 1] = lines[number - 1].replace(old, new)
    with pytest.raises(BadExport) as caught:
        taken(store, lines)
    assert caught.value.code == code
    assert caught.value.line in {number, number + 1}
    assert "secret" not in str(caught.value)


def test_another_last_hash_in_the_manifest_is_noticed(store: Store) -> None:
    store.append([note(b"1")])
    lines = exported(store)
    last = store.facts()[-1].hash.hex().encode()
    lines[0] = lines[0].replace(last, GENESIS.hex().encode())
    with pytest.raises(BadExport) as caught:
        taken(store, lines)
    assert (caught.value.line, caught.value.code) == (3, "hash-mismatch")


def forged(store: Store, *events: tuple[str, bytes]) -> list[bytes]:
    """Return an export of events that no rule allows, with hashes that fit."""
    store.append([note(b"1")])
    for _, body in events:
        unheard_of(store, "s1", "no-such-type", body)
    manifest = read_manifest(exported(store)[0])
    with store.database.read() as connection:
        facts = list(stored_facts(connection, find_stream(connection, "default", "s1")))
    lines: list[bytes] = []
    previous = GENESIS
    for fact, (type_, _) in zip(facts, [("", b""), ("", b""), *events], strict=True):
        envelope = fact.envelope._replace(type=type_ or fact.envelope.type)
        previous = chained_hash(envelope, previous)
        lines.append(event_line(replace(fact, envelope=envelope, hash=previous)))
    lines.insert(0, replace(manifest, hash=previous).line())
    return [*lines, end_line(len(facts), sha256(b"".join(lines)).hexdigest())]


@pytest.mark.parametrize(
    ("type_", "body", "code"),
    [
        ("session-renamed", b'{"title":"a\\u0000b"}', "not-storable"),
        ("turn-started", b'{"turn_id":"a\\u0000b"}', "not-storable"),
        ("records-lost", b'{"count":99999999999999999999,"reason":"x"}', "not-storable"),
        ("records-lost", b'{"count":%d,"reason":"x"}' % (2**62 + 1), "not-storable"),
        ("turn-started", b'{"turn_id":"%s"}' % (b"x" * 4000), "not-storable"),
        ("turn-started", b'{"turn_id":"no id"}', "not-storable"),
        ("turn-started", b'{"turn_id":"t1","lane_id":"no id"}', "not-storable"),
        ("turn-started", b'{"turn_id":"t1","reply_to":"a\\u0000b"}', "not-storable"),
    ],
)
def test_what_no_column_holds_is_refused_on_either_database(
    store: Store, new_database: NewDatabase, type_: str, body: bytes, code: str
) -> None:
    lines = forged(store, (type_, body))
    with opened(new_database(store.database.kind)) as elsewhere:
        with pytest.raises(BadExport) as caught:
            taken(elsewhere, lines)
        assert (caught.value.line, caught.value.code) == (4, code)
        assert elsewhere.sessions() == []


def test_a_compaction_through_what_cannot_be_a_name_is_read_past(
    store: Store, new_database: NewDatabase
) -> None:
    lines = forged(
        store,
        ("turn-started", b'{"turn_id":"t1","messages":[{"role":"user","content":"hi"}]}'),
        ("history-compacted", b'{"summary":"x","through_message_id":"a\\u0000b"}'),
        ("history-compacted", b'{"summary":"y","through_message_id":"t1:1"}'),
    )
    with opened(new_database(store.database.kind)) as elsewhere:
        taken(elsewhere, lines)
        with elsewhere.database.read() as connection:
            then = moment(connection, target("s1"), At(version=4))
        assert (then.messages, then.archived, then.summary_version) == (1, 0, None)


def test_a_name_taken_twice_is_refused_on_either_database(
    store: Store, new_database: NewDatabase
) -> None:
    said = b'{"turn_id":"t1","messages":[{"role":"user","content":"hi","message_id":"m"}]}'
    lines = forged(store, ("turn-started", said), ("turn-started", said.replace(b"t1", b"t2")))
    with opened(new_database(store.database.kind)) as elsewhere:
        with pytest.raises(BadExport) as caught:
            taken(elsewhere, lines)
        assert caught.value.code == "contradiction"
        assert elsewhere.sessions() == []


def test_one_export_taken_several_times_at_once_is_one_session(
    store: Store, new_database: NewDatabase
) -> None:
    eventful(store)
    lines = exported(store)
    with opened(new_database(store.database.kind)) as elsewhere:
        with ThreadPoolExecutor(4) as threads:
            each = list(threads.map(taken, [elsewhere] * 8, [lines] * 8))
        assert sorted(one.added for one in each) == [0] * 7 + [19]
        assert exported(elsewhere) == lines


def large(store: Store) -> list[bytes]:
    store.append(asking())
    store.append(ending())
    return exported(store)


def resealed(lines: list[bytes]) -> list[bytes]:
    """Return lines with an end that fits them."""
    body = lines[:-1]
    return [*body, end_line(json.loads(body[0])["events"], sha256(b"".join(body)).hexdigest())]


@pytest.mark.parametrize("other", DATABASE_KINDS)
def test_blobs_travel_with_the_session_each_once_and_come_back_byte_for_byte(
    store: Store, new_database: NewDatabase, other: DatabaseKind
) -> None:
    lines = large(store)
    blobs = [json.loads(line)["blob"] for line in lines if line.startswith(b'{"blob"')]
    assert len(blobs) == len(set(blobs)) == 4
    with opened(new_database(other)) as elsewhere:
        taken(elsewhere, lines)
        assert exported(elsewhere) == lines
        assert rebuild(elsewhere.database, elsewhere.runner).equal == 1
        assert verify(elsewhere.database, "default", "s1").ok
        assert [f.event for f in elsewhere.facts()] == [f.event for f in store.facts()]
        assert taken(elsewhere, lines).added == 0


def test_an_export_names_what_the_store_has_not(store: Store, new_database: NewDatabase) -> None:
    content = [{"type": "attachment", "attachment_id": "a", "sha256": "0" * 64}]
    message = {"role": "user", "content": content}
    store.append([event("turn-started", {"turn_id": "t1", "messages": [message]})])
    lines = exported(store)
    assert len(lines) == 4
    with opened(new_database(store.database.kind)) as elsewhere:
        taken(elsewhere, lines)
        assert exported(elsewhere) == lines
        assert verify(elsewhere.database, "default", "s1").ok


BAD_BLOBS: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda line: line.replace(b'"size":', b'"size":0'), "not-canonical"),
    (lambda line: line.replace(b'"blob":"', b'"blob":"x'), "not-canonical"),
    (lambda line: line[:9] + b"0" * 64 + line[73:], "blob-mismatch"),
    (lambda line: line.replace(b'_base64":"', b'_base64":"A'), "not-canonical"),
    (lambda line: line * 2, "contradiction"),
    (lambda line: blob_line(blob_of(b"unheard of")) + line, "contradiction"),
]


@pytest.mark.parametrize(("change", "code"), BAD_BLOBS)
def test_a_blob_that_is_not_as_it_was_written_is_refused(
    store: Store, new_database: NewDatabase, change: Callable[[bytes], bytes], code: str
) -> None:
    lines = large(store)
    place = next(n for n, line in enumerate(lines) if line.startswith(b'{"blob"'))
    lines[place] = change(lines[place])
    lines = b"".join(lines).splitlines(keepends=True)
    with opened(new_database(store.database.kind)) as elsewhere:
        with pytest.raises(BadExport) as refused:
            taken(elsewhere, resealed(lines))
        assert refused.value.code == code
        assert elsewhere.sessions() == []
