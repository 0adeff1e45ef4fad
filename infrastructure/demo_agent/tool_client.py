"""What does the tool server give?

It is started when it is first needed, and ends with its input.
"""

import asyncio

from domain.json_text import JsonValue
from infrastructure.demo_agent.launching import command, environment
from infrastructure.demo_agent.tools import Outcome, failed
from infrastructure.demo_agent.wire import LONGEST_LINE, RpcError, Wire


class ToolServer:
    """The agent's one tool server, for all its conversations."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: asyncio.subprocess.Process | None = None
        self._wire: Wire | None = None
        self._reading: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    async def call(self, name: str, arguments: JsonValue) -> Outcome:
        """Return what came out of a call; that the server is gone is an outcome, too."""
        try:
            async with self._starting:
                wire = self._wire or await self._start()
            result = await (
                await wire.request("tools/call", {"name": name, "arguments": arguments})
            )
        except (RpcError, OSError):
            return failed("the tool server does not answer")
        match result:
            case {"structuredContent": output, "isError": bool(is_error)}:
                return Outcome(output=output, is_error=is_error)
            case _:
                return failed("the tool server said something else")

    async def close(self) -> None:
        """End its input, and wait until it is gone."""
        if self._process is not None and self._wire is not None:
            await self._wire.close()
            await self._process.wait()
        if self._reading is not None:
            await self._reading

    async def _start(self) -> Wire:
        process = await asyncio.create_subprocess_exec(
            *command("infrastructure.demo_agent.tool_server"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment(),
            limit=LONGEST_LINE,
        )
        if process.stdin is None or process.stdout is None:
            raise OSError
        self._process = process
        self._wire = Wire(process.stdout, process.stdin)
        self._reading = asyncio.create_task(self._read(self._wire))
        await (await self._wire.request("initialize", {"protocolVersion": "2025-06-18"}))
        await self._wire.notify("notifications/initialized", {})
        await (await self._wire.request("tools/list", {}))
        return self._wire

    async def _read(self, wire: Wire) -> None:
        async for _ in wire.messages():
            pass  # it asks nothing
        self._wire = None
