"""What is different between two points, told from the one to the other."""

from collections.abc import Sequence

from domain import events as e
from domain.evolve import fold
from domain.paths import found_in, spot_of
from domain.raw_json import RawJson
from domain.readiness import Policy, readiness
from domain.recorded import Recorded
from projections.diff import (
    Parting,
    Point,
    archived,
    call_changes,
    change_of,
    gate_changes,
    partings,
    state_changes,
    turn_changes,
    turn_item,
    went_on,
)
from projections.session_state import call_shape, gate_shape, open_turn
from tests.scenario import (
    OPENED,
    approved,
    asked,
    called,
    compacted,
    ended,
    interrupted,
    recorded,
    returned,
    said,
    started,
)

BACK = e.HistoryRewound(turn_id="t2", from_version=4, through_version=7, turns=1, messages=2)
FACTS = recorded(
    OPENED, started(), ended(), started("t2"), said("a", turn_id="t2"), ended("t2"), BACK,
    started("t3"), ended("t3"), compacted("t1:1"),
)  # fmt: skip


def point(facts: Sequence[Recorded], version: int, config: str | None = None) -> Point:
    state = fold(facts[:version])
    return Point(
        version=version,
        spot=spot_of(state.head),
        placed=state.head.placed,
        started=state.head.started,
        state=state,
        readiness=readiness(state.head, open_turn(state), Policy(unverified_turns=False)),
        config=config,
    )


def parted(facts: Sequence[Recorded], a: int, b: int) -> tuple[Parting, Parting]:
    find = found_in(fold(facts).branches)
    return partings(find, point(facts, a), point(facts, b))


def test_what_went_was_rewound_and_what_came_is_new() -> None:
    turns, messages = parted(FACTS, 6, 9)
    assert (turns.shared, messages.shared) == (1, 1)
    assert (turns.removed.count, turns.added.count) == (1, 1)
    assert (messages.removed.count, messages.added.count) == (2, 1)
    assert change_of(messages.removed, 1, added=False) == "rewound"
    assert change_of(messages.added, 1, added=True) == "new"


def test_the_other_way_what_went_began_later_and_what_came_is_restored() -> None:
    turns, messages = parted(FACTS, 9, 6)
    assert change_of(messages.removed, 1, added=False) == "later"
    assert change_of(messages.added, 2, added=True) == "restored"
    assert (turns.removed.old, turns.added.old, messages.added.old) == (0, 1, 2)


def test_a_summary_archives_what_is_in_sight_at_both() -> None:
    a, b = point(FACTS, 9), point(FACTS, 10)
    _, messages = parted(FACTS, 9, 10)
    assert (archived(messages, a, b), archived(messages, b, a)) == (1, -1)


def test_fields_that_are_another_are_told_with_both_values() -> None:
    facts = recorded(OPENED, started(), e.SessionRenamed(title="Trip"), ended())
    changes = state_changes(point(facts, 2, "00"), point(facts, 4, "01"))
    assert changes.keys() == {
        "title",
        "title_by",
        "turn_id",
        "config",
        "ready",
        "reasons",
    }
    assert changes["title"] == {"from": "hi", "to": "Trip"}
    assert changes["reasons"] == {"from": ["turn-running"], "to": []}
    prints = state_changes(point(facts, 1), point(facts, 2))["fingerprint"]
    assert prints == {
        "from": fold(facts[:1]).head.fingerprint.hex(),
        "to": fold(facts).head.fingerprint.hex(),
    }


def test_a_turn_in_sight_at_one_point_shows_how_it_stood_there() -> None:
    facts = recorded(OPENED, started(), asked(kind="input"), approved(), ended())
    turn = fold(facts).turns["t1"]
    statuses = [turn_item(point(facts, v), turn, "new")["status"] for v in (2, 3, 4, 5)]
    assert statuses == ["running", "paused", "running", "completed"]
    assert turn_item(point(facts, 5), turn, "restored") == {
        "change": "restored",
        "turn_id": "t1",
        "number": 1,
        "status": "completed",
        "started_version": 2,
    }


def test_a_turn_that_went_on_shows_how_far_it_had_come_at_both() -> None:
    used = e.UsageRecorded(turn_id="t1", model="m", input_tokens=5, output_tokens=7)
    note = e.DataRecorded(kind="note", data=None)
    facts = recorded(OPENED, started(), said("a"), called(), used, note, returned(), ended())
    turn = fold(facts).turns["t1"]
    a, b = point(facts, 2), point(facts, 8)
    turns, _ = parted(facts, 2, 8)
    assert went_on(a, b, turns) == open_turn(a.state)
    assert went_on(b, a, turns) == open_turn(a.state)
    [change] = turn_changes(a, b, turn)
    assert change == {
        "turn_id": "t1",
        "number": 1,
        "from": {
            "status": "running",
            "messages": 1,
            "calls": 0,
            "open_calls": 0,
            "open_gates": 0,
            "input_tokens": 0,
            "output_tokens": 0,
        },
        "to": {
            "status": "completed",
            "messages": 3,
            "calls": 1,
            "open_calls": 0,
            "open_gates": 0,
            "input_tokens": 5,
            "output_tokens": 7,
        },
    }
    assert turn_changes(point(facts, 5), point(facts, 6), turn) == []
    assert turn_changes(a, b, None) == []
    ends, _ = parted(facts, 1, 2)
    assert went_on(point(facts, 1), point(facts, 2), ends) is None


def test_calls_that_wait_at_one_point_only_came_or_went() -> None:
    facts = recorded(
        OPENED, started(), called("c1"), called("c2"), returned("c1"), interrupted(), returned("c2")
    )
    calls = [call for found in fold(facts).calls.values() for call in found]
    first, second = calls
    both, ended_, late = point(facts, 4), point(facts, 6), point(facts, 7)
    assert call_changes(point(facts, 2), both, ()) == {
        "opened": [call_shape(first), call_shape(second)],
        "closed": [],
    }
    for after, expected in ((ended_, ["completed", "interrupted"]), (late, ["completed", "late"])):
        told = call_changes(both, after, calls)["closed"]
        assert told == [
            call_shape(call) | {"status": status}
            for call, status in zip(calls, expected, strict=True)
        ]
    assert call_changes(both, point(facts, 2), calls)["closed"] == [
        call_shape(call) | {"status": "later"} for call in calls
    ]


def test_a_call_that_a_gate_foretold_and_that_was_announced_neither_came_nor_went() -> None:
    facts = recorded(OPENED, started(), asked(call="c1", tool="rm"), called("c1"), called("c2"))
    now = [call for found in fold(facts).calls.values() for call in found]
    known = [call for call in now if call.requested_version == 3]
    assert known == []
    assert call_changes(point(facts, 3), point(facts, 5), known) == {
        "opened": [call_shape(now[1])],
        "closed": [],
    }


def test_gates_that_wait_at_one_point_only_opened_or_closed() -> None:
    facts = recorded(OPENED, started(), asked("g1", kind="input"), asked("g2"), approved("g1"))
    state = fold(facts)
    gates = list(state.gates.values())
    assert gate_changes(point(facts, 2), point(facts, 3), ()) == {
        "opened": [gate_shape(gates[0])],
        "closed": [],
    }
    assert gate_changes(point(facts, 4), point(facts, 5), gates) == {
        "opened": [],
        "closed": [gate_shape(gates[0]) | {"status": "allowed"}],
    }
    assert gate_changes(point(facts, 4), point(facts, 2), gates)["closed"] == [
        gate_shape(gate) | {"status": "later"} for gate in gates
    ]


def test_a_configuration_is_told_by_its_fingerprint() -> None:
    facts = recorded(OPENED, e.SessionConfigured(config=RawJson(b"{}")))
    changes = state_changes(point(facts, 1), point(facts, 2, "ab"))
    assert changes["config"] == {"from": None, "to": "ab"}
    assert changes["config_version"] == {"from": None, "to": 2}
