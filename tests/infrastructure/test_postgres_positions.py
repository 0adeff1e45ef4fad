"""On PostgreSQL positions follow commits and versions, without a lock that sessions share.

A position is made of the transaction's id, and ids are given before commits happen: each test here
is an order of events in which that could go wrong, on real connections.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from time import monotonic

import pytest
from sqlalchemy import make_url, text

from domain.recorded import Recorded
from infrastructure.appending import append_batch
from infrastructure.commit import Commit, Contended
from infrastructure.database import open_database
from infrastructure.recorder import LogRecorder
from infrastructure.runner import Attempt
from tests.conftest import NewDatabase
from tests.infrastructure.writing import NOBODY, Store, batch, note, propose, target


@pytest.fixture
def store(new_database: NewDatabase) -> Iterator[Store]:
    database = open_database(make_url(new_database("postgresql")), pool_size=16, allow_unsafe=True)
    with Store(database) as store:
        yield store


class Follower:
    """Somebody who reads the whole log, a little at a time."""

    def __init__(self, store: Store) -> None:
        self._recorder = LogRecorder(store.database)
        self._at: int | None = None
        self.seen: list[tuple[str, int]] = []

    def read(self) -> list[tuple[str, int]]:
        """Return the session and version of each fact that is new."""
        found = self._recorder.select_notifications(self._at, 1000, inclusive_of_start=False)
        if found:
            self._at = found[-1].id
        new = [(str(n.originator_id).split("/")[1], n.originator_version) for n in found]
        self.seen += new
        return new

    def wait_for(self, count: int) -> list[tuple[str, int]]:
        """Return the next `count` facts; the server's own transactions may hold them back."""
        deadline = monotonic() + 60
        before = len(self.seen)
        while len(self.seen) < before + count:
            assert monotonic() < deadline
            self.read()
        return self.seen[before:]


def transaction_id(commit: Commit) -> int:
    """Give the transaction its id now, if it has none."""
    statement = text("SELECT pg_current_xact_id()::text::bigint")
    return int(commit.connection.execute(statement).scalar_one())


def do_not_wait(commit: Commit) -> None:
    """Have the connection fail rather than wait for a lock."""
    commit.connection.execute(text("SET LOCAL lock_timeout = '500ms'"))


def rising(facts: list[Recorded]) -> bool:
    return all(earlier.position < later.position for earlier, later in pairwise(facts))


def test_a_fact_whose_transaction_began_early_and_commits_late_is_not_missed(store: Store) -> None:
    follower = Follower(store)
    with store.transaction() as early:
        transaction_id(early)
        store.append([note(b"1")], "s2")
        assert follower.read() == []
        store.carry_out(early, "s1", note(b"1"))
        assert follower.read() == []
    assert follower.wait_for(4) == [("s1", 1), ("s1", 2), ("s2", 1), ("s2", 2)]


def test_facts_before_a_running_transaction_are_seen_while_it_runs(store: Store) -> None:
    follower = Follower(store)
    store.append([note(b"1")], "s1")
    with store.transaction() as running:
        transaction_id(running)
        store.append([note(b"1")], "s2")
        assert follower.wait_for(2) == [("s1", 1), ("s1", 2)]
        recorder = LogRecorder(store.database)
        assert recorder.max_notification_id() == store.facts("s1")[-1].position
    assert follower.wait_for(2) == [("s2", 1), ("s2", 2)]
    assert recorder.max_notification_id() == store.facts("s2")[-1].position


def test_a_transaction_that_is_rolled_back_holds_nothing_back(store: Store) -> None:
    follower = Follower(store)
    with store.transaction() as early:
        store.carry_out(early, "s1", note(b"1"))
        store.append([note(b"1")], "s2")
        assert follower.read() == []
        early.connection.rollback()
    assert follower.wait_for(2) == [("s2", 1), ("s2", 2)]


def test_two_sessions_written_at_the_same_time_are_both_seen_once_and_whole(store: Store) -> None:
    follower = Follower(store)
    with store.transaction() as first:
        store.carry_out(first, "s1", note(b"1"))
        with store.transaction() as second:
            store.carry_out(second, "s2", note(b"1"))
            store.carry_out(first, "s1", note(b"2"))
            store.carry_out(second, "s2", note(b"2"))
        assert follower.read() == []
    both = [(session_id, version) for session_id in ("s1", "s2") for version in (1, 2, 3)]
    assert follower.wait_for(6) == both
    assert rising([*store.facts("s1"), *store.facts("s2")])


def test_a_session_is_not_written_by_a_transaction_older_than_its_last(store: Store) -> None:
    store.append([note(b"1")])
    with store.transaction() as old:
        older = transaction_id(old)
        with store.transaction() as young:
            assert transaction_id(young) > older
            store.carry_out(young, "s1", note(b"2"))
        with pytest.raises(Contended):
            store.carry_out(old, "s1", note(b"3"))
    assert [fact.version for fact in store.facts()] == [1, 2, 3]


def test_the_older_transaction_s_work_lands_in_a_new_one_so_that_positions_follow_versions(
    store: Store,
) -> None:
    store.append([note(b"1")])
    follower = Follower(store)
    tries: list[int] = []

    def write_after_a_younger_one(attempt: Attempt) -> None:
        tries.append(transaction_id(attempt.commit))
        if len(tries) == 1:
            with store.transaction() as young:
                store.carry_out(young, "s1", note(b"2"))
        store.carry_out(attempt.commit, "s1", note(b"3"))

    store.runner.run(write_after_a_younger_one)
    facts = store.facts()
    assert len(tries) == 2
    assert [fact.body for fact in facts[1:]] == [
        b'{"kind":"note","data":1}',
        b'{"kind":"note","data":2}',
        b'{"kind":"note","data":3}',
    ]
    assert rising(facts)
    assert follower.wait_for(4) == [("s1", 1), ("s1", 2), ("s1", 3), ("s1", 4)]


def test_one_transaction_may_write_a_session_twice(store: Store) -> None:
    with store.transaction() as commit:
        store.carry_out(commit, "s1", note(b"1"))
        store.carry_out(commit, "s1", note(b"2"), note(b"3"))
    facts = store.facts()
    assert [fact.version for fact in facts] == [1, 2, 3, 4]
    assert rising(facts)


def test_an_append_waits_for_no_append_to_another_session(store: Store) -> None:
    store.append([note(b"0")], "s1")
    store.append([note(b"0")], "s2")
    with store.transaction() as first, store.transaction() as second:
        do_not_wait(first)
        do_not_wait(second)
        store.carry_out(first, "s1", note(b"1"))
        store.carry_out(second, "s2", note(b"1"))
        store.carry_out(second, "s3", note(b"1"))
        store.carry_out(first, "s4", note(b"1"))
    assert [len(store.facts(f"s{number}")) for number in (1, 2, 3, 4)] == [3, 3, 2, 2]


def test_batches_of_one_producer_to_two_sessions_do_not_wait_for_each_other(store: Store) -> None:
    store.append([note(b"0")], "s1", "p1")

    def send(commit: Commit, session_id: str, sequence: int) -> int:
        do_not_wait(commit)
        request = batch([note(b"1")], "p1", sequence)
        attempt = Attempt(commit, patient=False)
        answer = append_batch(store.handler, attempt, target(session_id), request, NOBODY)
        return answer.appended.head.version

    with store.transaction() as first, store.transaction() as second:
        assert [send(first, "s1", 2), send(second, "s2", 1)] == [3, 2]


def test_eight_threads_on_one_session_all_land_without_a_gap(store: Store) -> None:
    def write(producer: int) -> None:
        for number in range(10):
            proposal = propose(
                "data-recorded", b'{"kind":"from-%d","data":%d}' % (producer, number)
            )
            store.append([proposal, note(b"1")], "s1", f"p{producer}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    facts = store.facts()
    assert [fact.version for fact in facts] == list(range(1, 2 + 8 * 10 * 2))
    assert rising(facts)
    bodies = [fact.body for fact in facts]
    for producer in range(8):
        mine = [b'{"kind":"from-%d","data":%d}' % (producer, number) for number in range(10)]
        assert [body for body in bodies if body in mine] == mine
    assert Follower(store).wait_for(len(facts)) == [("s1", fact.version) for fact in facts]


def test_a_raised_base_puts_every_later_position_above(store: Store) -> None:
    """As after a restore into a cluster whose transaction ids begin anew."""
    before = store.append([note(b"1")]).facts[-1].position
    with store.database.write() as connection:
        connection.execute(text("UPDATE store SET base = 1000000"))
    after = store.append([note(b"2")]).facts[-1].position
    assert after - before > 1_000_000 << 20
    assert Follower(store).wait_for(3) == [("s1", 1), ("s1", 2), ("s1", 3)]
