"""Pieces of work that write share commits on SQLite, and are tried again on PostgreSQL."""

from collections.abc import Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError, OperationalError

from domain.commands import ArchiveSession, OpenSession, RenameSession
from domain.refusals import NoSuchSession, SessionExists
from domain.state import State
from infrastructure.command_handler import Appended
from infrastructure.commit import Contended
from infrastructure.lookup import look_up
from infrastructure.runner import ATTEMPTS, Attempt
from tests.conftest import NewDatabase
from tests.infrastructure.writing import NOBODY, Store, batch, note, opened, target, turn


@pytest.fixture
def sqlite_store(new_database: NewDatabase) -> Iterator[Store]:
    with opened(new_database("sqlite")) as store:
        yield store


@pytest.fixture
def postgresql_store(new_database: NewDatabase) -> Iterator[Store]:
    with opened(new_database("postgresql")) as store:
        yield store


@contextmanager
def one_group(store: Store) -> Generator[None]:
    """Hold the writer, so that what is submitted meanwhile is committed together."""
    reached, go_on = Event(), Event()

    def hold(_: Attempt) -> None:
        reached.set()
        assert go_on.wait(60)

    held = store.runner.submit(hold)
    assert reached.wait(60)
    try:
        yield
    finally:
        go_on.set()
    held.result()


def submit(store: Store, session_id: str, *commands: Any) -> Future[Appended]:  # noqa: ANN401
    return store.runner.submit(
        lambda attempt: store.handler.carry_out(
            attempt, target(session_id), commands, caller=NOBODY
        )
    )


def test_a_refusal_undoes_only_its_own_work(sqlite_store: Store) -> None:
    with one_group(sqlite_store):
        first = submit(sqlite_store, "s1", OpenSession())
        refused = submit(sqlite_store, "s2", OpenSession(), OpenSession())
        last = submit(sqlite_store, "s3", OpenSession())
    assert isinstance(refused.exception(), SessionExists)
    assert (first.result().created, last.result().created) == (True, True)
    assert sqlite_store.sessions() == [("default", "s1"), ("default", "s3")]


def test_work_that_fails_after_writing_undoes_only_its_own(sqlite_store: Store) -> None:
    def write_and_fail(attempt: Attempt) -> None:
        sqlite_store.handler.carry_out(attempt, target("s2"), [OpenSession()], caller=NOBODY)
        raise LookupError

    with one_group(sqlite_store):
        first = submit(sqlite_store, "s1", OpenSession())
        failed = sqlite_store.runner.submit(write_and_fail)
        last = submit(sqlite_store, "s3", OpenSession())
    assert isinstance(failed.exception(), LookupError)
    assert sqlite_store.sessions() == [("default", "s1"), ("default", "s3")]
    assert last.result().facts[0].position == first.result().facts[0].position + 1


def test_later_work_of_a_group_sees_the_events_of_earlier_work(sqlite_store: Store) -> None:
    with one_group(sqlite_store):
        submit(sqlite_store, "s1", OpenSession())
        again = submit(sqlite_store, "s1", OpenSession())
        renamed = submit(sqlite_store, "s1", RenameSession(title="later"))
    assert isinstance(again.exception(), SessionExists)
    assert renamed.result().head.version == 2
    assert [fact.version for fact in sqlite_store.facts()] == [1, 2]


def test_a_failed_commit_fails_the_whole_group(sqlite_store: Store) -> None:
    def leave_an_orphan(attempt: Attempt) -> None:
        attempt.connection.execute(text("PRAGMA defer_foreign_keys=ON"))
        attempt.connection.execute(
            text(
                "INSERT INTO events (session_key, version, position, event_id, type, schema, "
                "history, recorded_at, body_digest, hash) "
                "VALUES (999, 1, 999, '', 'data-recorded', 1, 0, 0, '', '')"
            )
        )

    with one_group(sqlite_store):
        first = submit(sqlite_store, "s1", OpenSession())
        orphan = sqlite_store.runner.submit(leave_an_orphan)
        last = submit(sqlite_store, "s2", OpenSession())
    for future in (first, orphan, last):
        assert isinstance(future.exception(), DatabaseError)
    assert sqlite_store.sessions() == []
    assert submit(sqlite_store, "s3", OpenSession()).result().created


def test_a_transaction_that_the_database_rolled_back_fails_the_whole_group(
    sqlite_store: Store,
) -> None:
    """SQLite does so by itself when the disk is full or cannot be read."""
    with sqlite_store.database.write() as connection:
        connection.execute(
            text(
                "CREATE TRIGGER disk_full BEFORE INSERT ON losses "
                "BEGIN SELECT RAISE(ROLLBACK, 'disk full'); END"
            )
        )

    def fill_the_disk(attempt: Attempt) -> None:
        attempt.connection.execute(text("INSERT INTO losses VALUES (1, 1, 1, NULL, NULL)"))

    with one_group(sqlite_store):
        first = submit(sqlite_store, "s1", OpenSession())
        full = sqlite_store.runner.submit(fill_the_disk)
        last = submit(sqlite_store, "s2", OpenSession())
    for future in (first, full, last):
        assert isinstance(future.exception(), DatabaseError)
    assert sqlite_store.sessions() == []
    assert submit(sqlite_store, "s3", OpenSession()).result().created
    assert sqlite_store.sessions() == [("default", "s3")]


def test_work_that_was_cancelled_before_it_began_does_not_run(sqlite_store: Store) -> None:
    with one_group(sqlite_store):
        cancelled = submit(sqlite_store, "s1", OpenSession())
        assert cancelled.cancel()
        submit(sqlite_store, "s2", OpenSession())
    sqlite_store.runner.close()
    assert sqlite_store.sessions() == [("default", "s2")]


def test_closing_finishes_what_was_submitted(store: Store) -> None:
    futures = [submit(store, f"s{number}", OpenSession()) for number in range(100)]
    store.runner.close()
    assert all(future.result(timeout=0).created for future in futures)
    assert len(store.sessions()) == 100


def test_a_runner_that_closes_waits_for_what_a_caller_runs_by_itself(store: Store) -> None:
    reached, go_on = Event(), Event()
    order: list[str] = []

    def slow(_: Attempt) -> None:
        reached.set()
        assert go_on.wait(60)
        order.append("done")

    def close() -> None:
        store.runner.close()
        order.append("closed")

    threads = [Thread(target=store.runner.run, args=(slow,)), Thread(target=close)]
    threads[0].start()
    assert reached.wait(60)
    threads[1].start()
    threads[1].join(0.2)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert order == ["done", "closed"]


def test_on_postgresql_what_was_rolled_back_is_not_answered_as_committed(
    postgresql_store: Store,
) -> None:
    def go_on_after_a_failure(attempt: Attempt) -> None:
        with suppress(DatabaseError):
            attempt.connection.execute(text("SELECT nothing"))

    with pytest.raises(RuntimeError, match="rolled back"):
        postgresql_store.runner.run(go_on_after_a_failure)
    assert postgresql_store.append([note(b"1")]).head.version == 2


def test_a_closed_runner_takes_no_work(store: Store) -> None:
    store.runner.close()
    store.runner.close()
    with pytest.raises(RuntimeError, match="closed"):
        submit(store, "s1", OpenSession())


def test_a_refusal_reaches_the_caller_and_the_next_work_runs(store: Store) -> None:
    with pytest.raises(NoSuchSession):
        submit(store, "s1", ArchiveSession()).result()
    assert submit(store, "s1", OpenSession()).result().created


def test_an_answer_is_given_only_once_its_events_can_be_read(store: Store) -> None:
    for number in range(20):
        appended = store.append([note(b"%d" % number)])
        assert store.facts()[-1] == appended.facts[-1]


def test_on_postgresql_work_that_lost_a_race_runs_again(postgresql_store: Store) -> None:
    store = postgresql_store
    store.append([note(b"0")])
    attempts: list[bool] = []

    def overtaken_once(attempt: Attempt) -> Appended:
        attempts.append(attempt.patient)
        known = store.handler.state(attempt, target("s1"))
        if not attempt.patient:
            with store.transaction() as other:
                store.carry_out(other, "s1", note(b"1"))
        return store.handler.carry_out(
            attempt, target("s1"), [RenameSession(title="x")], caller=NOBODY, known=known
        )

    assert store.runner.run(overtaken_once).head.version == 4
    assert attempts == [False, True]
    assert [fact.envelope.type for fact in store.facts()] == [
        "session-opened",
        "data-recorded",
        "data-recorded",
        "session-renamed",
    ]


def test_on_postgresql_a_refusal_on_an_outdated_state_is_judged_again(
    postgresql_store: Store,
) -> None:
    store = postgresql_store
    store.append(turn("t1")[:1])

    def overtaken_once(attempt: Attempt) -> Appended:
        known = store.handler.state(attempt, target("s1"))
        if not attempt.patient:
            with store.transaction() as other:
                store.carry_out(other, "s1", *turn("t1")[1:3], turn("t1")[3])
        return store.handler.carry_out(
            attempt, target("s1"), [ArchiveSession()], caller=NOBODY, known=known
        )

    assert store.runner.run(overtaken_once).head.status == "archived"


def test_on_postgresql_a_batch_again_is_answered_with_the_head_that_has_it(
    postgresql_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = postgresql_store
    store.append(turn("t1")[:1])
    request = batch(turn("t1")[1:], sequence=2)
    rivals = [request]

    def overtaken_once(*found: Any) -> State:  # noqa: ANN401
        if rivals:
            store.send(rivals.pop())
        return look_up(*found)

    monkeypatch.setattr("infrastructure.command_handler.look_up", overtaken_once)

    again = store.send(request)

    assert again.replayed
    assert again.appended.head.version == again.appended.facts[-1].version == 5


def test_on_postgresql_two_beginnings_of_one_session_make_one(postgresql_store: Store) -> None:
    futures = [submit(postgresql_store, "s1", OpenSession()) for _ in range(8)]
    outcomes = [future.exception() for future in futures]
    assert outcomes.count(None) == 1
    assert sum(isinstance(outcome, SessionExists) for outcome in outcomes) == 7
    assert [fact.version for fact in postgresql_store.facts()] == [1]


def test_on_postgresql_work_that_always_loses_is_given_up(postgresql_store: Store) -> None:
    attempts: list[bool] = []

    def lose(attempt: Attempt) -> None:
        attempts.append(attempt.patient)
        raise Contended

    with pytest.raises(Contended):
        postgresql_store.runner.run(lose)
    assert attempts == [False, *[True] * (ATTEMPTS - 1)]


def test_what_a_broken_connection_left_undone_is_done_once_more_on_another(
    postgresql_store: Store,
) -> None:
    def cut_off_at_first(attempt: Attempt) -> int:
        pids.append(attempt.connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
        if len(pids) == 1:
            with postgresql_store.database.write() as other:
                other.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pids[0]})
        return int(attempt.connection.execute(text("SELECT 1")).scalar_one())

    pids: list[int] = []
    assert postgresql_store.runner.run(cut_off_at_first) == 1
    assert len(set(pids)) == 2


def test_a_connection_that_breaks_again_is_no_lost_race(postgresql_store: Store) -> None:
    attempts: list[bool] = []

    def cut_off(attempt: Attempt) -> None:
        attempts.append(attempt.patient)
        pid = attempt.connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with postgresql_store.database.write() as other:
            other.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
        attempt.connection.execute(text("SELECT 1"))

    with pytest.raises(OperationalError):
        postgresql_store.runner.run(cut_off)
    assert len(attempts) == 2
