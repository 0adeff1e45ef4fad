"""What does a turn need of a harness, whatever stands behind it?

One `Harness` is one conversation of an agent. Nothing here knows of the log: what a harness does is
told to a `Listener`, in order, and what it asks waits until it is answered. Everything is called on
the event loop.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from domain.approval_modes import ToolKind
from domain.json_text import JsonValue
from domain.messages import Part

StopReason: TypeAlias = Literal["completed", "cancelled", "refused", "max-tokens", "max-requests"]
CallEnd: TypeAlias = Literal["completed", "failed"]
Voice: TypeAlias = Literal["text", "reasoning"]
Give: TypeAlias = Callable[[], Awaitable[Sequence[Part] | None]]
"""Gives what is said next; None if nothing is to be said any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A piece of what the agent says; pieces of one message follow each other.

    Attributes:
        message_id: The harness's own id of the message; None if it gives none.
    """

    voice: Voice
    text: str
    message_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A part that is not text, of what the agent says: an image, a file, a resource."""

    part: Part
    message_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnnounced:
    """The agent calls a tool. Comes once for each call, with its arguments as far as known."""

    tool_call_id: str
    name: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    """A call has its outcome."""

    tool_call_id: str
    end: CallEnd
    output: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Tokens that the model used."""

    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something else that the agent tells: a plan, a mode, commands. `kind` names it."""

    kind: str
    data: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Titled:
    """The agent proposes a title for the conversation, in whatever words and characters."""

    title: str


OwnUpdate: TypeAlias = Said | Shown | CallAnnounced | CallEnded | Used | Noted | Titled


@dataclass(frozen=True, slots=True, kw_only=True)
class Subagent:
    """An agent that the agent runs, in a conversation of its own.

    Attributes:
        subagent_id: Names it among those of its session.
        name: What it is called.
        tool_call_id: The call by which it was begun, of the agent that runs it.
        above: The sub-agent that runs it; None if it is the agent itself.
    """

    subagent_id: str
    name: str | None = None
    tool_call_id: str | None = None
    above: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSubagent:
    """A sub-agent did something. Nothing of it belongs to the agent's own conversation."""

    subagent: Subagent
    update: OwnUpdate


Update: TypeAlias = OwnUpdate | OfSubagent


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way to answer a permission request, by the harness's own id."""

    option_id: str
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The agent waits: for permission to make a call, or for an answer to a question.

    Attributes:
        permission_id: The harness's id of the request, unique among those of its session; the port
            makes one up where the protocol has none.
        tool_call_id: The call that it is about; one that was never announced is announced by it.
        answer_schema: What an answer has to look like, as JSON Schema.
        tool_kind: What the agent claims that the tool does; nothing makes it keep to that.
        subagent: Who asks, if it is a sub-agent; the call is one of its own.
    """

    kind: Literal["permission", "input"]
    permission_id: str
    tool_call_id: str | None = None
    tool: str | None = None
    arguments: JsonValue = None
    options: tuple[Option, ...] = ()
    message: str | None = None
    answer_schema: JsonValue = None
    tool_kind: ToolKind = "unknown"
    subagent: Subagent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person or a policy decided.

    Attributes:
        verdict: `cancelled` if nobody decided: it expired, or its turn is over.
        option_id: One of those that were offered; None lets the port choose: once, never always.
        arguments: The arguments as edited, where the harness can take them.
    """

    verdict: Literal["approved", "denied", "answered", "cancelled"]
    option_id: str | None = None
    arguments: JsonValue = None
    answer: JsonValue = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a prompt ended."""

    stop_reason: StopReason
    used: Used | None = None


class Listener(Protocol):
    """Hears what a harness does. Each call is awaited before the next, so that it can push back."""

    async def updated(self, update: Update) -> None:
        """Take what the harness did."""
        ...

    async def asked(self, asked: Asked) -> None:
        """Take what it asks; the answer comes by `Harness.answer`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The conversation so far, for a harness that has none: transcript messages, oldest first.

    Attributes:
        messages: Each with `role` and `parts` in turnlog's form, what a model would see.
    """

    messages: Sequence[Mapping[str, JsonValue]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a turn says to a harness.

    Attributes:
        parts: The new input; empty where the conversation goes on after decided calls.
        asides: What was said to others since the prompt before, oldest first: messages as those of
            a `Seed`. They belong to the conversation, before the new input, and nobody is to answer
            them.
        resumed_calls: Calls of the seed without a result that were decided while no harness ran:
            those approved are to be made, exactly so, the others are told as denied.
    """

    parts: Sequence[Part] = ()
    asides: Sequence[Mapping[str, JsonValue]] = ()
    resumed_calls: tuple["ResumedCall", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedCall:
    """A call that a harness is to make, or not to make, by a decision that was taken before."""

    tool_call_id: str
    name: str
    arguments: JsonValue
    answer: Answer


class HarnessFailed(Exception):
    """The harness did not do what it was asked.

    Attributes:
        code: `start-failed`, `start-timeout`, `first-output-timeout`, `idle-timeout`,
            `total-timeout`, `process-died`, `agent-error`, `protocol-error`, `output-too-long`.
        received: Whether anything came from it after the prompt was written.
    """

    def __init__(self, code: str, detail: str, *, received: bool = False) -> None:
        """Take a code, and words for a person; never what was said."""
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.received = received


class Harness(Protocol):
    """One conversation of an agent, which remembers it."""

    @property
    def alive(self) -> bool:
        """Tell whether it can still be prompted."""
        ...

    async def prompt(self, prompt: Prompt, listener: Listener) -> Ended:
        """Say something, and wait for the end of what the agent does about it.

        Whatever the harness does is told to `listener` before this returns. What comes later of a
        cancelled prompt is dropped.

        Raises:
            HarnessFailed: it died, went silent for too long, or answered with an error.
        """
        ...

    async def answer(self, permission_id: str, answer: Answer) -> bool:
        """Answer what it asked; False if nothing waits under this id any more."""
        ...

    async def steer(self, give: Give) -> bool:
        """Have the agent told something while a prompt runs, between two of its steps.

        There, after all that it did before was told to the listener, and before it does anything
        else, `give` is called for what is said; the agent goes on with that.

        True once `give` was called; False if the prompt ended before, if none runs, or if the agent
        cannot be told anything in the midst of one.
        """
        ...

    async def cancel(self) -> None:
        """Have the prompt that runs end; what it asked is answered as cancelled first."""
        ...

    async def close(self) -> None:
        """End the conversation, and the process if it holds no other. Never raises; once only."""
        ...


class Harnesses(Protocol):
    """Starts harnesses by their definition."""

    async def start(self, start: "Start") -> Harness:
        """Return a harness that waits for its first prompt, and knows the seed.

        Raises:
            HarnessFailed: none can be started.
        """
        ...

    async def close(self) -> None:
        """End everything that was started."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Which harness to start, and for what.

    Attributes:
        harness: The name of its definition in the settings; None for the default one.
        config: The session's configuration, as it was recorded.
        workspace: The folder that it works in; None for the definition's own.
        context: Where the conversation happens, and whether something was cut off just before;
            told once and in words, no part of the history.
        recorded: What its tools give, each call's result once; none of them is run. None: they are.
        beside: Whether it lives beside the session's own harness; else it takes that one's place.
    """

    project_id: str
    session_id: str
    harness: str | None = None
    config: JsonValue = None
    workspace: str | None = None
    seed: Seed | None = None
    context: str | None = None
    recorded: tuple["RecordedCall", ...] | None = None
    beside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A call as it was made before, and what came of it."""

    name: str
    arguments: JsonValue
    output: JsonValue
    is_error: bool = False
    denied: bool = False
