"""What was said in a purged session is nowhere any more; what was not said in it stays."""

from pathlib import Path

import pytest
from sqlalchemy import delete, func, make_url, select
from sqlalchemy.exc import DBAPIError

from domain import commands as c
from domain.refusals import HasForks, ImportConflict, NoSuchSession, SessionNotDeleted
from infrastructure import tables as t
from infrastructure.backing_up import back_up
from infrastructure.backup_format import Backup
from infrastructure.canonical_import import import_export
from infrastructure.export import export_session
from infrastructure.purging import begin_purge, finish, foreseen, left_behind, purge
from infrastructure.purging_sweep import DAY_US, Swept, sweep_deleted
from infrastructure.rebuilding import rebuild
from infrastructure.reclaiming import reclaim
from infrastructure.restoring import restore
from infrastructure.verification import verify, verify_all
from tests.databases import Databases, SqliteDatabases
from tests.infrastructure.families import asked, forked
from tests.infrastructure.followers.watching import begun, following, found, said, used
from tests.infrastructure.journeys import eventful
from tests.infrastructure.writing import NOBODY, Store, opened, propose, target, turn

MARK = "zanzibarine"
LEFT = {"streams": 1, "events": 1, "bodies": 1, "heads": 1}


def speak(store: Store, session_id: str, text: str = MARK) -> None:
    """Have a session hold a text wherever one can be."""
    store.append(
        [
            begun("t1", text),
            said("t1", f"{text} {text}", "assistant"),
            propose(
                "tool-call-requested",
                b'{"turn_id":"t1","tool_call_id":"c1","name":"ls","arguments":{"%s":1}}'
                % text.encode(),
            ),
            propose(
                "usage-recorded",
                b'{"turn_id":"t1","model":"m1","input_tokens":7,"output_tokens":3,"cost":"0.25"}',
            ),
        ],
        session_id,
    )
    asked(store, session_id, c.RenameSession(title=text))


def remove(store: Store, session_id: str) -> None:
    asked(store, session_id, c.DeleteSession())


def purge_now(store: Store, session_id: str) -> dict[str, int]:
    return dict(purge(store.runner, store.handler, target(session_id), NOBODY).rows)


def rows_of(store: Store) -> dict[str, int]:
    """Return how many rows each table has, but those that have none."""
    with store.database.read() as connection:
        counts = {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in t.metadata.tables.values()
            if table.name not in {"store", "followers", "producers", "title_numbers"}
        }
    return {name: count for name, count in counts.items() if count}


def test_of_a_purged_session_the_envelopes_and_one_body_are_left(store: Store) -> None:
    eventful(store)
    remove(store, "s1")
    before = store.facts()
    removed = purge_now(store, "s1")
    assert removed["bodies"] == len(before)
    facts = store.facts()
    assert [fact.hash for fact in facts[:-1]] == [fact.hash for fact in before]
    assert all(fact.body is None and fact.salt is None for fact in facts[:-1])
    assert facts[-1].envelope.type == "session-purged"
    assert rows_of(store) == LEFT | {"events": len(facts)}


def test_the_chain_of_a_purged_session_verifies_and_its_views_stay_purged(store: Store) -> None:
    eventful(store)
    eventful(store, "s2")
    remove(store, "s1")
    purge_now(store, "s1")
    assert all(each.ok for each in verify_all(store.database))
    assert verify(store.database, "default", "s1").ok
    assert rebuild(store.database, store.runner).equal == 2
    with store.database.write() as connection:
        connection.execute(delete(t.heads))
    rebuild(store.database, store.runner)
    assert rebuild(store.database, store.runner).equal == 2
    with pytest.raises(NoSuchSession):
        remove(store, "s1")


def test_a_body_leaves_by_no_other_way(store: Store) -> None:
    eventful(store)
    remove(store, "s1")
    with pytest.raises(DBAPIError), store.database.write() as connection:
        connection.execute(delete(t.bodies))
    purge_now(store, "s1")
    with pytest.raises(DBAPIError), store.database.write() as connection:
        connection.execute(delete(t.bodies))  # its last fact stays


def test_only_what_is_deleted_is_purged_and_only_once(store: Store) -> None:
    eventful(store)
    for wanted in (NoSuchSession, SessionNotDeleted):
        session_id = "s1" if wanted is SessionNotDeleted else "none"
        with pytest.raises(wanted):
            purge_now(store, session_id)
        with store.database.read() as connection, pytest.raises(wanted):
            foreseen(connection, target(session_id))
    remove(store, "s1")
    with store.database.read() as connection:
        would = foreseen(connection, target("s1"))
    assert would.rows == {
        name: count for name, count in purge_now(store, "s1").items() if name != "search_documents"
    }
    with pytest.raises(NoSuchSession):
        purge_now(store, "s1")


def test_a_session_goes_in_pieces_and_a_sweep_takes_what_is_left(store: Store) -> None:
    for number in range(5):
        store.append(turn(f"t{number}"))
    remove(store, "s1")
    first = store.runner.run(
        lambda attempt: begin_purge(store.handler, attempt, target("s1"), NOBODY, piece=4)
    )
    assert first.more
    assert first.rows["bodies"] == 4
    with store.database.read() as connection:
        assert len(left_behind(connection, 10)) == 1
    swept = sweep_deleted(store.database, store.runner, store.handler, 30)
    assert swept == Swept()
    with store.database.read() as connection:
        assert not left_behind(connection, 10)
    assert set(rows_of(store)) == {"streams", "events", "bodies", "heads"}
    assert not finish(store.runner, first).rows.keys() - first.rows.keys()


def test_a_sweep_purges_what_is_past_its_time(store: Store) -> None:
    for name in ("s1", "s2", "s3"):
        store.append(turn("t1"), name)
    remove(store, "s1")
    store.clock.at += DAY_US
    remove(store, "s2")

    def sweep(days: int) -> Swept:
        return sweep_deleted(store.database, store.runner, store.handler, days)

    assert sweep(2) == Swept()
    assert sweep(1) == Swept(purged=1)
    asked(store, "s2", c.RestoreSession())
    assert sweep(0) == Swept()
    remove(store, "s2")
    assert sweep(0) == Swept(purged=1)
    assert len(store.facts("s3")) == 5


def test_who_has_forks_waits_for_them(store: Store) -> None:
    store.append(turn("t1"))
    forked(store, "s1", "child")
    store.append(turn("t2"), "child", "p2")
    forked(store, "child", "grandchild")
    remove(store, "s1")
    with pytest.raises(HasForks):
        purge_now(store, "s1")
    with store.database.read() as connection, pytest.raises(HasForks):
        foreseen(connection, target("s1"))
    assert sweep_deleted(store.database, store.runner, store.handler, 0) == Swept(has_forks=1)
    assert len(store.facts("child")) > 1
    remove(store, "child")
    remove(store, "grandchild")
    assert sweep_deleted(store.database, store.runner, store.handler, 0) == Swept(purged=3)
    assert all(each.ok for each in verify_all(store.database))
    assert verify(store.database, "default", "grandchild").ok
    assert rebuild(store.database, store.runner).equal == 3


@pytest.fixture
def spoken(store: Store) -> Store:
    """Two sessions that can be found and were paid for."""
    speak(store, "s1")
    speak(store, "s2")
    with following(store) as views:
        views.catch_up("search")
        views.catch_up("usage")
    return store


def test_what_was_said_is_found_no_more(spoken: Store) -> None:
    assert sessions(spoken) == {"s1", "s2"}
    remove(spoken, "s1")
    assert purge_now(spoken, "s1")["search_documents"] == 3
    with following(spoken) as views:
        views.catch_up("search")
        views.catch_up("usage")
    assert sessions(spoken) == {"s2"}
    assert words(spoken) == {2}


def sessions(store: Store, query: str = MARK) -> set[str]:
    return {session_id for session_id, _ in found(store, query)}


def words(store: Store) -> set[int]:
    """Return the keys of the sessions whose texts the index has."""
    with store.database.read() as connection:
        return set(connection.execute(select(t.search_documents.c.session_key)).scalars())


def test_what_was_used_stays_also_if_it_is_summed_anew(spoken: Store) -> None:
    remove(spoken, "s1")
    with following(spoken) as views:
        views.catch_up("usage")
    before = used(spoken)
    purge_now(spoken, "s1")
    for again in (False, True):
        with following(spoken) as views:
            views.catch_up("usage")
            if again:
                views.rebuild("usage")
        assert used(spoken) == before


def test_what_is_folded_late_of_a_purged_session_leaves_nothing(store: Store) -> None:
    speak(store, "s1")
    remove(store, "s1")
    purge_now(store, "s1")
    with following(store) as views:
        views.catch_up("search")
        views.catch_up("usage")
    assert rows_of(store).keys() == LEFT.keys() | {"usage"}


def test_not_a_byte_of_it_is_in_the_file_once_space_is_reclaimed(sqlite: SqliteDatabases) -> None:
    url = sqlite.ready()
    with opened(url) as store:
        speak(store, "s1")
        speak(store, "s2", "other")
        with following(store) as views:
            views.catch_up("search")
        assert is_in_files(url)
        remove(store, "s1")
        purge_now(store, "s1")
        reclaim(store.database, store.clock.at)
        assert not is_in_files(url)
        assert sessions(store, "other") == {"s2"}


def is_in_files(url: str) -> bool:
    path = Path(make_url(url).database or "")
    files = (path, path.with_name(f"{path.name}-wal"))
    return any(MARK.encode() in each.read_bytes().lower() for each in files if each.exists())


def test_a_purged_session_stays_so_in_a_backup_and_is_imported_no_more(
    store: Store, databases: Databases, tmp_path: Path
) -> None:
    store.append(turn("t1"))
    store.append(turn("t1"), "s2")
    exported = list(export_session(store.database, "default", "s1"))
    remove(store, "s1")
    purge_now(store, "s1")
    with pytest.raises(ImportConflict):
        import_export(store.log, store.runner, "default", exported)
    back_up(store.database, tmp_path / "backup", store.clock.at)
    url = databases.empty()
    with Backup(tmp_path / "backup") as backup:
        restore(backup, make_url(url))
    with opened(url) as other:
        assert rebuild(other.database, other.runner, check_only=True).differences == ()
        assert all(each.ok for each in verify_all(other.database))
        assert rows_of(other) == rows_of(store)
        with pytest.raises(NoSuchSession):
            asked(other, "s1", c.RestoreSession())
    databases.drop(url)
