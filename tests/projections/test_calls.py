"""Which gate does a call wait for, and what became of it?"""

from domain.state import Call, Gate
from projections.calls import CallView, call_views, gate_status


def call(occurrence: int = 1, requested: int | None = 2, completed: int | None = None) -> Call:
    return Call(
        turn_id="t1",
        tool_call_id="c1",
        occurrence=occurrence,
        name="read",
        status="open" if completed is None else "completed",
        requested_version=requested,
        completed_version=completed,
    )


def gate(gate_id: str, opened: int, closed: int | None = None, call_id: str | None = "c1") -> Gate:
    return Gate(
        gate_id=gate_id,
        turn_id="t1",
        kind="permission",
        status="open" if closed is None else "allowed",
        tool_call_id=call_id,
        opened_version=opened,
        closed_version=closed,
        opened_at=0,
    )


def gates_of(calls: list[Call], gates: list[Gate], at: int = 99) -> dict[int, str | None]:
    views = call_views(calls, gates, {}, at).foretold["t1", "c1"]
    return {v.call.occurrence: None if v.gate is None else v.gate.gate_id for v in views}


def test_two_calls_of_one_id_wait_for_a_gate_each() -> None:
    assert gates_of([call(1), call(2)], [gate("g1", 3), gate("g2", 4)]) == {1: "g1", 2: "g2"}


def test_a_second_gate_of_one_call_takes_the_place_of_the_first() -> None:
    assert gates_of([call(1)], [gate("g1", 3, closed=4), gate("g2", 5)]) == {1: "g2"}
    assert gates_of([call(1)], [gate("g1", 3), gate("g2", 4)]) == {1: "g2"}


def test_a_gate_belongs_to_the_call_that_still_waited_when_it_opened() -> None:
    calls = [call(1, completed=3), call(2, requested=4)]

    assert gates_of(calls, [gate("g1", 5)]) == {1: None, 2: "g1"}


def test_a_gate_closed_before_the_next_opens_leaves_the_first_call_free() -> None:
    assert gates_of([call(1), call(2)], [gate("g1", 3, closed=4), gate("g2", 5)]) == {
        1: "g2",
        2: None,
    }


def test_a_gate_without_a_call_holds_none() -> None:
    assert gates_of([call(1)], [gate("g1", 3, call_id=None)]) == {1: None}
    assert gates_of([call(1, requested=None, completed=2)], [gate("g1", 1)]) == {1: None}


def test_a_gate_that_opened_later_is_not_seen() -> None:
    assert gates_of([call(1)], [gate("g1", 5)], at=4) == {1: None}


def test_a_gate_is_not_that_of_a_call_that_was_asked_for_after_what_is_looked_at() -> None:
    calls, gates = [call(1), call(2, requested=5)], [gate("g1", 3), gate("g2", 4)]

    assert gates_of(calls, gates, at=4) == {1: "g2", 2: None}
    assert gates_of(calls, gates, at=5) == {1: "g1", 2: "g2"}


def test_a_call_that_a_gate_foretold_has_it_before_it_is_announced() -> None:
    foretold = call(1, requested=5)

    assert gates_of([foretold], [gate("g1", 3)], at=4) == {1: "g1"}
    assert gates_of([foretold, call(2, requested=6)], [gate("g1", 3)], at=4) == {1: "g1", 2: None}


def test_a_gate_is_open_until_the_version_that_closed_it() -> None:
    closed = gate("g1", 3, closed=6)

    assert [gate_status(closed, at) for at in (5, 6, 7)] == ["open", "allowed", "allowed"]
    assert gate_status(gate("g2", 3), 7) == "open"


def test_a_call_without_records_is_not_found() -> None:
    assert call_views((), (), {}, 1).requested(2, ("t1", "c1")) is None
    assert call_views([call(1)], (), {}, 9).requested(5, ("t1", "c1")) is None


def test_a_call_is_found_by_what_asked_for_it_and_by_what_ended_it() -> None:
    views = call_views([call(1, 2, 3)], (), {"t1": 4}, 9)
    expected = CallView(call=call(1, 2, 3), status="completed", gate=None, gate_status=None)

    assert views.requested(2, ("t1", "c1")) == expected
    assert views.by_result == {3: expected}
