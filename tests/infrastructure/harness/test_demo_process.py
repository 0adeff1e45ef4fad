"""The demo agent as a process, behind ACP, does what the port asks of every harness."""

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from domain.json_text import JsonValue
from infrastructure.harness.acp.harnesses import AcpHarnesses, open_harnesses
from infrastructure.harness.definitions import demo
from infrastructure.harness.port import Harnesses, Prompt
from tests.infrastructure.harness.contract import HarnessContract
from tests.infrastructure.harness.listening import Heard
from tests.infrastructure.harness.stage import TIMEOUTS, harness


class TestDemoProcess(HarnessContract):
    _record: Path

    @asynccontextmanager
    async def harnesses(self) -> AsyncGenerator[Harnesses]:
        with tempfile.TemporaryDirectory() as folder:
            self._record = Path(folder) / "record"
            definition = demo(TIMEOUTS)
            environment = {**definition.environment, "TURNLOG_DEMO_RECORD": str(self._record)}
            definitions = {"demo": replace(definition, environment=environment)}
            harnesses = await open_harnesses(definitions, default="demo", state=Path(folder))
            try:
                yield harnesses
            finally:
                await harnesses.close()

    def arrays(self, harnesses: Harnesses, session_id: str) -> list[JsonValue]:
        assert isinstance(harnesses, AcpHarnesses)
        noted = [json.loads(line) for line in self._record.read_text().splitlines()]
        return [each["messages"] for each in noted if each["session"] == session_id]


@pytest.mark.anyio
async def test_an_agent_that_does_not_know_how_reads_what_was_said_aside_and_hears_nothing_more(
    tmp_path: Path,
) -> None:
    definition = demo(TIMEOUTS)
    plain = replace(definition, environment={**definition.environment, "TURNLOG_DEMO_PLAIN": "1"})

    async def give() -> None:
        raise AssertionError

    async with harness(tmp_path, plain) as agent:
        heard = Heard(agent)
        aside: dict[str, JsonValue] = {
            "role": "user",
            "parts": [{"type": "text", "text": "remember x=1"}],
        }
        asked = {"type": "text", "text": "what is x?"}
        await agent.prompt(Prompt(parts=[asked], asides=[aside]), heard)
        assert heard.text == "x is 1."
        heard = Heard(agent)
        prompt = Prompt(parts=[{"type": "text", "text": "ask: echo {}"}])
        running = asyncio.create_task(agent.prompt(prompt, heard))
        await heard.until_asked()
        assert not await agent.steer(give)
        await agent.cancel()
        assert (await running).stop_reason == "cancelled"
