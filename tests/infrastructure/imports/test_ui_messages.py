"""UI messages whose parts change state in place give events that only grow."""

import json
from typing import Any

import pytest

from domain.json_text import JsonValue, dump
from infrastructure.imports.formats import FORMATS
from infrastructure.imports.translation import Translation

UI = FORMATS["ui-messages"]
USER: JsonValue = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "delete it"}]}
NEXT: JsonValue = {"id": "u2", "role": "user", "parts": [{"type": "text", "text": "never mind"}]}


def tool(state: str, **more: JsonValue) -> JsonValue:
    return {
        "type": "tool-delete",
        "toolCallId": "c1",
        "state": state,
        "input": {"path": "a"},
        **more,
    }


def assistant(*parts: JsonValue, **metadata: JsonValue) -> JsonValue:
    return {"id": "m1", "role": "assistant", "parts": [*parts], "metadata": metadata}


STEP: JsonValue = {"type": "step-start"}
BEFORE: JsonValue = {"type": "text", "text": "I will.", "state": "done"}
AFTER: JsonValue = {"type": "text", "text": "Done."}
ASKED: JsonValue = {"id": "ap1"}
STATES = {
    "asked": [STEP, BEFORE, tool("approval-requested", approval=ASKED)],
    "approved": [
        STEP,
        BEFORE,
        tool("approval-responded", approval={"id": "ap1", "approved": True}),
    ],
    "done": [
        STEP,
        BEFORE,
        tool("output-available", output={"ok": 1}, approval={"id": "ap1", "approved": True}),
        STEP,
        AFTER,
    ],
    "denied": [
        STEP,
        BEFORE,
        tool("output-denied", approval={"id": "ap1", "approved": False, "reason": "not it"}),
        STEP,
        AFTER,
    ],
}


def translated(*messages: JsonValue) -> Translation:
    return UI.translate([dump(message) for message in messages], source_name="chat.json")


def told(made: Translation) -> list[tuple[str, Any]]:
    return [(event.type, json.loads(event.data)) for event in made.sessions[0].events]


def kinds(made: Translation) -> list[str]:
    return [kind for kind, _ in told(made)]


def test_an_approval_that_was_asked_for_is_an_open_gate() -> None:
    made = translated(USER, assistant(*STATES["asked"]))
    assert kinds(made)[-1] == "gate-opened"
    gate = told(made)[-1][1]
    assert (gate["permission_id"], gate["tool_call_id"], gate["tool"]) == ("ap1", "c1", "delete")


def test_an_answer_decides_the_gate_and_a_denial_is_a_denied_result() -> None:
    made = translated(USER, assistant(*STATES["denied"]))
    decided, result, said, ended = told(made)[-4:]
    assert (decided[1]["verdict"], decided[1]["message"]) == ("denied", "not it")
    assert (result[1]["denied"], result[1]["output"]) == (True, "not it")
    assert (said[0], ended[0]) == ("message-recorded", "turn-completed")


@pytest.mark.parametrize(("early", "late"), [("asked", "approved"), ("approved", "done")])
def test_a_later_state_of_the_same_messages_only_adds(early: str, late: str) -> None:
    before = told(translated(USER, assistant(*STATES[early])))
    after = told(translated(USER, assistant(*STATES[late])))
    assert after[: len(before)] == before
    assert len(after) > len(before)


def test_usage_and_metadata_are_told_when_a_message_is_over() -> None:
    usage: JsonValue = {"inputTokens": 3, "outputTokens": 2, "cachedInputTokens": 1}
    made = translated(USER, assistant(AFTER, totalUsage=usage, model="m", mood="glad"))
    assert kinds(made)[-3:] == ["usage-recorded", "data-recorded", "turn-completed"]
    assert told(made)[-3][1]["cache_read_tokens"] == 1
    assert told(made)[-2][1]["data"] == {"mood": "glad"}


def test_a_gate_left_open_ends_with_its_turn_when_the_user_goes_on() -> None:
    made = translated(USER, assistant(*STATES["asked"]), NEXT)
    assert kinds(made)[-2:] == ["turn-interrupted", "turn-started"]
    assert told(made)[-2][1]["reason"] == "owner-lost"


def test_an_aborted_call_stays_open() -> None:
    made = translated(USER, assistant(tool("input-available")))
    assert kinds(made) == ["turn-started", "tool-call-requested"]


def test_partial_arguments_of_an_aborted_stream_are_kept_as_text() -> None:
    part: JsonValue = {
        "type": "dynamic-tool",
        "toolName": "look",
        "toolCallId": "c9",
        "state": "input-streaming",
        "input": '{"q":',
    }
    made = translated(USER, assistant(part))
    assert told(made)[-1][1]["arguments"] == '{"q":'
    assert [loss.code for loss in made.report.losses] == ["partial-arguments"]


def test_a_provider_error_that_left_no_parts_is_a_failed_turn() -> None:
    made = translated(USER, assistant())
    assert kinds(made)[-1] == "turn-failed"
    assert [loss.code for loss in made.report.losses] == ["empty-message"]


def test_a_failed_call_is_an_error() -> None:
    made = translated(USER, assistant(tool("output-error", errorText="no such file")))
    assert told(made)[-1][1] == {
        "turn_id": "turn-1",
        "tool_call_id": "c1",
        "output": "no such file",
        "is_error": True,
    }


def test_files_sources_and_reasoning_are_carried() -> None:
    parts: list[JsonValue] = [
        {"type": "reasoning", "text": "Hm", "providerMetadata": {"anthropic": {"signature": "s"}}},
        {"type": "file", "mediaType": "text/plain", "url": "data:text/plain;base64,aGk="},
        {"type": "source-url", "url": "https://example.org"},
        {"type": "data-weather", "data": {"t": 1}},
        7,
    ]
    content = told(translated(USER, assistant(*parts)))[1][1]["message"]["content"]
    assert content[0]["signature"] == "s"
    assert [part["type"] for part in content] == ["reasoning", "attachment", "data", "data", "data"]
    assert content[3]["kind"] == "ai-sdk/data-weather"


@pytest.mark.parametrize("cut", range(5))
def test_more_messages_only_add(cut: int) -> None:
    partless: JsonValue = {"id": "m2", "role": "assistant"}
    messages: list[JsonValue] = [USER, assistant(*STATES["done"]), NEXT, partless, 3]
    lines = [dump(message) for message in messages]
    before = UI.translate(lines[:cut], source_name="c").sessions[0].events
    whole = UI.translate(lines, source_name="c", flush_after=[cut]).sessions[0].events
    assert whole[: len(before)] == before
