"""How does a stored body become a fact, and a fact of our own a body?

Names and shapes come from `domain.registry`. Old shapes are lifted on read, purely; stored bytes
never change. What cannot be read becomes an `Opaque` fact, and everything around it stays readable.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, TypeAlias, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from domain.decided import Decided
from domain.events import Fact, Opaque, SessionEvent
from domain.json_text import DEEPEST, JsonValue, NotJson, members, parse, raw_items, raw_members
from domain.messages import Message
from domain.raw_json import RawJson, dumped
from domain.registry import KINDS

Members: TypeAlias = dict[str, object]
Lift: TypeAlias = Callable[[Members], Members]
Lifts: TypeAlias = Mapping[tuple[str, int], Lift]

LIFTS: Final[Lifts] = {}
"""From (type, old schema) to what turns its members into those of the next schema."""

OPAQUE_IN_PARTS: Final = frozenset({"arguments", "output"})
PLAIN_PARTS: Final = frozenset({"text", "reasoning", "attachment"})
READABLE_PARTS: Final = frozenset({"text", "reasoning", "attachment", "tool_call", "tool_result"})


class Unreadable(ValueError):
    """The data does not have the shape of its type."""


def decode(type_: str, schema: int, body: bytes | None, lifts: Lifts = LIFTS) -> Fact:
    """Return the fact that was stored; never raises."""
    kind = KINDS.get(type_)
    if kind is None or schema > kind.schema:
        return Opaque(reason="unknown-type")
    if body is None:
        return Opaque(reason="missing-body")
    try:
        members = members_of(type_, body)
        for old in range(schema, kind.schema):
            members = lifts[type_, old](members)
        return event_of(type_, members)
    except (Unreadable, KeyError):
        return Opaque(reason="unreadable")


def is_json(body: bytes) -> bool:
    """Tell whether stored bytes are one JSON value, and can stand inside of another."""
    try:
        from_json(body, allow_inf_nan=False)
    except ValueError:
        return False
    return True


def members_of(type_: str, body: bytes) -> Members:
    """Return an event's members: opaque ones as they are written, the others read.

    Raises:
        Unreadable: the body is no JSON object.
    """
    try:
        if type_ in _ALWAYS_OPAQUE:
            return _members(type_, members(body))
        read = parse(body, max_depth=DEEPEST)
        if isinstance(read, dict):
            return members_in(type_, read, body)
    except (NotJson, ValueError, IndexError, RecursionError):
        pass  # whoever wrote these bytes did not read them first; their error would quote them
    raise Unreadable("no JSON object")


def members_in(type_: str, read: Mapping[str, JsonValue], body: bytes) -> Members:
    """Return the members of an event whose body `read` is, as `members_of` does."""
    messages = _MESSAGES.get(type_, ())
    if _OPAQUE.get(type_, frozenset()).isdisjoint(read) and all(
        map(_is_readable, _messages_in(read, messages))
    ):
        found: Members = dict(read)
        for name in messages:
            said = found.get(name)
            if isinstance(said, list):
                found[name] = tuple(cast("list[object]", said))
        return found
    raw = raw_members(body)
    return _members(type_, {name: (value, raw[name]) for name, value in read.items()})


def _members(type_: str, read: Mapping[str, tuple[JsonValue, bytes]]) -> Members:
    opaque, messages = _OPAQUE.get(type_, ()), _MESSAGES.get(type_, ())
    return {
        name: RawJson.of(raw, value)
        if name in opaque
        else _said(name, value, raw)
        if name in messages
        else value
        for name, (value, raw) in read.items()
    }


def event_of(type_: str, members: Mapping[str, object]) -> SessionEvent:
    """Return the event that `members` make; unknown ones are ignored.

    Raises:
        Unreadable: a member is missing, or of another type.
    """
    try:
        event: SessionEvent = _ADAPTERS[type_].validator.validate_python(members)
    except ValidationError as error:
        raise Unreadable(f"{error.error_count()} members are missing or of another type") from None
    return event


def encode(decided: Decided) -> bytes:
    """Return the stored JSON of an event that turnlog made itself; defaults are left out."""
    return encoded(decided.event)


def encoded(event: object) -> bytes:
    """Return a fact's JSON; defaults are left out."""
    return dumped(_plain(event))


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in fields(value)
            if field.default is MISSING or getattr(value, field.name) != field.default
        }
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    return value


def _messages_in(read: Mapping[str, JsonValue], names: Iterable[str]) -> Iterator[JsonValue]:
    for name in names:
        said = read.get(name)
        yield from said if isinstance(said, list) else [said]


def _said(name: str, value: JsonValue, raw: bytes) -> object:
    """Return one message, or several, as read; from the text where a part is opaque."""
    known = value if isinstance(value, list) else [value]
    if all(map(_is_readable, known)):
        return value if name == "message" else tuple(known)
    return _message(raw) if name == "message" else _items(raw, _message)


def _is_readable(message: JsonValue) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    types = [part.get("type") if isinstance(part, dict) else None for part in parts]
    return all(isinstance(type_, str) and type_ in PLAIN_PARTS for type_ in types)


def _message(text: bytes) -> object:
    if text[:1] != b"{":
        return parse(text)
    return {
        name: _items(raw, part_of) if name == "content" else parse(raw)
        for name, raw in raw_members(text).items()
    }


def _items(text: bytes, read: Callable[[bytes], object]) -> object:
    return tuple(map(read, raw_items(text))) if text[:1] == b"[" else parse(text)


def part_of(text: bytes) -> object:
    """Return one part of a message, with what is opaque in it as it is written."""
    if text[:1] != b"{":
        return parse(text)
    raw = raw_members(text)
    type_: JsonValue = parse(raw["type"]) if "type" in raw else None
    readable = isinstance(type_, str) and type_ in READABLE_PARTS
    return {
        name: parse(value)
        if name in {"type", "kind"} or (readable and name not in OPAQUE_IN_PARTS)
        else RawJson(value)
        for name, value in raw.items()
    }


def _fields(event: type[Any], *of: object) -> frozenset[str]:
    return frozenset(name for name, hint in get_type_hints(event).items() if hint in of)


_OPAQUE: Final = {name: _fields(kind.event, object) for name, kind in KINDS.items()}
_MESSAGES: Final = {
    name: _fields(kind.event, Message, tuple[Message, ...]) for name, kind in KINDS.items()
}
_ALWAYS_OPAQUE: Final = {
    name
    for name, kind in KINDS.items()
    if any(f.name in _OPAQUE[name] and f.default is MISSING for f in fields(kind.event))
}
"""Types whose bodies are taken apart as they are read: none is without an opaque member."""
_ADAPTERS: Final[Mapping[str, TypeAdapter[SessionEvent]]] = {
    name: TypeAdapter[SessionEvent](kind.event) for name, kind in KINDS.items()
}
