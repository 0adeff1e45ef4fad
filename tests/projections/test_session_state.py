"""How a session's state is shown."""

from domain import events as e
from domain.times import rfc3339
from projections.session_state import gate_shape, open_turn, state_shape
from projections.turns import turn_shape
from tests.scenario import (
    OPENED,
    asked,
    called,
    compacted,
    ended,
    folded,
    gate,
    returned,
    said,
    started,
    turn,
)


def test_a_session_at_rest_shows_how_much_there_is_and_ever_was() -> None:
    back = e.HistoryRewound(turn_id="t2", from_version=4, through_version=5, turns=1, messages=1)
    lost = e.RecordsLost(count=1, reason="crash")
    state = folded(
        e.SessionOpened(title="Trip"), started(), ended(), started("t2"), ended("t2"), back,
        compacted("t1:1"), lost,
    )  # fmt: skip

    assert state_shape(state) == {
        "status": "open",
        "archived_reason": None,
        "pinned": False,
        "title": "Trip",
        "title_by": "person",
        "approval_mode": None,
        "config_version": None,
        "parent_session_id": None,
        "created_at": rfc3339(1_000_000),
        "updated_at": rfc3339(8_000_000),
        "messages": {"in_sight": 1, "archived": 1, "ever": 2},
        "turns": {"in_sight": 1, "ever": 2},
        "summary_version": 7,
        "branch": 0,
        "redo_version": None,
        "model_fingerprint": state.head.model_fingerprint.hex(),
        "turn": None,
        "open_calls": [],
        "open_gates": [],
        "losses": {"open": 1, "unverified_turns": 0, "miscounted_turns": 0, "unreadable": 0},
    }


def test_a_rewind_that_can_be_undone_is_named() -> None:
    back = e.HistoryRewound(turn_id="t1", from_version=2, through_version=3, turns=1, messages=1)
    assert state_shape(folded(OPENED, started(), ended(), back))["redo_version"] == 4


def test_the_turn_that_has_not_ended_shows_its_open_calls_and_gates() -> None:
    state = folded(
        OPENED,
        started("t0"),
        called("c0", turn_id="t0"),
        ended("t0"),
        started(),
        said("a"),
        called("c2"),
        called(),
        returned(),
        asked("g2", kind="input"),
        asked(call="c3", tool="write", permission="p1"),
    )
    shape = state_shape(state)

    assert shape["turn"] == turn_shape(turn(state))
    assert open_turn(state) == turn(state)
    assert shape["open_calls"] == [
        {
            "turn_id": "t1",
            "tool_call_id": "c2",
            "name": "read",
            "requested_version": 7,
            "waits": False,
        },
        {
            "turn_id": "t1",
            "tool_call_id": "c3",
            "name": "write",
            "requested_version": 11,
            "waits": True,
        },
    ]
    assert shape["open_gates"] == [
        {
            "gate_id": "g2",
            "turn_id": "t1",
            "kind": "input",
            "permission_id": None,
            "tool_call_id": None,
            "tool": None,
            "opened_version": 10,
            "opened_at": rfc3339(10_000_000),
            "expires_at": None,
        },
        {
            "gate_id": "g1",
            "turn_id": "t1",
            "kind": "permission",
            "permission_id": "p1",
            "tool_call_id": "c3",
            "tool": "write",
            "opened_version": 11,
            "opened_at": rfc3339(11_000_000),
            "expires_at": None,
        },
    ]


def test_a_gate_shows_when_it_expires() -> None:
    asks = e.GateOpened(gate_id="g1", turn_id="t1", kind="input", expires_at="2026-01-01T00:00:00Z")
    state = folded(started(), asks)
    assert gate_shape(gate(state))["expires_at"] == rfc3339(gate(state).expires_at or 0)
