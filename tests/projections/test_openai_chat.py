"""The model's view as OpenAI chat messages: valid, exact, and honest about what is lost."""

from collections.abc import Iterable
from typing import Any, cast

import pytest

from domain import events as e
from domain.messages import Author, Message
from domain.raw_json import RawJson
from projections.openai_chat import ChatExport, openai_chat
from projections.openai_parts import arguments_text, made_up_result, output_text
from projections.transcript import TranscriptMessage
from projections.wire_names import WireIds, person_name, plain_name
from tests.projections.viewing import chat, codes
from tests.scenario import (
    OPENED,
    approved,
    asked,
    called,
    compacted,
    ended,
    interrupted,
    message,
    returned,
    said,
    started,
)


def parted(role: str, *parts: dict[str, object]) -> ChatExport:
    """Return the export of one message of these parts."""
    assert role in {"user", "assistant", "system", "developer", "tool"}
    told = TranscriptMessage(
        index=0,
        message_id="m",
        turn_id="t1",
        version=1,
        role=role,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        state="live",
        parts=parts,
    )
    return openai_chat([told])


def calls_of(shape: dict[str, object]) -> list[dict[str, Any]]:
    """Return the calls of an assistant's message."""
    return cast("list[dict[str, Any]]", shape.get("tool_calls", []))


def check(export: ChatExport) -> None:
    """Assert what a provider asserts: each call is followed at once by its one result."""
    due: list[object] = []
    seen: set[object] = set()
    for shape in export.messages:
        if shape["role"] == "tool":
            assert due
            assert shape["tool_call_id"] == due.pop(0)
            assert isinstance(shape["content"], str)
            continue
        assert due == []
        calls = calls_of(shape)
        assert shape["content"] or calls
        due = [call["id"] for call in calls]
        assert not seen & set(due)
        assert len(due) == len(set(due))
        seen |= set(due)
        assert all(isinstance(call["function"]["arguments"], str) for call in calls)
    assert due == []


def contents(export: ChatExport) -> list[tuple[object, object]]:
    return [(shape["role"], shape["content"]) for shape in export.messages]


def test_a_whole_turn_is_sent_without_loss() -> None:
    export = chat(OPENED, started(), said("let me see"), called(), returned(), said("done"))

    check(export)
    assert export.messages == [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "let me see",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        {"role": "assistant", "content": "done"},
    ]
    assert export.losses == []


def test_arguments_are_the_text_that_came() -> None:
    exact = b'{"path": "a","edits":[{"new":"1","old":"0"}], "n": 1.50}'
    broken = b'"{\\"q\\":"'
    export = chat(started(), called("c1", arguments=exact), called("c2", arguments=broken))
    calls = calls_of(export.messages[1])

    assert [call["function"]["arguments"] for call in calls] == [exact.decode(), '{"q":']


def test_output_is_its_string_or_its_json_text() -> None:
    export = chat(
        started(),
        *(called(f"c{n}") for n in range(4)),
        returned("c0", b'"a\\nb"'),
        returned("c1", b'{"v": 1.50}'),
        returned("c2", b"null"),
        returned("c3", b"[ ]"),
    )

    assert [content for _, content in contents(export)[2:]] == ["a\nb", '{"v": 1.50}', "", "[ ]"]


def test_an_orphan_result_is_dropped_and_open_calls_are_closed() -> None:
    export = chat(
        OPENED,
        started("t1"),
        returned("t0"),
        called("t1"),
        interrupted("t1"),
        started("t2"),
        called("t2", turn_id="t2"),
        interrupted("t2"),
        started("t3"),
    )

    check(export)
    assert codes(export) == [
        ("t0", "orphan-result"),
        ("t1", "result-synthesised"),
        ("t2", "result-synthesised"),
    ]
    assert [role for role, _ in contents(export)] == [
        "user", "assistant", "tool", "user", "assistant", "tool", "user",
    ]  # fmt: skip


def test_results_follow_their_call_in_the_order_of_the_calls() -> None:
    export = chat(
        started(),
        called("a"),
        called("b"),
        called("c"),
        said("wait", "user"),
        returned("b", b'"B"'),
        returned("a", b'"A"'),
        returned("c", b'"C"'),
    )

    check(export)
    assert contents(export) == [
        ("user", "hi"),
        ("assistant", None),
        ("tool", "A"),
        ("tool", "B"),
        ("tool", "C"),
        ("user", "wait"),
    ]


def test_equal_call_ids_become_unique_and_each_keeps_its_result() -> None:
    facts: tuple[e.Fact, ...] = (
        started("t1"),
        called("x", "read"),
        called("x", "write"),
        returned("x", b'"A"'),
        returned("x", b'"B"'),
        ended("t1"),
        started("t2"),
        called("x~2", turn_id="t2"),
        returned("x~2", b'"C"', turn_id="t2"),
        called("x", turn_id="t2"),
        returned("x", b'"D"', turn_id="t2"),
    )
    export = chat(*facts)

    check(export)
    results = [(m["tool_call_id"], m["content"]) for m in export.messages if m["role"] == "tool"]
    assert results == [("x", "A"), ("x~2", "B"), ("x~2~2", "C"), ("x~3", "D")]
    assert [code for _, code in codes(export)] == ["call-id-renamed"] * 3


def test_a_call_keeps_its_wire_id_when_the_earlier_ones_are_archived() -> None:
    facts: tuple[e.Fact, ...] = (
        started("t1", message("one", message_id="m1")),
        called("x"),
        returned("x"),
        said("fine", message_id="a1"),
        ended("t1"),
        started("t2"),
        called("x", turn_id="t2"),
        returned("x", turn_id="t2"),
    )
    before, after = chat(*facts), chat(*facts, compacted("a1"))

    check(after)
    assert before.messages[-1]["tool_call_id"] == after.messages[-1]["tool_call_id"] == "x~2"
    assert after.messages[0] == {"role": "user", "content": "in short"}


def test_a_result_whose_call_is_archived_is_dropped() -> None:
    export = chat(started(), called("x"), returned("x"), compacted("t1:2"))

    assert contents(export) == [("user", "in short")]
    assert codes(export) == [("x", "orphan-result")]


@pytest.mark.parametrize(
    ("happened", "content"),
    [
        ((), "[This tool call has not run yet. It has no result.]"),
        ((interrupted(),), "[This tool call was interrupted. It has no result.]"),
    ],
)
def test_a_missing_result_is_made_up_and_says_why(happened: Iterable[e.Fact], content: str) -> None:
    export = chat(started(), called(), *happened)

    assert contents(export)[-1] == ("tool", content)
    assert codes(export) == [("c1", "result-synthesised")]


def test_a_call_that_was_denied_at_its_gate_is_denied_in_words() -> None:
    denied = e.GateDecided(gate_id="g1", verdict="denied", decided_by="person", via="in-band")
    export = chat(started(), called(), asked("g1", call="c1"), denied)

    assert contents(export)[-1] == ("tool", "[This tool call was denied. It did not run.]")
    assert codes(export) == [("c1", "gate"), ("c1", "result-synthesised")]


def test_a_result_that_is_not_stored_any_more_is_made_up() -> None:
    call: dict[str, object] = {"type": "tool_call", "tool_call_id": "c"}

    assert made_up_result(call | {"status": "completed"})[0].startswith("[The result")
    assert made_up_result(call | {"status": "denied"})[0].startswith("[This tool call was denied")
    assert made_up_result(call)[0].startswith("[This tool call has not run")


def test_errors_denials_and_gates_are_lost_with_a_note() -> None:
    export = chat(
        started(),
        called("c1"),
        asked("g1", call="c1"),
        approved("g1"),
        called("c2"),
        e.ToolCallCompleted(turn_id="t1", tool_call_id="c1", output=RawJson(b'"x"'), is_error=True),
        e.ToolCallCompleted(turn_id="t1", tool_call_id="c2", output=RawJson(b'"y"'), denied=True),
    )

    check(export)
    assert codes(export) == [("c1", "gate"), ("c1", "error-flag"), ("c2", "denied")]


def test_a_message_of_which_nothing_is_left_is_left_out() -> None:
    empty = Message(
        role="assistant",
        content=({"type": "reasoning", "text": ""}, {"type": "text", "text": "  "}),
    )
    export = chat(started(), e.MessageRecorded(turn_id="t1", message=empty))

    assert contents(export) == [("user", "hi")]
    assert codes(export) == [("t1:2", "reasoning"), ("t1:2", "empty-message")]


def test_blank_text_beside_a_call_is_no_content() -> None:
    assert contents(chat(started(), said(" "), called()))[1] == ("assistant", None)


def test_an_empty_input_is_left_out() -> None:
    nothing = Message(role="user", content=())
    blank = message(" \n")

    assert codes(chat(started("t1", nothing, blank, message("go")))) == [
        ("t1:1", "empty-message"),
        ("t1:2", "empty-message"),
    ]


def test_texts_between_other_parts_stay_apart() -> None:
    think: dict[str, object] = {"type": "reasoning", "text": "hm"}
    export = parted(
        "assistant",
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        think,
        {"type": "text", "text": "c"},
        think,
    )

    assert export.messages[0]["content"] == [
        {"type": "text", "text": "ab"},
        {"type": "text", "text": "c"},
    ]
    assert codes(export) == [("m", "reasoning")]


def test_an_image_of_a_user_is_a_data_url() -> None:
    image: dict[str, object] = {
        "type": "attachment",
        "attachment_id": "i",
        "media_type": "image/png",
        "data": "aGk=",
    }
    export = parted("user", {"type": "text", "text": "see"}, image)

    assert export.messages == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
        }
    ]
    assert contents(parted("user", image))[0][1] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    ]
    assert codes(parted("assistant", image)) == [("m", "attachment"), ("m", "empty-message")]
    assert codes(parted("system", image)) == [("m", "attachment"), ("m", "empty-message")]


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ({"type": "attachment", "attachment_id": "i", "media_type": "image/png"}, "attachment"),
        ({"type": "attachment", "media_type": "text/plain", "data": "aGk="}, "attachment"),
        ({"type": "data", "kind": "k", "data": RawJson(b"1")}, "data"),
        ({"type": "gate_answer", "gate": "g1"}, "gate"),
        ({"type": "missing", "reason": "missing-body"}, "missing"),
        ({"type": "hologram"}, "unknown-part"),
        ({}, "unknown-part"),
        ({"type": "tool_call", "tool_call_id": "c", "name": "x"}, "unknown-part"),
    ],
)
def test_what_has_no_place_is_left_out_with_a_note(part: dict[str, object], code: str) -> None:
    export = parted("user", {"type": "text", "text": "hi"}, part)

    assert contents(export) == [("user", "hi")]
    assert codes(export) == [("m", code)]


def test_a_message_that_only_brings_results_is_no_empty_message() -> None:
    result: dict[str, object] = {"type": "tool_result", "tool_call_id": "c", "output": None}

    assert codes(parted("user", result)) == [("c", "orphan-result")]
    assert codes(parted("tool", result, {"type": "text", "text": "?"})) == [
        ("c", "orphan-result"),
        ("m", "unknown-part"),
    ]


def test_who_spoke_is_a_name_by_one_rule() -> None:
    export = chat(
        started(
            "t1",
            message("I am allergic to nuts", author=Author(subject_id="u1")),
            message("order for me", author=Author(subject_id="ann@example.org", display="Ann")),
        )
    )

    assert [shape["name"] for shape in export.messages] == ["u1", "ann_example_org_438c4c7a"]
    assert codes(export) == [("t1:2", "author-renamed")]


def test_two_people_never_share_a_name() -> None:
    assert len({person_name(text) for text in ("a.b", "a_b", "a b", "a" * 64, "a" * 65)}) == 5
    assert len(person_name("é" * 300)) <= 64


def test_a_tool_is_named_with_the_characters_that_are_taken() -> None:
    export = chat(started(), called(name="mcp.read file"), returned())
    calls = calls_of(export.messages[1])

    assert calls[0]["function"]["name"] == "mcp_read_file"
    assert codes(export) == [("c1", "tool-renamed")]
    assert plain_name("") == "_"


def test_arguments_that_were_never_recorded_are_an_empty_object() -> None:
    gate = e.GateOpened(gate_id="g1", turn_id="t1", kind="permission", tool_call_id="c1", tool="rm")
    export = chat(started(), gate)
    calls = calls_of(export.messages[1])

    assert calls[0]["function"]["arguments"] == "{}"
    assert codes(export) == [
        ("c1", "arguments-unknown"),
        ("c1", "gate"),
        ("c1", "result-synthesised"),
    ]
    assert arguments_text({"arguments": RawJson(b"null")}) is None


def test_json_that_was_read_is_written_again() -> None:
    assert arguments_text({"arguments": {"a": 1}}) == '{"a":1}'
    assert output_text({"output": "as it is"}) == "as it is"


def test_wire_ids_do_not_depend_on_what_comes_later() -> None:
    given = ["a", "a", "a~2", "b", "a", "a~2"]
    ids = WireIds()
    every = [ids.take(name) for name in given]

    assert len(set(every)) == len(every)
    for length in range(len(given)):
        shorter = WireIds()
        assert [shorter.take(name) for name in given[:length]] == every[:length]


def test_a_loss_says_what_it_is_about() -> None:
    export = chat(started(), returned("t0"), said(" "))

    assert [loss.shape() for loss in export.losses] == [
        {
            "tool_call_id": "t0",
            "code": "orphan-result",
            "detail": "no call before it in its turn has this id; it was left out",
        },
        {
            "message_id": "t1:3",
            "code": "empty-message",
            "detail": "nothing of the message is left to send",
        },
    ]
