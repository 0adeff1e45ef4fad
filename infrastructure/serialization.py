"""How does a stored body become a fact, and a fact of our own a body?

Names and shapes come from `domain.registry`. Old shapes are lifted on read, purely; stored bytes
never change. What cannot be read becomes an `Opaque` fact, and everything around it stays readable.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, TypeAlias, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError

from domain.decided import Decided
from domain.events import Fact, Opaque, SessionEvent
from domain.json_text import JsonValue, NotJson, parse, raw_items, raw_members
from domain.raw_json import RawJson, dumped
from domain.registry import KINDS

Members: TypeAlias = dict[str, object]
Lift: TypeAlias = Callable[[Members], Members]

LIFTS: Final[Mapping[tuple[str, int], Lift]] = {}
"""From (type, old schema) to what turns its members into those of the next schema."""

OPAQUE_IN_PARTS: Final = frozenset({"arguments", "output"})
READABLE_PARTS: Final = frozenset({"text", "reasoning", "attachment", "tool_call", "tool_result"})


class Unreadable(ValueError):
    """The data does not have the shape of its type."""


def decode(type_: str, schema: int, body: bytes | None) -> Fact:
    """Return the fact that was stored; never raises."""
    kind = KINDS.get(type_)
    if kind is None or schema > kind.schema:
        return Opaque(reason="unknown-type")
    if body is None:
        return Opaque(reason="missing-body")
    try:
        members = members_of(type_, body)
        for old in range(schema, kind.schema):
            members = LIFTS[type_, old](members)
        return event_of(type_, members)
    except (Unreadable, KeyError):
        return Opaque(reason="unreadable")


def members_of(type_: str, body: bytes) -> Members:
    """Return an event's members: opaque ones as they are written, the others read.

    Raises:
        Unreadable: the body is no JSON object.
    """
    try:
        raw = raw_members(body) if body.lstrip()[:1] == b"{" else None
        if raw is None:
            raise Unreadable("no object")
        opaque = _OPAQUE.get(type_, frozenset())
        return {
            name: RawJson(text) if name in opaque else _member(name, text)
            for name, text in raw.items()
        }
    except (NotJson, ValueError) as error:
        raise Unreadable("no JSON object") from error


def event_of(type_: str, members: Mapping[str, object]) -> SessionEvent:
    """Return the event that `members` make; unknown ones are ignored.

    Raises:
        Unreadable: a member is missing, or of another type.
    """
    try:
        return _ADAPTERS[type_].validate_python(members)
    except ValidationError as error:
        raise Unreadable(f"{error.error_count()} members are missing or of another type") from None


def encode(decided: Decided) -> bytes:
    """Return the stored JSON of an event that turnlog made itself; defaults are left out."""
    return dumped(_plain(decided.event))


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


def _member(name: str, text: bytes) -> object:
    if name == "message":
        return _message(text)
    if name == "messages":
        return tuple(_message(item) for item in raw_items(text))
    return parse(text)


def _message(text: bytes) -> object:
    members: Members = {}
    for name, raw in raw_members(text).items():
        if name == "content" and raw[:1] == b"[":
            members[name] = tuple(part_of(item) for item in raw_items(raw))
        else:
            members[name] = parse(raw)
    return members


def part_of(text: bytes) -> dict[str, object]:
    """Return one part of a message, with what is opaque in it as it is written."""
    raw = raw_members(text)
    type_: JsonValue = parse(raw["type"]) if "type" in raw else None
    readable = isinstance(type_, str) and type_ in READABLE_PARTS
    return {
        name: parse(value)
        if name in {"type", "kind"} or (readable and name not in OPAQUE_IN_PARTS)
        else RawJson(value)
        for name, value in raw.items()
    }


def _opaque_fields(event: type[Any]) -> frozenset[str]:
    return frozenset(name for name, hint in get_type_hints(event).items() if hint is object)


_OPAQUE: Final = {name: _opaque_fields(kind.event) for name, kind in KINDS.items()}
_ADAPTERS: Final[Mapping[str, TypeAdapter[SessionEvent]]] = {
    name: TypeAdapter[SessionEvent](kind.event) for name, kind in KINDS.items()
}
