"""What the rules knew at a version is what a fold up to there gives, from whichever checkpoint."""

from collections.abc import Sequence
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select, update

from domain import commands as c
from domain.checkpoints import EVERY
from domain.evolve import evolve, fold
from domain.recorded import Recorded
from domain.state import Checkpoint, State
from infrastructure import tables as t
from infrastructure.checkpoint_rows import checkpoint_row
from infrastructure.reading.moment import At, moment
from infrastructure.reading.past import known_at
from infrastructure.rebuilding import rebuild
from infrastructure.recorder import find_key
from tests.domain.test_laws import Step, in_its_turn
from tests.domain.test_resuming import HISTORIES, checkpoint_of, known
from tests.infrastructure.journeys import eventful
from tests.infrastructure.reading.asking import looked, statements
from tests.infrastructure.test_lookup import carry_out
from tests.infrastructure.writing import Store, note, propose, target, turn

SESSIONS = count(1)
COUNT = settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    # The database is fresh for the test; each history gets a session of its own in it.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def lived(store: Store, session_id: str, history: Sequence[Step]) -> list[Recorded]:
    """Record a history; return its facts."""
    where = target(session_id)
    opens = Step(commands=(c.OpenSession(),), producer=None)
    back = Step(commands=(c.RestoreSession(),), producer=None)
    for drawn in (opens, *history, back):
        whole = fold(store.log.stream(where.project_id, where.session_id))
        carry_out(store, where, in_its_turn(drawn, whole))
    return store.facts(session_id)


def states_of(facts: Sequence[Recorded]) -> list[State]:
    states = [State()]
    for fact in facts:
        states.append(states[-1].copy())
        states[-1].apply(evolve(states[-2], fact))
    return states


def keep(store: Store, session_id: str, checkpoint: Checkpoint) -> None:
    """Have this one checkpoint of a session instead of those that there are."""
    with store.database.write() as connection:
        key = find_key(connection, "default", session_id)
        assert key is not None
        connection.execute(delete(t.checkpoints).where(t.checkpoints.c.session_key == key))
        row = dict(zip(t.checkpoints.columns.keys(), checkpoint_row(key, checkpoint), strict=True))
        connection.execute(insert(t.checkpoints).values(row))
        connection.execute(
            update(t.heads)
            .where(t.heads.c.session_key == key)
            .values(checkpoint=checkpoint.version)
        )


@COUNT
@given(history=HISTORIES, apart=st.integers(0, 2))
def test_each_version_is_known_from_whichever_checkpoint(
    store: Store, history: list[Step], apart: int
) -> None:
    session_id = f"s{next(SESSIONS)}"
    states = states_of(lived(store, session_id, history))
    last = len(states) - 1
    for version in range(1, last):
        found = looked(store, known_at, At(version=version), session_id)
        assert known(found) == known(states[version])
    checkpoints = [made for made in map(checkpoint_of, states[1:]) if made is not None]
    for checkpoint in checkpoints[apart::3]:
        keep(store, session_id, checkpoint)
        for version in range(checkpoint.version, last):
            found = looked(store, known_at, At(version=version), session_id)
            assert known(found) == known(states[version]), (checkpoint.version, version)


def test_what_is_known_now_is_what_a_fold_knows(store: Store) -> None:
    asks = b'{"gate_id":"g1","turn_id":"t2","kind":"permission","tool_call_id":"c2","tool":"rm"}'
    begun = turn("t2")
    for proposals in (turn("t1"), begun[:1], begun[1:2], [propose("gate-opened", asks)]):
        store.append(proposals)
        assert known(looked(store, known_at)) == known(fold(store.facts()))


LONG = 2 * EVERY + EVERY // 5


def long_session(store: Store, session_id: str = "s1") -> list[Recorded]:
    """Record turns and notes, so many at once that a checkpoint comes with the opening."""
    notes = [note(b"%d" % n) for n in range(EVERY - 2)]
    store.append([*notes, *turn("t1")], session_id)
    said = propose("message-recorded", b'{"turn_id":"t2","message":{"role":"user","content":"so"}}')
    store.append([*turn("t2")[:3], *[said] * (EVERY - 10)], session_id)
    ends = propose("turn-completed", b'{"turn_id":"t2"}')
    store.append([*notes[: EVERY // 5], ends, *turn("t4")], session_id)
    return store.facts(session_id)


def test_the_checkpoints_of_a_long_session_are_what_its_log_makes(store: Store) -> None:
    store.append([note(b"1")], "s0")
    eventful(store, "s2")
    facts = long_session(store)
    whole = fold(facts)
    assert len(facts) > LONG
    assert list(whole.checkpoints) == [EVERY, 2 * EVERY]
    assert [each.turn and each.turn.turn_id for each in whole.checkpoints.values()] == ["t1", "t2"]
    assert rebuild(store.database, store.runner).equal == 3
    for version in (1, EVERY - 1, EVERY, EVERY + 1, 2 * EVERY - 1, 2 * EVERY, LONG, len(facts) - 1):
        found = looked(store, known_at, At(version=version))
        assert known(found) == known(fold(facts[:version])), version


def test_what_was_known_costs_few_statements_at_any_version(store: Store) -> None:
    long_session(store)
    versions = (EVERY - 1, EVERY + 1, 2 * EVERY + 10)
    costs = {statements(store, known_at, At(version=version)) for version in versions}
    assert max(costs) < 8


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        (f"DELETE FROM checkpoints WHERE version = {EVERY}", "checkpoints"),
        (f"UPDATE checkpoints SET turn = NULL WHERE version = {2 * EVERY}", "checkpoints"),
        ("UPDATE checkpoints SET fold_version = 0", "checkpoints"),
        (f"UPDATE heads SET checkpoint = {EVERY}", "heads"),
    ],
)
def test_checkpoints_of_another_kind_are_not_used_and_made_again(
    store: Store, statement: str, table: str
) -> None:
    facts = long_session(store)
    with store.database.write() as connection:
        connection.exec_driver_sql(statement)
    if "turn = NULL" not in statement:
        found = looked(store, known_at, At(version=LONG))
        assert known(found) == known(fold(facts[:LONG]))
    [difference] = rebuild(store.database, store.runner).differences
    assert difference.table == table
    assert rebuild(store.database, store.runner).equal == 1
    with store.database.read() as connection:
        assert len(connection.execute(select(t.checkpoints)).all()) == 2
        assert moment(connection, target("s1")).head.checkpoint == 2 * EVERY
