"""What does an ACP client get of this agent? Sessions: begun, prompted, cancelled, closed.

A session lives as long as the process. What a client seeds it with comes by two extensions that
`initialize` advertises: `_meta` of session/new and of session/prompt.
"""

import asyncio
import os
from typing import Final, Literal, cast

from domain.json_text import JsonValue
from infrastructure.demo_agent.blocks import parts_of
from infrastructure.demo_agent.body import Decision, Finish, Resumed
from infrastructure.demo_agent.conversation import Conversation
from infrastructure.demo_agent.memory import Part
from infrastructure.demo_agent.notes import Notes
from infrastructure.demo_agent.recording import Recording
from infrastructure.demo_agent.speaking import STEERING, Speaking
from infrastructure.demo_agent.surroundings import Surroundings
from infrastructure.demo_agent.tool_client import ToolServer
from infrastructure.demo_agent.tools import Outcome
from infrastructure.demo_agent.wire import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    NOT_FOUND,
    RpcError,
    Wire,
)

HISTORY: Final = "turnlog.dev/history"
"""Advertised by true in the capabilities' `_meta`; in that of session/new, the messages so far."""
RESUME: Final = "turnlog.dev/resume"
"""In the `_meta` of session/prompt: calls of the seed that were decided while no agent ran."""
RECORDED: Final = "turnlog.dev/recorded"
"""Advertised as the history is; in that of session/new, what tools give: none is run."""
SESSION: Final = "turnlog.dev/session"
"""In the `_meta` of session/new: what to call the session in what is noted of it."""
ASIDES: Final = "turnlog.dev/asides"
"""Advertised as the history is; in the `_meta` of session/prompt: what was said before, aside."""
STEER: Final = "turnlog.dev/steer"
"""Advertised by true in the capabilities' `_meta`: it can be told something between its steps."""
MODEL: Final = "turnlog-demo"


class Agent:
    """All sessions of one process."""

    def __init__(self, wire: Wire, surroundings: Surroundings) -> None:
        """Serve the client at the other end of `wire`."""
        self._wire = wire
        self._surroundings = surroundings
        self._tool_server = ToolServer()
        self._sessions: dict[str, Conversation] = {}
        self._prompts: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Answer until the input ends; what still runs then ends with it."""
        try:
            async for message in self._wire.messages():
                await self._take(message)
        except ConnectionError:
            pass  # the client is gone
        finally:
            for prompt in self._prompts:
                prompt.cancel()
            await asyncio.gather(*self._prompts, return_exceptions=True)
            await self._tool_server.close()

    async def _take(self, message: Part) -> None:
        method, params, asked = message.get("method"), message.get("params"), message.get("id")
        known = params if isinstance(params, dict) else {}
        if method == "session/prompt":
            prompt = asyncio.create_task(self._answer(asked, "session/prompt", known))
            self._prompts.add(prompt)
            prompt.add_done_callback(self._prompts.discard)
        elif method in {"session/cancel", STEERING}:
            session = self._sessions.get(str(known.get("sessionId")))
            if session is not None:
                (session.nudge if method == STEERING else session.stop)()
        elif asked is not None:
            await self._answer(asked, str(method), known)

    async def _answer(self, asked: JsonValue, method: str, params: Part) -> None:
        try:
            try:
                await self._wire.answer(asked, await self._result(method, params))
            except RpcError as error:
                await self._wire.refuse(asked, error)
        except ConnectionError:
            pass  # nobody is there to hear it

    async def _result(self, method: str, params: Part) -> Part:
        match method:
            case "initialize":
                return self._capabilities()
            case "session/new":
                return {"sessionId": self._new(params)}
            case "session/load":
                self._session(params)
                return {}
            case "session/close":
                self._session(params).stop()
                del self._sessions[str(params.get("sessionId"))]
                return {}
            case "session/prompt":
                return _finished(await self._prompt(params))
            case _:
                raise RpcError(NO_METHOD, "there is no such method")

    def _capabilities(self) -> Part:
        offered: Part = {
            "loadSession": self._surroundings.load,
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "sessionCapabilities": {"close": {}},
        }
        if not self._surroundings.plain:
            offered["_meta"] = {HISTORY: True, RECORDED: True, STEER: True, ASIDES: True}
        return {
            "protocolVersion": 1,
            "agentCapabilities": offered,
            "agentInfo": {"name": MODEL, "version": "1"},
            "authMethods": [],
        }

    def _new(self, params: Part) -> str:
        # Never one that another process had: a session that is gone has to be unknown.
        session_id = f"demo-{os.urandom(8).hex()}"
        meta = _meta(params)
        seed = [] if self._surroundings.plain else _objects(meta.get(HISTORY))
        notes = Notes(
            str(meta.get(SESSION) or params.get("cwd")),
            self._surroundings.record,
            self._surroundings.calls,
        )
        body = Speaking(self._wire, self._tool_server, session_id)
        self._sessions[session_id] = Conversation(body, notes, seed, _recording(meta))
        return session_id

    async def _prompt(self, params: Part) -> Finish:
        session = self._session(params)
        if session.busy:
            raise RpcError(INVALID_REQUEST, "a prompt runs already")
        try:
            parts = parts_of(_objects(params.get("prompt")))
        except ValueError:
            raise RpcError(INVALID_PARAMS, "a block's data is no base64") from None
        meta = _meta(params)
        resumed = [_resumed(each) for each in _objects(meta.get(RESUME))]
        return await session.prompt(parts, resumed, _objects(meta.get(ASIDES)))

    def _session(self, params: Part) -> Conversation:
        session = self._sessions.get(str(params.get("sessionId")))
        if session is None:
            raise RpcError(NOT_FOUND, "unknown session")
        return session


def _finished(finish: Finish) -> Part:
    return {
        "stopReason": "cancelled" if finish.cancelled else "end_turn",
        "usage": {
            "totalTokens": finish.input_tokens + finish.output_tokens,
            "inputTokens": finish.input_tokens,
            "outputTokens": finish.output_tokens,
        },
    }


def _resumed(each: Part) -> Resumed:
    verdict = each.get("verdict")
    known = verdict if verdict in {"approved", "answered", "denied"} else "cancelled"
    return Resumed(
        tool_call_id=str(each.get("tool_call_id")),
        name=str(each.get("name")),
        arguments=each.get("arguments"),
        decision=Decision(
            verdict=cast("Literal['approved', 'answered', 'denied', 'cancelled']", known),
            answer=each.get("answer"),
        ),
    )


def _recording(meta: Part) -> Recording | None:
    if RECORDED not in meta:
        return None
    return Recording(
        (
            str(each.get("name")),
            each.get("arguments"),
            Outcome(
                output=each.get("output"),
                is_error=each.get("is_error") is True,
                denied=each.get("denied") is True,
            ),
        )
        for each in _objects(meta[RECORDED])
    )


def _meta(params: Part) -> Part:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _objects(value: JsonValue) -> list[Part]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
