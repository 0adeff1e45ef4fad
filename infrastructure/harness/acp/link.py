"""How does one agent's process speak with all conversations that it holds?

The library matches requests and answers. What an agent does in a session goes past it to the
conversation that hears it, in the order in which it was written; none of it is ever logged.
"""

import asyncio
import os
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import Any, Final, Protocol, cast

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION
from acp.transports import default_environment

from domain.json_text import JsonValue
from infrastructure.harness.acp.asking import CANCELLED_INPUT, CANCELLED_PERMISSION
from infrastructure.harness.acp.blocks import Takes
from infrastructure.harness.acp.fields import EXTENSION, Object, extension, member, text
from infrastructure.harness.acp.wire import Message, Wire
from infrastructure.harness.definitions import Definition
from infrastructure.harness.port import HarnessFailed
from infrastructure.harness.processes import Process, spawn

UPDATE: Final = CLIENT_METHODS["session_update"]
PERMISSION: Final = CLIENT_METHODS["session_request_permission"]
INPUT: Final = CLIENT_METHODS["elicitation_create"]
STEER: Final = f"_{EXTENSION}/steer"
UNHEARD: Final[dict[str, Object]] = {
    PERMISSION: CANCELLED_PERMISSION,
    INPUT: CANCELLED_INPUT,
    STEER: {},
}
"""How an agent is answered whom nobody hears."""
_CLOSE_S: Final = 2.0


class Hearing(Protocol):
    """A conversation, as its agent speaks to it."""

    @property
    def prompted(self) -> bool:
        """Tell whether a prompt runs."""
        ...

    async def hear(self, message: Message, size: int) -> None:
        """Take an update or a request; waits while too much was not dealt with."""
        ...


class Link:
    """One agent's process and the connection to it.

    Attributes:
        takes: Which content it takes.
        takes_history: Whether it knows turnlog's extension.
        takes_asides: Whether it takes what was said aside, beside a prompt.
        takes_steers: Whether it can be told something between two of its steps.
        replays_calls: Whether its tools can be told what to give, by another.
        name: What it calls itself.
    """

    def __init__(self, definition: Definition, process: Process) -> None:
        self.definition = definition
        self.takes = Takes()
        self.takes_history = False
        self.takes_asides = False
        self.takes_steers = False
        self.replays_calls = False
        self.name = definition.name
        self._closes_sessions = False
        self._process = process
        self._wire = Wire(process, self._taken)
        self._hearing: dict[str, Hearing] = {}
        self._replies: set[asyncio.Task[None]] = set()
        # The library has no public name for what it calls a transport.
        self._connection = Connection(_unknown, cast("Any", self._wire))

    @classmethod
    async def open(
        cls, definition: Definition, folder: str, variables: Mapping[str, str]
    ) -> "Link":
        """Start an agent and shake hands with it.

        Raises:
            HarnessFailed: it cannot be started, or does not speak the protocol.
        """
        environment = {
            **default_environment(),
            **{name: os.environ[name] for name in definition.inherit if name in os.environ},
            **definition.environment,
            **variables,
        }
        try:
            process = await spawn(definition.command, environment, folder)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "its command is not usable"
            raise HarnessFailed("start-failed", f"{definition.name}: {reason}") from None
        link = cls(definition, process)
        try:
            await link._shake_hands()
        except BaseException:
            await link.end()
            raise
        return link

    @property
    def alive(self) -> bool:
        """Tell whether the agent can be spoken to."""
        return self._process.alive

    def last_errors(self) -> bytes:
        """Return the end of what it wrote to its standard error; never for a log."""
        return self._process.last_errors()

    @property
    def skipped(self) -> int:
        """Return how many lines it wrote that were no messages."""
        return self._wire.skipped

    async def request(self, method: str, params: Object) -> Object:
        """Ask the agent for something; what it answers that is no object counts as an empty one.

        Raises:
            RequestError: it answers with an error.
            ConnectionError: it is gone.
        """
        result = await self._connection.send_request(AGENT_METHODS[method], params)
        return cast("Object", result) if isinstance(result, dict) else {}

    async def notify(self, method: str, params: Object) -> None:
        """Tell the agent something; a dead one hears nothing."""
        with suppress(ConnectionError):
            await self._connection.send_notification(AGENT_METHODS[method], params)

    async def steer(self, session_id: str) -> None:
        """Tell the agent that something waits to be said; it asks for it between its steps."""
        params: Object = {"sessionId": session_id}
        await self._wire.send({"jsonrpc": "2.0", "method": STEER, "params": params})

    async def reply(self, number: JsonValue, result: Object) -> bool:
        """Answer what the agent asked; False if it is gone."""
        if not self.alive:
            return False
        await self._wire.send({"jsonrpc": "2.0", "id": number, "result": result})
        return self.alive

    def holds(self, session_id: str) -> bool:
        """Tell whether a session with this id is heard."""
        return session_id in self._hearing

    def join(self, session_id: str, hearing: Hearing) -> None:
        """Have a session heard."""
        self._hearing[session_id] = hearing

    async def leave(self, session_id: str) -> None:
        """End a session, telling the agent if it wants to know."""
        if self._replies:
            await asyncio.wait(set(self._replies), timeout=_CLOSE_S)
        if self._hearing.pop(session_id, None) is not None and self._closes_sessions and self.alive:
            with suppress(RequestError, ConnectionError, TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await self.request("session_close", {"sessionId": session_id})

    async def end(self) -> None:
        """End the process and everything in it."""
        await self._process.end()
        for reply in self._replies:
            reply.cancel()
        await self._connection.close()

    def failure(self, *, received: bool = False) -> HarnessFailed:
        """Return why the agent is gone."""
        if self._process.lines.too_long:
            return HarnessFailed(
                "output-too-long", "the agent wrote a line without end", received=received
            )
        return HarnessFailed("process-died", "the agent's process is gone", received=received)

    async def _shake_hands(self) -> None:
        about = await self.starting(
            "initialize",
            {
                "protocolVersion": PROTOCOL_VERSION,
                "clientCapabilities": {
                    "fs": {"readTextFile": False, "writeTextFile": False},
                    "terminal": False,
                    "elicitation": {"form": {}},
                },
                "clientInfo": {"name": "turnlog", "version": version("turnlog")},
            },
        )
        if about.get("protocolVersion") != PROTOCOL_VERSION:
            raise HarnessFailed("start-failed", "the agent speaks another version of the protocol")
        able = member(about, "agentCapabilities")
        self.takes = Takes.said(member(able, "promptCapabilities"))
        self.takes_history = extension(able, "history") is True
        self.takes_asides = extension(able, "asides") is True
        self.takes_steers = extension(able, "steer") is True
        self.replays_calls = extension(able, "recorded") is True
        self.name = text(member(about, "agentInfo"), "name") or self.name
        closes = member(able, "sessionCapabilities").get("close")
        self._closes_sessions = closes is not None and closes is not False
        if self.definition.authenticate is not None:
            await self.starting("authenticate", {"methodId": self.definition.authenticate})

    async def starting(self, method: str, params: Object) -> Object:
        """Ask for something without which there is no conversation.

        Raises:
            HarnessFailed: it is not given.
        """
        try:
            return await self.request(method, params)
        except RequestError as error:
            detail = f"the agent answered {AGENT_METHODS[method]} with error {error.code}"
            raise HarnessFailed("start-failed", detail) from None
        except ConnectionError:
            if self._process.lines.too_long:
                raise self.failure() from None
            raise HarnessFailed("start-failed", "the agent ended while it was started") from None

    async def _taken(self, message: Message, size: int) -> bool:
        """Take what concerns a session, in the order of the wire."""
        method = message.get("method")
        if method not in {UPDATE, PERMISSION, INPUT, STEER}:
            return False
        params = message.get("params")
        hearing = self._hearing_of(params) if isinstance(params, dict) else None
        if hearing is not None:
            await hearing.hear(message, size)
        elif "id" in message and method in UNHEARD:
            self.reply_soon(message["id"], UNHEARD[str(method)])
        return True

    def reply_soon(self, number: JsonValue, result: Object) -> None:
        """Answer without waiting for the agent to read it."""
        self._soon(self._replied(number, result))

    def notify_soon(self, method: str, params: Object) -> None:
        """Tell the agent something without waiting for it to read it."""
        self._soon(self.notify(method, params))

    async def _replied(self, number: JsonValue, result: Object) -> None:
        await self.reply(number, result)

    def _soon(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(doing)
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    def _hearing_of(self, params: Object) -> Hearing | None:
        session_id = text(params, "sessionId")
        if session_id is not None:
            return self._hearing.get(session_id)
        # A question may name the request it belongs to instead; there is only one it can mean.
        prompted = [hearing for hearing in self._hearing.values() if hearing.prompted]
        return prompted[0] if len(prompted) == 1 else None


async def _unknown(
    method: str,
    params: object,
    is_notification: bool,  # noqa: FBT001 - the library calls it so
) -> None:
    """Refuse what no agent was told it could ask."""
    del params
    if not is_notification:
        raise RequestError.method_not_found(method)
