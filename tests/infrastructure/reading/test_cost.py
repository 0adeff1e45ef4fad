"""A view costs what it shows: as many statements at 10 messages as at 400, each by an index."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from domain.commands import Rewind
from domain.keys import keys_of
from domain.readiness import Policy
from infrastructure.reading.approvals import GateQuery, gate, gates, named_gate
from infrastructure.reading.audit import AuditQuery, audit
from infrastructure.reading.fingerprint import fingerprints
from infrastructure.reading.moment import At, Moment, moment
from infrastructure.reading.places import find_message
from infrastructure.reading.readiness import judged
from infrastructure.reading.sessions import SessionQuery, sessions
from infrastructure.reading.transcript import extent, extent_placed, live_view, page
from infrastructure.reading.transcript_json import page_json
from infrastructure.reading.turns import TurnQuery, turn, turns
from tests.infrastructure.reading.asking import counted, long_session, statements
from tests.infrastructure.writing import NEW_YEAR, NOBODY, SECOND, Store, propose, target

MESSAGES_A_TURN = 4
SHORT, LONG = "short", "long"
Look = Callable[[Connection, Moment], object]
POLICY = Policy(unverified_turns=False)


def first_page(connection: Connection, moment: Moment) -> object:
    shown = extent(moment, with_archived=True)
    return page_json(connection, moment, shown.after(shown.first, 8))


def last_page(connection: Connection, moment: Moment) -> object:
    shown = extent(moment, with_archived=False)
    return page_json(connection, moment, shown.before(shown.end, 8))


def page_around(connection: Connection, moment: Moment) -> object:
    shown = extent(moment, with_archived=False)
    index = find_message(connection, moment, "t2:1")
    assert index is not None
    return page(connection, moment, shown.around(shown.slot(index), 8))


VIEWS: dict[str, Look] = {
    "first page": first_page,
    "last page": last_page,
    "page around": page_around,
    "whole": live_view,
    "turns": lambda c, m: turns(c, m, TurnQuery()),
    "turn": lambda c, m: turn(c, m, "t2"),
    "readiness": lambda c, m: judged(c, m, POLICY),
    "fingerprints": lambda c, m: fingerprints(c, m, v1=True),
    "inbox": lambda c, _: gates(c, GateQuery(project_id="default", status="all")),
    "waiting": lambda c, m: gates(c, GateQuery(project_id="default", session_key=m.key)),
    "named gate": lambda c, m: named_gate(c, "default", m.key, f"g-{m.target.session_id}-t1"),
    "gate": lambda c, m: gate(c, "default", f"g-{m.target.session_id}-t1"),
    "audit": lambda c, m: audit(c, m, AuditQuery()),
}
MOMENTS: dict[str, At | None] = {
    "now": None,
    "a version": At(version=14),
    "a time": At(time=NEW_YEAR + 2 * SECOND),
}


def test_every_view_takes_as_many_statements_at_10_messages_as_at_400(store: Store) -> None:
    for session_id, messages in ((SHORT, 12), (LONG, 400)):
        store.clock.at = NEW_YEAR
        long_session(store, messages // MESSAGES_A_TURN, session_id)
        store.append(
            [propose("history-compacted", b'{"summary":"so far","through_message_id":"t1:4"}')],
            session_id,
        )

    for when, at in MOMENTS.items():
        for name, look in VIEWS.items():
            short = statements(store, look, at, SHORT)
            long = statements(store, look, at, LONG)
            assert short == long <= 16, (name, when)


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_what_waits_anywhere_is_found_in_the_index_of_open_gates(store: Store) -> None:
    long_session(store, 1)
    query = GateQuery(project_id="default", after=(1, 1, "g"))
    steps = plan(store, lambda c, _: gates(c, query))

    among = "project_id=? AND (opened_at,opened_version,gate_id)<(?,?,?)"
    place = f"gates USING INDEX ix_gates_open ({among})"
    assert any(place in step for step in steps), steps
    assert not any(scans(step) for step in steps), steps


def edited(store: Store, messages: int, session_id: str) -> None:
    """Record so many messages in sight, each turn of which took the place of two others."""
    for number in range(1, 3 * messages // 2 + 1):
        name = f"t{number}"
        body = b'{"turn_id":"%s","messages":[{"role":"user","content":"go"}]}' % name.encode()
        said = b'{"turn_id":"%s","message":{"role":"assistant","content":"so"}}' % name.encode()
        ended = b'{"turn_id":"%s"}' % name.encode()
        store.append(
            [
                propose("turn-started", body),
                propose("message-recorded", said),
                propose("turn-completed", ended),
            ],
            session_id,
        )
        if number % 3:
            rewound(store, session_id)


def rewound(store: Store, session_id: str) -> None:
    """Take the last turn out of sight."""
    command = Rewind(turns=1)
    store.runner.run(
        lambda attempt: store.handler.carry_out(
            attempt, target(session_id), [command], keys_of([command]), caller=NOBODY
        )
    )


def placed_page(connection: Connection, moment: Moment) -> object:
    shown = extent_placed(connection, moment)
    return page_json(connection, moment, shown.before(shown.end, 8))


def last_turns(connection: Connection, moment: Moment) -> object:
    return turns(connection, moment, TurnQuery(limit=4))


def test_the_end_of_a_session_that_goes_back_and_forth_costs_the_same_at_any_length(
    store: Store,
) -> None:
    edited(store, 24, SHORT)
    edited(store, 96, LONG)

    for look in (last_page, placed_page, last_turns, VIEWS["fingerprints"]):
        for at in (None, At(version=40)):
            short, long = (statements(store, look, at, name) for name in (SHORT, LONG))
            # A branch far up is found by some steps more.
            assert long <= short + 2 <= 16, (look, at)


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_what_began_in_a_place_is_looked_up_by_indexes(store: Store) -> None:
    edited(store, 24, "s1")
    steps = plan(store, last_page)

    tables = {"branches", "messages", "turns", "moves", "heads", "events", "bodies", "calls"}
    looks = [step.split(" <- ")[0] for step in steps]
    assert any("ix_moves_from (session_key=? AND before_tip>? AND before_tip<?)" in step
               for step in looks), looks  # fmt: skip
    assert not any(step.startswith("SCAN") and step.split()[1] in {*tables, *"bmnovx"}
                   for step in looks), looks  # fmt: skip


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("name", ["first page", "last page", "page around", "turns", "audit"])
def test_no_page_scans_a_table_or_sorts_one(store: Store, name: str) -> None:
    long_session(store, 3)
    steps = plan(store, VIEWS[name])

    assert steps
    assert not any(scans(step) for step in steps), steps


def scans(step: str) -> bool:
    """Tell whether a table is looked through or sorted; a virtual one is a row's own list."""
    return step.startswith(("SCAN", "USE TEMP")) and "VIRTUAL TABLE" not in step


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_late_results_of_a_turn_are_counted_among_its_own_calls(store: Store) -> None:
    long_session(store, 3, "s1")
    steps = plan(store, lambda c, m: turns(c, m, TurnQuery()), At(version=14))
    calls = [step.split(" <- ")[0] for step in steps if "SEARCH calls" in step]
    place = "(session_key=? AND turn_id=?)"
    assert calls == [f"SEARCH calls USING INDEX sqlite_autoindex_calls_1 {place}"], steps


def plan(store: Store, look: Look, at: At | None = None) -> list[str]:
    """Return how SQLite finds what each statement of a view asks for."""
    with counted(store) as (connection, seen):
        found = moment(connection, target("s1"), at)
        seen.clear()
        look(connection, found)
        return [
            f"{row.detail} <- {statement}"
            for statement in tuple(seen)
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")
        ]


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize(
    ("query", "index", "among"),
    [
        (SessionQuery(project_id="default"), "ix_heads_status", "project_id=? AND status=?"),
        (SessionQuery(project_id="default", status="all"), "ix_heads_newest", "project_id=?"),
        (
            SessionQuery(project_id="default", status="deleted", after=(2, 1)),
            "ix_heads_status",
            "project_id=? AND status=? AND updated_at<?",
        ),
        (
            SessionQuery(project_id="default", parent="s1"),
            "ix_heads_parent",
            "project_id=? AND parent_session_id=?",
        ),
    ],
)
def test_a_list_of_sessions_is_read_in_the_order_of_an_index(
    store: Store, query: SessionQuery, index: str, among: str
) -> None:
    long_session(store, 1)
    steps = plan(store, lambda c, _: sessions(c, query))

    assert any(f"heads USING INDEX {index} ({among})" in step for step in steps), steps
    assert not any(scans(step) for step in steps), steps


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_the_gates_of_other_turns_with_the_same_call_id_are_not_looked_at(store: Store) -> None:
    long_session(store, 3)
    steps = plan(store, last_page)

    place = "gates USING INDEX ix_gates_call (session_key=? AND tool_call_id=? AND turn_id=?)"
    looks = [step for step in steps if " gates USING" in step]
    assert looks
    assert all(place in step for step in looks), looks
