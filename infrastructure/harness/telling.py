"""How does a caller hear, and answer, a demo agent that runs in its own process?"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import uuid4

from domain.approval_modes import tool_kind
from domain.json_text import JsonValue
from domain.messages import Part
from infrastructure.demo_agent.acts import QUESTION, Failing
from infrastructure.demo_agent.body import Beneath, Decision
from infrastructure.demo_agent.brain import Call
from infrastructure.demo_agent.tools import Outcome, kind_of, run
from infrastructure.harness.offers import Offers
from infrastructure.harness.port import (
    Answer,
    Asked,
    CallAnnounced,
    CallEnded,
    Listener,
    OfSubagent,
    Option,
    OwnUpdate,
    Said,
    Subagent,
    Titled,
    Update,
    Used,
)

MODEL: Final = "turnlog-demo"
_OPTIONS: Final = (
    Option(option_id="allow_once", name="Allow once", kind="allow_once"),
    Option(option_id="allow_always", name="Allow always", kind="allow_always"),
    Option(option_id="reject_once", name="Reject", kind="reject_once"),
)
_ANSWER: Final[dict[str, JsonValue]] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer"}},
    "required": ["answer"],
}


class Misbehaves(Exception):
    """The agent was asked to misbehave in a way that ends the prompt."""

    def __init__(self, kind: Failing) -> None:
        super().__init__(kind)
        self.kind: Final = kind


class Telling:
    """The body of a conversation whose listener is the caller."""

    def __init__(self, above: "Telling | None" = None, subagent: Subagent | None = None) -> None:
        """Begin; of a sub-agent, `above` tells what it does."""
        self._above: Final = above
        self._subagent: Final = subagent
        self.told = False
        self._listener: Listener | None = None
        self._open: dict[str, tuple[Call, asyncio.Future[Decision]]] = {}
        self.offers: Final = Offers()

    def listen(self, listener: Listener | None) -> None:
        """Tell `listener` from now on."""
        self.told = False
        self._listener = listener
        self.forget()

    def forget(self) -> None:
        """Wait for no answer any more, and hear nothing more between the steps."""
        self._open.clear()
        self.offers.withdraw()

    def answer(self, permission_id: str, answer: Answer) -> bool:
        """Decide what was asked; False if nothing waits under this id."""
        call, waiting = self._open.pop(permission_id, (None, None))
        if call is None or waiting is None or waiting.done():
            return False
        waiting.set_result(decision_of(answer))
        return True

    async def say(self, voice: str, text: str, message_id: str) -> None:
        """Tell a piece of what it says."""
        await self._tell(
            Said(
                voice="reasoning" if voice == "reasoning" else "text",
                text=text,
                message_id=message_id,
            )
        )

    def below(self, beneath: Beneath) -> "Telling":
        """Tell what a sub-agent does."""
        subagent = Subagent(
            subagent_id=beneath.subagent_id,
            name=beneath.name,
            tool_call_id=beneath.tool_call_id,
            above=beneath.above,
        )
        return Telling(self._above or self, subagent)

    async def used(self, input_tokens: int, output_tokens: int) -> None:
        """Tell what a sub-agent's model read and wrote."""
        await self._tell(Used(model=MODEL, input_tokens=input_tokens, output_tokens=output_tokens))

    async def name(self, title: str) -> None:
        """Propose a title for the conversation."""
        await self._tell(Titled(title=title))

    async def announce(self, call: Call) -> None:
        """Tell that a tool is called."""
        await self._tell(
            CallAnnounced(tool_call_id=call.tool_call_id, name=call.name, arguments=call.arguments)
        )

    async def end(self, call: Call, outcome: Outcome) -> None:
        """Tell what came out of a call."""
        await self._tell(
            CallEnded(
                tool_call_id=call.tool_call_id,
                end="failed" if outcome.is_error else "completed",
                output=outcome.output,
            )
        )

    async def end_late(self, call: Call, outcome: Outcome) -> None:
        """Drop it: its prompt is over."""

    async def ask(self, call: Call) -> asyncio.Future[Decision]:
        """Ask; the answer comes by `answer`."""
        asked = replace(_asked(uuid4().hex, call), subagent=self._subagent)
        return await (self._above or self).put(asked, call)

    async def put(self, asked: Asked, call: Call) -> asyncio.Future[Decision]:
        """Have the caller asked; return what will hold the answer."""
        waiting: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._open[asked.permission_id] = (call, waiting)
        self.told = True
        if self._listener is not None:
            await self._listener.asked(asked)
        return waiting

    async def pass_on(self, update: Update) -> None:
        """Tell the caller."""
        self.told = True
        if self._listener is not None:
            await self._listener.updated(update)

    async def steered(self) -> Sequence[Part] | None:
        """Take what is offered first."""
        return await self.offers.take()

    async def remote(self, name: str, arguments: JsonValue) -> Outcome:
        """Do here what the tool server would do."""
        return run(name, arguments)

    async def fail(self, kind: Failing) -> None:
        """Raise if the prompt cannot go on; lines and floods there are none."""
        if kind in {"error", "die", "die-if-warm", "hang"}:
            raise Misbehaves(kind)

    async def _tell(self, update: OwnUpdate) -> None:
        if self._above is None or self._subagent is None:
            await self.pass_on(update)
        else:
            await self._above.pass_on(OfSubagent(subagent=self._subagent, update=update))


def _asked(permission_id: str, call: Call) -> Asked:
    if call.name != QUESTION:
        return Asked(
            kind="permission",
            permission_id=permission_id,
            tool_call_id=call.tool_call_id,
            tool=call.name,
            arguments=call.arguments,
            options=_OPTIONS,
            tool_kind=tool_kind(kind_of(call.name)),
        )
    question = call.arguments.get("question") if isinstance(call.arguments, dict) else None
    return Asked(
        kind="input",
        permission_id=permission_id,
        tool_call_id=call.tool_call_id,
        tool=call.name,
        arguments=call.arguments,
        message=str(question),
        answer_schema=_ANSWER,
        tool_kind=tool_kind(kind_of(call.name)),
    )


def decision_of(answer: Answer) -> Decision:
    """Return an answer as the agent takes it."""
    return Decision(verdict=answer.verdict, arguments=answer.arguments, answer=answer.answer)
