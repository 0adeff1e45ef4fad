"""How a turn is shown."""

from domain import events as e
from domain.events.turn import TurnError
from domain.raw_json import RawJson, dumped
from domain.times import rfc3339
from projections.turns import address_shape, turn_shape
from tests.scenario import (
    RUNNER,
    asked,
    called,
    ended,
    folded,
    message,
    returned,
    said,
    started,
    turn,
)


def test_a_finished_turn_shows_its_course_and_its_counts() -> None:
    used = e.UsageRecorded(
        turn_id="t1", model="m", input_tokens=5, output_tokens=7, cache_read_tokens=1
    )
    end = e.TurnCompleted(turn_id="t1", stop_reason="end_turn", record_count=5)
    state = folded(started(), called(), returned(), said("x"), used, end, producer=RUNNER)

    assert turn_shape(turn(state), end) == {
        "turn_id": "t1",
        "number": 1,
        "status": "completed",
        "started_at": rfc3339(1_000_000),
        "ended_at": rfc3339(6_000_000),
        "stop_reason": "end_turn",
        "timings": None,
        "path": None,
        "path_reason": None,
        "history_from": None,
        "total_ms": 5_000,
        "history_sent": None,
        "messages": 4,
        "calls": 1,
        "open_calls": 0,
        "open_gates": 0,
        "usage": {
            "input_tokens": 5,
            "output_tokens": 7,
            "cache_read_tokens": 1,
            "cache_write_tokens": 0,
        },
        "record_count": {"declared": 5, "recorded": 5},
        "versions": {"started": 1, "ended": 6},
    }


def test_a_turn_that_waits_for_a_gate_alone_is_paused() -> None:
    waiting = folded(started(), called(), asked("g1", call="c1"))
    working = folded(started(), called(), called("c2"), asked("g1", call="c1"))

    assert turn_shape(turn(waiting))["status"] == "paused"
    assert turn_shape(turn(working))["status"] == "running"
    assert turn_shape(turn(working))["ended_at"] is None


def test_where_the_answer_of_a_turn_goes_is_shown_where_it_was_said() -> None:
    begun = e.TurnStarted(turn_id="t1", messages=(message("a"),), lane_id="0f" * 16)
    assert turn_shape(turn(folded(begun)))["lane_id"] == "0f" * 16
    assert "reply_to" not in turn_shape(turn(folded(begun)))
    assert address_shape(None, "m1") == {"reply_to": "m1"}
    assert address_shape(None, None) == {}


def test_a_failure_shows_its_error() -> None:
    end = e.TurnFailed(turn_id="t1", error=TurnError(code="overloaded", message="try later"))
    shape = turn_shape(turn(folded(started(), end)), end)

    assert (shape["status"], shape["error"]) == (
        "failed",
        {"code": "overloaded", "message": "try later"},
    )


def test_an_interruption_shows_its_reason() -> None:
    end = e.TurnInterrupted(
        turn_id="t1", reason="cancelled", by="u1", timings=RawJson(b'{"t": 1.0}')
    )
    shape = turn_shape(turn(folded(started(), end)), end)

    assert (shape["status"], shape["reason"], shape["by"]) == ("interrupted", "cancelled", "u1")
    assert b'"timings":{"t": 1.0}' in dumped(shape)


def test_an_end_whose_body_is_gone_still_shows_the_turn() -> None:
    shape = turn_shape(turn(folded(started(), ended())), e.Opaque(reason="missing-body"))

    assert shape["status"] == "completed"
    assert "stop_reason" not in shape


def test_a_turn_shows_by_which_way_it_got_its_harness() -> None:
    cold = e.HarnessStarted(
        seat_id="s1", owner="a", path="cold", turn_id="t1", reason="no-seat", history_from="log"
    )
    warm = e.HarnessResumed(seat_id="s1", owner="a", turn_id="t1")

    shown = turn_shape(turn(folded(started(), cold)))
    assert (shown["path"], shown["path_reason"], shown["history_from"]) == (
        "cold",
        "no-seat",
        "log",
    )
    shown = turn_shape(turn(folded(started(), warm)))
    assert (shown["path"], shown["path_reason"], shown["history_from"]) == (
        "warm",
        None,
        "harness",
    )
