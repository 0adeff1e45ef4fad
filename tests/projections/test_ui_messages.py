"""The model's view as UIMessages: a call, its approval and its result are one part."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings

from domain import events as e
from domain.json_text import parse
from domain.messages import Author, Message, Part, Role
from domain.raw_json import RawJson, dumped
from projections.transcript import TranscriptMessage
from projections.ui_messages import UiExport, ui_messages
from tests.projections.conversations import PNG, conversations, transcript
from tests.scenario import (
    approved,
    asked,
    called,
    ended,
    interrupted,
    message,
    returned,
    said,
    started,
)

Json = dict[str, Any]
INPUT_STATES = {
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
}


def exported(*events: e.Fact) -> UiExport:
    return ui_messages(transcript(*events))


def read(export: UiExport) -> list[Json]:
    return cast("list[Json]", parse(dumped(export.messages)))


def tools(export: UiExport) -> list[Json]:
    parts = [part for shape in read(export) for part in shape["parts"]]
    return [part for part in parts if part["type"].startswith("tool-")]


def codes(export: UiExport) -> list[str]:
    return [loss.code for loss in export.losses]


def parted(*parts: Part, role: Role = "assistant") -> e.Fact:
    return e.MessageRecorded(turn_id="t1", message=Message(role=role, content=parts))


def ended_with(*, error: bool = False, denied: bool = False) -> e.ToolCallCompleted:
    output = RawJson(b'"no"')
    return e.ToolCallCompleted(
        turn_id="t1", tool_call_id="c1", output=output, is_error=error, denied=denied
    )


def denied(gate_id: str = "g1") -> e.GateDecided:
    return e.GateDecided(gate_id=gate_id, verdict="denied", decided_by="person", via="in-band")


def check(export: UiExport) -> None:
    """Assert what the AI SDK's validation asserts."""
    ids: set[str] = set()
    for shape in read(export):
        assert shape["role"] in {"user", "assistant", "system"}
        assert shape["parts"]
        if shape["role"] == "assistant":
            assert shape["parts"][0] == {"type": "step-start"}
        for part in shape["parts"]:
            match part:
                case {"type": "text" | "reasoning", "text": str()} | {"type": "step-start"}:
                    pass
                case {"type": "file", "mediaType": str(), "url": str()}:
                    pass
                case {"type": str(kind), "toolCallId": str(call_id), "state": str(state)}:
                    assert kind.startswith("tool-")
                    assert state in INPUT_STATES
                    assert call_id not in ids
                    ids.add(call_id)
                    check_state(part)
                case {"type": str(kind), "data": _}:
                    assert kind.startswith("data-")
                case _:
                    pytest.fail(f"unknown part {part['type']}")


def check_state(part: Json) -> None:
    approval: Json = part.get("approval", {})
    match part["state"]:
        case "output-available":
            assert "output" in part
            assert approval.get("approved", True) is True
        case "output-error":
            assert isinstance(part["errorText"], str)
            assert approval.get("approved", True) is True
        case "output-denied":
            assert approval["approved"] is False
        case "approval-requested":
            assert "approved" not in approval
        case "approval-responded":
            assert isinstance(approval["approved"], bool)
        case _:
            assert approval == {}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(told=conversations())
def test_every_history_is_valid_for_the_sdk(told: Sequence[TranscriptMessage]) -> None:
    check(ui_messages(told))


def test_a_turn_is_one_message_with_its_steps() -> None:
    export = exported(
        started(),
        parted({"type": "reasoning", "text": "so", "signature": "s", "provider": "anthropic"}),
        called(arguments=b'{"n": 1.50}'),
        returned(output=b'{"x":1.0}'),
        said("done"),
    )

    assert read(export) == [
        {"id": "t1:1", "role": "user", "parts": [{"type": "text", "text": "hi", "state": "done"}]},
        {
            "id": "t1:2",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {
                    "type": "reasoning",
                    "text": "so",
                    "state": "done",
                    "providerMetadata": {"anthropic": {"signature": "s"}},
                },
                {
                    "type": "tool-read",
                    "toolCallId": "c1",
                    "input": {"n": 1.5},
                    "state": "output-available",
                    "output": {"x": 1.0},
                },
                {"type": "step-start"},
                {"type": "text", "text": "done", "state": "done"},
            ],
        },
    ]
    assert b'{"n": 1.50}' in dumped(export.messages)
    assert export.losses == []


def test_turns_and_the_user_s_words_part_messages() -> None:
    export = exported(started(), said("a"), said("and", "user"), said("b"), ended(), started("t2"))

    assert [shape["role"] for shape in read(export)] == [
        "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip


GATED = (started(), called(), asked(call="c1"))


@pytest.mark.parametrize(
    ("events", "state", "approval"),
    [
        ((started(), called()), "input-available", None),
        (GATED, "approval-requested", {"id": "g1"}),
        ((*GATED, approved()), "approval-responded", {"id": "g1", "approved": True}),
        ((*GATED, approved(), returned()), "output-available", {"id": "g1", "approved": True}),
        ((*GATED, denied()), "output-denied", {"id": "g1", "approved": False}),
        (
            (*GATED, denied(), ended_with(denied=True)),
            "output-denied",
            {"id": "g1", "approved": False, "reason": "no"},
        ),
        ((started(), called(), ended_with(error=True)), "output-error", None),
        ((*GATED, approved(), interrupted()), "output-error", None),
        ((started(), called(), interrupted()), "output-error", None),
    ],
)
def test_a_call_s_state_says_how_far_it_came(
    events: Sequence[e.Fact], state: str, approval: object
) -> None:
    export = exported(*events)
    (part,) = tools(export)

    check(export)
    assert (part["state"], part.get("approval")) == (state, approval)


def test_a_denial_without_a_gate_and_a_run_without_its_yes_are_listed() -> None:
    no_gate = exported(started(), called(), ended_with(denied=True))
    ran_anyway = exported(*GATED, returned())

    assert tools(no_gate)[0]["approval"] == {"id": "c1", "approved": False, "reason": "no"}
    assert codes(no_gate) == ["gate"]
    assert tools(ran_anyway)[0]["state"] == "output-available"
    assert "approval" not in tools(ran_anyway)[0]
    assert codes(ran_anyway) == ["gate"]


@pytest.mark.parametrize(
    ("arguments", "sent", "losses"),
    [
        (b'"{\\"q\\": 1}"', {"q": 1}, []),
        (b'"{\\"q\\":"', '{"q":', []),
        (b'"[1]"', "[1]", []),
        (b"null", {}, ["arguments-unknown"]),
    ],
)
def test_arguments_are_the_json_that_they_are(
    arguments: bytes, sent: object, losses: list[str]
) -> None:
    export = exported(started(), called(arguments=arguments), returned())

    assert tools(export)[0]["input"] == sent
    assert codes(export) == losses


def test_files_and_data_are_parts() -> None:
    files: tuple[Part, ...] = (
        {"type": "attachment", "attachment_id": "a", "media_type": "image/png", "data": PNG,
         "filename": "f.png"},
        {"type": "attachment", "attachment_id": "b", "data": PNG},
        {"type": "attachment", "attachment_id": "c", "sha256": "0" * 64},
        {"type": "data", "kind": "place", "data": RawJson(b"1.50")},
        {"type": "gate_answer"},
        {"type": "x-new"},
    )  # fmt: skip
    export = exported(started("t1", Message(role="user", content=files)))

    assert read(export)[0]["parts"] == [
        {
            "type": "file",
            "mediaType": "image/png",
            "url": f"data:image/png;base64,{PNG}",
            "filename": "f.png",
        },
        {
            "type": "file",
            "mediaType": "application/octet-stream",
            "url": f"data:application/octet-stream;base64,{PNG}",
        },
        {"type": "data-place", "data": 1.5},
    ]
    assert codes(export) == ["attachment", "gate", "unknown-part"]


def test_reasoning_without_a_signature_is_of_no_provider() -> None:
    export = exported(started(), parted({"type": "reasoning", "text": "so", "provider": "x"}))

    assert read(export)[1]["parts"][1] == {"type": "reasoning", "text": "so", "state": "done"}


def test_a_system_message_has_words_only_and_a_developer_s_is_one() -> None:
    export = exported(
        started(
            "t1", message("be brief", "developer"), message("hi", author=Author(subject_id="u"))
        ),
        parted(
            {"type": "data", "kind": "k", "data": 1}, {"type": "text", "text": "x"}, role="system"
        ),
    )

    assert [(shape["role"], len(shape["parts"])) for shape in read(export)] == [
        ("system", 1), ("user", 1), ("system", 1),
    ]  # fmt: skip
    assert read(export)[1]["metadata"] == {"author": {"subject_id": "u"}}
    assert codes(export) == ["role", "unknown-part"]


def test_a_message_of_nothing_is_left_out() -> None:
    export = exported(
        started("t1", message("")),
        said(""),
        parted({"type": "missing", "reason": "erased"}),
        returned("c9"),
    )

    assert export.messages == []
    assert codes(export) == ["orphan-result", "empty-message", "missing", "empty-message"]


def test_a_message_that_is_still_said_is_streaming() -> None:
    export = exported(started(), said("so f", message_id="m", partial=True))

    assert read(export)[1]["parts"][1]["state"] == "streaming"


def test_a_call_id_that_came_before_is_numbered() -> None:
    told = transcript(started(), called(), returned())
    export = ui_messages(told, ["c1"])

    assert tools(export)[0]["toolCallId"] == "c1~2"
    assert codes(export) == ["call-id-renamed"]


def test_a_result_s_message_can_hold_nothing_else() -> None:
    told = TranscriptMessage(
        index=0, message_id="m", turn_id="t", version=1, role="tool", state="live",
        parts=({"type": "text", "text": "?"},),
    )  # fmt: skip

    assert codes(ui_messages([told])) == ["unknown-part"]
