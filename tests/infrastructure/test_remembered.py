"""What the writer remembers of a session is what the database would have told it.

Each test has something happen behind its back, or be undone, and then appends.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from domain import commands as c
from domain.keys import Keys, keys_of
from domain.recorded import ProducerStamp
from domain.refusals import Fenced, SequenceGap, SessionExists, UnknownEpoch
from domain.state import Head, State
from infrastructure.appending import next_epoch
from infrastructure.rebuilding import rebuild
from infrastructure.remembered import PRODUCERS, SESSIONS, Memory
from infrastructure.runner import Attempt
from tests.conftest import NewDatabase
from tests.databases import DATABASE_KINDS
from tests.domain.test_laws import HISTORIES, Step, in_its_turn
from tests.infrastructure.test_lookup import COUNT, EVERYTHING, carry_out, expected
from tests.infrastructure.test_runner import one_group, submit
from tests.infrastructure.writing import (
    NOBODY,
    Store,
    batch,
    note,
    opened,
    propose,
    target,
    turn,
)

PROJECTS = count(1)


@pytest.fixture
def url(new_database: NewDatabase) -> str:
    return new_database("sqlite")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with opened(url) as store:
        yield store


@pytest.fixture(params=DATABASE_KINDS)
def two(new_database: NewDatabase, request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """Give two processes' worth of one database."""
    url = new_database(request.param)
    with opened(url) as store, opened(url) as other:
        yield store, other


def remembered(store: Store, session_id: str = "s1", project_id: str = "default") -> Any:  # noqa: ANN401
    """Return what the writer knows of a session, without asking the database."""

    def look(attempt: Attempt) -> object:
        assert attempt.commit.memory is not None
        return attempt.commit.memory.find(project_id, session_id)

    return store.runner.run(look)


def versions(store: Store, session_id: str = "s1") -> list[int]:
    return [fact.version for fact in store.facts(session_id)]


@COUNT
@given(history=HISTORIES)
def test_what_is_remembered_is_what_a_fold_restricted_to_the_keys_has(
    store: Store, history: Sequence[Step]
) -> None:
    where = target("s1", f"project-{next(PROJECTS)}")

    def found(wanted: Keys) -> State:
        return store.runner.run(lambda attempt: store.handler.state(attempt, where, wanted))[1]

    carry_out(store, where, Step(commands=(c.OpenSession(),), producer=None))
    state = expected(store, where, EVERYTHING)
    for drawn in history:
        step = in_its_turn(drawn, state)
        wanted = keys_of(step.commands)
        assert found(wanted) == expected(store, where, wanted)
        carry_out(store, where, step)
        state = expected(store, where, EVERYTHING)
        assert found(EVERYTHING) == state


def test_an_append_after_another_asks_for_no_head(store: Store) -> None:
    store.append([note(b"1")])
    asked: list[str] = []

    def append(attempt: Attempt) -> None:
        driver: Any = attempt.connection.connection.driver_connection
        driver.set_trace_callback(asked.append)
        store.handler.state(attempt, target("s1"), Keys(producers=frozenset({"p1"})))
        driver.set_trace_callback(None)

    store.runner.run(append)
    assert asked == []


def test_an_open_turn_and_its_last_message_are_remembered(store: Store) -> None:
    said = b'{"turn_id":"t1","message":{"role":"assistant","content":"and on"}}'
    store.append([*turn("t1")[:1], propose("message-recorded", said)])
    known = remembered(store)
    assert (known.turn.turn_id, known.message.index, len(known.tail.pieces)) == ("t1", 1, 1)
    store.append([propose("message-recorded", said)])
    assert store.runner.run(lambda attempt: store.handler.state(attempt, target("s1"), EVERYTHING))[
        1
    ] == expected(store, target("s1"), EVERYTHING)


def test_what_another_process_wrote_is_seen(two: tuple[Store, Store]) -> None:
    store, other = two
    store.append([note(b"1")], producer_id="p1")
    other.append([note(b"2")], producer_id="p2")
    store.append([note(b"3")], producer_id="p1")
    other.append([note(b"4")], producer_id="p2")
    assert store.append([note(b"5")], producer_id="p1").head.version == 6
    assert versions(store) == [1, 2, 3, 4, 5, 6]


def test_a_batch_that_another_process_took_is_found(two: tuple[Store, Store]) -> None:
    store, other = two
    store.append([note(b"1")])
    other.send(batch([note(b"2")], sequence=2))
    assert store.send(batch([note(b"2")], sequence=2)).replayed
    assert versions(store) == [1, 2, 3]


def test_a_refusal_rests_on_what_another_process_wrote(two: tuple[Store, Store]) -> None:
    store, other = two
    store.append(turn("t1")[:1])
    other.append(turn("t1")[1:], producer_id="p2")
    assert store.send(batch(turn("t2")[:1], sequence=2)).appended.head.turns == 2
    with pytest.raises(SequenceGap) as refused:
        other.send(batch([note(b"2")], "p1", sequence=4))
    assert refused.value.expected == 3


def test_an_epoch_that_another_process_minted_fences(two: tuple[Store, Store]) -> None:
    store, other = two
    store.append([note(b"1")])
    store.append([note(b"2")])
    mint(other)
    with pytest.raises(Fenced):
        store.append([note(b"3")])
    later = replace(batch([note(b"3")]), producer=second_epoch(1), previous=(1, 2))
    assert store.send(later).appended.head.version == 4
    mint(other)
    with pytest.raises(Fenced):
        store.send(replace(later, producer=second_epoch(2)))
    assert versions(store) == [1, 2, 3, 4]


def test_a_new_epoch_is_known_to_whoever_remembers_the_old_one(two: tuple[Store, Store]) -> None:
    store, other = two
    store.append([note(b"1")])
    with pytest.raises(UnknownEpoch):
        store.send(replace(batch([note(b"2")]), producer=second_epoch(1), previous=(1, 1)))
    mint(other)
    later = replace(batch([note(b"2")]), producer=second_epoch(1), previous=(1, 1))
    assert store.send(later).appended.head.version == 3


def test_a_view_that_another_process_made_again_is_seen(two: tuple[Store, Store]) -> None:
    store, other = two
    with other.transaction() as commit:
        other.carry_out(commit, "s1", note(b"1"))
    with other.transaction() as commit:
        commit.connection.execute(text("UPDATE heads SET title = 'damaged'"))
    assert store.append([note(b"2")]).head.title == "damaged"
    rebuild(other.database, other.runner)
    assert store.append([note(b"3")]).head.title is None
    assert rebuild(other.database, other.runner, check_only=True).differences == ()


def test_two_processes_that_take_turns_leave_no_gap(two: tuple[Store, Store]) -> None:
    for number in range(10):
        for name, store in zip("ab", two, strict=True):
            store.append([note(b"%d" % number)], producer_id=name)
            store.append(turn(f"{name}{number}"), producer_id=name)
    assert versions(two[0]) == list(range(1, 102))
    assert rebuild(two[0].database, two[0].runner, check_only=True).differences == ()


def second_epoch(sequence: int) -> ProducerStamp:
    return ProducerStamp(producer_id="p1", epoch=2, sequence=sequence)


def mint(store: Store) -> None:
    store.runner.run(
        lambda attempt: next_epoch(store.handler, attempt, "default", "p1", NOBODY, interrupt=False)
    )


def test_what_this_process_wrote_past_the_runner_is_seen(store: Store) -> None:
    store.append([note(b"1")])
    with store.transaction() as commit:
        store.carry_out(commit, "s1", note(b"2"))
    assert store.append([note(b"3")]).head.version == 4


def test_a_view_that_is_made_again_is_seen(store: Store) -> None:
    store.append([note(b"1")])
    right = remembered(store).head
    with store.transaction() as commit:
        commit.connection.execute(text("UPDATE heads SET title = 'damaged'"))
    assert store.append([note(b"2")]).head.title == "damaged"
    rebuild(store.database, store.runner)
    assert remembered(store) is None
    assert store.append([note(b"3")]).head.title == right.title


def test_an_append_that_was_undone_is_forgotten(store: Store) -> None:
    def append_and_fail(attempt: Attempt) -> None:
        store.carry_out(attempt.commit, "s1", note(b"2"))
        raise LookupError

    store.append([note(b"1")])
    with pytest.raises(LookupError):
        store.runner.run(append_and_fail)
    with one_group(store):
        before = submit(store, "s1", c.RenameSession(title="before"))
        failed = store.runner.submit(append_and_fail)
        after = submit(store, "s1", c.RenameSession(title="after"))
    assert isinstance(failed.exception(), LookupError)
    assert (before.result().head.version, after.result().head.version) == (3, 4)
    assert versions(store) == [1, 2, 3, 4]


def test_a_session_whose_opening_was_undone_does_not_exist(store: Store) -> None:
    def open_and_fail(attempt: Attempt) -> None:
        store.handler.carry_out(attempt, target("s1"), [c.OpenSession()], caller=NOBODY)
        raise LookupError

    store.append([note(b"1")], "s0")
    with pytest.raises(LookupError):
        store.runner.run(open_and_fail)
    with one_group(store):
        failed = store.runner.submit(open_and_fail)
        created = submit(store, "s1", c.OpenSession())
    assert isinstance(failed.exception(), LookupError)
    assert created.result().created


def test_a_commit_that_failed_is_forgotten(store: Store) -> None:
    store.append([note(b"1")])

    def leave_an_orphan(attempt: Attempt) -> None:
        store.carry_out(attempt.commit, "s1", note(b"2"))
        attempt.connection.execute(text("PRAGMA defer_foreign_keys=ON"))
        attempt.connection.execute(
            text(
                "INSERT INTO events (session_key, version, position, event_id, type, schema, "
                "history, recorded_at, body_digest, hash) "
                "VALUES (999, 1, 999, '', 'data-recorded', 1, 0, 0, '', '')"
            )
        )

    with pytest.raises(DatabaseError, match="FOREIGN KEY"):
        store.runner.run(leave_an_orphan)
    with one_group(store):
        written = submit(store, "s1", c.RenameSession(title="x"))
        orphan = store.runner.submit(leave_an_orphan)
    assert isinstance(written.exception(), DatabaseError)
    assert isinstance(orphan.exception(), DatabaseError)
    assert store.append([note(b"3")]).head.version == 3
    assert versions(store) == [1, 2, 3]


def test_a_refusal_forgets_nothing(store: Store) -> None:
    store.append([note(b"1")])
    known = remembered(store)
    with pytest.raises(SessionExists):
        submit(store, "s1", c.OpenSession()).result()
    with pytest.raises(SequenceGap):
        store.send(batch([note(b"2")], sequence=7))
    assert remembered(store) is known


def test_only_so_many_sessions_and_producers_are_remembered() -> None:
    memory = Memory(lambda: 0)
    for number in range(SESSIONS + 1):
        memory.keep("default", f"s{number}", number, State(head=Head(version=1)), 0)
    assert memory.find("default", "s0") is None
    assert memory.find("default", "s1") is not None
    for number in range(PRODUCERS + 1):
        name = f"p{number}"
        stamp = ProducerStamp(producer_id=name, epoch=1, sequence=number)
        memory.keep("default", "s1", 1, State(head=Head(version=1), producers={name: stamp}), 1)
        known = memory.find("default", "s1")
        assert known is not None
        assert len(known.producers) == (number + 1 if number < PRODUCERS else 0)
