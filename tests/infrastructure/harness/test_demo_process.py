"""The demo agent as a process, behind ACP, does what the port asks of every harness."""

import json
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from domain.json_text import JsonValue
from infrastructure.harness.acp.harnesses import AcpHarnesses, open_harnesses
from infrastructure.harness.definitions import demo
from infrastructure.harness.port import Harnesses
from tests.infrastructure.harness.contract import HarnessContract
from tests.infrastructure.harness.stage import TIMEOUTS


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
