"""What is a message, and what parts is it made of?

A part is a JSON object with a `type`; parts of types that this build does not know stay as
they are. Parts are plain mappings, so that no stored message can fail to be read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from domain.json_text import JsonValue
from domain.raw_json import without_raw

Role: TypeAlias = Literal["user", "assistant", "system", "developer", "tool"]
Part: TypeAlias = Mapping[str, object]

CONFIGURATION: Final[frozenset[Role]] = frozenset({"system", "developer"})
"""Whoever speaks in these roles before anything else configures; it is no conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The person whose words a message holds."""

    subject_id: str
    display: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What one participant said. A `partial` one is replaced by a later one with its id."""

    role: Role
    content: str | tuple[Mapping[str, object], ...]
    message_id: str | None = None
    status: Literal["complete", "partial"] = "complete"
    author: Author | None = None


def parts_of(message: Message) -> tuple[Part, ...]:
    """Return the message's content as parts; a string is one text part."""
    if isinstance(message.content, str):
        return ({"type": "text", "text": message.content},)
    return message.content


def readable(parts: Iterable[Part]) -> list[dict[str, JsonValue]]:
    """Return `parts` with everything read that was only passed through."""
    return [
        {
            key: value if isinstance(value, str) else without_raw(value)
            for key, value in part.items()
        }
        for part in parts
    ]


def texts(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the text of each text part."""
    for part in parts:
        text = part.get("text")
        if part.get("type") == "text" and isinstance(text, str):
            yield text
