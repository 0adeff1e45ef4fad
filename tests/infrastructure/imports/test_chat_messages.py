"""OpenAI chat messages become turns; what cannot be sure is said to be so."""

import json
from typing import Any

import pytest

from domain.json_text import JsonValue, dump, parse
from infrastructure.imports.formats import FORMATS, items_of
from infrastructure.imports.translation import Translation

CHAT = FORMATS["openai-chat"]
FIRST: list[JsonValue] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather?", "name": "ann"},
    {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "look", "arguments": '{"at":"Oslo"}'},
            },
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"at":'}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "bad"},
    {"role": "tool", "tool_call_id": "c1", "content": "cold"},
    {"role": "assistant", "content": "Cold."},
]
THEN: list[JsonValue] = [
    {"role": "user", "content": [{"type": "text", "text": "And "}, {"type": "odd", "x": 1}]},
    {"role": "user", "content": "there?"},
    {"role": "assistant", "content": None, "refusal": "No."},
]


def translated(messages: list[JsonValue], name: str = "chat.json") -> Translation:
    return CHAT.translate([dump(message) for message in messages], source_name=name)


def told(made: Translation, session: int = 0) -> list[tuple[str, Any]]:
    return [(event.type, json.loads(event.data)) for event in made.sessions[session].events]


def codes(made: Translation) -> list[str]:
    return [loss.code for loss in made.report.losses]


def test_a_conversation_becomes_turns_with_its_calls_and_results() -> None:
    made = translated(FIRST)
    started, said, call, broken, *results, last, ended = told(made)
    assert [message["role"] for message in started[1]["messages"]] == ["system", "user"]
    assert started[1]["messages"][1]["author"] == {"subject_id": "ann"}
    assert said[1]["message"]["content"] == [{"type": "text", "text": "Looking."}]
    assert (call[0], call[1]["arguments"]) == ("tool-call-requested", {"at": "Oslo"})
    assert broken[1]["arguments"] == '{"at":'
    assert [(data["tool_call_id"], data["output"]) for _, data in results] == [
        ("c2", "bad"),
        ("c1", "cold"),
    ]
    assert (last[0], ended[0]) == ("message-recorded", "turn-completed")
    assert (made.report.turns, made.report.messages, codes(made)) == (1, 4, [])


def test_a_user_who_was_not_answered_asks_again_in_another_turn() -> None:
    made = translated([*FIRST, *THEN])
    kinds = [kind for kind, _ in told(made)][-4:]
    assert kinds == ["turn-interrupted", "turn-started", "message-recorded", "turn-completed"]
    assert told(made)[-4][1]["reason"] == "no-answer"
    refusal = told(made)[-2][1]["message"]["content"]
    assert refusal == [{"type": "data", "kind": "openai/refusal", "data": "No."}]


def test_results_without_ids_are_paired_by_position_and_said_to_be_unsure() -> None:
    calls: list[JsonValue] = [
        {"type": "function", "function": {"name": "read", "arguments": json.dumps({"p": at})}}
        for at in "ab"
    ]
    raw: list[JsonValue] = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "content": "B"},
        {"role": "tool", "content": "A"},
    ]
    made = translated(raw)
    assert codes(made) == ["call-without-id"] * 2 + ["paired-by-position"] * 2
    outputs = [d["output"] for kind, d in told(made) if kind == "tool-call-completed"]
    assert outputs == ["B", "A"]
    kept = [data["data"] for kind, data in told(made) if kind == "data-recorded"]
    assert kept == raw[2:]


def test_an_id_that_comes_again_pairs_within_its_turn() -> None:
    call: JsonValue = {
        "role": "assistant",
        "tool_calls": [{"id": "x", "function": {"name": "run", "arguments": "{}"}}],
    }
    turn: list[JsonValue] = [
        {"role": "user", "content": "go"},
        call,
        {"role": "tool", "tool_call_id": "x", "content": "1"},
    ]
    made = translated([*turn, *turn])
    turns = [data["turn_id"] for kind, data in told(made) if kind == "tool-call-completed"]
    assert turns == ["turn-1", "turn-4"]
    assert codes(made) == []


def test_a_line_may_hold_a_whole_conversation() -> None:
    lines = [
        b'{"session_id":"s-1","messages":[{"role":"user","content":"a"}]}',
        b'{"messages":[{"role":"user","content":"b"},3]}',
        b'{"session_id":"s-1","messages":[{"role":"user","content":"c"}],"tools":[]}',
    ]
    made = CHAT.translate(lines, source_name="tuning.jsonl")
    assert [s.session_id for s in made.sessions] == ["s-1", "tuning-2", "s-1-line-3"]
    assert codes(made) == ["not-a-message", "fields-not-carried"]


def test_a_document_is_its_messages() -> None:
    whole = dump({"messages": FIRST})
    assert items_of(whole) == [dump(message) for message in FIRST]
    assert items_of(dump(FIRST)) == [dump(message) for message in FIRST]
    assert items_of(b'{"a":1}\n{"a":2}\n') is None


def test_images_and_sounds_that_are_there_become_attachments() -> None:
    parts: JsonValue = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        {"type": "file", "file": {"file_data": "data:text/plain,hi", "filename": "a.txt"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    made = translated([{"role": "user", "content": parts}])
    content = told(made)[0][1]["messages"][0]["content"]
    assert [part["type"] for part in content] == ["attachment"] * 3 + ["data"]
    assert [part.get("media_type") for part in content[:3]] == [
        "image/png",
        "audio/wav",
        "text/plain",
    ]
    assert len({part["attachment_id"] for part in content[:3]}) == 1


def test_configuration_that_no_turn_carries_yet_is_said_to_wait() -> None:
    made = translated([{"role": "system", "content": "Be brief."}])
    assert (made.sessions[0].events, codes(made)) == ((), ["waits-for-input"])


def test_what_is_no_message_is_kept() -> None:
    lines = [b"{", b'{"role":"narrator","content":"x"}', b'{"role":"user","content":"a"}']
    made = CHAT.translate(lines, source_name="a.jsonl")
    assert codes(made) == ["unreadable-line", "not-a-message"]
    assert [kind for kind, _ in told(made)] == ["data-recorded", "data-recorded", "turn-started"]


@pytest.mark.parametrize("cut", range(len(FIRST) + len(THEN) + 1))
def test_a_longer_conversation_only_adds(cut: int) -> None:
    lines = [dump(message) for message in [*FIRST, *THEN]]
    short = CHAT.translate(lines[:cut], source_name="a.json")
    whole = CHAT.translate(lines, source_name="a.json", flush_after=[cut])
    before = [event for session in short.sessions for event in session.events]
    after = [event for session in whole.sessions for event in session.events]
    assert after[: len(before)] == before


def test_numbers_in_arguments_stay_exact() -> None:
    call: JsonValue = {
        "id": "c",
        "function": {"name": "f", "arguments": '{"n":12345678901234567890}'},
    }
    made = translated(
        [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}]
    )
    requested = next(e for e in made.sessions[0].events if e.type == "tool-call-requested")
    value = parse(requested.data)
    assert isinstance(value, dict)
    assert value["arguments"] == {"n": 12345678901234567890}
