"""The model's view as Anthropic messages: valid, exact, and honest about what is lost."""

import re
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings

from domain import events as e
from domain.json_text import parse
from domain.messages import Author, Message, Part, Role
from domain.raw_json import RawJson, dumped
from projections.anthropic_messages import AnthropicExport, anthropic_messages
from projections.anthropic_parts import BEGINNING
from projections.transcript import TranscriptMessage
from tests.projections.conversations import PNG, conversations, transcript
from tests.scenario import called, ended, interrupted, message, returned, said, started

Json = dict[str, Any]
SIGNED: Part = {"type": "reasoning", "text": "so", "signature": "s=", "provider": "anthropic"}


def exported(*events: e.Fact) -> AnthropicExport:
    return anthropic_messages(transcript(*events))


def parted(*parts: Part, role: Role = "assistant") -> e.Fact:
    return e.MessageRecorded(turn_id="t1", message=Message(role=role, content=parts))


def read(export: AnthropicExport) -> list[Json]:
    return cast("list[Json]", parse(dumped(export.messages)))


def codes(export: AnthropicExport) -> list[str]:
    return [loss.code for loss in export.losses]


def check(export: AnthropicExport) -> None:
    """Assert what the provider asserts."""
    messages = read(export)
    roles = [shape["role"] for shape in messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
    due: list[str] = []
    seen: set[str] = set()
    for shape in messages:
        blocks: list[Json] = shape["content"]
        assert blocks
        results = [block for block in blocks if block["type"] == "tool_result"]
        assert blocks[: len(results)] == results
        assert [block["tool_use_id"] for block in results] == due
        for block in blocks:
            check_block(shape["role"], block)
        due = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert not seen & set(due)
        assert len(set(due)) == len(due)
        seen |= set(due)
        assert blocks[-1]["type"] != "thinking"
    assert due == []
    if messages and messages[-1]["role"] == "assistant":
        assert messages[-1]["content"][-1]["text"] == messages[-1]["content"][-1]["text"].rstrip()


def check_block(role: str, block: Json) -> None:
    match block:
        case {"type": "text", "text": str(text)}:
            assert text.strip()
        case {"type": "thinking", "signature": str(signature)}:
            assert role == "assistant"
            assert signature
        case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": dict()}:
            assert role == "assistant"
            assert re.fullmatch(r"[A-Za-z0-9_-]+", call_id)
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
        case {"type": "tool_result"}:
            content = block.get("content", "")
            images = not isinstance(content, str) and any(b["type"] == "image" for b in content)
            assert role == "user"
            assert not (images and block.get("is_error"))
        case _:
            assert (role, block["type"]) in {("user", "image"), ("user", "document")}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(told=conversations())
def test_every_history_is_valid_for_the_provider(told: Sequence[TranscriptMessage]) -> None:
    check(anthropic_messages(told))


def test_a_whole_turn_is_sent_without_loss() -> None:
    arguments = b'{"path": "a","edits":[{"new":"1","old":"0"}], "n": 1.50}'
    export = exported(
        started(), parted(SIGNED), said("let me see"), called(arguments=arguments), returned(),
        said("done"),
    )  # fmt: skip

    check(export)
    assert arguments in dumped(export.messages)
    assert read(export) == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "so", "signature": "s="},
                {"type": "text", "text": "let me see"},
                {"type": "tool_use", "id": "c1", "name": "read", "input": parse(arguments)},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ]
    assert export.losses == []


@pytest.mark.parametrize(
    "part",
    [
        {"type": "reasoning", "text": "so"},
        {"type": "reasoning", "text": "so", "signature": "s", "provider": "openai"},
        {"type": "reasoning", "text": "so", "signature": "s"},
    ],
)
def test_reasoning_that_anthropic_did_not_sign_is_never_thinking(part: Part) -> None:
    export = exported(started(), parted(part), said("x"))

    assert read(export)[1]["content"] == [{"type": "text", "text": "x"}]
    assert codes(export) == ["reasoning"]


def test_a_signed_thinking_without_words_is_kept_but_never_last() -> None:
    empty = {**SIGNED, "text": ""}
    kept, last = exported(started(), parted(empty), said("x")), exported(started(), parted(empty))

    assert read(kept)[1]["content"][0] == {"type": "thinking", "thinking": "", "signature": "s="}
    assert [shape["role"] for shape in read(last)] == ["user"]
    assert codes(last) == ["reasoning", "empty-message"]


def test_results_stand_first_after_their_calls_in_the_order_of_the_calls() -> None:
    export = exported(
        started(), called("c1"), called("c2"), said("and?", "user"), returned("c2"), returned("c1"),
    )  # fmt: skip

    check(export)
    ids = [block.get("tool_use_id", block.get("text")) for block in read(export)[2]["content"]]
    assert ids == ["c1", "c2", "and?"]


def test_a_call_without_a_result_gets_an_error_that_says_so() -> None:
    export = exported(started(), called(), interrupted())

    assert read(export)[2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "content": "[This tool call was interrupted. It has no result.]",
            "is_error": True,
        }
    ]
    assert codes(export) == ["result-synthesised"]


@pytest.mark.parametrize("ending", ["is_error", "denied"])
def test_a_failed_call_is_an_error_of_text_alone(ending: str) -> None:
    output = b'[{"type":"text","text":"no"},{"type":"image","mimeType":"image/png","data":"aa"}]'
    result = e.ToolCallCompleted(
        turn_id="t1",
        tool_call_id="c1",
        output=RawJson(output),
        is_error=ending == "is_error",
        denied=ending == "denied",
    )
    block = read(exported(started(), called(), result))[2]["content"][0]

    assert (block["is_error"], block["content"]) == (True, output.decode())


def test_images_in_a_result_are_images_whoever_wrapped_them() -> None:
    native = b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aa"}}'
    output = b'[{"type":"text","text":"x"},{"type":"image","mimeType":"image/png","data":"aa"},%s]'
    export = exported(started(), called(), returned(output=output % native))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}}

    content = read(export)[2]["content"][0]["content"]
    assert content == [{"type": "text", "text": "x"}, image, image]


@pytest.mark.parametrize(
    "output",
    [
        b'[{"type":"image","mimeType":"image/tiff","data":"aa"}]',
        b'[{"type":"image"}]',
        b'[{"type":"text","text":" "}]',
        b"[1]",
        b'{"a": 1.50}',
    ],
)
def test_other_output_is_the_text_that_came(output: bytes) -> None:
    export = exported(started(), called(), returned(output=output))

    assert read(export)[2]["content"][0]["content"] == output.decode()


def test_an_output_of_nothing_is_left_out() -> None:
    export = exported(started(), called(), returned(output=b"null"))

    assert read(export)[2]["content"] == [{"type": "tool_result", "tool_use_id": "c1"}]


def test_ids_and_names_have_only_characters_that_are_taken() -> None:
    export = exported(
        started(), called("call:1", "mcp.read"), returned("call:1"), ended(),
        started("t2"), called("call:1", "mcp.read", turn_id="t2"), ended("t2"),
    )  # fmt: skip
    uses = [b for m in read(export) for b in m["content"] if b["type"] == "tool_use"]

    assert [use["id"] for use in uses] == ["call_1_0af63155", "call_1_0af63155_2"]
    assert uses[0]["name"] == "mcp_read"
    assert set(codes(export)) == {"call-id-renamed", "tool-renamed", "result-synthesised"}


@pytest.mark.parametrize(
    ("arguments", "sent", "losses"),
    [
        (b'"{\\"q\\":"', {"unparsed_arguments": '{"q":'}, ["arguments-wrapped"]),
        (b'"[1]"', {"unparsed_arguments": "[1]"}, ["arguments-wrapped"]),
        (b'"{\\"q\\": 1}"', {"q": 1}, []),
        (b'""', {}, []),
        (b"null", {}, ["arguments-unknown"]),
    ],
)
def test_arguments_are_always_an_object(arguments: bytes, sent: Json, losses: list[str]) -> None:
    export = exported(started(), called(arguments=arguments), returned())

    assert read(export)[1]["content"][0]["input"] == sent
    assert codes(export) == losses


def test_files_that_the_provider_reads_are_sent() -> None:
    files: list[Part] = [
        {"type": "attachment", "attachment_id": "a", "media_type": media_type, "data": data}
        for media_type, data in [("image/png", PNG), ("application/pdf", PNG), ("text/csv", PNG)]
    ]
    export = exported(started("t1", Message(role="user", content=tuple(files))))

    assert [block["type"] for block in read(export)[0]["content"]] == ["image", "document"]
    assert codes(export) == ["attachment"]


def test_system_messages_stand_beside_the_messages() -> None:
    export = exported(
        started("t1", message("be brief", "system"), message("hi")),
        said("ok"),
        said("be long", "developer"),
        parted({"type": "data", "kind": "k", "data": 1}, role="system"),
    )

    assert [block["text"] for block in export.system] == ["be brief", "be long"]
    assert codes(export) == ["system-message", "data", "empty-message"]
    assert [shape["role"] for shape in export.messages] == ["user", "assistant"]


def test_a_conversation_begins_with_the_user_and_ends_without_space() -> None:
    export = exported(started("t1", message(" ")), said("well  \n"))

    assert read(export) == [
        {"role": "user", "content": [{"type": "text", "text": BEGINNING}]},
        {"role": "assistant", "content": [{"type": "text", "text": "well"}]},
    ]
    assert codes(export) == ["empty-message", "input-synthesised"]


def test_what_has_no_place_is_listed() -> None:
    export = exported(
        started("t1", message("hi", author=Author(subject_id="u1"))),
        parted({"type": "missing", "reason": "erased"}, {"type": "x-new"}),
        returned("c9"),
    )

    assert codes(export) == ["orphan-result", "author", "missing", "unknown-part", "empty-message"]


def test_a_gate_has_no_place() -> None:
    gated = {"type": "tool_call", "tool_call_id": "c1", "name": "n", "gate": {"gate_id": "g"}}
    told = TranscriptMessage(
        index=0, message_id="m", turn_id="t", version=1, role="assistant", state="live",
        parts=(gated,),
    )  # fmt: skip

    assert "gate" in codes(anthropic_messages([told]))
