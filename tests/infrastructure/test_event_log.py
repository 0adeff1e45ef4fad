"""The log keeps what it took, in order, and nothing can change it afterwards."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DatabaseError

from domain.commands import OpenSession
from domain.offloading import inline
from domain.recorded import GENESIS, Recorded, body_digest, chained_hash
from domain.refusals import TurnInProgress, VersionMoved
from infrastructure.command_handler import Caller
from infrastructure.commit import Commit, Contended
from infrastructure.lookup import find_head
from infrastructure.mapper import StreamFact, originator
from infrastructure.runner import Attempt
from infrastructure.writing import Writing
from tests.conftest import NewDatabase
from tests.databases import DatabaseKind
from tests.infrastructure.writing import (
    NEW_YEAR,
    NOBODY,
    SECOND,
    Store,
    note,
    opened,
    propose,
    target,
    turn,
)

NOTHING = {
    "streams": 0,
    "events": 0,
    "bodies": 0,
    "heads": 0,
    "turns": 0,
    "calls": 0,
    "gates": 0,
    "messages": 0,
    "losses": 0,
    "branches": 0,
    "moves": 0,
    "checkpoints": 0,
    "seats": 0,
    "queue": 0,
    "lineages": 0,
}


def test_a_stream_is_read_in_order_with_versions_from_1_without_gaps(store: Store) -> None:
    for _ in range(3):
        store.append([note(b"%d" % number) for number in range(400)])
    facts = store.facts()
    assert [fact.version for fact in facts] == list(range(1, 1202))
    assert [fact.envelope.type for fact in facts[:3]] == [
        "session-opened",
        "data-recorded",
        "data-recorded",
    ]
    assert facts[1].body == b'{"kind":"note","data":0}'
    assert facts[1200].body == b'{"kind":"note","data":399}'


def test_a_stream_is_read_from_any_version_to_any_other(store: Store) -> None:
    store.append(turn("t1"))
    whole = store.facts()
    assert list(store.log.stream("default", "s1", after=1, through=3)) == whole[1:3]
    assert list(store.log.stream("default", "s1", after=5)) == []
    assert list(store.log.stream("default", "s1", through=0)) == []
    assert list(store.log.stream("default", "elsewhere")) == []


def test_what_was_appended_is_what_is_read(store: Store) -> None:
    store.clock.at = NEW_YEAR + 7
    appended = store.append(turn("t1"))
    assert list(appended.facts) == store.facts()


def test_the_library_reads_the_same_facts(store: Store) -> None:
    store.append(turn("t1"))
    name = originator("default", "s1")
    through_the_library = list(store.log.application.events.get(name))
    assert through_the_library == [StreamFact(name, fact.version, fact) for fact in store.facts()]


def test_sessions_that_differ_in_project_or_case_are_different_streams(store: Store) -> None:
    for project_id, session_id in (("a", "s"), ("a", "S"), ("A", "s"), ("a-s", "s")):
        with store.database.write() as connection:
            where = target(session_id, project_id)
            _open(store, connection, where.project_id, where.session_id)
    assert store.sessions() == [("a", "s"), ("a", "S"), ("A", "s"), ("a-s", "s")]
    assert [len(store.facts("S", "a")), len(store.facts("S", "A"))] == [1, 0]


def test_ids_of_128_characters_are_kept_whole(store: Store) -> None:
    project_id, session_id = "p" * 128, "s" * 128
    with store.database.write() as connection:
        _open(store, connection, project_id, session_id)
    (fact,) = store.facts(session_id, project_id)
    assert (fact.envelope.project_id, fact.envelope.session_id) == (project_id, session_id)


def test_positions_rise_within_and_across_sessions(store: Store) -> None:
    positions: list[int] = []
    for number in range(4):
        positions += [f.position for f in store.append(turn(f"t{number}")).facts]
        positions += [f.position for f in store.append([note(b"1")], "s2").facts]
    assert len(positions) == 4 * 5 + 2
    assert all(earlier < later for earlier, later in pairwise(positions))


def test_positions_say_the_order_of_the_whole_log(store: Store) -> None:
    store.append([note(b"1")], "s1")
    store.append([note(b"2")], "s2")
    store.append([note(b"3")], "s1")
    recorder = store.log.application.recorder
    notifications = recorder.select_notifications(None, 10, topics=["data-recorded"])
    assert [(n.originator_id, n.originator_version, n.state) for n in notifications] == [
        ("default/s1", 2, b'{"kind":"note","data":1}'),
        ("default/s2", 2, b'{"kind":"note","data":2}'),
        ("default/s1", 3, b'{"kind":"note","data":3}'),
    ]
    assert recorder.max_notification_id() == notifications[-1].id == store.facts()[-1].position


def test_a_refused_batch_leaves_nothing(store: Store) -> None:
    with pytest.raises(TurnInProgress):
        store.append([*turn("t1")[:2], *turn("t2")])
    assert store.rows() == NOTHING


def test_an_append_that_fails_half_way_leaves_nothing(store: Store) -> None:
    facts = store.append(turn("t1")).facts
    before = store.rows()
    twice = [facts[0]._replace(envelope=facts[0].envelope._replace(version=9))] * 2
    with pytest.raises(Contended), store.database.write() as connection:
        _write(store, connection, seen=5, facts=twice)
    assert store.rows() == before
    assert store.facts() == list(facts)


def test_a_writer_that_saw_an_older_version_is_refused(store: Store) -> None:
    facts = store.append(turn("t1")).facts
    late = facts[-1]._replace(envelope=facts[-1].envelope._replace(version=6))
    with pytest.raises(Contended), store.database.write() as connection:
        _write(store, connection, seen=4, facts=[late])
    assert store.facts() == list(facts)


def test_a_second_beginning_of_a_session_is_refused(store: Store) -> None:
    facts = store.append([note(b"1")]).facts
    with pytest.raises(Contended), store.database.write() as connection:
        _write(store, connection, seen=0, facts=facts[:1])
    assert store.facts() == list(facts)


def test_a_producer_that_expects_an_older_version_is_told_the_current_one(store: Store) -> None:
    store.append(turn("t1"))
    with pytest.raises(VersionMoved) as refusal:
        store.append([note(b"1")], expected_version=4)
    assert (refusal.value.expected, refusal.value.actual) == (4, 5)
    assert store.append([note(b"1")], expected_version=5).head.version == 6


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE streams SET session_id = 'x'",
        "DELETE FROM streams",
        "UPDATE events SET type = 'x'",
        "UPDATE events SET position = position + 1",
        "DELETE FROM events",
        "UPDATE bodies SET body = ''",
        "DELETE FROM bodies",
    ],
)
def test_the_database_itself_refuses_to_change_the_record(store: Store, change: str) -> None:
    store.append(turn("t1"))
    before = store.facts()
    with pytest.raises(DatabaseError, match="is append-only"), store.database.write() as connection:
        connection.execute(text(change))
    assert store.facts() == before


@pytest.mark.parametrize("table", ["streams", "events", "bodies"])
def test_postgresql_refuses_to_empty_the_record(new_database: NewDatabase, table: str) -> None:
    with opened(new_database("postgresql")) as store:
        before = store.append(turn("t1")).facts
        with (
            pytest.raises(DatabaseError, match="is append-only"),
            store.database.write() as connection,
        ):
            connection.execute(text(f"TRUNCATE {table} CASCADE"))
        assert store.facts() == list(before)


@pytest.mark.parametrize("table", ["streams", "events", "bodies"])
def test_sqlite_refuses_to_replace_a_row_of_the_record(
    new_database: NewDatabase, table: str
) -> None:
    with opened(new_database("sqlite")) as store:
        before = store.append(turn("t1")).facts
        with (
            pytest.raises(DatabaseError, match="is append-only"),
            store.database.write() as connection,
        ):
            connection.execute(text(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}"))
        assert store.facts() == list(before)


def test_every_fact_is_chained_to_the_one_before_it(store: Store) -> None:
    for number in range(3):
        store.append(turn(f"t{number}"))
    store.append([note(b"%d" % number) for number in range(600)])
    facts = store.facts()
    previous = GENESIS
    for fact in facts:
        assert fact.previous == previous
        assert fact.salt is not None
        assert fact.body is not None
        assert fact.envelope.body_digest == body_digest(fact.salt, fact.body)
        assert fact.hash == chained_hash(fact.envelope, previous)
        previous = fact.hash
    assert len({fact.salt for fact in facts}) == len(facts)
    assert store.append([note(b"1")]).facts[0].previous == previous


def test_a_fact_read_alone_knows_the_hash_before_it(store: Store) -> None:
    facts = store.append(turn("t1")).facts
    (alone,) = store.log.stream("default", "s1", after=2, through=3)
    assert alone.previous == facts[1].hash


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind":"note","data":1.50}',
        b'{"kind":"note","data":1E5}',
        b'{"kind":"note","data":9007199254740993}',
        b'{"kind":"note","data":-0.0}',
        b'{"kind":"note","data":{ "b" : [ 1 ,  2 ],\n "a" : null }}',
        b'{ "data" : "\\u00e9\\/\xc3\xa9" , "kind" : "note" , "unknown" : [ ] }',
        b'{"kind":"note","data":"\xf0\x9f\xa6\x89"}',
        b'{"kind":"note","data":"' + b"x" * 300_000 + b'"}',
    ],
)
def test_a_body_is_kept_byte_for_byte(store: Store, body: bytes) -> None:
    store.append([propose("data-recorded", body)])
    kept = store.facts()[1]
    assert kept.body is not None
    assert inline(kept.body, kept.blobs) == body


def test_times_never_step_back_within_a_stream(store: Store) -> None:
    for at in (NEW_YEAR, NEW_YEAR + 5 * SECOND, NEW_YEAR - SECOND, NEW_YEAR + 6 * SECOND):
        store.clock.at = at
        store.append([note(b"1")])
    assert [fact.envelope.recorded_at - NEW_YEAR for fact in store.facts()] == [
        0,
        0,
        5 * SECOND,
        5 * SECOND,
        6 * SECOND,
    ]


def test_other_sessions_do_not_hold_back_the_clock(store: Store) -> None:
    store.append([note(b"1")])
    store.clock.at = NEW_YEAR - SECOND
    store.append([note(b"1")], "s2")
    assert {fact.envelope.recorded_at for fact in store.facts("s2")} == {NEW_YEAR - SECOND}


def test_an_envelope_keeps_who_when_and_under_which_trace(
    store: Store, database_kind: DatabaseKind
) -> None:
    store.runner.run(
        lambda attempt: store.handler.carry_out(
            attempt,
            target("s1"),
            [OpenSession(title="über")],
            caller=Caller(actor=f"ann@{database_kind}", trace_id="4bf92f35"),
        )
    )
    (fact,) = store.facts()
    envelope = fact.envelope
    assert (envelope.actor, envelope.trace_id) == (f"ann@{database_kind}", "4bf92f35")
    assert (envelope.type, envelope.schema, envelope.affects) == ("session-opened", 1, "none")
    assert (envelope.producer, envelope.batch, envelope.turn_id) == (None, None, None)
    assert fact.body == '{"title":"über"}'.encode()


def test_the_first_event_of_a_batch_says_how_many_came_with_it(store: Store) -> None:
    store.append(turn("t1"))
    assert [fact.envelope.batch for fact in store.facts()] == [None, 4, None, None, None]
    assert {
        None if fact.envelope.producer is None else fact.envelope.producer.sequence
        for fact in store.facts()[1:]
    } == {1}


def _open(store: Store, connection: Connection, project_id: str, session_id: str) -> None:
    store.handler.carry_out(
        Attempt(Commit(connection), patient=False),
        target(session_id, project_id),
        [OpenSession()],
        caller=NOBODY,
    )


def _write(store: Store, connection: Connection, *, seen: int, facts: Sequence[Recorded]) -> None:
    key, state = find_head(connection, "default", "s1")
    store.log.append(
        Writing(
            commit=Commit(connection),
            session_key=key,
            project_id="default",
            session_id="s1",
            seen=seen,
            facts=facts,
            changes=[],
            state=state,
        )
    )
