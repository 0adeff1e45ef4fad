"""How are JSON-RPC messages read and written, a line each?

With the standard library alone: what a whole protocol library needs to be imported would be paid at
every cold turn. That both ends mean the same is for the tests, which speak to it with the library.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Final

from domain.json_text import JsonValue

LONGEST_LINE: Final = 256 * 2**20
INVALID_REQUEST: Final = -32600
NO_METHOD: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
NOT_FOUND: Final = -32002
CLOSED: Final = -32099


class RpcError(Exception):
    """The other side, or this one, answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        """Take JSON-RPC's code, and words for a person."""
        super().__init__(message)
        self.code = code


class Wire:
    """One connection: lines in, lines out, and the answers that are waited for."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak over `reader` and `writer`; what was written is on its way once it is drained."""
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=0)
        self._asked: dict[int, asyncio.Future[JsonValue]] = {}
        self._count = 0

    async def messages(self) -> AsyncIterator[dict[str, JsonValue]]:
        """Yield each request and notification until the input ends.

        What answers a request goes to whoever waits for it.
        """
        while line := await self._reader.readline():
            try:
                message: JsonValue = json.loads(line)
            except (ValueError, RecursionError):
                continue  # no message
            if not isinstance(message, dict):
                continue
            if "method" in message:
                yield message
            else:
                self._answered(message)
        while self._asked:
            _, answer = self._asked.popitem()
            _refuse(answer, RpcError(CLOSED, "the other side is gone"))

    async def request(
        self, method: str, params: Mapping[str, JsonValue]
    ) -> asyncio.Future[JsonValue]:
        """Ask something; return what will hold the answer, or raise `RpcError`."""
        self._count += 1
        answer: asyncio.Future[JsonValue] = asyncio.get_running_loop().create_future()
        self._asked[self._count] = answer
        await self._send({"id": self._count, "method": method, "params": dict(params)})
        return answer

    async def notify(self, method: str, params: Mapping[str, JsonValue]) -> None:
        """Tell something."""
        await self._send({"method": method, "params": dict(params)})

    async def answer(self, asked: JsonValue, result: JsonValue) -> None:
        """Answer the request with the id `asked`."""
        await self._send({"id": asked, "result": result})

    async def refuse(self, asked: JsonValue, error: RpcError) -> None:
        """Answer the request with the id `asked` by an error."""
        await self._send({"id": asked, "error": {"code": error.code, "message": str(error)}})

    async def write(self, raw: bytes) -> None:
        """Write `raw` as it is."""
        self._writer.write(raw)
        await self._writer.drain()

    async def close(self) -> None:
        """Write no more."""
        self._writer.close()

    async def _send(self, message: Mapping[str, JsonValue]) -> None:
        written = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        await self.write(written.encode() + b"\n")

    def _answered(self, message: dict[str, JsonValue]) -> None:
        match message:
            case {"id": int(number)} if (answer := self._asked.pop(number, None)) is not None:
                match message.get("error"):
                    case None if not answer.done():
                        answer.set_result(message.get("result"))
                    case {"code": int(code), "message": str(words)}:
                        _refuse(answer, RpcError(code, words))
                    case _:
                        _refuse(answer, RpcError(INTERNAL, "an error without a code"))
            case _:
                pass  # nobody asked


def _refuse(answer: asyncio.Future[JsonValue], error: RpcError) -> None:
    if not answer.done():
        answer.set_exception(error)
        answer.exception()  # seen: whoever asked may not wait any more


async def over_stdio() -> Wire:
    """Return a wire over this process's own input and output."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    back = asyncio.StreamReader()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(back), sys.stdout
    )
    return Wire(reader, asyncio.StreamWriter(transport, protocol, back, loop))
