"""Pages, turns, gates and audits, as the tables give them."""

import pytest
from sqlalchemy import Connection

from domain.refusals import AmbiguousGate, NoSuchGate, NoSuchTurn
from infrastructure.reading.approvals import GateQuery, GateView, gate, gates, named_gate
from infrastructure.reading.audit import AuditLine, AuditQuery, audit
from infrastructure.reading.fingerprint import fingerprints
from infrastructure.reading.moment import At, Moment
from infrastructure.reading.places import find_message
from infrastructure.reading.transcript import extent, live_view, page
from infrastructure.reading.turns import TurnFilter, TurnQuery, TurnView, turn, turns
from projections.openai_chat import openai_chat
from tests.infrastructure.journeys import by_hand, eventful
from tests.infrastructure.reading.asking import (
    as_json,
    everything,
    gated_turn,
    long_session,
    looked,
)
from tests.infrastructure.writing import Store, propose
from tests.infrastructure.writing import turn as turn_events


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_pages_put_together_are_the_whole(store: Store, limit: int) -> None:
    long_session(store, 3)
    store.append([propose("history-compacted", b'{"summary":"s","through_message_id":"t1:4"}')])
    whole = as_json(looked(store, everything))

    def by_pages(with_archived: bool) -> list[bytes]:
        found: list[bytes] = []

        def look(connection: Connection, moment: Moment) -> None:
            shown = extent(moment, with_archived=with_archived)
            window = shown.after(shown.first, limit)
            found.extend(as_json(page(connection, moment, window)))
            while not window.ends:
                window = shown.after(window.high, limit)
                found.extend(as_json(page(connection, moment, window)))

        looked(store, look)
        return found

    assert by_pages(with_archived=True) == whole
    assert by_pages(with_archived=False) == whole[4:]


def test_a_call_whose_other_occurrence_is_on_another_page_shows_its_own_gate_and_name(
    store: Store,
) -> None:
    store.append(
        [
            propose(
                "turn-started", b'{"turn_id":"t1","messages":[{"role":"user","content":"go"}]}'
            ),
            propose(
                "tool-call-requested",
                b'{"turn_id":"t1","tool_call_id":"c","name":"read","arguments":{}}',
            ),
            propose(
                "gate-opened",
                b'{"gate_id":"g1","turn_id":"t1","kind":"permission","tool_call_id":"c"}',
            ),
            propose(
                "message-recorded", b'{"turn_id":"t1","message":{"role":"user","content":"and"}}'
            ),
            propose(
                "tool-call-requested",
                b'{"turn_id":"t1","tool_call_id":"c","name":"write","arguments":{}}',
            ),
            propose(
                "gate-opened",
                b'{"gate_id":"g2","turn_id":"t1","kind":"permission","tool_call_id":"c"}',
            ),
            propose("tool-call-completed", b'{"turn_id":"t1","tool_call_id":"c","output":1}'),
            propose("tool-call-completed", b'{"turn_id":"t1","tool_call_id":"c","output":2}'),
        ]
    )

    def alone(slot: int) -> dict[str, object]:
        shown = looked(
            store, lambda c, m: page(c, m, extent(m, with_archived=False).after(slot, 1))
        )
        return {**shown[0].parts[0]}

    assert (alone(1)["name"], alone(1)["gate"]) == ("read", {"gate_id": "g1", "status": "open"})
    assert (alone(3)["name"], alone(3)["gate"]) == ("write", {"gate_id": "g2", "status": "open"})
    assert (alone(4)["name"], alone(5)["name"], alone(5)["occurrence"]) == ("read", "write", 2)


def test_a_body_that_is_gone_leaves_a_placeholder_in_every_view(store: Store) -> None:
    long_session(store, 2)
    store.append([propose("history-compacted", b'{"summary":"s","through_message_id":"t1:1"}')])
    with by_hand(store) as connection:
        connection.exec_driver_sql("DELETE FROM bodies")

    shown = looked(store, everything)
    assert len(shown) == 9
    assert {part["type"] for message in shown for part in message.parts} == {"missing"}
    export = openai_chat(looked(store, live_view).messages)
    assert export.messages == []
    assert {loss.code for loss in export.losses} == {"missing", "empty-message"}
    assert [view.gate.status for view in _gates(store)] == ["allowed", "allowed"]
    assert len(looked(store, lambda c, m: turns(c, m, TurnQuery()))) == 2
    assert len(_audit(store, AuditQuery(limit=99))) == 22
    now = looked(store, lambda c, m: fingerprints(c, m, v1=False))
    assert now.history is not None
    assert looked(store, lambda c, m: fingerprints(c, m, v1=False), At(version=20)).history == (
        now.history
    )
    grown = looked(store, lambda c, m: fingerprints(c, m, v1=False), At(version=3))
    assert (grown.history, grown.model_history) == (None, None)


def test_the_models_chain_after_a_summary_is_known_though_the_summary_is_gone(
    store: Store,
) -> None:
    long_session(store, 1)
    store.append([propose("history-compacted", b'{"summary":"s","through_message_id":"t1:1"}')])
    known = looked(store, lambda c, m: fingerprints(c, m, v1=False))
    store.append(gated_turn(2, "s1"))
    with by_hand(store) as connection:
        connection.exec_driver_sql("DELETE FROM bodies WHERE version = 12")

    assert looked(store, lambda c, m: fingerprints(c, m, v1=False), At(version=12)) == known


def test_what_was_being_said_when_a_summary_came_cannot_be_told_without_it(store: Store) -> None:
    joining = '{"turn_id":"t2","message":{"role":"assistant","content":"%s"}}'
    store.append(turn_events("t1"))
    store.append([*turn_events("t2")[:1], propose("message-recorded", (joining % "a").encode())])
    store.append([propose("history-compacted", b'{"summary":"s","through_message_id":"t1:1"}')])
    store.append([propose("message-recorded", (joining % "b").encode())])
    then = looked(store, lambda c, m: fingerprints(c, m, v1=False))
    at = At(version=store.facts()[-1].version)
    store.append([propose("message-recorded", (joining % "c").encode())])

    assert looked(store, lambda c, m: fingerprints(c, m, v1=False), at) == then
    with by_hand(store) as connection:
        connection.exec_driver_sql(
            "DELETE FROM bodies WHERE version IN "
            "(SELECT version FROM events WHERE type = 'history-compacted')"
        )
    found = looked(store, lambda c, m: fingerprints(c, m, v1=False), at)
    assert (found.history, found.model_history) == (then.history, None)


def test_the_configuration_of_a_version_is_the_one_set_by_then(store: Store) -> None:
    eventful(store)
    assert looked(store, lambda c, m: fingerprints(c, m, v1=False)).config is None


def test_a_message_is_found_by_the_id_that_it_was_given_or_got(store: Store) -> None:
    long_session(store, 2)

    def index(message_id: str, at: int | None = None) -> int | None:
        return looked(
            store,
            lambda c, m: find_message(c, m, message_id),
            None if at is None else At(version=at),
        )

    assert [index(name) for name in ("t1:1", "a-t1", "t2:4", "a-t2")] == [0, 1, 7, 5]
    assert index("t2:4", at=11) is None
    assert [index(name) for name in ("t1:2", "t9:1", "t1:9", "t1:x", "t1", "")] == [None] * 6


def test_turns_are_listed_in_either_order_from_any_place(store: Store) -> None:
    long_session(store, 4)

    def numbers(query: TurnQuery) -> list[int]:
        return [v.turn.number for v in looked(store, lambda c, m: turns(c, m, query))]

    assert numbers(TurnQuery()) == [4, 3, 2, 1]
    assert numbers(TurnQuery(ascending=True, limit=2)) == [1, 2]
    assert numbers(TurnQuery(after=3)) == [2, 1]
    assert numbers(TurnQuery(after=3, ascending=True)) == [4]


@pytest.mark.parametrize("events", range(1, 11))
def test_turns_are_filtered_by_the_status_that_they_show(store: Store, events: int) -> None:
    store.append(gated_turn(1, "s1"))
    store.append(gated_turn(2, "s1")[:events])
    every: list[TurnFilter] = ["running", "paused", "completed", "failed", "interrupted"]
    found: list[tuple[str, TurnFilter]] = []
    for status in every:
        for view in _turns(store, TurnQuery(status=status)):
            found.append((view.turn.turn_id, view.status))
            assert view.status == status

    assert sorted(name for name, _ in found) == ["t1", "t2"]


def test_a_turn_is_read_with_the_fact_that_ended_it(store: Store) -> None:
    eventful(store)
    view = looked(store, lambda c, m: turn(c, m, "t2"))

    assert view.turn.status == "failed"
    assert type(view.end).__name__ == "TurnFailed"
    with pytest.raises(NoSuchTurn):
        looked(store, lambda c, m: turn(c, m, "t9"))


def test_the_inbox_holds_what_waits_in_any_session_newest_first(store: Store) -> None:
    for number, session_id in enumerate(("a", "b", "c")):
        store.clock.at += number
        store.append(gated_turn(1, session_id)[:4], session_id)
    store.append(gated_turn(1, "c")[6:7], "c")
    with store.database.read() as connection:
        query = GateQuery(project_id="default")
        waiting = gates(connection, query)
        oldest = gates(connection, GateQuery(project_id="default", ascending=True, limit=1))
        newest = waiting[0].gate
        after = (newest.opened_at, newest.opened_version, newest.gate_id)
        rest = gates(connection, GateQuery(project_id="default", after=after))
        everything_else = gates(connection, GateQuery(project_id="other"))
        every = gates(connection, GateQuery(project_id="default", status="all"))

    assert [(v.session_id, v.through) for v in waiting] == [("b", 5), ("a", 5)]
    assert [v.session_id for v in oldest] == ["a"]
    assert [v.session_id for v in rest] == ["a"]
    assert everything_else == []
    assert [(v.session_id, v.gate.status) for v in every] == [
        ("c", "allowed"),
        ("b", "open"),
        ("a", "open"),
    ]


def test_a_gate_of_another_project_does_not_exist(store: Store) -> None:
    long_session(store, 1)
    with store.database.read() as connection:
        assert gate(connection, "default", "g-s1-t1").session_id == "s1"
        for project_id, name in (("other", "g-s1-t1"), ("default", "p"), ("default", "\x00")):
            with pytest.raises(NoSuchGate):
                gate(connection, project_id, name)


def test_a_gate_is_read_by_an_alias_only_if_it_names_one(store: Store) -> None:
    def named(name: str) -> str:
        return looked(store, lambda c, m: named_gate(c, "default", m.key, name)).gate.gate_id

    store.append(gated_turn(1, "s1"))
    assert [named(name) for name in ("g-s1-t1", "p", "c")] == ["g-s1-t1"] * 3
    store.append(gated_turn(2, "s1")[:4])
    assert [named(name) for name in ("g-s1-t1", "p", "c")] == ["g-s1-t1", "g-s1-t2", "g-s1-t2"]
    store.append(gated_turn(2, "s1")[4:])
    for name in ("p", "c"):
        with pytest.raises(AmbiguousGate):
            named(name)
    for name in ("nothing", "t1:1", "a-t1", "\x00"):
        with pytest.raises(NoSuchGate, match="gate_id, permission_id or tool_call_id"):
            named(name)


def test_the_audit_is_read_by_filters_in_either_order(store: Store) -> None:
    long_session(store, 2)

    def versions(query: AuditQuery) -> list[int]:
        return [line.envelope.version for line in _audit(store, query)]

    assert versions(AuditQuery(limit=3)) == [1, 2, 3]
    assert versions(AuditQuery(limit=3, ascending=False)) == [21, 20, 19]
    assert versions(AuditQuery(after=19)) == [20, 21]
    assert versions(AuditQuery(after=3, ascending=False)) == [2, 1]
    assert versions(AuditQuery(types=("gate-decided",))) == [8, 18]
    assert versions(AuditQuery(types=("turn-completed",), turn_id="t2")) == [21]
    assert versions(AuditQuery(actor="nobody")) == []


def test_bodies_are_read_only_for_the_types_that_need_them(store: Store) -> None:
    long_session(store, 1)
    told = {line.envelope.type: line.fact is not None for line in _audit(store, AuditQuery())}

    assert told["turn-completed"] is False
    assert told["gate-decided"] is True


def _turns(store: Store, query: TurnQuery) -> list[TurnView]:
    return looked(store, lambda c, m: [*turns(c, m, query)])


def _audit(store: Store, query: AuditQuery) -> list[AuditLine]:
    return looked(store, lambda c, m: [*audit(c, m, query)])


def _gates(store: Store) -> list[GateView]:
    query = GateQuery(project_id="default", status="all")
    return looked(store, lambda c, _: [*gates(c, query)])
