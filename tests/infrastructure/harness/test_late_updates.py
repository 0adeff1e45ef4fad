"""Does what comes late of one prompt stay out of every later one?"""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from infrastructure.harness.acp.conversation import AcpHarness
from infrastructure.harness.port import Asked, CallAnnounced, CallEnded, Said
from tests.infrastructure.harness.stage import OPTIONS, Ear, harness, play, puppet

pytestmark = pytest.mark.anyio

STARTED: Mapping[str, Any] = {
    "sessionUpdate": "tool_call",
    "toolCallId": "c",
    "title": "work",
    "status": "in_progress",
}
DONE: Mapping[str, Any] = {
    "sessionUpdate": "tool_call_update",
    "toolCallId": "c",
    "status": "completed",
    "rawOutput": "late",
}
CANCELLED: Mapping[str, Any] = {"end": {"result": {"stopReason": "cancelled"}}}
MESSAGE: Mapping[str, Any] = {
    "sessionUpdate": "agent_message_chunk",
    "messageId": "m",
    "content": {"type": "text", "text": "late"},
}


async def cancelled_with(agent: AcpHarness, late: list[Mapping[str, Any]]) -> None:
    """Have a prompt cancelled while a call runs; what is late comes with the next prompt."""
    ear = Ear()
    said: Mapping[str, Any] = {"say": "a", "messageId": "m"}
    playing = asyncio.create_task(
        play(
            agent,
            said,
            {"update": STARTED},
            {"late": late},
            {"wait_cancel": True},
            CANCELLED,
            ear=ear,
        )
    )
    await ear.until(lambda: len(ear.calls) == 1)
    await agent.cancel()
    await playing


@pytest.mark.parametrize("late", [DONE, {**DONE, "sessionUpdate": "tool_call"}, MESSAGE])
async def test_what_comes_late_of_a_cancelled_prompt_is_dropped(
    tmp_path: Path, late: Mapping[str, Any]
) -> None:
    async with harness(tmp_path, puppet()) as agent:
        await cancelled_with(agent, [late])
        _, ear = await play(agent, {"say": "b"}, {"late": [late]})
        _, again = await play(agent, {"say": "c"})

    assert ear.heard == [Said(voice="text", text="b")]
    assert again.heard == [Said(voice="text", text="c")]


async def test_a_call_left_open_by_a_prompt_that_ended_is_not_heard_of_again(
    tmp_path: Path,
) -> None:
    async with harness(tmp_path, puppet()) as agent:
        _, first = await play(agent, {"update": STARTED}, {"late": [DONE]})
        _, second = await play(agent, {"say": "b"})

    assert first.calls == [CallAnnounced(tool_call_id="c", name="work", arguments={})]
    assert second.heard == [Said(voice="text", text="b")]


async def test_an_id_that_comes_again_names_a_new_call(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        await play(agent, {"update": STARTED}, {"update": DONE}, {"late": [DONE]})
        _, ear = await play(agent, {"update": STARTED}, {"update": {**DONE, "rawOutput": 2}})

    assert ear.calls == [
        CallAnnounced(tool_call_id="c", name="work", arguments={}),
        CallEnded(tool_call_id="c", end="completed", output=2),
    ]


async def test_a_question_about_a_cancelled_call_is_not_put_to_anybody(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        await cancelled_with(agent, [])
        ask = {"toolCall": {"toolCallId": "c"}, "options": OPTIONS}
        _, ear = await play(agent, {"ask": ask})

    assert not [each for each in ear.heard if isinstance(each, Asked)]
    assert json.loads(ear.said) == {"outcome": {"outcome": "cancelled"}}


async def test_a_prompt_whose_listener_fails_is_the_last_of_its_conversation(
    tmp_path: Path,
) -> None:
    async def fail(_: object) -> None:
        raise LookupError

    async with harness(tmp_path, puppet()) as agent:
        with pytest.raises(LookupError):
            await play(agent, {"say": "a"}, {"hang": True}, ear=Ear(on_update=fail))
        assert not agent.alive


async def test_a_prompt_that_nobody_waits_for_any_more_is_cancelled(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        ear = Ear()
        playing = asyncio.create_task(play(agent, {"say": "a"}, {"hang": True}, ear=ear))
        await ear.until(lambda: ear.said == "a")
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        assert not agent.alive
        assert not agent.prompted
