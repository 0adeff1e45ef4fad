"""What a harness did at each input, beside what another did."""

from typing import Any

import pytest

from projections.rerun import Exchange, Pair, Step, add, compare, exchanges, first_difference


def message(role: str, *parts: dict[str, Any], turn_id: str = "t1") -> dict[str, Any]:
    return {"turn_id": turn_id, "message_id": f"{turn_id}:1", "role": role, "parts": [*parts]}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"type": "tool_call", "tool_call_id": call_id, "name": name, "arguments": arguments}


def gave(call_id: str, output: Any, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"type": "tool_result", "tool_call_id": call_id, "output": output, **more}


def steps(*parts: dict[str, Any]) -> list[Step]:
    found: list[Step] = []
    for part in parts:
        add(found, part)
    return found


def test_an_exchange_is_an_input_and_what_came_of_it() -> None:
    asked = text("add")
    found = exchanges(
        [
            message("assistant", text("nobody asked")),
            message("user", asked),
            message("assistant", text("I "), text("shall."), call("c", "add", a=1)),
            message("tool", gave("c", 1)),
            message("system", text("be kind")),
            message("user", text("so far: add")) | {"summary": True, "turn_id": None},
            message("user", text("and then?"), turn_id="t2"),
        ]
    )
    assert found == [
        Exchange(
            turn_id="t1",
            message_id="t1:1",
            parts=[asked],
            steps=[
                Step(kind="said", value="I shall."),
                Step(kind="called", value={"a": 1}, name="add", tool_call_id="c"),
                Step(kind="gave", value=1, name="add", tool_call_id="c"),
            ],
        ),
        Exchange(turn_id="t2", message_id="t2:1", parts=[text("and then?")]),
    ]


def test_what_is_no_text_call_or_result_is_no_step() -> None:
    assert steps(text(""), {"type": "reasoning", "text": "hm"}, {"type": "text"}) == []
    assert exchanges([{"role": "user", "parts": "?", "turn_id": 7}]) == [
        Exchange(turn_id="", message_id="", parts=[])
    ]


def test_a_result_without_a_call_has_no_name() -> None:
    assert steps(gave("c", 1, is_error=True, denied=True)) == [
        Step(kind="gave", value=1, tool_call_id="c", is_error=True, denied=True)
    ]


def test_the_same_by_other_ids_and_spellings_is_the_same() -> None:
    one = steps(call("c", "add", a=1, b=2.0), gave("c", {"sum": 3}))
    two = steps(call("d", "add", b=2, a=1), gave("d", {"sum": 3.0}))
    pairs = compare(one, two)
    assert [pair.how for pair in pairs] == ["same", "same"]
    assert first_difference(pairs) is None


@pytest.mark.parametrize(
    ("recorded", "again", "what"),
    [
        (steps(text("a b")), steps(text("a c")), "text"),
        (steps(text("a b")), steps(text("a  b\n")), "whitespace-only"),
        (steps(call("c", "add")), steps(call("c", "sub")), "tool"),
        (steps(call("c", "add", a=1)), steps(call("c", "add", a=2)), "tool-arguments"),
        (steps(gave("c", 1)), steps(gave("c", 2)), "tool-output"),
    ],
)
def test_a_difference_says_in_what(recorded: list[Step], again: list[Step], what: str) -> None:
    (pair,) = compare(recorded, again)
    assert pair == Pair(
        recorded=recorded[0],
        again=again[0],
        how="differs",
        what=what,  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    )


def test_what_only_one_did_has_nothing_beside_it() -> None:
    one = steps(text("first"), call("c", "add"))
    two = steps(call("c", "add"), text("then"))
    pairs = compare(one, two)
    assert [(pair.how, pair.recorded, pair.again) for pair in pairs] == [
        ("missing", one[0], None),
        ("same", one[1], two[0]),
        ("extra", None, two[1]),
    ]
    assert first_difference(pairs) == pairs[0]


def test_steps_of_two_kinds_are_not_each_others_place() -> None:
    one, two = steps(text("a")), steps(call("c", "add"))
    assert [pair.how for pair in compare(one, two)] == ["missing", "extra"]


def test_a_pair_has_a_shape() -> None:
    (pair,) = compare(steps(text("a")), steps(text("b")))
    assert pair.shape() == {
        "how": "differs",
        "what": "text",
        "recorded": {"kind": "said", "value": "a"},
        "again": {"kind": "said", "value": "b"},
    }
    (lone,) = compare([], steps(gave("c", 1, is_error=True, denied=True)))
    assert lone.shape() == {
        "how": "extra",
        "recorded": None,
        "again": {"kind": "gave", "value": 1, "is_error": True, "denied": True},
    }
    (named,) = compare(steps(call("c", "add")), [])
    assert named.shape()["recorded"] == {"kind": "called", "value": {}, "name": "add"}
