"""Whatever happens in a family of forks, each is what its lineage's facts make it.

A look-up finds what a fold has, the views are what the log makes of them, and no chain breaks.
"""

from collections.abc import Sequence
from itertools import count

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from domain import commands as c
from domain.keys import Keys, keys_of
from domain.refusals import Refusal
from domain.restrict import restrict
from domain.state import Head, State
from infrastructure.command_handler import Target
from infrastructure.lookup import find_head, look_up
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify, verify_all
from tests.domain.test_laws import STEPS, Step, in_its_turn
from tests.infrastructure.families import carried_out, forked, own_gates, whole
from tests.infrastructure.reading.alike import known, read
from tests.infrastructure.test_lookup import EVERYTHING
from tests.infrastructure.writing import Store, note, propose, target, turn

PROJECTS = count(1)
COUNT = settings(
    max_examples=4,
    phases=[Phase.generate],
    deadline=None,
    derandomize=True,
    # The database is fresh for the test; each family gets a project of its own in it.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
BACK = st.one_of(
    st.builds(c.Rewind, turns=st.integers(1, 3), interrupt=st.booleans()),
    st.builds(c.Rewind, to_turn=st.sampled_from(["t1", "t2", "t3"]), interrupt=st.booleans()),
    st.builds(c.Rewind, to_version=st.integers(1, 60), interrupt=st.booleans()),
    st.builds(c.Redo, interrupt=st.booleans()),
    st.builds(c.Redo, rewind_version=st.integers(1, 90), interrupt=st.booleans()),
).map(lambda command: Step(commands=(command,), producer=None))
ALIKE = Keys(open_calls=True)
HAPPENINGS = st.lists(
    st.tuples(
        st.sampled_from(["on", "on", "on", "on", "on", "fork", "fork at"]),
        st.integers(0, 9),
        st.integers(1, 60),
        st.one_of(STEPS, STEPS, STEPS, BACK),
    ),
    min_size=20,
    max_size=60,
)


def found(store: Store, where: Target, wanted: Keys) -> State:
    with store.database.read() as connection:
        key, state = find_head(connection, where.project_id, where.session_id)
        assert key is not None
        return look_up(connection, key, state, wanted)


def in_sight(head: Head) -> tuple[object, ...]:
    """Return what a history is, as a fork has it from its parent."""
    return (
        head.fingerprint,
        head.model_fingerprint,
        head.messages,
        head.turns,
        head.archived,
        head.placed,
        head.started,
        head.known_position,
    )


def numbered(step: Step, state: State) -> Step:
    """Return a step in its turn; a new one is named after how many ever began."""
    return in_its_turn(step, State(head=state.head._replace(turns=state.head.started)))


def assert_known(store: Store, where: Target, newest: int) -> None:
    """Check that each version is known as it was, and can be read."""
    with store.database.read() as connection:
        for version in range(1, newest, 7):
            then = whole(store, where.session_id, where.project_id, version)
            assert known(connection, where, version).head == then.head
        assert read(connection, where, newest).chains.history is not None


@COUNT
@given(happenings=HAPPENINGS)
def test_a_family_of_forks_is_what_its_facts_make_it(
    store: Store, happenings: Sequence[tuple[str, int, int, Step]]
) -> None:
    project = f"project-{next(PROJECTS)}"
    family = ["s0"]
    carried_out(
        store, target("s0", project), Step(commands=(c.OpenSession(title="Trip"),), producer=None)
    )
    for what, whose, version, drawn in happenings:
        session_id = family[whose % len(family)]
        where = target(session_id, project)
        state = whole(store, session_id, project)
        if what != "on":
            at = None if what == "fork" else 1 + version % state.head.version
            child = f"s{len(family)}"
            try:
                forked(store, session_id, child, at=at, project_id=project)
            except Refusal:
                assert state.head.status == "deleted"
                continue
            family.append(child)
            there = whole(store, session_id, project, at)
            made = whole(store, child, project)
            assert in_sight(made.head) == in_sight(there.head)
            assert (made.head.turn_id, made.head.open_gates) == (None, 0)
            with store.database.read() as connection:
                base = there.head.version
                where_made, owner = target(child, project), target(session_id, project)
                was = read(connection, owner, base)
                assert read(connection, where_made, base) == was
                assert read(connection, where_made, base + 1) == was
                before = 1 + version // 2 % base
                assert read(connection, where_made, before) == read(connection, owner, before)
            assert whole(store, session_id, project) == state
        else:
            step = own_gates(numbered(drawn, state), session_id)
            wanted = keys_of(step.commands)
            assert found(store, where, wanted) == restrict(state, wanted)
            try:
                carried_out(store, where, step)
            except Refusal:
                continue
    for session_id in family:
        where = target(session_id, project)
        state = whole(store, session_id, project)
        for wanted in (Keys(), ALIKE, EVERYTHING):
            assert found(store, where, wanted) == restrict(state, wanted)
        if state.head.status != "deleted":
            assert_known(store, where, state.head.version)
        assert verify(store.database, project, session_id).ok
    assert all(each.ok for each in verify_all(store.database, project))
    built = rebuild(store.database, store.runner, project, check_only=True)
    assert built.differences == ()


def test_a_fork_counts_the_calls_of_an_id_from_before_a_checkpoint(store: Store) -> None:
    call = b'{"turn_id":"t1","tool_call_id":"c1","name":"ls","arguments":{}}'
    store.append(
        [
            *turn("t1")[:-1],
            propose("history-compacted", b'{"summary":"so far","through_message_id":"t1:3"}'),
            propose("tool-call-requested", call),
            note(b"1"),
        ],
        "parent",
    )
    forked(store, "parent", "child", at=6)
    state = found(store, target("child"), Keys(calls=frozenset({("t1", "c1")})))
    assert [(c.occurrence, c.status) for c in state.calls["t1", "c1"]] == [
        (1, "completed"),
        (2, "open"),
    ]
    assert not rebuild(store.database, store.runner, check_only=True).differences
