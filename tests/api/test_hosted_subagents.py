"""What the sub-agents of a hosted turn do is in sessions of their own."""

import json
from typing import Any

from tests.api.batches import events_of
from tests.api.chats import Chat, eventually, last_text

Json = dict[str, Any]


def task(prompt: str, agent: str = "scout") -> str:
    """Return what has the agent run a sub-agent."""
    return f"tool: task {json.dumps({'agent': agent, 'prompt': prompt})}"


def below(chat: Chat, session_id: str | None = None) -> list[Json]:
    """Return the sub-agents of a session."""
    answer = chat.client.get(f"/sessions/{session_id or chat.session_id}/subagents")
    items: list[Json] = answer.json()["items"]
    return items


def parts(chat: Chat, session_id: str) -> list[tuple[str, str]]:
    """Return each part of what was said, by role and type."""
    query = {"include": "subagents"}
    items = chat.client.get(f"/sessions/{session_id}/transcript", params=query).json()["items"]
    return [(message["role"], part["type"]) for message in items for part in message["parts"]]


def test_what_a_subagent_does_is_in_a_session_of_its_own(chat: Chat) -> None:
    turn = chat.said(task('tool: add {"a":1,"b":2}'))

    assert last_text(turn) == 'task gave {"said":"add gave {\\"sum\\":3}."}.'
    (child,) = below(chat)
    assert (child["agent_id"], child["turn_status"], child["turns"]) == ("scout", None, 1)
    assert child["turn_id"] == turn["turn_id"]
    assert child["usage"]["output_tokens"] > 0
    assert parts(chat, child["session_id"]) == [
        ("user", "text"),
        ("assistant", "tool_call"),
        ("tool", "tool_result"),
        ("assistant", "text"),
    ]
    events = events_of(chat.client, child["session_id"])
    assert [event["type"] for event in events if event["type"] != "session-renamed"] == [
        "session-opened",
        "turn-started",
        "tool-call-requested",
        "tool-call-completed",
        "message-recorded",
        "usage-recorded",
        "turn-completed",
    ]
    assert [event["data"]["tool_call_id"] for event in chat.events("tool-call-requested")] == [
        child["tool_call_id"]
    ]
    (call,) = [
        part
        for message in chat.read("/transcript", include="subagents")["items"]
        for part in message["parts"]
        if part["type"] == "tool_call"
    ]
    assert call["subagent_session_id"] == child["session_id"]
    assert chat.client.get(f"/sessions/{child['session_id']}").json()["ready"] is True


def test_subagents_run_others(chat: Chat) -> None:
    chat.said(task(task("Hello", agent="nested")))

    (child,) = below(chat)
    (nested,) = below(chat, child["session_id"])
    assert (nested["agent_id"], nested["turn_status"], nested["subagents"]) == ("nested", None, 0)
    assert nested["tool_call_id"] is not None
    assert parts(chat, nested["session_id"]) == [("user", "text"), ("assistant", "text")]


def test_a_subagents_question_waits_in_its_parents_turn(chat: Chat) -> None:
    (gate,) = chat.asked(task('ask: add {"a":1,"b":2}'))

    (child,) = below(chat)
    found = chat.read(f"/approvals/{gate}")
    assert (found["tool"], found["tool_call_id"]) == ("add", child["tool_call_id"])
    assert found["subagent_session_id"] == child["session_id"]
    assert (child["turn_status"], child["open_gates"]) == ("running", 0)
    chat.answer(gate)
    turn = chat.ended(found["turn_id"])
    assert turn["status"] == "completed"
    assert "sum" in chat.texts()[-1]


def test_what_is_denied_to_a_subagent_is_not_denied_to_its_parent(chat: Chat) -> None:
    (gate,) = chat.asked(task('ask: add {"a":1,"b":2}'))
    (child,) = below(chat)

    chat.answer(gate, "denied")

    ended = eventually(lambda: chat.events("turn-completed"), bool)
    assert len(ended) == 1
    (own,) = chat.events("tool-call-completed")
    assert not own["data"].get("is_error")
    assert not own["data"].get("denied")
    (its,) = [
        event
        for event in events_of(chat.client, child["session_id"])
        if event["type"] == "tool-call-completed"
    ]
    assert its["data"]["denied"] is True


def test_what_stops_a_turn_stops_its_subagents(chat: Chat) -> None:
    turn_id = chat.begun(task(task("tool: wait {}", agent="nested")))
    (child,) = eventually(lambda: below(chat), bool)
    (nested,) = eventually(lambda: below(chat, child["session_id"]), bool)

    answer = chat.client.post(f"{chat.path}/interrupt", json={"reason": "user-asked"})

    assert answer.status_code == 202
    assert chat.ended(turn_id)["status"] == "interrupted"
    for session_id in (child["session_id"], nested["session_id"]):
        (stopped,) = [
            event
            for event in events_of(chat.client, session_id)
            if event["type"] == "turn-interrupted"
        ]
        assert stopped["data"]["reason"] == chat.events("turn-interrupted")[0]["data"]["reason"]
    assert chat.said("Hello")["status"] == "completed"


def test_a_subagent_whose_session_is_gone_ends_nobodys_turn(chat: Chat) -> None:
    turn_id = chat.begun(task('tool: wait {"ms": 1000}'))
    (child,) = eventually(lambda: below(chat), bool)
    deleted = chat.client.delete(f"/sessions/{child['session_id']}")

    assert deleted.status_code < 300
    assert chat.ended(turn_id)["status"] == "completed"
    assert chat.read()["ready"] is True


def test_a_subagent_that_waited_when_its_harness_went_is_not_begun_again(chat: Chat) -> None:
    (gate,) = chat.asked(task('ask: add {"a":1,"b":2}'))
    (child,) = below(chat)
    chat.kill()

    chat.answer(gate)

    eventually(lambda: chat.events("turn-completed", "turn-failed"), bool)
    assert [made.name for made in chat.made()] == ["task"]
    (stopped,) = [
        event
        for event in events_of(chat.client, child["session_id"])
        if event["type"] == "turn-interrupted"
    ]
    assert stopped["data"]["reason"] == "parent-ended"
