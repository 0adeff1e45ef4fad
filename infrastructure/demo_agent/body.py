"""Whom does a conversation speak to, and what does it hear back?"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from domain.json_text import JsonValue
from infrastructure.demo_agent.acts import Failing
from infrastructure.demo_agent.brain import Call
from infrastructure.demo_agent.memory import Memory
from infrastructure.demo_agent.tools import Outcome

Verdict: TypeAlias = Literal["approved", "denied", "answered", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided about a call; `arguments` if they were edited, `answer` to a question."""

    verdict: Verdict
    arguments: JsonValue = None
    answer: JsonValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A call that was decided while no conversation ran."""

    tool_call_id: str
    name: str
    arguments: JsonValue
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """How a prompt ended, and what the model read and wrote for it, in tokens."""

    cancelled: bool
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Beneath:
    """A sub-agent; `above` is the one that runs it, if that is one itself."""

    subagent_id: str
    name: str
    tool_call_id: str
    above: str | None = None


class Cancelled(Exception):
    """The prompt is to end now."""


class Body(Protocol):
    """Whoever hears what the agent does, and answers."""

    async def say(self, voice: str, text: str, message_id: str) -> None:
        """Tell a piece of what it says."""
        ...

    async def name(self, title: str) -> None:
        """Propose a title for the conversation."""
        ...

    async def announce(self, call: Call) -> None:
        """Tell that a tool is called."""
        ...

    async def end(self, call: Call, outcome: Outcome) -> None:
        """Tell what came out of a call."""
        ...

    async def end_late(self, call: Call, outcome: Outcome) -> None:
        """Tell what came out of a call whose prompt is over."""
        ...

    async def ask(self, call: Call) -> asyncio.Future[Decision]:
        """Ask whether a call may be made, or what it asks; return what will hold the answer."""
        ...

    async def steered(self) -> Sequence[Mapping[str, object]] | None:
        """Return what is said between two steps; None if there is nothing."""
        ...

    async def remote(self, name: str, arguments: JsonValue) -> Outcome:
        """Return what the tool server gives."""
        ...

    def below(self, beneath: Beneath) -> "Body":
        """Return who hears what a sub-agent does, and answers it."""
        ...

    async def used(self, input_tokens: int, output_tokens: int) -> None:
        """Tell what a sub-agent's model read and wrote."""
        ...

    async def fail(self, kind: Failing) -> None:
        """Misbehave; return if the prompt goes on all the same."""
        ...


class Witness(Protocol):
    """Whoever notes what the model saw and which tools ran, for tests."""

    def model_called(self, memory: Memory) -> None:
        """Take what the model sees."""
        ...

    def tool_ran(self, call: Call) -> None:
        """Take a call as it is made."""
        ...
