"""How is what the agent does told over ACP, and what is asked?

Every call has the tool's name as its title, its arguments as rawInput, its result as rawOutput.
"""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from typing import Final

from domain.json_text import JsonValue
from infrastructure.demo_agent.acts import QUESTION, Failing
from infrastructure.demo_agent.blocks import parts_of
from infrastructure.demo_agent.body import Beneath, Decision
from infrastructure.demo_agent.brain import Call
from infrastructure.demo_agent.memory import Part
from infrastructure.demo_agent.tool_client import ToolServer
from infrastructure.demo_agent.tools import Outcome, kind_of
from infrastructure.demo_agent.wire import INTERNAL, RpcError, Wire

FLOOD: Final = 10 * 2**20
_EXIT_CODE: Final = 70
_STDERR: Final = 2
_TOOL: Final = "turnlog.dev/tool"
"""A tool's own name, in the `_meta` of its calls: titles are for people."""
_OPTIONS: Final[list[JsonValue]] = [
    {"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "allow_always", "name": "Allow always", "kind": "allow_always"},
    {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
]
_ANSWER: Final[Part] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer"}},
    "required": ["answer"],
}


SUBAGENT: Final = "turnlog.dev/subagent"
"""In the `_meta` of what is told or asked for a sub-agent: which one."""
STEERING: Final = "_turnlog.dev/steer"
"""Told by the client when something waits to be said; asked of it between two steps."""


class Speaking:
    """The body of a conversation whose listener is at the other end of a wire."""

    def __init__(
        self,
        wire: Wire,
        tool_server: ToolServer,
        session_id: str,
        beneath: Beneath | None = None,
    ) -> None:
        """Speak over `wire` of the session `session_id`, or of a sub-agent there."""
        self._meta: Part = {} if beneath is None else {"_meta": {SUBAGENT: _told(beneath)}}
        self._wire = wire
        self._tool_server = tool_server
        self._session_id = session_id

    async def say(self, voice: str, text: str, message_id: str) -> None:
        """Send a chunk."""
        kind = "agent_thought_chunk" if voice == "reasoning" else "agent_message_chunk"
        content: Part = {"type": "text", "text": text}
        await self._update({"sessionUpdate": kind, "content": content, "messageId": message_id})

    def below(self, beneath: Beneath) -> "Speaking":
        """Speak of a sub-agent."""
        return Speaking(self._wire, self._tool_server, self._session_id, beneath)

    async def used(self, input_tokens: int, output_tokens: int) -> None:
        """Send what a sub-agent's model read and wrote."""
        usage: Part = {"inputTokens": input_tokens, "outputTokens": output_tokens}
        await self._update({"sessionUpdate": "usage_update", "_meta": {"usage": usage}})

    async def name(self, title: str) -> None:
        """Send what the session is called from now on."""
        await self._update({"sessionUpdate": "session_info_update", "title": title})

    async def announce(self, call: Call) -> None:
        """Send a tool call that is yet to be made."""
        shape = {"sessionUpdate": "tool_call", **_shown(call), "status": "pending"}
        await self._update(shape)

    async def end(self, call: Call, outcome: Outcome) -> None:
        """Send how a call ended."""
        text: Part = {"type": "text", "text": json.dumps(outcome.output, ensure_ascii=False)}
        await self._update(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": call.tool_call_id,
                "title": call.name,
                "status": "failed" if outcome.is_error else "completed",
                "content": [{"type": "content", "content": text}],
                "rawOutput": outcome.output,
            }
        )

    async def end_late(self, call: Call, outcome: Outcome) -> None:
        """Send it all the same, as some agents do."""
        await self.end(call, outcome)

    async def ask(self, call: Call) -> asyncio.Future[Decision]:
        """Send a permission request, or an elicitation where the call is a question."""
        if call.name == QUESTION:
            return _read(
                await self._wire.request("elicitation/create", self._form(call)), _answered
            )
        asked = await self._wire.request(
            "session/request_permission",
            {
                "sessionId": self._session_id,
                "toolCall": _shown(call),
                "options": _OPTIONS,
                **self._meta,
            },
        )
        return _read(asked, _permitted)

    async def steered(self) -> Sequence[Part] | None:
        """Ask for it; a client that cannot say anything has nothing."""
        asked = await self._wire.request(STEERING, {"sessionId": self._session_id})
        try:
            answer = await asked
            said = answer.get("prompt") if isinstance(answer, dict) else None
            return parts_of(said) if isinstance(said, list) else None
        except (RpcError, ValueError):
            return None

    async def remote(self, name: str, arguments: JsonValue) -> Outcome:
        """Call the tool server."""
        return await self._tool_server.call(name, arguments)

    async def fail(self, kind: Failing) -> None:
        """Do what it says; docs/demo-agent.md tells what each is for."""
        match kind:
            case "error":
                raise RpcError(INTERNAL, "it was asked to fail")
            case "die" | "die-if-warm":
                os._exit(_EXIT_CODE)
            case "hang":
                await asyncio.get_running_loop().create_future()
            case "garbage":
                await self._wire.write(b"this is no message\n")
            case "bigline":
                await self._wire.notify("_turnlog.dev/filler", {"filler": "x" * FLOOD})
            case "stderr":
                os.write(_STDERR, (b"x" * 99 + b"\n") * (FLOOD // 100))

    async def _update(self, update: Part) -> None:
        await self._wire.notify(
            "session/update", {"sessionId": self._session_id, "update": update, **self._meta}
        )

    def _form(self, call: Call) -> Part:
        question = call.arguments.get("question") if isinstance(call.arguments, dict) else None
        return {
            "mode": "form",
            "sessionId": self._session_id,
            "toolCallId": call.tool_call_id,
            "message": str(question),
            "requestedSchema": _ANSWER,
            **self._meta,
        }


def _told(beneath: Beneath) -> Part:
    told: Part = {
        "id": beneath.subagent_id,
        "name": beneath.name,
        "tool_call_id": beneath.tool_call_id,
        "above": beneath.above,
    }
    return {name: value for name, value in told.items() if value is not None}


def _shown(call: Call) -> Part:
    return {
        "toolCallId": call.tool_call_id,
        "title": call.name,
        "kind": kind_of(call.name),
        "rawInput": call.arguments,
        "_meta": {_TOOL: call.name},
    }


def _read(
    answer: asyncio.Future[JsonValue], read: Callable[[JsonValue], Decision]
) -> asyncio.Future[Decision]:
    decision: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()

    def take(answer: asyncio.Future[JsonValue]) -> None:
        if not decision.done() and not answer.cancelled():
            decision.set_result(read(None if answer.exception() else answer.result()))

    answer.add_done_callback(take)
    return decision


def _permitted(answer: JsonValue) -> Decision:
    """Return what a permission response says; whoever cannot answer has not allowed it."""
    match answer:
        case {"outcome": {"outcome": "selected", "optionId": "allow_once" | "allow_always"}}:
            return Decision(verdict="approved", arguments=_edited(answer))
        case {"outcome": {"outcome": "cancelled"}}:
            return Decision(verdict="cancelled")
        case _:
            return Decision(verdict="denied")


def _edited(answer: JsonValue) -> JsonValue:
    match answer:
        case {"_meta": {"turnlog.dev/arguments": arguments}}:
            return arguments
        case _:
            return None


def _answered(answer: JsonValue) -> Decision:
    """Return what an elicitation response says; whoever cannot ask gives no answer."""
    match answer:
        case {"action": "accept", "content": {"answer": said}}:
            return Decision(verdict="answered", answer=said)
        case {"action": "decline"}:
            return Decision(verdict="denied")
        case _:
            return Decision(verdict="cancelled")
