"""What can a user's message ask for?"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from domain.json_text import JsonValue

How: TypeAlias = Literal["free", "ask", "unannounced", "late"]
Failing: TypeAlias = Literal["error", "die", "die-if-warm", "hang", "garbage", "bigline", "stderr"]

QUESTION: Final = "ask_user"
"""The tool that is a question to the person."""
REMOTE: Final = "mcp."
"""What the names of the tool server's tools begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """Text to be answered."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Something to be remembered."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """A question about something to be remembered."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Think:
    """Something to be thought of aloud."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise:
    """A summary of what was said before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """An answer in so many pieces."""

    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A title for the conversation."""

    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Some time to let pass."""

    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """A way to misbehave."""

    kind: Failing


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A tool, and what to give it."""

    name: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Tools to be called, all at once."""

    tools: tuple[Wanted, ...]
    how: How


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """An instruction that cannot be followed."""

    word: str


Act: TypeAlias = (
    Plain | Keep | Recall | Think | Summarise | Stream | Name | Pause | Fail | Use | Unclear
)
