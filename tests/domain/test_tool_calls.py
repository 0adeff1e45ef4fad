"""Tool calls and their results are paired by turn, id and occurrence; nothing is dropped."""

import pytest

from domain import events as e
from domain.raw_json import RawJson
from domain.refusals import CallCompleted, InvalidValue, NoSuchTurn
from tests.scenario import (
    OPENED,
    approved,
    asked,
    called,
    ended,
    folded,
    given,
    interrupted,
    returned,
    said,
    started,
    transcript,
    turn,
)

RUNNING = given(OPENED, started())


def test_an_orphan_result_and_open_calls_are_stored_as_they_are() -> None:
    """Row A1."""
    history = (
        OPENED,
        started(),
        returned("c0"),
        said("a"),
        called("c1"),
        ended(),
        started("t2"),
        called("c2", turn_id="t2"),
        interrupted("t2"),
        started("t3"),
    )
    assert transcript(*history) == [
        ("user", ["hi"]),
        ("tool", [("c0", "done")]),
        ("assistant", ["a", ("c1", "read", {})]),
        ("user", ["hi"]),
        ("assistant", [("c2", "read", {})]),
        ("user", ["hi"]),
    ]
    state = folded(*history)
    assert state.calls["t1", "c0"][0].requested_version is None
    assert [state.calls[key][0].status for key in (("t1", "c1"), ("t2", "c2"))] == [
        "open",
        "open",
    ]
    assert (turn(state).calls, turn(state).open_calls) == (1, 1)


def test_a_log_that_starts_with_an_orphan_result_is_read() -> None:
    """Row A10: the rules refuse it, the fold does not."""
    given(OPENED).when(returned()).then_refused(NoSuchTurn, "turn_id")
    assert transcript(returned()) == [("tool", [("c1", "done")])]
    RUNNING.when(returned()).then(returned())


def test_parallel_results_all_stay_in_the_order_of_their_arrival() -> None:
    """Row A3."""
    assert transcript(
        OPENED,
        started(),
        called("a"),
        called("b"),
        called("c"),
        returned("b"),
        returned("a"),
        returned("c"),
    ) == [
        ("user", ["hi"]),
        ("assistant", [("a", "read", {}), ("b", "read", {}), ("c", "read", {})]),
        ("tool", [("b", "done")]),
        ("tool", [("a", "done")]),
        ("tool", [("c", "done")]),
    ]


def test_the_same_call_id_in_two_turns_is_two_calls() -> None:
    """Row A12."""
    state = folded(
        OPENED,
        started(),
        called("terminal:0"),
        returned("terminal:0"),
        ended(),
        started("t2"),
        called("terminal:0", turn_id="t2"),
        returned("terminal:0", turn_id="t2"),
    )
    assert [
        (call.occurrence, call.requested_version, call.completed_version)
        for key in (("t1", "terminal:0"), ("t2", "terminal:0"))
        for call in state.calls[key]
    ] == [(1, 3, 4), (1, 7, 8)]


def test_the_same_call_id_twice_at_once_is_paired_by_order() -> None:
    """Row A13."""
    history = (
        OPENED,
        started(),
        called("1", arguments=b'{"a":1}'),
        called("1", arguments=b'{"b":2}'),
        returned("1", b'"A"'),
        returned("1", b'"B"'),
    )
    given(*history[:5]).when(returned("1")).then(returned("1"))
    given(*history).when(returned("1")).then_refused(CallCompleted, "tool_call_id")
    assert transcript(*history)[1:] == [
        ("assistant", [("1", "read", {"a": 1}), ("1", "read", {"b": 2})]),
        ("tool", [("1", "A")]),
        ("tool", [("1", "B")]),
    ]
    assert [
        (call.occurrence, call.requested_version, call.completed_version)
        for call in folded(*history).calls["t1", "1"]
    ] == [(1, 3, 5), (2, 4, 6)]


def test_each_occurrence_of_an_id_has_its_own_name() -> None:
    """Row A14."""
    state = folded(
        OPENED, started(), called("k", "read"), returned("k"), called("k", "write"), returned("k")
    )
    assert [(call.name, call.status) for call in state.calls["t1", "k"]] == [
        ("read", "completed"),
        ("write", "completed"),
    ]


def test_a_call_has_one_result() -> None:
    given(OPENED, started(), called(), returned()).when(returned()).then_refused(
        CallCompleted, "tool_call_id"
    )
    given(OPENED, started(), returned("c0")).when(returned("c0")).then_refused(
        CallCompleted, "tool_call_id"
    )


def test_a_result_says_how_the_call_ended() -> None:
    failed = e.ToolCallCompleted(turn_id="t1", tool_call_id="c1", output=None, is_error=True)
    denied = e.ToolCallCompleted(
        turn_id="t1", tool_call_id="c1", output=None, is_error=True, denied=True
    )
    assert folded(OPENED, started(), called(), failed).calls["t1", "c1"][0].status == "failed"
    assert folded(OPENED, started(), called(), denied).calls["t1", "c1"][0].status == "denied"


@pytest.mark.parametrize(
    ("event", "at"),
    [
        (called(""), "tool_call_id"),
        (called("\0"), "tool_call_id"),
        (called("c1", "n" * 257), "name"),
        (called("c1", arguments=b"[]"), "arguments"),
        (called("c1", arguments=b"null"), "arguments"),
        (
            e.ToolCallRequested(turn_id="t1", tool_call_id="c1", name="a", arguments=None),
            "arguments",
        ),
        (returned("\n"), "tool_call_id"),
    ],
)
def test_a_call_is_named_and_has_arguments(event: e.SessionEvent, at: str) -> None:
    RUNNING.when(event).then_refused(InvalidValue, at)


def test_arguments_that_are_no_json_are_kept_as_the_text_that_was_written() -> None:
    half = called("c1", arguments=b'"{\\"q\\":"')
    RUNNING.when(half).then(half)
    assert transcript(OPENED, started(), half)[1] == ("assistant", [("c1", "read", '{"q":')])


def test_a_gate_makes_its_call_known_and_the_request_takes_its_place() -> None:
    history = (OPENED, started(), said("a"), asked(call="c1", tool="read"), said("b"))
    state = folded(*history)
    assert [(c.name, c.announced, c.gated) for c in state.calls["t1", "c1"]] == [
        ("read", False, True)
    ]
    assert (turn(state).calls, turn(state).open_calls, turn(state).paused) == (1, 1, True)
    request = called("c1", "write", b'{"x":1}')
    state = folded(*history, request)
    assert [(c.name, c.announced, c.gated) for c in state.calls["t1", "c1"]] == [
        ("write", True, True)
    ]
    assert (turn(state).calls, turn(state).open_calls) == (1, 1)
    assert transcript(*history, request)[1] == (
        "assistant",
        ["a", ("c1", "write", {"x": 1}), "b"],
    )


def test_a_request_that_comes_too_late_for_its_place_changes_no_message() -> None:
    history = (OPENED, started(), asked(call="c1", tool="read"), said("stop", "user"))
    assert transcript(*history, called("c1", "write")) == transcript(*history)
    assert [
        (c.name, c.announced) for c in folded(*history, called("c1", "write")).calls["t1", "c1"]
    ] == [("read", True)]


def test_a_request_whose_place_was_left_to_other_words_changes_no_message() -> None:
    history = (
        OPENED,
        started(),
        asked(call="c1", tool="read"),
        said("stop", "user"),
        said("well"),
    )
    assert transcript(*history, called("c1")) == transcript(*history)


def test_a_gate_finds_the_call_that_was_announced() -> None:
    history = (OPENED, started(), called(), asked(call="c1", tool="read"))
    assert len(folded(*history).calls["t1", "c1"]) == 1
    assert transcript(*history)[1] == ("assistant", [("c1", "read", {})])


def test_a_second_gate_on_one_call_makes_no_second_call() -> None:
    history = (
        OPENED,
        started(),
        called(),
        asked("g1", call="c1", tool="read"),
        asked("g2", call="c1", tool="read"),
    )
    state = folded(*history)
    assert len(state.calls["t1", "c1"]) == 1
    assert turn(state).paused
    assert turn(folded(*history, approved("g1"))).paused
    assert not turn(folded(*history, approved("g1"), approved("g2"))).paused


def test_two_calls_of_one_id_wait_for_one_gate_each() -> None:
    history = (
        OPENED,
        started(),
        called("1"),
        called("1"),
        asked("g1", call="1"),
        asked("g2", call="1"),
    )
    assert turn(folded(*history)).gated_calls == 2
    assert turn(folded(*history, approved("g1"))).gated_calls == 1
    assert not turn(folded(*history, approved("g1"))).paused


def test_a_call_that_completes_undecided_no_longer_waits_and_its_gate_does() -> None:
    history = (OPENED, started(), called(), asked(call="c1"), returned())
    state = folded(*history)
    assert (turn(state).open_calls, turn(state).gated_calls, turn(state).open_gates) == (0, 0, 1)
    state = folded(*history, approved())
    assert (turn(state).open_calls, turn(state).gated_calls, turn(state).open_gates) == (0, 0, 0)


def test_a_gate_without_a_tool_does_not_invent_a_call() -> None:
    assert folded(OPENED, started(), asked(call="c1")).calls == {}


def test_output_of_any_kind_is_kept() -> None:
    odd = e.ToolCallCompleted(
        turn_id="t1", tool_call_id="c1", output=RawJson(b"[1.50,12345678901234567890]")
    )
    RUNNING.when(odd).then(odd)
