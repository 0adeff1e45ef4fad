"""A look-up by keys finds what a fold of the whole session, restricted to those keys, has.

Over histories made through the command handler: what the views hold is what the facts say, and a
command is decided on the same state at any length of the session.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain import commands as c
from domain.decided import fact
from domain.evolve import fold
from domain.keys import Keys, keys_of
from domain.refusals import Refusal
from domain.restrict import restrict
from domain.state import State
from infrastructure.command_handler import Target
from infrastructure.lookup import find_head, look_up
from infrastructure.serialization import encode
from tests.domain.test_laws import HISTORIES, Step, in_its_turn
from tests.infrastructure.reading.asking import counted
from tests.infrastructure.writing import NOBODY, SECOND, Store, note, propose, target, turn

PROJECTS = count(1)
COUNT = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    # The database is fresh for the test; each history gets a project of its own in it.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
EVERYTHING = Keys(
    turns=frozenset({"t1", "t2", "t3"}),
    calls=frozenset((turn_id, call) for turn_id in ("t1", "t2", "t3") for call in ("c1", "c2")),
    gate_ids=frozenset(f"g{number}" for number in range(1, 9)),
    permission_ids=frozenset({"p1", "p2"}),
    gate_call_ids=frozenset({"c1", "c2"}),
    message_ids=frozenset(f"m{number}" for number in range(1, 7)),
    losses=frozenset(range(13)),
    producers=frozenset({"runner"}),
    tail=True,
)


def found(store: Store, where: Target, wanted: Keys) -> State:
    with store.database.read() as connection:
        key, state = find_head(connection, where.project_id, where.session_id)
        return state if key is None else look_up(connection, key, state, wanted)


def expected(store: Store, where: Target, wanted: Keys) -> State:
    return restrict(fold(store.log.stream(where.project_id, where.session_id)), wanted)


def stored(command: c.SessionCommand) -> c.SessionCommand:
    """Return the command with the JSON that its event would have come in."""
    if not isinstance(command, c.Record):
        return command
    proposal = command.proposal
    return replace(command, proposal=replace(proposal, body=encode(fact(proposal.event))))


def carry_out(store: Store, where: Target, step: Step) -> None:
    """Carry the step out; only batches come from a producer, as in the program."""
    is_batch = isinstance(step.commands[0], c.BeginBatch)
    commands = [stored(command) for command in step.commands]
    store.clock.at += SECOND
    try:
        store.runner.run(
            lambda attempt: store.handler.carry_out(
                attempt,
                where,
                commands,
                keys_of(commands),
                caller=NOBODY,
                producer=step.producer if is_batch else None,
                batch=len(commands) - 1 if is_batch else None,
            )
        )
    except Refusal:
        return


@COUNT
@given(history=HISTORIES, after=st.integers(0, 40))
def test_a_look_up_finds_what_a_fold_restricted_to_its_keys_has(
    store: Store, history: Sequence[Step], after: int
) -> None:
    where = target("s1", f"project-{next(PROJECTS)}")
    carry_out(store, where, Step(commands=(c.OpenSession(),), producer=None))
    for number, drawn in enumerate(history):
        whole = fold(store.log.stream(where.project_id, where.session_id))
        step = in_its_turn(drawn, whole)
        wanted = keys_of(step.commands)
        if number >= after or number == len(history) - 1:
            assert found(store, where, wanted) == restrict(whole, wanted)
        carry_out(store, where, step)
    for wanted in (Keys(), EVERYTHING):
        assert found(store, where, wanted) == expected(store, where, wanted)


def test_a_session_that_does_not_exist_is_found_empty(store: Store) -> None:
    assert found(store, target("s1"), EVERYTHING) == State()


def test_sessions_are_found_apart(store: Store) -> None:
    store.append(turn("t1"), "s1")
    store.append([*turn("t2")[:2], note(b"1")], "s2")
    for session_id in ("s1", "s2"):
        for wanted in (Keys(), EVERYTHING):
            where = target(session_id)
            assert found(store, where, wanted) == expected(store, where, wanted)


GATES = [
    ("gate-opened", b'{"gate_id":"g1","turn_id":"t1","kind":"input","permission_id":"p1"}'),
    ("gate-opened", b'{"gate_id":"g2","turn_id":"t1","kind":"input","tool_call_id":"c1"}'),
    ("gate-decided", b'{"gate_id":"g1",%s}'),
    ("gate-decided", b'{"gate_id":"g2",%s}'),
    ("gate-opened", b'{"gate_id":"g3","turn_id":"t1","kind":"input","permission_id":"p1"}'),
    ("gate-opened", b'{"gate_id":"g4","turn_id":"t1","kind":"input","tool_call_id":"c1"}'),
    ("gate-decided", b'{"gate_id":"g4",%s}'),
    ("gate-decided", b'{"gate_id":"g3",%s}'),
    ("gate-opened", b'{"gate_id":"g5","turn_id":"t1","kind":"input"}'),
]
DENIED = b'"verdict":"denied","decided_by":"person","via":"in-band"'


def test_of_closed_gates_only_the_newest_of_a_name_is_found_and_open_ones_always(
    store: Store,
) -> None:
    asked = [propose(type_, body.replace(b"%s", DENIED)) for type_, body in GATES]
    store.append([*turn("t1")[:2], *asked])
    for wanted, gates in (
        (Keys(), ["g5"]),
        (Keys(permission_ids=frozenset({"p1"})), ["g3", "g5"]),
        (Keys(gate_call_ids=frozenset({"c1"})), ["g4", "g5"]),
        (Keys(gate_ids=frozenset({"g1"})), ["g1", "g5"]),
    ):
        state = found(store, target("s1"), wanted)
        assert list(state.gates) == gates
        assert state == expected(store, target("s1"), wanted)


def test_when_the_history_became_known_is_found_as_it_is_folded(store: Store) -> None:
    store.append([note(b"1")], "s0")
    store.append([note(b"1")], "s1")
    position = store.facts("s1")[0].position
    assert position > store.facts("s0")[0].position
    assert found(store, target("s1"), Keys()).head.known_position == position


@pytest.mark.parametrize("records", [2, 40])
def test_a_message_of_many_records_is_found_in_one_statement(store: Store, records: int) -> None:
    said = b'{"turn_id":"t1","message":{"role":"assistant","content":"and on"}}'
    store.append([turn("t1")[0], *(propose("message-recorded", said) for _ in range(records))])
    with counted(store) as (connection, seen):
        key, state = find_head(connection, "default", "s1")
        assert key is not None
        seen.clear()
        found = look_up(connection, key, state, Keys(tail=True))

    assert len(found.tail.pieces) == records
    assert len(seen) == 3, seen  # the open turn, the message, its facts


@pytest.mark.parametrize("kept", [2, 40])
def test_the_messages_that_a_summary_keeps_are_found_in_one_statement(
    store: Store, kept: int
) -> None:
    store.append(turn("t1"))
    for number in range(kept):
        store.append(turn(f"more{number}"))
    with counted(store) as (connection, seen):
        key, state = find_head(connection, "default", "s1")
        assert key is not None
        seen.clear()
        found = look_up(connection, key, state, Keys(kept_after=("t1:3",)))

    assert len(found.messages) == 3 * kept + 1
    assert len(seen) == 5, seen  # name, turn, message, what follows it, and calls that waited


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_open_gates_are_found_without_those_that_were_closed(store: Store) -> None:
    opening = ("gate-opened", b'{"gate_id":"g1","turn_id":"t1","kind":"input"}')
    store.append([turn("t1")[0], propose(*opening)])
    with counted(store) as (connection, seen):
        key, state = find_head(connection, "default", "s1")
        assert key is not None
        look_up(connection, key, state, Keys())
        steps = [
            str(row.detail)
            for statement in tuple(seen)
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")
        ]

    gates = [step for step in steps if "gates" in step]
    assert gates == ["SEARCH gates USING INDEX ix_gates_waiting (session_key=?)"]
