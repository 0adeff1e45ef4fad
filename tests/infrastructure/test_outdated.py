"""What a writer remembers wrongly neither answers anybody nor is written, and goes away again."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from domain import commands as c
from domain.evolve import fold
from domain.keys import Keys, keys_of
from domain.recorded import ProducerStamp
from domain.refusals import Fenced, Refusal, SequenceGap
from domain.state import Head, Piece, Placed, State, Tail
from infrastructure.appending import append_batch, next_epoch
from infrastructure.command_handler import Appended, Target
from infrastructure.rebuilding import rebuild
from infrastructure.remembered import TAIL, Memory
from infrastructure.runner import Attempt
from tests.conftest import NewDatabase
from tests.databases import DATABASE_KINDS
from tests.domain.test_laws import HISTORIES, Log, Step, in_its_turn
from tests.infrastructure.journeys import by_hand
from tests.infrastructure.test_lookup import COUNT, PROJECTS, stored
from tests.infrastructure.test_remembered import mint, remembered
from tests.infrastructure.test_runner import one_group, submit
from tests.infrastructure.writing import NOBODY, Store, batch, note, opened, propose, target, turn


@pytest.fixture
def sqlite_store(new_database: NewDatabase) -> Iterator[Store]:
    with opened(new_database("sqlite")) as store:
        yield store


@pytest.fixture
def postgresql_store(new_database: NewDatabase) -> Iterator[Store]:
    with opened(new_database("postgresql")) as store:
        yield store


@pytest.fixture(params=DATABASE_KINDS)
def two(new_database: NewDatabase, request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """Give two processes' worth of one database."""
    url = new_database(request.param)
    with opened(url) as store, opened(url) as other:
        yield store, other


def answered(store: Store, where: Target, step: Step) -> object:
    """Return what a step's facts are, or why it is refused."""
    commands = [stored(command) for command in step.commands]
    is_batch = isinstance(commands[0], c.BeginBatch)

    def work(attempt: Attempt) -> Appended:
        return store.handler.carry_out(
            attempt,
            where,
            commands,
            keys_of(commands),
            caller=NOBODY,
            producer=step.producer if is_batch else None,
            batch=len(commands) - 1 if is_batch else None,
        )

    try:
        return [fact.envelope.type for fact in store.runner.run(work).facts]
    except Refusal as refusal:
        return type(refusal), str(refusal)


def decided(state: State, step: Step) -> object:
    """Return the same as the whole session decides it."""
    outcome = Log().attempt(state, step)
    if isinstance(outcome, Refusal):
        return type(outcome), str(outcome)
    return [fact.envelope.type for fact in outcome.facts]


@COUNT
@given(history=HISTORIES, turns=st.lists(st.booleans(), min_size=45, max_size=45))
def test_two_processes_answer_as_the_whole_session_does(
    two: tuple[Store, Store], history: Sequence[Step], turns: Sequence[bool]
) -> None:
    where = target("s1", f"project-{next(PROJECTS)}")
    answered(two[0], where, Step(commands=(c.OpenSession(),), producer=None))
    for drawn, number in zip(history, turns, strict=False):
        whole = fold(two[0].log.stream(where.project_id, where.session_id))
        step = in_its_turn(drawn, whole)
        assert answered(two[number], where, step) == decided(whole, step)


def status(store: Store) -> str:
    with store.database.read() as connection:
        return str(connection.execute(text("SELECT status FROM heads")).scalar_one())


def test_what_seems_to_be_done_is_done_again_after_another_process_undid_it(
    two: tuple[Store, Store],
) -> None:
    store, other = two
    store.append([note(b"1")])
    submit(store, "s1", c.ArchiveSession()).result()
    submit(other, "s1", c.UnarchiveSession()).result()
    assert submit(store, "s1", c.ArchiveSession()).result().head.version == 5
    assert status(store) == "archived"


def test_a_title_that_seems_to_be_given_is_given_after_another_process_took_it(
    two: tuple[Store, Store],
) -> None:
    store, other = two
    store.append([note(b"1")])
    submit(store, "s1", c.RenameSession(title="one")).result()
    submit(other, "s1", c.RenameSession(title="two")).result()
    assert submit(store, "s1", c.RenameSession(title="one")).result().head.version == 5
    submit(other, "s1", c.RenameSession(title=None)).result()
    assert submit(other, "s1", c.RenameSession(title=None)).result().head.title is None


def test_a_turn_that_seems_to_run_is_not_interrupted_twice(two: tuple[Store, Store]) -> None:
    store, other = two
    store.append(turn("t1")[:1])
    stop = c.InterruptTurn(turn_id="t1", reason="stopped", by=None)

    def stopped(attempt: Attempt) -> Appended:
        wanted = Keys(turns=frozenset({"t1"}))
        return store.handler.carry_out(attempt, target("s1"), [stop], wanted, caller=NOBODY)

    assert len(other.runner.run(stopped).facts) == 1
    answer = store.runner.run(stopped)
    assert (len(answer.facts), answer.head.turn_id) == (0, None)


def test_facts_that_another_process_found_to_be_lost_stay_told(two: tuple[Store, Store]) -> None:
    store, other = two
    store.append([note(b"1")])
    store.append([note(b"2")])
    with by_hand(other) as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE version = 3")
    rebuild(other.database, other.runner)
    store.append([note(b"3")], producer_id="p2")
    with store.database.read() as connection:
        assert connection.execute(text("SELECT unreadable FROM heads")).scalar_one() == 1


def test_an_epoch_that_is_remembered_and_not_there_fences_nobody(
    postgresql_store: Store,
) -> None:
    store = postgresql_store
    store.append([note(b"1")])
    mint(store)
    with pytest.raises(Fenced):
        store.append([note(b"2")])
    with store.transaction() as commit:  # as a standby that had not heard of it
        commit.connection.execute(text("UPDATE producers SET epoch = 1"))
    assert store.append([note(b"2")]).head.version == 3


def test_another_connection_has_everything_looked_up(postgresql_store: Store) -> None:
    store = postgresql_store
    store.append([note(b"1")])
    assert remembered(store) is not None
    with store.database.read(), store.database.read(), store.database.read():
        pass
    assert remembered(store) is None


def test_an_epoch_whose_minting_was_undone_is_forgotten(sqlite_store: Store) -> None:
    store = sqlite_store
    store.append([note(b"1")])

    def mint_one(attempt: Attempt) -> None:
        next_epoch(store.handler, attempt, "default", "p1", NOBODY, interrupt=False)

    def leave_an_orphan(attempt: Attempt) -> None:
        run = attempt.connection.exec_driver_sql
        run("CREATE TABLE child (key INTEGER REFERENCES streams DEFERRABLE INITIALLY DEFERRED)")
        run("INSERT INTO child VALUES (999)")

    def fenced(attempt: Attempt) -> None:
        request = batch([note(b"2")], sequence=2)
        append_batch(store.handler, attempt, target("s1"), request, NOBODY)

    with one_group(store):
        futures: list[Any] = [
            store.runner.submit(work) for work in (mint_one, fenced, leave_an_orphan)
        ]
    for future in futures:
        assert isinstance(future.exception(), DatabaseError)
    assert store.append([note(b"2")]).head.version == 3


def test_whoever_waits_to_write_is_not_overtaken(sqlite_store: Store) -> None:
    runner = sqlite_store.runner
    order: list[str] = []
    waiting: list[Any] = []

    def first(_: Attempt) -> None:
        waiting.append(runner.submit(lambda _: order.append("waited")))
        order.append("first")

    runner.run(first)
    for _ in range(20):
        runner.run(lambda _: order.append("later"))
    waiting[0].result()
    assert order[:2] == ["first", "waited"]


def test_a_producer_is_forgotten_if_somebody_else_wrote_between() -> None:
    memory = Memory(lambda: 0)

    def keep(producer_id: str, seen: int) -> dict[str, ProducerStamp]:
        stamp = ProducerStamp(producer_id=producer_id, epoch=1, sequence=1)
        state = State(head=Head(version=seen + 1), producers={producer_id: stamp})
        memory.keep("default", "s1", 1, state, seen)
        known = memory.find("default", "s1")
        assert known is not None
        return known.producers

    keep("p1", 1)
    assert sorted(keep("p2", 2)) == ["p1", "p2"]
    assert sorted(keep("p3", 4)) == ["p3"]


@pytest.mark.parametrize(
    ("part", "is_known"),
    [
        ({"type": "text", "text": ""}, True),
        ({"type": "text", "text": "x" * (TAIL - 100)}, True),
        ({"type": "text", "text": "x" * TAIL}, False),
        ({"type": "text", "text": "", "cache": {}}, False),
        ({"type": "attachment", "size": 3}, True),
    ],
)
def test_only_a_short_message_is_remembered(part: dict[str, object], is_known: bool) -> None:
    memory = Memory(lambda: 0)
    message = Placed(
        index=0,
        message_id="m1",
        named=True,
        turn_id="t1",
        role="assistant",
        versions=(2,),
        digest=None,
        fingerprint=b"",
        model_fingerprint=b"",
    )
    state = State(
        head=Head(version=2, messages=1, placed=1, tip=0, tail_open=True),
        messages={0: message},
        tail=Tail(pieces=(Piece(version=2, source=None, open=False, part=part),)),
    )
    memory.keep("default", "s1", 1, state, 1)
    known = memory.find("default", "s1")
    assert known is not None
    assert (known.tail is not None, known.message is not None) == (is_known, is_known)


def test_a_long_message_goes_on_as_it_is_stored(two: tuple[Store, Store]) -> None:
    store, _ = two
    said = b'{"turn_id":"t1","message":{"role":"assistant","content":"%s"}}'
    store.append([*turn("t1")[:1], propose("message-recorded", said % (b"x" * 70_000))])
    store.append([propose("message-recorded", said % b"y")])
    store.append([propose("message-recorded", said % b"z")])
    assert rebuild(store.database, store.runner, check_only=True).differences == ()


def test_a_gap_that_is_only_remembered_refuses_nobody(two: tuple[Store, Store]) -> None:
    store, other = two
    store.append([note(b"1")])
    other.send(batch([note(b"2")], sequence=2))
    other.send(batch([note(b"3")], sequence=3))
    assert store.send(batch([note(b"4")], sequence=4)).appended.head.version == 5
    with pytest.raises(SequenceGap):
        other.send(batch([note(b"5")], sequence=7))
