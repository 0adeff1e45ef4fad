"""What was said here and what came as a seed are remembered in one form."""

import pytest

from infrastructure.demo_agent.memory import Memory, Message, Part

CALL: Part = {"type": "tool_call", "tool_call_id": "1", "name": "echo", "arguments": {"x": 1}}
OTHER: Part = {**CALL, "tool_call_id": "2"}


def result(call_id: str) -> Part:
    return {
        "type": "tool_result",
        "tool_call_id": call_id,
        "output": 1,
        "is_error": False,
        "denied": False,
    }


def text(words: str) -> Part:
    return {"type": "text", "text": words}


def message(role: str, *parts: Part) -> Message:
    return Message(role=role, parts=parts)


def test_what_an_assistant_says_is_one_message_up_to_a_result() -> None:
    memory = Memory()
    memory.hear([text("a"), text(""), text("b")])
    for part in (text("c"), text("d"), {"type": "reasoning", "text": "e"}, text(""), CALL):
        memory.say(part)
    memory.take_result(result("1"))
    memory.say(text("f"))
    assert [*memory.messages] == [
        message("user", text("a"), text("b")),
        message("assistant", text("cd"), {"type": "reasoning", "text": "e"}, CALL),
        message("tool", result("1")),
        message("assistant", text("f")),
    ]


def test_results_are_in_the_order_of_their_calls() -> None:
    memory = Memory()
    memory.say(CALL)
    memory.say(OTHER)
    for call_id in ("3", "2", "1"):
        memory.take_result(result(call_id))
    assert [one.parts[0]["tool_call_id"] for one in memory.messages[1:]] == ["1", "2", "3"]


def test_a_seed_is_remembered_as_what_was_said() -> None:
    seed: list[Part] = [
        {"role": "system", "parts": [text("s")], "index": 0, "message_id": "m"},
        {"role": "user", "parts": [text("a")], "state": "live"},
        {"role": "assistant", "parts": [{**CALL, "status": "completed", "gate": {"gate_id": "g"}}]},
        {"role": "tool", "parts": [{**result("1"), "name": "echo"}]},
        {"role": "assistant", "parts": [text("b")]},
        {"role": "assistant", "parts": [text("c")]},
        {"role": "user", "parts": None},
    ]
    memory = Memory(seed)
    assert [*memory.messages] == [
        message("system", text("s")),
        message("user", text("a")),
        message("assistant", CALL),
        message("tool", result("1")),
        message("assistant", text("bc")),
    ]
    assert memory.heard == 1
    assert Memory([one.shape() for one in memory.messages]).size == memory.size
    assert memory.written().startswith(b'[{"parts":[{"text":"s","type":"text"}],"role":"system"}')


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        (
            {"type": "data", "kind": "k", "data": 1, "id": 7},
            {"type": "data", "kind": "k", "data": 1},
        ),
        ({"type": "missing", "reason": "erased"}, {"type": "missing", "reason": "erased"}),
        (
            {"type": "attachment", "attachment_id": "f", "filename": "f.txt", "size": 3},
            {"type": "attachment", "attachment_id": "f"},
        ),
        (
            {"type": "attachment", "sha256": "ab", "data": "", "media_type": "text/plain"},
            {"type": "attachment", "sha256": "ab", "media_type": "text/plain"},
        ),
        ({**result("1"), "denied": True}, {**result("1"), "denied": True, "is_error": True}),
    ],
)
def test_a_part_is_kept_without_what_only_a_display_needs(part: Part, kept: Part) -> None:
    memory = Memory()
    memory.hear([part])
    assert [*memory.messages] == [message("user", kept)]


def test_calls_without_a_result_are_open_until_somebody_says_more() -> None:
    memory = Memory()
    memory.say(CALL)
    memory.say(OTHER)
    memory.take_result(result("1"))
    assert memory.open_calls() == [OTHER]
    memory.hear([text("go on")])
    assert memory.open_calls() == []
