"""A backup is a whole store again, in either kind of database, and everybody goes on from it."""

import gzip
import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import pytest
from sqlalchemy import make_url, select, text

from domain.readiness import Policy, readiness
from infrastructure import runs
from infrastructure import tables as t
from infrastructure.backing_up import AlreadyThere, back_up
from infrastructure.backup_format import Backup, BadBackup, KnownDamage, backed_up_tables
from infrastructure.commit import ORDINAL_BITS
from infrastructure.connecting import UnfitDatabase
from infrastructure.database import create_schema, open_database
from infrastructure.rebuilding import rebuild
from infrastructure.recorder import LogRecorder
from infrastructure.restoring import MARGIN, NotEmpty, Restored, restore
from infrastructure.row_importing import RowImport
from infrastructure.verification import verify_all
from infrastructure.view_rows import head_of
from tests.conftest import NewDatabase
from tests.databases import (
    DATABASE_KINDS,
    DatabaseKind,
    Databases,
    PostgresqlDatabases,
    postgresql_databases,
)
from tests.infrastructure.followers.watching import begun, following, found, rows, said, spent
from tests.infrastructure.journeys import by_hand, eventful
from tests.infrastructure.large import asking
from tests.infrastructure.writing import NEW_YEAR, Store, note, opened, turn

Change: TypeAlias = Callable[[list[bytes]], list[bytes]]


@pytest.fixture
def taken(store: Store, tmp_path: Path) -> Path:
    """A backup of two sessions, one of them eventful."""
    eventful(store)
    store.append(turn("t9"), "s2")
    path = tmp_path / "store.backup"
    back_up(store.database, path, NEW_YEAR)
    return path


@pytest.fixture
def other_kind(database_kind: DatabaseKind) -> DatabaseKind:
    """The engine that the test does not run on."""
    return next(kind for kind in DATABASE_KINDS if kind != database_kind)


@pytest.fixture
def elsewhere(databases: Databases) -> Iterator[str]:
    """Another empty database of the same kind."""
    url = databases.empty()
    yield url
    databases.drop(url)


def restored(path: Path, url: str) -> Restored:
    with Backup(path) as backup:
        return restore(backup, make_url(url))


def everything(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows that a backup has or that follow from it, without what is the cluster's."""
    with store.database.read() as connection:
        return {
            table.name: [
                tuple(row)
                for row in connection.execute(
                    select(*(c for c in table.columns if c.name != "last_xid")).order_by(
                        *table.primary_key.columns
                    )
                )
            ]
            for table in (*backed_up_tables(), *t.VIEWS)
            if table is not t.store
        }


def head_reasons(store: Store, session_id: str) -> list[str]:
    with store.database.read() as connection:
        known_after = connection.execute(select(t.store.c.known_after)).scalar_one()
        row = connection.execute(
            select(t.heads)
            .join(t.streams, t.streams.c.session_key == t.heads.c.session_key)
            .where(t.streams.c.session_id == session_id)
        ).one()
    policy = Policy(unverified_turns=True, known_after=known_after)
    return [reason.code for reason in readiness(head_of(row), None, policy).reasons]


def rewritten(path: Path, change: Change) -> Path:
    """Return a copy of a backup with other lines."""
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    copy = path.with_name("changed.backup")
    copy.write_bytes(gzip.compress(b"".join(change(lines))))
    return copy


def test_a_restored_store_has_every_row_and_verifies(
    store: Store, taken: Path, elsewhere: str
) -> None:
    found = restored(taken, elsewhere)
    with opened(elsewhere) as again:
        assert everything(again) == everything(store)
        assert [each.ok for each in verify_all(again.database)] == [True, True]
        assert rebuild(again.database, again.runner, check_only=True).equal == 2
        row = again.database
        with row.read() as connection:
            stored = connection.execute(select(t.store)).one()
    assert (stored.incarnation, found.incarnation) == (2, 2)
    assert stored.store_id == found.manifest.store_id
    assert stored.known_after == found.manifest.head_position


def test_a_backup_is_restored_into_the_other_kind_of_database(
    store: Store, taken: Path, new_database: NewDatabase, other_kind: DatabaseKind
) -> None:
    url = new_database(other_kind)
    restored(taken, url)
    with opened(url) as again:
        assert everything(again) == everything(store)
        again.sequences = store.sequences
        again.append([note(b"1")], "s2")
        again.append([note(b"1")], "s3")
        assert [each.ok for each in verify_all(again.database)] == [True] * 3


@pytest.mark.parametrize("base", [0, 1 << 30])
def test_a_follower_goes_on_from_its_old_position_and_sees_exactly_what_is_new(
    store: Store, tmp_path: Path, elsewhere: str, base: int
) -> None:
    with store.database.write() as connection:  # as if its cluster had seen more transactions
        connection.execute(t.store.update().values(base=base))
    eventful(store)
    path = tmp_path / "store.backup"
    back_up(store.database, path, NEW_YEAR)
    later = store.append([note(b"0")])  # after the backup: the follower has seen it, too
    seen = LogRecorder(store.database).max_notification_id()
    assert seen is not None
    restored(path, elsewhere)
    with opened(elsewhere) as again:
        recorder = LogRecorder(again.database)
        assert recorder.select_notifications(seen, 10, inclusive_of_start=False) == []
        again.sequences = store.sequences
        again.sequences["s1", "p1"] -= 1
        appended = again.append([note(b"1"), note(b"2")])
        opened_ = again.append([note(b"3")], "s9", "p9")
        new = recorder.select_notifications(seen, 10, inclusive_of_start=False)
    assert [fact.version for fact in appended.facts] == [
        later.facts[0].envelope.version,
        later.facts[0].envelope.version + 1,
    ]
    expected = [("default/s1", f.version) for f in appended.facts]
    expected += [("default/s9", f.version) for f in opened_.facts]
    assert [(f.originator_id, f.originator_version) for f in new] == expected


def test_another_cluster_goes_on_above_the_old_positions(
    postgresql: PostgresqlDatabases, tmp_path: Path
) -> None:
    url = postgresql.ready()
    path = tmp_path / "store.backup"
    with opened(url) as store:
        eventful(store)
        seen = LogRecorder(store.database).max_notification_id()
        back_up(store.database, path, NEW_YEAR)
        sequences = store.sequences
    postgresql.drop(url)
    assert seen is not None
    with postgresql_databases() as cluster:
        there = cluster.empty()
        restored(path, there)
        with opened(there) as again:
            recorder = LogRecorder(again.database)
            events = recorder.select_notifications(None, 1000)
            assert [each.id for each in events][-1] == seen
            again.sequences = sequences
            version = again.append([note(b"1")]).facts[0].version
            new = recorder.select_notifications(seen, 10, inclusive_of_start=False)
            assert [each.originator_version for each in new] == [version]


def test_history_is_not_known_until_it_is_made_known_again(
    store: Store, taken: Path, elsewhere: str
) -> None:
    restored(taken, elsewhere)
    with opened(elsewhere) as again:
        again.sequences = store.sequences
        again.append(turn("t10"), "s2")
        again.append(turn("t1"), "s3")
        assert head_reasons(again, "s2") == ["restored"]
        assert head_reasons(again, "s3") == []


def test_a_history_that_is_imported_after_a_restore_is_known(
    store: Store, tmp_path: Path, elsewhere: str
) -> None:
    rows = [
        b'{"session_id":"a","external_id":"1","role":"user","content":"hi"}\n',
        b'{"session_id":"a","external_id":"2","role":"assistant","content":"hello"}\n',
        b'{"session_id":"a","external_id":"3","role":"user","content":"and?"}\n',
        b'{"session_id":"a","external_id":"4","role":"assistant","content":"so"}\n',
    ]
    _import_rows(store, rows[:2])
    back_up(store.database, tmp_path / "b", NEW_YEAR)
    restored(tmp_path / "b", elsewhere)
    with opened(elsewhere) as again:
        assert head_reasons(again, "a") == ["restored"]
        _import_rows(again, rows)
        assert head_reasons(again, "a") == []
        assert rebuild(again.database, again.runner, check_only=True).equal == 1


def _import_rows(store: Store, rows: list[bytes]) -> None:
    importing = RowImport(store.database, store.runner, store.handler, "default")
    importing.take("rows.jsonl", BytesIO(b"".join(rows)), "refuse")


def test_async_views_of_a_restored_store_are_those_of_the_old_one(
    store: Store, tmp_path: Path, elsewhere: str
) -> None:
    proposals = [begun("t1", "find me"), spent("t1", 3), said("t1", "found", role="assistant")]
    store.append(proposals)
    back_up(store.database, tmp_path / "b", NEW_YEAR)
    restored(tmp_path / "b", elsewhere)
    with following(store) as old:
        old.catch_up("usage")
        old.catch_up("search")
    with opened(elsewhere) as again, following(again) as new:
        new.catch_up("usage")
        new.catch_up("search")
        assert rows(again, t.usage) == rows(store, t.usage) != []
        assert rows(again, t.search_documents) == rows(store, t.search_documents) != []
        again.sequences = store.sequences
        again.append([said("t1", "me again", role="assistant")])
        new.catch_up("search")
        assert found(again, "me") == [("s1", 5), ("s1", 2)]


def test_a_restored_store_is_backed_up_and_restored_again(
    taken: Path, elsewhere: str, tmp_path: Path, new_database: NewDatabase
) -> None:
    first = restored(taken, elsewhere)
    with opened(elsewhere) as again:
        again.append([note(b"1")], "s7")
        back_up(again.database, tmp_path / "second.backup", NEW_YEAR)
    second = restored(tmp_path / "second.backup", new_database("sqlite"))
    assert (first.incarnation, second.incarnation) == (2, 3)
    assert second.known_after > first.known_after


def test_nothing_is_restored_over_anything(
    store: Store, taken: Path, database_url: str, tmp_path: Path
) -> None:
    before = everything(store)
    with pytest.raises(NotEmpty, match="holds something already"):
        restored(taken, database_url)
    assert everything(store) == before
    other = tmp_path / "other.db"
    with Store(open_database(make_url(f"sqlite:///{other}"), create=True)) as used:
        with used.database.write() as connection:
            connection.execute(text("CREATE TABLE mine (x INTEGER)"))
            for table in t.TRUTH:
                connection.execute(text(f"DROP TABLE {table.name}"))
        with pytest.raises(NotEmpty, match="of another kind"):
            restored(taken, f"sqlite:///{other}")


def test_a_database_that_has_the_schema_and_nothing_else_is_empty(
    taken: Path, elsewhere: str
) -> None:
    create_schema(elsewhere)
    assert restored(taken, elsewhere).incarnation == 2


def test_a_backup_never_takes_the_place_of_a_file(store: Store, taken: Path) -> None:
    before = taken.read_bytes()
    with pytest.raises(AlreadyThere):
        back_up(store.database, taken, NEW_YEAR)
    assert taken.read_bytes() == before
    assert taken.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in taken.parent.glob("*.part")] == []


def test_writers_go_on_while_a_backup_is_taken_and_are_not_in_it(
    store: Store, tmp_path: Path
) -> None:
    eventful(store)
    wrote: list[int] = []

    def meanwhile(done: int) -> None:
        if done == 3:
            wrote.append(store.append([note(b"1")], "s8").facts[0].version)

    manifest = back_up(store.database, tmp_path / "b", NEW_YEAR, meanwhile)
    assert wrote == [1]
    assert (manifest.counts["streams"], len(store.sessions())) == (1, 2)


class Interrupted(Exception):
    """Somebody ends it in its middle."""


def interrupt(_: int) -> None:
    raise Interrupted


def test_what_is_interrupted_leaves_nothing_and_can_be_done_again(
    store: Store, taken: Path, elsewhere: str
) -> None:
    with pytest.raises(Interrupted):
        back_up(store.database, taken.with_name("second"), NEW_YEAR, interrupt)
    assert [path.name for path in taken.parent.glob("s*")] == [taken.name]
    for again in ({"loaded": interrupt}, {"folded": interrupt}):
        with Backup(taken) as backup, pytest.raises(Interrupted):
            restore(backup, make_url(elsewhere), **again)
        with pytest.raises(UnfitDatabase, match="no turnlog schema"):
            open_database(make_url(elsewhere), allow_unsafe=True)
    assert restored(taken, elsewhere).incarnation == 2


def _swap_bytes(lines: list[bytes]) -> list[bytes]:
    at = next(n for n, line in enumerate(lines) if line.startswith(b'{"table":"bodies"')) + 2
    row = json.loads(lines[at])
    row[1] += 1000
    lines[at] = json.dumps(row, separators=(",", ":")).encode() + b"\n"
    return lines


def _without_a_row(lines: list[bytes]) -> list[bytes]:
    first = next(number for number, line in enumerate(lines) if line.startswith(b"["))
    return lines[:first] + lines[first + 1 :]


DAMAGES: list[tuple[Change, str]] = [
    (_swap_bytes, "table bodies: its checksum"),
    (lambda lines: lines[:-1], "it ends too soon"),
    (_without_a_row, "its checksum or its number of rows"),
    (lambda lines: [*lines, b"1\n"], "something follows its end"),
    (lambda lines: [lines[0], b"{", *lines[1:]], "a line is no JSON"),
    (lambda _: [b"{}\n"], "no backup of turnlog"),
    (lambda _: [b'{"turnlog_backup":2}\n'], "a later turnlog"),
    (lambda _: [b'{"turnlog_backup":1}\n'], "the manifest"),
    (lambda lines: [lines[0].replace(b'"0001"', b'"0000"'), *lines[1:]], "has schema 0000"),
]


@pytest.mark.parametrize(("change", "where"), DAMAGES)
def test_a_damaged_backup_is_refused_with_the_place_and_leaves_nothing(
    sqlite: Databases, tmp_path: Path, change: Change, where: str
) -> None:
    with opened(sqlite.ready()) as store:
        eventful(store)
        back_up(store.database, tmp_path / "b", NEW_YEAR)
    url = sqlite.empty()
    with pytest.raises(BadBackup, match=where):
        restored(rewritten(tmp_path / "b", change), url)
    with pytest.raises(UnfitDatabase, match="no turnlog schema"):
        open_database(make_url(url))


def test_a_file_that_is_cut_off_or_no_backup_is_refused(taken: Path, elsewhere: str) -> None:
    cut = taken.with_name("cut")
    cut.write_bytes(taken.read_bytes()[:-40])
    with pytest.raises(BadBackup, match="it ends too soon"):
        restored(cut, elsewhere)
    cut.write_bytes(b"something else")
    with pytest.raises(BadBackup, match="no backup of turnlog"):
        restored(cut, elsewhere)


def _forged(lines: list[bytes]) -> list[bytes]:
    """Change what was said and every checksum of the file, but not the chain."""
    whole, section = sha256(), sha256()
    out: list[bytes] = []
    in_bodies = first = False
    for line in lines:
        if line.startswith(b"{"):
            value = json.loads(line)
            if "table" in value:
                section = sha256()
                in_bodies = first = value["table"] == "bodies"
            elif "rows" in value:
                value["sha256"] = section.hexdigest()
            elif "end" in value:
                value["sha256"] = whole.hexdigest()
            new = json.dumps(value, separators=(",", ":")).encode() + b"\n"
        else:
            row = json.loads(line)
            if in_bodies and first:
                row[3], first = "eyJ4IjoxfQ==", False
            new = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            section.update(new)
        whole.update(new)
        out.append(new)
    return out


def test_a_backup_with_another_history_is_refused_by_its_chain(taken: Path, elsewhere: str) -> None:
    with pytest.raises(BadBackup, match="body-mismatch at version 1"):
        restored(rewritten(taken, _forged), elsewhere)
    with pytest.raises(UnfitDatabase, match="no turnlog schema"):
        open_database(make_url(elsewhere), allow_unsafe=True)


def test_damage_that_was_there_before_is_told_and_restored_as_it_was(
    store: Store, tmp_path: Path, elsewhere: str
) -> None:
    eventful(store)
    store.append(turn("t9"), "s2")
    with by_hand(store) as connection:
        connection.exec_driver_sql("DELETE FROM bodies WHERE session_key = 2 AND version = 2")
    manifest = back_up(store.database, tmp_path / "b", NEW_YEAR)
    damage = KnownDamage(project_id="default", session_id="s2", version=2, reason="missing-body")
    assert manifest.damaged == [damage]
    restored(tmp_path / "b", elsewhere)
    with opened(elsewhere) as again:
        assert [each.ok for each in verify_all(again.database)] == [True, False]


def test_no_lease_is_restored_and_none_of_its_fences_is_given_out_again(
    store: Store, tmp_path: Path, elsewhere: str
) -> None:
    store.append(turn("t1")[:1])
    with store.database.write() as connection:
        fence = runs.begin(connection, 1, "default", "t1", "p1", 60, NEW_YEAR)
    assert rebuild(store.database, store.runner, check_only=True).differences == ()
    rebuild(store.database, store.runner)
    back_up(store.database, tmp_path / "b", NEW_YEAR)

    restored(tmp_path / "b", elsewhere)

    with opened(elsewhere) as again, again.database.write() as connection:
        assert runs.find(connection, 1) is None
        assert runs.begin(connection, 1, "default", "t1", "p1", 60, NEW_YEAR) > fence
    with store.database.read() as connection:
        kept = runs.find(connection, 1)
    assert kept is not None
    assert kept.fence == fence


def test_new_sessions_get_numbers_above_those_restored(taken: Path, elsewhere: str) -> None:
    restored(taken, elsewhere)
    with opened(elsewhere) as again:
        again.append([note(b"1")], "s3")
        with again.database.read() as connection:
            heads = select(t.heads).order_by(t.heads.c.session_key)
            found = connection.execute(heads).all()
    assert [row.session_key for row in found] == [1, 2, 3]
    assert [row.last_xid for row in found[:2]] == [0, 0]
    assert found[2].known_position > (MARGIN << ORDINAL_BITS)


def test_blobs_are_in_a_backup_and_whole_after_it(
    store: Store, tmp_path: Path, new_database: NewDatabase, other_kind: DatabaseKind
) -> None:
    store.append(asking())
    path = tmp_path / "large.backup"
    back_up(store.database, path, NEW_YEAR)
    url = new_database(other_kind)
    restored(path, url)
    with opened(url) as elsewhere:
        assert [each.ok for each in verify_all(elsewhere.database)] == [True]
        assert [f.event for f in elsewhere.facts()] == [f.event for f in store.facts()]
