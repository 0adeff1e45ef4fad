"""What does the model see?

The messages of a conversation in one form, whether they were said here or came as a seed: both go
through the same function. So a conversation that was continued elsewhere reads the same.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias

from domain.canonical import canonical
from domain.json_text import JsonValue
from domain.messages import readable

Part: TypeAlias = dict[str, JsonValue]

_UNKNOWN_TYPE: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What one participant said until another did."""

    role: str
    parts: tuple[Part, ...]

    def shape(self) -> Part:
        """Return it as JSON."""
        return {"role": self.role, "parts": [*self.parts]}


class Memory:
    """All messages, and what can be told of them without going through them.

    Attributes:
        heard: How many of them are a user's.
        size: How much there is to read, in characters.
    """

    def __init__(self, seed: Iterable[Mapping[str, object]] = ()) -> None:
        """Remember `seed`: transcript messages, oldest first."""
        self._messages: list[Message] = []
        self.heard = 0
        self.size = 0
        for message in seed:
            self.recall(message)

    @property
    def messages(self) -> Sequence[Message]:
        """Return the messages, oldest first."""
        return self._messages

    def hear(self, parts: Sequence[Mapping[str, object]], role: str = "user") -> None:
        """Take a message of somebody else; its parts stay apart."""
        kept = [part for part in map(_reduced, readable(parts)) if part is not None]
        if kept:
            self.heard += role == "user"
            self.size += sum(map(_weight, kept))
            self._messages.append(Message(role=role, parts=tuple(kept)))

    def say(self, part: Mapping[str, object]) -> None:
        """Add to what the assistant is saying; pieces of one text are one text."""
        new = _reduced(readable([part])[0])
        if new is None:
            return
        self.size += _weight(new)
        last = self._messages[-1] if self._messages else None
        if last is None or last.role != "assistant":
            self._messages.append(Message(role="assistant", parts=(new,)))
        else:
            self._messages[-1] = Message(role="assistant", parts=_joined(last.parts, new))

    def take_result(self, part: Mapping[str, object]) -> None:
        """Add a call's result: results are in the order of the calls, whichever came first."""
        new = _reduced(readable([part])[0])
        if new is None:
            return
        self.size += _weight(new)
        first = len(self._messages)
        while first and self._messages[first - 1].role == "tool":
            first -= 1
        calls = [call.get("tool_call_id") for call in calls_of(self._messages[first - 1 : first])]
        place = len(self._messages)
        while place > first and _rank(calls, self._messages[place - 1].parts[0]) > _rank(
            calls, new
        ):
            place -= 1
        self._messages.insert(place, Message(role="tool", parts=(new,)))

    def recall(self, message: Mapping[str, object]) -> None:
        """Take a message of a transcript, whoever's it is."""
        role, parts = message.get("role"), _parts(message.get("parts"))
        if role == "assistant":
            for part in parts:
                self.say(part)
        elif role == "tool":
            for part in parts:
                self.take_result(part)
        else:
            self.hear(parts, str(role))

    def since_input(self) -> tuple[Message | None, Sequence[Message]]:
        """Return the user's last message, and what followed it."""
        at = len(self._messages)
        while at and self._messages[at - 1].role != "user":
            at -= 1
        return (self._messages[at - 1] if at else None), self._messages[at:]

    def last_said(self) -> str:
        """Return the text of the last message; empty if it is not the agent's."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.role != "assistant":
            return ""
        return "".join(str(part["text"]) for part in last.parts if part.get("type") == "text")

    def open_calls(self) -> list[Part]:
        """Return the calls since the user's last message that have no result."""
        _, since = self.since_input()
        ended = [result.get("tool_call_id") for result in results_of(since)]
        return [call for call in calls_of(since) if call.get("tool_call_id") not in ended]

    def written(self) -> bytes:
        """Return all messages as canonical JSON."""
        return canonical([message.shape() for message in self._messages])


def calls_of(messages: Iterable[Message]) -> Iterator[Part]:
    """Yield each call that `messages` make."""
    return _of_type(messages, "tool_call")


def results_of(messages: Iterable[Message]) -> Iterator[Part]:
    """Yield each result that `messages` hold."""
    return _of_type(messages, "tool_result")


def _of_type(messages: Iterable[Message], kind: str) -> Iterator[Part]:
    return (part for message in messages for part in message.parts if part.get("type") == kind)


def _parts(value: object) -> list[Part]:
    found = readable([{"parts": value}])[0]["parts"]
    if not isinstance(found, list):
        return []
    return [part for part in found if isinstance(part, dict)]


def _rank(calls: list[JsonValue], result: Part) -> int:
    call_id = result.get("tool_call_id")
    return calls.index(call_id) if call_id in calls else len(calls)


def _joined(parts: tuple[Part, ...], new: Part) -> tuple[Part, ...]:
    last = parts[-1]
    match last, new:
        case (
            {"type": "text" | "reasoning" as kind, "text": str(before)},
            {"type": "text" | "reasoning" as same, "text": str(after)},
        ) if kind == same:
            return (*parts[:-1], {"type": kind, "text": before + after})
        case _:
            return (*parts, new)


def _weight(part: Part) -> int:
    text = part.get("text")
    return len(text) if isinstance(text, str) else len(canonical(part))


def _reduced(part: Part) -> Part | None:
    """Return a part without what only a display needs; None if it says nothing."""
    match part:
        case {"type": "text" | "reasoning" as kind, "text": text}:
            return {"type": kind, "text": text} if text else None
        case {"type": "tool_call"}:
            return {key: part.get(key) for key in ("type", "tool_call_id", "name", "arguments")}
        case {"type": "tool_result"}:
            denied = bool(part.get("denied"))
            return {
                "type": "tool_result",
                "tool_call_id": part.get("tool_call_id"),
                "output": part.get("output"),
                "is_error": denied or bool(part.get("is_error")),
                "denied": denied,
            }
        case {"type": "attachment"}:
            return _attachment(part)
        case {"type": "data"}:
            return {key: part.get(key) for key in ("type", "kind", "data")}
        case _:
            return part


def _attachment(part: Part) -> Part:
    """Return an attachment as its content's digest, else its id, and its media type if known."""
    shape: Part = {"type": "attachment"}
    match part:
        case {"sha256": str(digest)}:
            shape["sha256"] = digest
        case {"data": str(data)}:
            shape["sha256"] = sha256(base64.b64decode(data)).hexdigest()
        case _:
            shape["attachment_id"] = part.get("attachment_id")
    media_type = part.get("media_type")
    if media_type and media_type != _UNKNOWN_TYPE:
        shape["media_type"] = media_type
    return shape
