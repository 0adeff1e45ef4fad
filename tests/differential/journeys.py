"""Which conversations are held, step by step, and what is known of each beforehand?

Every journey begins with something that is to be remembered and ends with asking for it: whoever
forgot anything on the way answers otherwise.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]
By: TypeAlias = Literal["message", "body", "elsewhere"]
PICTURE: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360f8cf50000003010100c9fe92ef"
    "0000000049454e44ae426082"
)
DOCUMENT: Final = b"What the house needs:\n- a green door\n- a red roof\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that is sent with a text: in it, or stored before and named."""

    content: bytes
    media_type: str
    inline: bool

    @property
    def sha256(self) -> str:
        """Return the name of its content."""
        return sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A new text of the person's."""

    text: str
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside(Say):
    """Something that is said to others, and that the agent is to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """The answer to a gate that is open: the n-th one that was opened.

    Attributes:
        by: In a message, beside the messages, or by somebody else, who knows only the gate.
        more: What else the answer says, as JSON.
        text: A new text that comes with it: the turn that waited ends first.
    """

    verdict: Literal["approved", "denied", "answered"]
    gate: int = 0
    by: By = "message"
    more: str = "{}"
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LetExpire:
    """Nobody does anything until the harness that waits was let go."""


Step: TypeAlias = Say | Aside | Decide | LetExpire


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """One conversation.

    Attributes:
        ends: What the agent says last.
        gates: How many are opened on the way.
        tools: Which tools run on the way.
        at_once: Whether all gates are open before the first is answered.
    """

    name: str
    steps: tuple[Step, ...]
    ends: str
    gates: int = 0
    tools: tuple[str, ...] = ()
    at_once: bool = True

    @property
    def session_id(self) -> str:
        """Return what its session is called."""
        return self.name.replace(" ", "-")

    @property
    def expires(self) -> bool:
        """Tell whether a harness that waits is let go on the way."""
        return any(isinstance(step, LetExpire) for step in self.steps)

    @property
    def first_prompt(self) -> str:
        """Return what is said first."""
        first = self.steps[0]
        assert isinstance(first, Say)
        return first.text


def _journey(
    name: str,
    *steps: Step | str,
    gates: int = 0,
    tools: tuple[str, ...] = (),
    at_once: bool = True,
) -> Journey:
    """Return a journey; before its steps a fact is told, after them it is asked for."""
    told = (f"remember place=by the {name}", *steps, "what is place?")
    return Journey(
        name=name,
        steps=tuple(Say(text=step) if isinstance(step, str) else step for step in told),
        ends=f"place is by the {name}.",
        gates=gates,
        tools=tools,
        at_once=at_once,
    )


_ASK: Final = 'ask: add {"a": 19, "b": 23}'
_TOPICS: Final = ("the door", "the roof", "the garden", "the well", "the road", "the neighbours")


def _discussion() -> Journey:
    said = [f"And what about {_TOPICS[n % len(_TOPICS)]}, for the {n}th time?" for n in range(58)]
    return _journey("long discussion", *said)


JOURNEYS: Final = (
    _journey("chat", "Good morning.", "think: is it?", "stream: 5"),
    _journey(
        "tool call",
        'tool: add {"a": 1, "b": 2.5}',
        'tool: read_note {"name": "colours"}\nThank you.',
        tools=("add", "read_note"),
    ),
    _journey(
        "parallel tool calls",
        'tools: add {"a": 1, "b": 2}; echo {"deep": {"list": [1, null, "\u00e9"]}}; fail',
        tools=("add", "echo", "fail"),
    ),
    _journey("approve warm", _ASK, Decide(verdict="approved"), gates=1, tools=("add",)),
    _journey(
        "approve cold",
        _ASK,
        LetExpire(),
        Decide(verdict="approved", by="body"),
        gates=1,
        tools=("add",),
    ),
    _journey(
        "deny", _ASK, Decide(verdict="denied", by="body", more='{"message": "not now"}'), gates=1
    ),
    _journey(
        "out-of-band answer",
        _ASK,
        Decide(verdict="approved", by="elsewhere"),
        gates=1,
        tools=("add",),
    ),
    _journey(
        "partial answers",
        'ask: add {"a": 1, "b": 2}; echo {"say": "twice"}',
        Decide(verdict="approved", gate=1),
        Decide(verdict="approved", by="body"),
        gates=2,
        tools=("echo", "add"),
    ),
    _journey(
        "MCP tool",
        'mcp: add {"a": 4, "b": 5}',
        'mcp: read_note {"name": "groceries"}',
        tools=("mcp.add", "mcp.read_note"),
    ),
    _journey(
        "client question",
        "question: Which colour?",
        Decide(verdict="answered", more='{"answer": "green"}'),
        gates=1,
    ),
    _journey(
        "attachments",
        Say(
            text="Read this.",
            files=(File(content=DOCUMENT, media_type="text/plain", inline=False),),
        ),
        Say(
            text="Look at this.",
            files=(File(content=PICTURE, media_type="image/png", inline=True),),
        ),
    ),
    _journey(
        "chatter",
        Aside(text="Is anybody hungry?"),
        Aside(
            text="This is what there is.",
            files=(File(content=PICTURE, media_type="image/png", inline=True),),
        ),
        "And you?",
        Aside(text="remember dish=soup"),
        "what is dish?",
    ),
    _discussion(),
    _journey(
        "fresh turn after approval",
        _ASK,
        Decide(verdict="approved", by="body"),
        "Now something else.",
        'tool: add {"a": 2, "b": 2}',
        gates=1,
        tools=("add", "add"),
    ),
)
MORE_JOURNEYS: Final = (
    _journey(
        "edited arguments",
        _ASK,
        Decide(verdict="approved", by="body", more='{"arguments": {"a": 1, "b": 1}}'),
        gates=1,
        tools=("add",),
    ),
    _journey(
        "unannounced call",
        'ask-unannounced: add {"a": 2, "b": 3}',
        Decide(verdict="approved", by="body"),
        gates=1,
        tools=("add",),
    ),
    _journey("question declined", "question: Why?", Decide(verdict="denied", by="body"), gates=1),
    _journey(
        "answer and text at once",
        _ASK,
        Decide(verdict="approved", by="body", text="And thank you."),
        gates=1,
        tools=("add",),
    ),
    _journey(
        "equal calls answered differently",
        'ask: add {"a": 1, "b": 1}; add {"a": 1, "b": 1}',
        Decide(verdict="denied", gate=1, by="elsewhere"),
        Decide(verdict="approved", gate=0, by="elsewhere"),
        gates=2,
        tools=("add",),
    ),
    _journey(
        "two approvals in a row",
        'ask: add {"a": 1, "b": 1}\nask: echo {"x": 1}\nquestion: Enough?\nThen go on.',
        Decide(verdict="approved", by="body"),
        Decide(verdict="approved", gate=1, by="body"),
        Decide(verdict="answered", gate=2, by="body", more='{"answer": "yes"}'),
        gates=3,
        tools=("add", "echo"),
        at_once=False,
    ),
    _journey(
        "free and asked",
        'tool: add {"a": 1, "b": 2}\nthink: hm\n' + _ASK,
        Decide(verdict="denied"),
        gates=1,
        tools=("add",),
    ),
)
