"""A Codex rollout becomes the turns that its items tell; everything around them is kept as data."""

import json
from typing import Any

import pytest

from infrastructure.imports.formats import FORMATS
from infrastructure.imports.translation import Translation

CODEX = FORMATS["codex"]
AT = "2026-01-01T00:00:00Z"


def line(kind: str, **payload: object) -> bytes:
    return json.dumps({"timestamp": AT, "type": kind, "payload": payload}).encode()


def said(role: str, text: str, **more: object) -> bytes:
    content = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
    return line("response_item", type="message", role=role, content=content, **more)


def event(kind: str, **more: object) -> bytes:
    return line("event_msg", type=kind, **more)


def call(call_id: str, arguments: str) -> bytes:
    return line(
        "response_item", type="function_call", name="exec", call_id=call_id, arguments=arguments
    )


def output(call_id: str, text: str) -> bytes:
    return line("response_item", type="function_call_output", call_id=call_id, output=text)


USED = {"input_tokens": 7, "cached_input_tokens": 2, "output_tokens": 3}
WHOLE = [
    line("session_meta", id="s-1", cwd="/w"),
    event("task_started", turn_id="t-1"),
    said("developer", "Be careful."),
    said("user", "<environment_context>here</environment_context>"),
    line("turn_context", model="m-1"),
    said("user", "List.", id="msg-1"),
    event("user_message", message="List."),
    line("response_item", type="reasoning", summary=[{"text": "Hm."}], encrypted_content="xyz"),
    said("assistant", "Listing.", id="msg-2"),
    call("c1", '{"cmd":"ls"}'),
    call("c2", "ls"),
    output("c1", "a"),
    output("c2", "b"),
    event("token_count", info={"total_token_usage": USED, "last_token_usage": USED}),
    event("token_count", info={"total_token_usage": USED, "last_token_usage": USED}),
    line("brand_new", x=1),
    event("task_complete", turn_id="t-1", last_agent_message="Listing."),
    b"half a li",
    event("task_started", turn_id="t-2"),
    said("user", "Again."),
    call("c1", "{}"),
    event("task_started", turn_id="t-3"),
    said("user", "<turn_aborted>stopped</turn_aborted>"),
    said("user", "Go on."),
    event("turn_aborted", turn_id="t-3", reason="interrupted"),
    output("c1", "late"),
    line("compacted", message="They listed.", replacement_history=[{"type": "message"}]),
]


def translated(lines: list[bytes]) -> Translation:
    return CODEX.translate(lines, source_name="rollout-1.jsonl")


def told(made: Translation) -> list[tuple[str, Any]]:
    return [
        (e.type, json.loads(e.data)) for e in made.sessions[0].events if e.type != "data-recorded"
    ]


def kept(made: Translation) -> list[str]:
    events = made.sessions[0].events
    return [json.loads(e.data)["kind"] for e in events if e.type == "data-recorded"]


def test_items_become_a_turn_and_its_end_is_the_tasks() -> None:
    made = translated(WHOLE[:17])
    assert made.sessions[0].session_id == "s-1"
    assert [kind for kind, _ in told(made)] == [
        "turn-started",
        "message-recorded",
        "message-recorded",
        "tool-call-requested",
        "tool-call-requested",
        "tool-call-completed",
        "tool-call-completed",
        "usage-recorded",
        "turn-completed",
    ]
    started, thought, _, read, written, *_ = told(made)
    assert started[1]["messages"][0]["message_id"] == "msg-1"
    assert thought[1]["message"]["content"] == [
        {"type": "reasoning", "text": "Hm.", "signature": "xyz", "provider": "openai"}
    ]
    assert (read[1]["arguments"], written[1]["arguments"]) == ({"cmd": "ls"}, "ls")
    assert told(made)[7][1]["model"] == "m-1"


def test_what_is_no_part_of_the_conversation_is_kept_as_data() -> None:
    made = translated(WHOLE[:17])
    assert kept(made) == [
        "codex-rollout/session_meta",
        "codex-rollout/event_msg",
        "codex-rollout/response_item",
        "codex-rollout/response_item",
        "codex-rollout/turn_context",
        "codex-rollout/event_msg",
        "codex-rollout/event_msg",
        "codex-rollout/brand_new",
        "codex-rollout/event_msg/task_complete",
    ]
    assert made.report.repeats_dropped == 1


def test_a_killed_call_stays_open_until_the_next_turn_closes_it() -> None:
    killed = translated(WHOLE[:21])
    assert told(killed)[-1][0] == "tool-call-requested"
    resumed = translated(WHOLE[:24])
    assert (
        told(resumed)[-2:]
        == [
            ("turn-interrupted", {"turn_id": "turn-line-20", "reason": "owner-lost"}),
            told(resumed)[-1],
        ]
        or told(resumed)[-2][1]["reason"] == "owner-lost"
    )


def test_an_interrupt_ends_the_turn_and_a_later_result_is_late() -> None:
    made = translated(WHOLE[:26])
    assert told(made)[-2][0] == "turn-interrupted"
    assert told(made)[-2][1]["reason"] == "user"
    assert [loss.code for loss in made.report.losses] == ["unreadable-line", "late-result"]


def test_a_compaction_stands_for_what_was_said_and_keeps_what_replaced_it() -> None:
    made = translated(WHOLE)
    assert told(made)[-1][0] == "history-compacted"
    assert told(made)[-1][1]["summary"] == "They listed."
    assert kept(made)[-1] == "codex-rollout/compacted"
    assert "replacement-history" in [loss.code for loss in made.report.losses]


def test_every_line_is_accounted_for() -> None:
    made = translated(WHOLE)
    lines = {e.line for e in made.sessions[0].events} | {x.line for x in made.report.losses}
    assert set(range(1, len(WHOLE) + 1)) - lines == {7}  # the repeated user_message, counted


@pytest.mark.parametrize("cut", range(len(WHOLE) + 1))
def test_a_longer_rollout_only_adds(cut: int) -> None:
    short = translated(WHOLE[:cut]).sessions[0].events
    whole = CODEX.translate(WHOLE, source_name="rollout-1.jsonl", flush_after=[cut])
    assert whole.sessions[0].events[: len(short)] == short


def test_an_old_rollout_that_tells_no_tasks_ends_its_turns_by_what_was_said() -> None:
    made = translated([said("user", "Hi."), said("assistant", "Hello.")])
    assert [kind for kind, _ in told(made)][-1] == "turn-completed"


def test_a_sub_agents_rollout_names_its_parent() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p-1"}}}
    made = translated([line("session_meta", id="s-2", source=source)])
    assert (made.sessions[0].parent, made.sessions[0].agent_id) == ("p-1", "s-2")
