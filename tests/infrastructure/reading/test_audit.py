"""Whatever was recorded is in the audit, and each filter finds what it says and all of it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from domain import commands as c
from domain import events as e
from domain.evolve import evolve, fold
from domain.paths import found_in, spot_of, turn_in_sight
from domain.recorded import Recorded
from domain.registry import KINDS
from domain.state import State
from infrastructure.command_handler import Target
from infrastructure.reading.audit import PAGE, AuditLine, AuditQuery, audit, whole_audit
from infrastructure.reading.moment import At, moment
from tests.domain.test_laws import HISTORIES, Step, in_its_turn
from tests.infrastructure.families import asked, forked
from tests.infrastructure.journeys import by_hand, eventful
from tests.infrastructure.reading.asking import counted, gated_turn, long_session, looked
from tests.infrastructure.reading.test_cost import plan, scans
from tests.infrastructure.test_lookup import COUNT, carry_out
from tests.infrastructure.writing import NEW_YEAR, SECOND, Store, note, propose, target, turn

PROJECTS = count(1)
TIMES = st.none() | st.integers(-1, 60).map(lambda n: NEW_YEAR + n * SECOND // 2)
QUERIES: SearchStrategy[AuditQuery] = st.builds(
    AuditQuery,
    types=st.just(()) | st.lists(st.sampled_from([*KINDS]), max_size=9).map(tuple),
    turn_id=st.none() | st.sampled_from(["t1", "t2", "t9"]),
    tool=st.none() | st.sampled_from(["read", "write", "nothing"]),
    effect=st.sampled_from([None, None, "history", "none"]),
    since=TIMES,
    until=TIMES,
    ascending=st.booleans(),
    limit=st.integers(1, 9),
)


def paged(store: Store, where: Target, query: AuditQuery, at: At | None) -> list[AuditLine]:
    """Return all that a query finds, by pages of its limit."""
    lines: list[AuditLine] = []
    while True:
        with store.database.read() as connection:
            page = audit(connection, moment(connection, where, at), query)
        assert len(page) <= query.limit
        lines += page
        if len(page) < query.limit:
            return lines
        query = replace(query, after=page[-1].envelope.version)


def whole(store: Store, where: Target, query: AuditQuery, at: At | None) -> list[AuditLine]:
    """Return the same at once."""
    with store.database.read() as connection:
        found = moment(connection, where, at)
    return list(whole_audit(store.database, found, query))


def wanted(line: AuditLine, query: AuditQuery) -> bool:
    """Tell by a line alone whether a query asks for it."""
    envelope = line.envelope
    return (
        (not query.types or envelope.type in query.types)
        and query.turn_id in {None, envelope.turn_id}
        and query.tool in {None, line.tool}
        and query.effect in {None, envelope.affects}
        and (query.since is None or envelope.recorded_at >= query.since)
        and (query.until is None or envelope.recorded_at < query.until)
    )


def tool_said(state: State, fact: Recorded) -> str | None:
    """Return which tool a fact is about, by what it says or by what the session knows of it."""
    match fact.event:
        case e.ToolCallRequested(name=name) | e.GateOpened(tool=str(name)):
            return name
        case e.ToolCallCompleted(turn_id=turn_id, tool_call_id=call_id):
            calls = state.calls[turn_id, call_id]
            return next(call.name for call in calls if call.completed_version == fact.version)
        case e.GateDecided() | e.GateExpired() | e.GateWithdrawn():
            gates = state.gates.values()
            return next(gate.tool for gate in gates if gate.closed_version == fact.version)
        case _:
            return None


def taken_out(facts: Sequence[Recorded]) -> dict[str, int]:
    """Return the turns that are out of sight after these facts, each by which it went last."""
    state, seen, out = State(), set[str](), dict[str, int]()
    for fact in facts:
        state.apply(evolve(state, fact))
        find, here = found_in(state.branches), spot_of(state.head)
        now = {
            turn.turn_id for turn in state.turns.values() if turn_in_sight(find, here, turn.number)
        }
        out |= dict.fromkeys(seen - now, fact.version)
        out = {turn_id: version for turn_id, version in out.items() if turn_id not in now}
        seen = now
    return out


@COUNT
@given(history=HISTORIES, query=QUERIES, ago=st.integers(0, 20), data=st.data())
def test_nothing_that_was_recorded_is_missing_from_the_audit(
    store: Store, history: list[Step], query: AuditQuery, ago: int, data: st.DataObject
) -> None:
    where = target("s1", f"audit-{next(PROJECTS)}")
    store.clock.at = NEW_YEAR
    carry_out(store, where, Step(commands=(c.OpenSession(),), producer=None))
    for drawn in history:
        known = fold(store.log.stream(where.project_id, where.session_id))
        carry_out(store, where, in_its_turn(drawn, known))
    facts = [*store.log.stream(where.project_id, where.session_id)]
    state = fold(facts)
    if state.head.status == "deleted":
        return  # it has no views until it is restored

    for ascending in (True, False):
        everything = AuditQuery(limit=data.draw(st.integers(1, 99)), ascending=ascending)
        every = paged(store, where, everything, None)
        in_order = facts if ascending else facts[::-1]
        assert [line.envelope for line in every] == [fact.envelope for fact in in_order]
        assert [line.hash for line in every] == [fact.hash for fact in in_order]
        assert every == whole(store, where, everything, None)
        for line, fact in zip(every, in_order, strict=True):
            assert line.fact is None or line.fact == fact.event
            assert tool_said(state, fact) in {None, line.tool}

    at = At(version=max(1, len(facts) - ago))
    for when in (None, at):
        then = facts[: None if when is None else when.version]
        out = taken_out(then)
        for line in paged(store, where, AuditQuery(limit=99), when):
            is_rewind = line.envelope.type == "history-rewound"
            by = None if is_rewind else out.get(line.envelope.turn_id or "")
            assert line.rewound_by == by
    found = paged(store, where, replace(query, limit=99), at)
    every = paged(store, where, AuditQuery(limit=99, ascending=query.ascending), at)
    assert found == [line for line in every if wanted(line, query)]
    assert paged(store, where, query, at) == whole(store, where, query, at) == found


def told(store: Store, query: AuditQuery) -> list[tuple[int, str | None]]:
    return [(line.envelope.version, line.tool) for line in paged(store, target("s1"), query, None)]


def test_calls_results_gates_and_answers_are_found_by_their_tool(store: Store) -> None:
    long_session(store, 2)

    assert told(store, AuditQuery(tool="rm")) == [
        (version + start, "rm") for start in (0, 10) for version in (5, 6, 8, 9)
    ]
    assert told(store, AuditQuery(tool="ls")) == [(7, "ls"), (17, "ls")]
    assert told(store, AuditQuery(tool="rm", types=("gate-decided",), after=8)) == [(18, "rm")]
    assert told(store, AuditQuery(tool="rm", ascending=False, limit=3))[:2] == [
        (19, "rm"),
        (18, "rm"),
    ]
    assert told(store, AuditQuery(tool="cat")) == []


def test_a_gate_that_names_no_tool_is_about_the_call_that_it_names(store: Store) -> None:
    gate = b'{"gate_id":"g%d","turn_id":"t1","kind":"permission","tool_call_id":"c%d"}'
    store.append(
        [
            *turn("t1")[:3],
            propose(
                "tool-call-requested",
                b'{"turn_id":"t1","tool_call_id":"c1","name":"rm","arguments":{}}',
            ),
            propose("gate-opened", gate % (1, 1)),
            propose("gate-opened", gate % (2, 2)),
            propose(
                "gate-decided",
                b'{"gate_id":"g1","verdict":"denied","decided_by":"policy","via":"in-band"}',
            ),
        ]
    )

    assert told(store, AuditQuery(after=4)) == [(5, "rm"), (6, "rm"), (7, None), (8, "rm")]
    assert told(store, AuditQuery(tool="rm")) == [(5, "rm"), (6, "rm"), (8, "rm")]


def test_a_request_is_found_that_came_after_others_closed_the_place_of_its_gate(
    store: Store,
) -> None:
    store.append(
        [
            turn("t1")[0],
            propose(
                "gate-opened",
                b'{"gate_id":"g1","turn_id":"t1","kind":"permission","tool_call_id":"c1",'
                b'"tool":"rm"}',
            ),
            propose(
                "message-recorded", b'{"turn_id":"t1","message":{"role":"user","content":"x"}}'
            ),
            propose(
                "tool-call-requested",
                b'{"turn_id":"t1","tool_call_id":"c1","name":"rm_file","arguments":{}}',
            ),
            propose("tool-call-completed", b'{"turn_id":"t1","tool_call_id":"c1","output":1}'),
        ]
    )

    assert told(store, AuditQuery(tool="rm_file")) == [(5, "rm_file")]
    assert told(store, AuditQuery(tool="rm")) == [(3, "rm"), (6, "rm")]


def test_a_time_is_from_its_moment_on_and_before_its_moment(store: Store) -> None:
    long_session(store, 3)

    def versions(since: int | None = None, until: int | None = None) -> list[int]:
        query = AuditQuery(since=since, until=until, limit=99)
        return [version for version, _ in told(store, query)]

    second = NEW_YEAR + 2 * SECOND
    assert versions(since=second) == list(range(12, 32))
    assert versions(since=second + 1) == list(range(22, 32))
    assert versions(until=second) == list(range(1, 12))
    assert versions(until=second + 1) == list(range(1, 22))
    assert versions(since=second, until=second + 1) == list(range(12, 22))
    assert versions(since=second, until=second) == []
    assert versions(until=0) == versions(since=2 * NEW_YEAR) == []


def test_facts_that_this_build_cannot_read_and_lost_bodies_are_told(store: Store) -> None:
    eventful(store)
    last = len(store.facts())
    with by_hand(store) as connection:
        connection.exec_driver_sql("DELETE FROM bodies WHERE version IN (3, 4)")

    lines = paged(store, target("s1"), AuditQuery(limit=7), None)
    assert [line.envelope.version for line in lines] == list(range(1, last + 1))
    assert lines[2].fact == lines[3].fact == e.Opaque(reason="missing-body")
    assert lines[last - 2].fact == e.Opaque(reason="unreadable")


def test_the_whole_is_read_by_pages_and_nothing_later_is_in_it(store: Store) -> None:
    store.append([note(b"%d" % number) for number in range(2 * PAGE)])
    with store.database.read() as connection:
        found = moment(connection, target("s1"))
    lines = whole_audit(store.database, found, AuditQuery(limit=1))
    first = next(lines)
    store.append([note(b"1")])

    assert [line.envelope.version for line in (first, *lines)] == list(range(1, 2 * PAGE + 2))


ASKED: dict[str, AuditQuery] = {
    "all": AuditQuery(limit=9),
    "backwards": AuditQuery(limit=9, ascending=False),
    "by time": AuditQuery(limit=9, since=NEW_YEAR + SECOND, until=NEW_YEAR + 3 * SECOND),
    "by tool": AuditQuery(limit=9, tool="rm"),
    "by turn": AuditQuery(limit=9, turn_id="t2"),
    "by type": AuditQuery(limit=9, types=("gate-decided", "gate-opened")),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_page_takes_as_many_statements_in_a_long_session_as_in_a_short_one(
    store: Store, name: str
) -> None:
    def statements(session_id: str) -> int:
        with counted(store) as (connection, seen):
            audit(connection, moment(connection, target(session_id)), ASKED[name])
        return len(seen)

    for session_id, turns in (("short", 4), ("long", 60)):
        store.clock.at = NEW_YEAR
        for number in range(1, turns + 1):
            store.clock.at += SECOND
            store.append(gated_turn(number, session_id), session_id)

    assert statements("short") == statements("long") <= 6


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("name", [name for name in ASKED if name != "by time"])
def test_calls_and_gates_are_looked_up_by_their_keys(store: Store, name: str) -> None:
    long_session(store, 3)
    steps = plan(store, lambda c, m: audit(c, m, ASKED[name]))

    assert not any(scans(step) for step in steps), steps
    by_key = "calls USING INDEX sqlite_autoindex_calls_1 (session_key=? AND turn_id=? AND"
    narrow = [step for step in steps if " calls USING" in step and "calls.name = " not in step]
    apart = "ix_calls_requested (session_key=? AND requested_version=?)"
    assert all(by_key in step or apart in step for step in narrow), narrow


def test_a_page_of_the_views_moment_is_the_audit_then(store: Store) -> None:
    long_session(store, 2)
    lines = looked(store, lambda c, m: audit(c, m, AuditQuery(limit=99)), At(version=7))

    assert [line.envelope.version for line in lines] == list(range(1, 8))


def test_what_was_rewound_says_by_which_rewind_and_nothing_more_once_it_is_back(
    store: Store,
) -> None:
    def move(command: c.Rewind | c.Redo) -> None:
        carry_out(store, target("s1"), Step(commands=(command,), producer=None))

    def rewound(at: int | None = None) -> dict[str, set[int | None]]:
        lines = whole(store, target("s1"), AuditQuery(), None if at is None else At(version=at))
        found: dict[str, set[int | None]] = {}
        for line in lines:
            found.setdefault(line.envelope.turn_id or "", set()).add(line.rewound_by)
        return found

    for name in ("t1", "t2", "t3"):
        store.append(turn(name))
    move(c.Rewind(turns=1))
    store.append(turn("t4"))
    late = b'{"turn_id":"t3","tool_call_id":"c2","output":"late"}'
    store.append([propose("tool-call-completed", late)])
    move(c.Rewind(turns=2))
    third = {"": {None}, "t1": {None}}

    # A rewind names the first turn that it took out, and is in sight itself.
    assert rewound(13) == third | {"t2": {None}, "t3": {None}}
    assert rewound(18) == third | {"t2": {None}, "t3": {14, None}, "t4": {None}}
    assert rewound() == third | {"t2": {20, None}, "t3": {14, None}, "t4": {20}}
    assert [line.rewound_by for line in whole(store, target("s1"), AuditQuery(tool="ls"), None)][
        -1
    ] == 20

    move(c.Redo(rewind_version=14))
    assert rewound() == third | {"t2": {None}, "t3": {None}, "t4": {20}}


@pytest.mark.parametrize("rewinds", [1, 30])
def test_a_page_takes_as_many_statements_however_often_a_session_was_rewound(
    store: Store, rewinds: int
) -> None:
    for number in range(rewinds):
        store.append([*turn(f"t{2 * number}"), *turn(f"t{2 * number + 1}")])
        carry_out(store, target("s1"), Step(commands=(c.Rewind(turns=1),), producer=None))
    with counted(store) as (connection, seen):
        lines = audit(connection, moment(connection, target("s1")), AuditQuery(limit=99))

    assert sum(line.rewound_by is not None for line in lines) == (4 if rewinds == 1 else 44)
    assert len(seen) == 6


def test_a_fork_knows_the_rewinds_of_what_it_began_with(store: Store) -> None:
    def late(turn_id: str, call: str) -> None:
        body = f'{{"turn_id":"{turn_id}","tool_call_id":"{call}","output":1}}'.encode()
        store.append([propose("tool-call-completed", body)], "child", "p2")

    def told_of_child() -> list[tuple[int, str | None, int | None]]:
        lines = whole(store, target("child"), AuditQuery(), None)
        return [(line.envelope.version, line.envelope.turn_id, line.rewound_by) for line in lines]

    for name in ("t1", "t2", "t3"):
        store.append(turn(name))
    asked(store, "s1", c.Rewind(turns=1))
    store.append(turn("t4"))
    forked(store, "s1", "child")
    asked(store, "s1", c.Rewind(turns=3))
    store.append(turn("t5"), "child")
    late("t3", "c2")
    asked(store, "child", c.Rewind(turns=2))
    late("t4", "c2")
    late("t1", "c2")

    began = [(19, None, None)]
    assert told_of_child() == [
        *began,
        *((version, "t5", 25) for version in range(20, 24)),
        (24, "t3", 14),
        (25, "t4", None),
        (26, "t4", 25),
        (27, "t1", None),
    ]
    asked(store, "child", c.Redo(rewind_version=14))
    assert told_of_child()[5] == (24, "t3", None)
    asked(store, "child", c.Rewind(turns=3))
    assert [told_of_child()[place] for place in (1, 5, 7, 8)] == [
        (20, "t5", 25),
        (24, "t3", 29),
        (26, "t4", 25),
        (27, "t1", 29),
    ]
