"""The demo agent without a process does what the port asks of every harness."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from domain.json_text import JsonValue
from infrastructure.harness.in_process import InProcessHarnesses, Made
from infrastructure.harness.port import Answer, Harnesses, HarnessFailed, Prompt, Start
from tests.infrastructure.harness.contract import HarnessContract
from tests.infrastructure.harness.listening import START, Heard, always, say


class TestInProcess(HarnessContract):
    @asynccontextmanager
    async def harnesses(self) -> AsyncGenerator[Harnesses]:
        harnesses = InProcessHarnesses()
        yield harnesses
        await harnesses.close()

    def arrays(self, harnesses: Harnesses, session_id: str) -> list[JsonValue]:
        assert isinstance(harnesses, InProcessHarnesses)
        return [each.parsed() for each in harnesses.received if each.session_id == session_id]


def test_a_thousand_conversations_run_in_one_loop() -> None:
    async def journey() -> None:
        harnesses = InProcessHarnesses(record=False)
        started = [await harnesses.start(replace(START, session_id=f"s{n}")) for n in range(1000)]
        heard = await asyncio.gather(*(say(each, 'tool: add {"a":1,"b":1}') for each in started))
        assert {one.text for one, _ in heard} == {'add gave {"sum":2}.'}
        assert harnesses.running == started
        await harnesses.close()
        assert harnesses.running == []

    asyncio.run(journey())


def test_a_tool_is_noted_with_the_arguments_that_it_was_given() -> None:
    async def journey() -> None:
        harnesses = InProcessHarnesses()
        edited = Answer(verdict="approved", arguments={"x": 2})
        heard, _ = await say(await harnesses.start(START), 'ask: echo {"x":1}', always(edited))
        call_id = heard.announced[0].tool_call_id
        assert harnesses.made == [
            Made(session_id="s", tool_call_id=call_id, name="echo", arguments={"x": 2})
        ]

    asyncio.run(journey())


def test_a_start_can_be_made_to_fail() -> None:
    def refuse(start: Start) -> None:
        raise HarnessFailed("start-failed", start.session_id)

    async def journey() -> None:
        with pytest.raises(HarnessFailed) as failed:
            await InProcessHarnesses(before_start=refuse).start(START)
        assert failed.value.code == "start-failed"

    asyncio.run(journey())


def test_a_killed_harness_fails_the_prompt_that_runs() -> None:
    async def journey() -> None:
        harnesses = InProcessHarnesses(start_ms=1)
        harness = await harnesses.start(START)
        heard = Heard(harness)
        running = asyncio.create_task(
            harness.prompt(Prompt(parts=[{"type": "text", "text": "tool: wait"}]), heard)
        )
        await heard.until(lambda heard: bool(heard.announced))
        harness.kill()
        with pytest.raises(HarnessFailed) as failed:
            await running
        assert (failed.value.code, failed.value.received) == ("process-died", True)

    asyncio.run(journey())


def test_a_harness_that_hangs_ends_with_the_attempt_to_cancel_it() -> None:
    async def journey() -> None:
        harness = await InProcessHarnesses().start(START)
        heard = Heard(harness)
        text = "think: hm\nfail: hang"
        running = asyncio.create_task(
            harness.prompt(Prompt(parts=[{"type": "text", "text": text}]), heard)
        )
        await heard.until(lambda heard: bool(heard.updates))
        await asyncio.wait([running], timeout=0.01)
        assert not running.done()
        await harness.cancel()
        with pytest.raises(HarnessFailed) as failed:
            await running
        assert failed.value.code == "idle-timeout"
        assert not harness.alive

    asyncio.run(journey())


def test_a_second_prompt_while_one_runs_is_an_error() -> None:
    async def journey() -> None:
        harness = await InProcessHarnesses().start(START)
        heard = Heard(harness)
        running = asyncio.create_task(
            harness.prompt(Prompt(parts=[{"type": "text", "text": "tool: wait"}]), heard)
        )
        await heard.until(lambda heard: bool(heard.announced))
        with pytest.raises(HarnessFailed) as failed:
            await say(harness, "hello")
        assert failed.value.code == "agent-error"
        await harness.cancel()
        await running

    asyncio.run(journey())


def test_an_agent_can_be_made_to_die_only_where_it_is_warm() -> None:
    async def journey() -> None:
        harness = await InProcessHarnesses().start(START)
        heard, _ = await say(harness, "fail: die-if-warm")
        assert heard.text == "I went on after die-if-warm."
        with pytest.raises(HarnessFailed):
            await say(harness, "fail: die-if-warm")

    asyncio.run(journey())
