"""Which JSON-RPC messages has an agent written, whatever else it may write?

A line that is no message is skipped and counted. What comes out of here can be kept as JSON: a
number that JSON does not have is null, half of a character is the replacement character.
"""

import json
from collections.abc import Awaitable, Callable
from math import isfinite
from typing import Final, TypeAlias, cast

from domain.json_text import DEEPEST, JsonValue, NotJson, dump, parse
from infrastructure.harness.processes import Process

Message: TypeAlias = dict[str, JsonValue]
Taking: TypeAlias = Callable[[Message, int], Awaitable[bool]]
_MENDED: Final = frozenset(
    {"duplicate-key", "invalid-utf8", "lone-surrogate", "not-a-number", "number-out-of-range"}
)


class Wire:
    """The messages of one agent, as the library's connection asks for them.

    Attributes:
        skipped: How many lines were no messages.
    """

    def __init__(self, process: Process, take: Taking) -> None:
        """Offer each message to `take` first, in order; what it takes goes no further."""
        self.skipped = 0
        self._process = process
        self._take = take

    async def send(self, message: Message) -> None:
        """Write a message; an answer that nobody waits for any more is dropped.

        Raises:
            ConnectionError: the agent does not listen any more.
        """
        try:
            await self._process.write(dump(message) + b"\n")
        except ConnectionError:
            if "method" in message:
                raise

    async def receive(self) -> Message | None:
        """Return the next message that was not taken; None if there are no more."""
        while (line := await self._process.lines.next()) is not None:
            message = read(line)
            if message is None:
                self.skipped += 1
            elif not await self._take(message, len(line)):
                return message
        return None

    async def close(self) -> None:
        """Leave the process to whoever started it."""


def read(line: bytes) -> Message | None:
    """Return the message that a line writes; None if it writes none."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        value = parse(line, max_depth=DEEPEST)
    except NotJson as fault:
        value = _mended(line) if fault.code in _MENDED else None
    if not isinstance(value, dict) or not _is_message(value):
        return None
    if not isinstance(value.get("error", {}), dict):
        value["error"] = {}  # an error all the same, whoever wrote it without its members
    return value


def _is_message(value: Message) -> bool:
    """Tell whether an object can be handled as a request, a notification or a response."""
    number = value.get("id")
    if isinstance(number, bool) or not isinstance(number, int | str | None):
        return False
    if "method" in value:
        return isinstance(value["method"], str)
    return "id" in value


def _mended(line: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(
            line.decode(errors="replace"), parse_constant=lambda _: None, parse_float=_finite
        )
    except (ValueError, RecursionError):
        return None
    return _readable(value)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if isfinite(number) else None


def _readable(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if isinstance(value, dict):
        return {cast("str", _readable(key)): _readable(item) for key, item in value.items()}
    return value
