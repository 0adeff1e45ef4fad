"""Forks leave a store and come into another, each behind the session that it was forked from."""

import json
from hashlib import sha256

import pytest

from domain import commands as c
from domain.refusals import ImportConflict
from infrastructure.canonical_import import ImportedExport, import_export
from infrastructure.export import export_session
from infrastructure.export_format import BadExport, end_line
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify
from tests.conftest import NewDatabase
from tests.databases import DATABASE_KINDS, DatabaseKind
from tests.infrastructure.families import asked, forked, whole
from tests.infrastructure.journeys import eventful
from tests.infrastructure.reading.alike import read
from tests.infrastructure.writing import Store, note, opened, target, turn

FAMILY = ("s1", "f1", "f2")


def family(store: Store) -> None:
    """Record a session, a fork of it and a fork of that, each with turns of its own."""
    eventful(store)
    forked(store, "s1", "f1")
    store.append(turn("t3"), "f1")
    asked(store, "f1", c.Rewind(turns=2))
    store.append(turn("t4"), "f1")
    forked(store, "f1", "f2", at_turn="t4")
    store.append(turn("t5"), "f2")
    store.append(turn("t5"), "s1")


def exported(store: Store, session_id: str) -> list[bytes]:
    return list(export_session(store.database, "default", session_id))


def taken(store: Store, lines: list[bytes]) -> ImportedExport:
    return import_export(store.log, store.runner, "default", lines)


def with_end(*lines: bytes) -> list[bytes]:
    return [*lines, end_line(len(lines) - 1, sha256(b"".join(lines)).hexdigest())]


@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_a_family_goes_to_another_store_root_first_and_is_the_same_there(
    store: Store, new_database: NewDatabase, kind: DatabaseKind
) -> None:
    family(store)
    with opened(new_database(kind)) as other:
        for session_id in FAMILY:
            lines = exported(store, session_id)
            assert taken(other, lines).added == len(lines) - 2 - blobs(lines)
            assert taken(other, lines).added == 0
            assert exported(other, session_id) == lines
            assert verify(other.database, "default", session_id).ok
            state, there = whole(store, session_id), whole(other, session_id)
            known = state.head.known_position  # each store has its own
            assert there.head._replace(known_position=known) == state.head
            with store.database.read() as here, other.database.read() as elsewhere:
                newest = state.head.version
                shown = read(here, target(session_id), newest)
                assert read(elsewhere, target(session_id), newest) == shown
        assert rebuild(other.database, other.runner, check_only=True).differences == ()


def blobs(lines: list[bytes]) -> int:
    return sum(line.startswith(b'{"blob"') for line in lines)


def test_the_manifest_of_a_fork_names_what_it_goes_on_from(store: Store) -> None:
    store.append(turn("t1"))
    forked(store, "s1", "f1")
    manifest = json.loads(exported(store, "f1")[0])
    facts = store.facts("s1")
    base = {"session_id": "s1", "version": 5, "hash": facts[-1].hash.hex()}
    assert (manifest["base"], manifest["events"]) == (base, 1)
    assert manifest["head"]["version"] == 6


def test_a_fork_that_has_grown_since_gets_the_rest(store: Store, new_database: NewDatabase) -> None:
    family(store)
    with opened(new_database("sqlite")) as other:
        for session_id in FAMILY:
            taken(other, exported(store, session_id))
        store.append(turn("t6"), "f2")
        assert taken(other, exported(store, "f2")).added == 4
        assert exported(other, "f2") == exported(store, "f2")


def test_a_fork_is_not_taken_without_its_parent(store: Store, new_database: NewDatabase) -> None:
    family(store)
    with opened(new_database("sqlite")) as other:
        with pytest.raises(ImportConflict, match="session f1 is not here"):
            taken(other, exported(store, "f2"))
        assert other.sessions() == []
        other.append(turn("t1"), "s1")
        with pytest.raises(ImportConflict, match="session s1 is not here"):
            taken(other, exported(store, "f1"))
        other.append([note(b"1")], "f1")
        with pytest.raises(ImportConflict):
            taken(other, exported(store, "f1"))


def test_a_fork_that_names_itself_or_none_is_refused(store: Store) -> None:
    store.append(turn("t1"))
    forked(store, "s1", "f1")
    manifest, event, _ = exported(store, "f1")
    itself = manifest.replace(b'"base":{"session_id":"s1"', b'"base":{"session_id":"f1"').replace(
        b'"session_id":"f1","base":{"session_id":"f1"',
        b'"session_id":"new","base":{"session_id":"new"',
    )
    with pytest.raises(ImportConflict, match="session new is not here"):
        taken(store, with_end(itself, event))
    said = json.loads(manifest)
    del said["base"]
    alone = json.dumps(said, separators=(",", ":")).encode() + b"\n"
    with pytest.raises(BadExport):
        taken(store, with_end(alone, event))


def test_damage_of_what_is_shared_is_found_from_the_fork(store: Store) -> None:
    family(store)
    where = "WHERE session_key = 1 AND version = 2"
    with store.database.write() as connection:
        if store.database.kind == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER bodies_no_update")
            connection.exec_driver_sql(f"UPDATE bodies SET body = X'78' {where}")
        else:
            connection.exec_driver_sql("DROP TRIGGER bodies_append_only ON bodies")
            connection.exec_driver_sql(f"UPDATE bodies SET body = '\\x78' {where}")
    for session_id in FAMILY:
        found = verify(store.database, "default", session_id)
        assert found.first_bad is not None
        assert (found.first_bad.version, found.first_bad.reason) == (2, "body-mismatch")
