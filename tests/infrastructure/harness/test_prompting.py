"""What is told of a prompt, in which order, and how does it end?"""

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from infrastructure.harness.port import (
    CallAnnounced,
    CallEnded,
    Ended,
    HarnessFailed,
    Noted,
    Prompt,
    Said,
    Shown,
    Start,
    Titled,
    Used,
)
from tests.infrastructure.harness.stage import Ear, harness, play, puppet, report, steps

pytestmark = pytest.mark.anyio

PICTURE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


async def test_what_an_agent_says_thinks_and_shows_is_told_in_order(tmp_path: Path) -> None:
    thought = {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}
    shown = {"sessionUpdate": "agent_message_chunk", "content": PICTURE, "messageId": "m"}
    echo = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hello"}}

    async with harness(tmp_path, puppet()) as agent:
        ended, ear = await play(
            agent,
            {"update": echo},
            {"update": thought},
            {"say": "a", "messageId": "m"},
            {"say": ""},
            {"update": shown},
            {"update": {"sessionUpdate": "plan", "entries": []}},
            {"update": {"sessionUpdate": "from_the_future", "x": 1.50}},
            {"update": {"sessionUpdate": "session_info_update", "title": "Trip"}},
            {"update": {"sessionUpdate": "session_info_update", "title": "Rome", "_meta": {}}},
            {"update": {"sessionUpdate": "session_info_update", "title": None}},
        )

    assert ended == Ended(stop_reason="completed")
    assert ear.heard == [
        Said(voice="reasoning", text="hm"),
        Said(voice="text", text="a", message_id="m"),
        Shown(
            part={
                "type": "attachment",
                "attachment_id": "shown-63c1dd951ffedf6f7fd968ad4efa39b8",
                "media_type": "image/png",
                "data": "AAAA",
            },
            message_id="m",
        ),
        Noted(kind="plan", data={"entries": []}),
        Noted(kind="from_the_future", data={"x": 1.5}),
        Titled(title="Trip"),
        Titled(title="Rome"),
        Noted(kind="session_info_update", data={"_meta": {}}),
        Noted(kind="session_info_update", data={"title": None}),
    ]


async def test_everything_before_the_answer_is_told_one_by_one_before_a_prompt_returns(
    tmp_path: Path,
) -> None:
    at_work = 0

    async def slowly(_: object) -> None:
        nonlocal at_work
        assert at_work == 0
        at_work += 1
        await asyncio.sleep(0)
        at_work -= 1

    async with harness(tmp_path, puppet()) as agent:
        _, ear = await play(agent, {"burst": 2000}, ear=Ear(on_update=slowly))

    assert ear.said == "".join(map(str, range(2000)))


async def test_a_call_is_announced_once_its_arguments_are_known_and_ended_once(
    tmp_path: Path,
) -> None:
    call = {"toolCallId": "c", "title": "Read it", "kind": "read"}

    async with harness(tmp_path, puppet()) as agent:
        _, ear = await play(
            agent,
            {
                "update": {
                    "sessionUpdate": "tool_call",
                    "status": "pending",
                    "rawInput": {"cwd": "/"},
                    **call,
                }
            },
            {"say": "wait"},
            {
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "c",
                    "rawInput": {"a": 1},
                }
            },
            {
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "c",
                    "status": "in_progress",
                }
            },
            {
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "c",
                    "status": "completed",
                    "content": [{"type": "content", "content": {"type": "text", "text": "out"}}],
                }
            },
            {
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "c",
                    "status": "failed",
                }
            },
        )

    assert ear.heard == [
        Said(voice="text", text="wait"),
        CallAnnounced(tool_call_id="c", name="read", arguments={"a": 1}),
        CallEnded(tool_call_id="c", end="completed", output="out"),
    ]


async def test_a_call_without_arguments_is_announced_when_it_runs_or_its_prompt_ends(
    tmp_path: Path,
) -> None:
    async with harness(tmp_path, puppet()) as agent:
        _, ear = await play(
            agent,
            {"update": {"sessionUpdate": "tool_call", "toolCallId": "left", "title": "tidy"}},
            {
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "r",
                    "status": "in_progress",
                }
            },
            {
                "update": {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "f",
                    "status": "failed",
                    "rawOutput": [1],
                }
            },
        )

    assert ear.heard == [
        CallAnnounced(tool_call_id="r", name="tool", arguments={}),
        CallAnnounced(tool_call_id="f", name="tool", arguments={}),
        CallEnded(tool_call_id="f", end="failed", output=[1]),
        CallAnnounced(tool_call_id="left", name="tidy", arguments={}),
    ]


async def test_what_an_agent_wrote_to_a_terminal_of_its_own_is_a_result(tmp_path: Path) -> None:
    call = {"toolCallId": "c", "content": [{"type": "terminal", "terminalId": "t"}]}
    begun = {"sessionUpdate": "tool_call", "status": "in_progress", "name": "sh", **call}
    more = {"sessionUpdate": "tool_call_update", "toolCallId": "c"}
    ended = {"terminal_output": {"data": "b\n"}, "terminal_exit": {"exit_code": 0}}

    async with harness(tmp_path, puppet()) as agent:
        _, ear = await play(
            agent,
            {"update": begun},
            {"update": {**more, "_meta": {"terminal_output_delta": {"data": "a"}}}},
            {"update": {**more, "status": "completed", "_meta": ended}},
        )

    assert ear.calls[1:] == [
        CallEnded(tool_call_id="c", end="completed", output={"output": "ab\n", "exit_code": 0})
    ]


async def test_an_agent_that_knows_the_extension_begins_no_call_before_it_knows_its_arguments(
    tmp_path: Path,
) -> None:
    call = dict[str, Any](
        sessionUpdate="tool_call", toolCallId="c", title="wait", rawInput=dict[str, Any]()
    )
    how = {"capabilities": {"_meta": {"turnlog.dev/history": True}}}

    async with harness(tmp_path, puppet(how=how)) as agent:
        _, ear = await play(agent, {"update": call}, {"say": "a"})

    assert ear.heard == [
        CallAnnounced(tool_call_id="c", name="wait", arguments={}),
        Said(voice="text", text="a"),
    ]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({"title": "Run x", "kind": "execute"}, "execute"),
        ({"title": "weather", "kind": "other"}, "weather"),
        ({"title": "Run x", "kind": "execute", "_meta": {"agent": {"toolName": "Bash"}}}, "Bash"),
        ({"title": "Run x", "kind": "execute", "name": "shell"}, "shell"),
        ({"title": "x", "_meta": {"turnlog.dev/tool": "fetch", "toolName": "y"}}, "fetch"),
        ({"kind": "other"}, "other"),
        ({"title": "two\nlines"}, "two lines"),
    ],
)
async def test_a_tool_is_called_by_the_name_that_says_most_about_it(
    tmp_path: Path, said: dict[str, object], name: str
) -> None:
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "rawInput": "text", **said}

    async with harness(tmp_path, puppet()) as agent:
        _, ear = await play(agent, {"update": call})

    assert ear.heard == [CallAnnounced(tool_call_id="c", name=name, arguments="text")]


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("end_turn", "completed"),
        ("cancelled", "cancelled"),
        ("refusal", "refused"),
        ("max_tokens", "max-tokens"),
        ("max_turn_requests", "max-requests"),
    ],
)
async def test_how_a_prompt_ended_is_told_in_the_words_of_the_port(
    tmp_path: Path, stop: str, expected: str
) -> None:
    async with harness(tmp_path, puppet()) as agent:
        ended, _ = await play(agent, {"end": {"result": {"stopReason": stop}}})

    assert ended.stop_reason == expected


async def test_tokens_are_told_with_the_model_that_is_set(tmp_path: Path) -> None:
    options = [{"id": "model", "type": "select", "currentValue": "large"}]
    usage = {"inputTokens": 5, "outputTokens": 3, "totalTokens": 8, "cachedReadTokens": 2}

    async with harness(tmp_path, puppet(how={"more": {"configOptions": options}})) as agent:
        ended, _ = await play(
            agent, {"end": {"result": {"stopReason": "end_turn", "usage": usage}}}
        )

    assert ended.used == Used(model="large", input_tokens=5, output_tokens=3, cache_read_tokens=2)


async def test_an_agent_may_answer_with_an_error_and_go_on(tmp_path: Path) -> None:
    error = {"error": {"code": -32603, "message": "what was said"}}

    async with harness(tmp_path, puppet()) as agent:
        with pytest.raises(HarnessFailed) as failed:
            await play(agent, {"end": error})
        _, ear = await play(agent, {"say": "on"})

    assert (failed.value.code, failed.value.received) == ("agent-error", False)
    assert "what was said" not in str(failed.value)
    assert ear.said == "on"


@pytest.mark.parametrize("result", [{}, None, {"stopReason": "sleepy"}, [1]])
async def test_an_end_that_says_nothing_is_no_end(tmp_path: Path, result: object) -> None:
    async with harness(tmp_path, puppet()) as agent:
        with pytest.raises(HarnessFailed) as failed:
            await play(agent, {"end": {"result": result}})
        assert not agent.alive

    assert failed.value.code == "protocol-error"


async def test_two_prompts_at_once_are_a_mistake_of_the_caller(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        ear = Ear()
        first = asyncio.create_task(play(agent, {"say": "a"}, {"wait_cancel": True}, ear=ear))
        await ear.until(lambda: ear.said == "a")
        with pytest.raises(RuntimeError, match="still running"):
            await agent.prompt(steps(), Ear())
        await agent.cancel()
        ended, _ = await first

    assert ended.stop_reason == "completed"


async def test_numbers_come_through_exactly(tmp_path: Path) -> None:
    update = (
        '{"sessionUpdate":"tool_call","toolCallId":"c","rawInput":{"n":0.10000000000000000001}}'
    )
    line = f'{{"method":"session/update","params":{{"sessionId":"s1","update":{update}}}}}'

    async with harness(tmp_path, puppet()) as agent:
        _, ear = await play(agent, {"raw": line})

    (call,) = ear.calls
    assert isinstance(call, CallAnnounced)
    assert call.arguments == {"n": Decimal("0.10000000000000000001")}


async def test_parts_reach_an_agent_in_the_form_that_it_takes(tmp_path: Path) -> None:
    picture = {
        "type": "attachment",
        "attachment_id": "a",
        "media_type": "image/png",
        "data": "AAAA",
    }
    note = {"type": "attachment", "attachment_id": "n", "media_type": "text/plain", "data": "aGk="}
    last = {"type": "text", "text": json.dumps([{"report": "prompt"}])}
    prompt = Prompt(parts=(picture, note, last))
    able = {"promptCapabilities": {"image": True, "embeddedContext": True}}

    async with harness(tmp_path, puppet(how={"capabilities": able})) as agent:
        ear = Ear()
        await agent.prompt(prompt, ear)
    async with harness(tmp_path, puppet()) as plain:
        plain_ear = Ear()
        await plain.prompt(prompt, plain_ear)

    assert json.loads(ear.said)["prompt"][:-1] == [
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {
            "type": "resource",
            "resource": {"uri": "attachment:n", "mimeType": "text/plain", "text": "hi"},
        },
    ]
    assert json.loads(plain_ear.said)["prompt"][:-1] == [
        {
            "type": "resource_link",
            "uri": f"attachment:{each}",
            "name": each,
            "mimeType": kind,
            "_meta": {"turnlog.dev/attachment_id": each},
        }
        for each, kind in (("a", "image/png"), ("n", "text/plain"))
    ]


async def test_what_an_agent_lets_one_set_is_set_as_configured(tmp_path: Path) -> None:
    more = {
        "configOptions": [
            {"id": "model", "type": "select", "currentValue": "small"},
            {"id": "loud", "type": "boolean", "currentValue": False},
            {"id": "same", "type": "select", "currentValue": "x"},
        ],
        "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "code"}]},
    }
    config: dict[str, object] = {
        "model": "large",
        "loud": True,
        "same": "x",
        "mode": "code",
        "else": 1,
    }
    definition = puppet(how={"more": more}, config=config)

    async with harness(tmp_path, definition) as agent:
        asked = await report(agent, "asked")
    async with harness(
        tmp_path, definition, Start(project_id="p", session_id="s", config={})
    ) as own:
        nothing = await report(own, "asked")

    session = {"sessionId": "s1"}
    assert asked == [
        ["session/set_config_option", {**session, "configId": "model", "value": "large"}],
        [
            "session/set_config_option",
            {**session, "configId": "loud", "value": True, "type": "boolean"},
        ],
        ["session/set_mode", {**session, "modeId": "code"}],
    ]
    assert nothing == []
