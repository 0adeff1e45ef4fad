"""What of a message that a client sent can be kept, and where is it none that can?

Names that can be no names become like ones, as an import makes them; what says nothing about the
conversation but looks like a part of it is left as it is. What comes out is what is compared, and
what is recorded.
"""

import base64
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Final, NoReturn

from domain.identifiers import is_name
from domain.json_text import JsonValue, dump
from domain.refusals import InvalidValue
from infrastructure.imports.claude_lines import name_for
from projections.comparing.told import Form, Part, Tokens, Told

_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "reasoning": ("text",),
    "tool_call": ("tool_call_id", "name"),
    "tool_result": ("tool_call_id",),
    "data": ("kind",),
    "gate_answer": ("gate",),
}
_FILE_TEXTS: Final = ("attachment_id", "media_type", "filename", "data", "sha256")


def cleaned(told: Told, raw: JsonValue, form: Form) -> Told:
    """Return a message as it can be kept; `raw` is what it was read from.

    Raises:
        InvalidValue: it is none, and where.
    """
    given = raw if isinstance(raw, dict) else {}
    if told.role not in {"assistant", "tool"} and any(
        part.get("type") == "tool_call" for part, _ in told.parts
    ):
        refuse("only an assistant makes tool calls", told.index)
    parts = tuple((_part(part, (told.index, *tokens)), tokens) for part, tokens in told.parts)
    return replace(
        told,
        message_id=_message_id(told, form),
        parts=parts,
        author=_author(given, told, form),
    )


def refuse(detail: str, *at: str | int) -> NoReturn:
    """Refuse the request for what stands at a place of its messages.

    Raises:
        InvalidValue: always.
    """
    raise InvalidValue(detail, "messages", *at)


def _message_id(told: Told, form: Form) -> str | None:
    """Return the message's id; one of another form that can be none is none."""
    name = told.message_id
    if name is None or is_name(name):
        return name
    return refuse("this is no name", told.index, "message_id") if form == "turnlog" else None


def _author(given: dict[str, JsonValue], told: Told, form: Form) -> Part | None:
    if form == "openai" and told.role == "user":
        name = given.get("name")
        return (
            {"subject_id": name_for(name, prefix="person", otherwise="unnamed")}
            if isinstance(name, str) and name
            else None
        )
    author = given.get("author") if form == "turnlog" else None
    if author is None:
        return None
    match author:
        case {"subject_id": str(subject), **rest} if is_name(subject):
            display = rest.get("display")
            if display is None:
                return {"subject_id": subject}
            if isinstance(display, str) and is_name(display):
                return {"subject_id": subject, "display": display}
        case _:
            pass
    return refuse("an author has a subject_id, and maybe a display", told.index, "author")


def _part(part: Part, at: Tokens) -> Part:
    kind = part.get("type")
    if kind == "attachment":
        return _attachment(part, at)
    for name in _TEXTS.get(kind, ()) if isinstance(kind, str) else ():
        if not isinstance(part.get(name), str):
            refuse("expected text", *at, name)
    if kind == "tool_call":
        return {
            **part,
            "tool_call_id": _call_id(part),
            "name": name_for(str(part["name"]), prefix="tool", otherwise="unnamed"),
            "arguments": _arguments(part.get("arguments")),
        }
    if kind == "tool_result":
        flags: dict[str, JsonValue] = {
            name: part[name] is True for name in ("is_error", "denied") if name in part
        }
        return {**part, "tool_call_id": _call_id(part), **flags}
    return part


def _call_id(part: Part) -> str:
    return name_for(str(part["tool_call_id"]), prefix="call", otherwise="unnamed")


def _arguments(given: JsonValue) -> JsonValue:
    """Arguments are an object, or the text that the model wrote."""
    if isinstance(given, dict | str):
        return given
    return {} if given is None else dump(given).decode()


def _attachment(part: Part, at: Tokens) -> Part:
    """Return a file with an id; its bytes, if they come along, are what it says they are."""
    for name in _FILE_TEXTS:
        if not isinstance(part.get(name), str | None):
            refuse("expected text", *at, name)
    data, given = part.get("data"), part.get("attachment_id")
    digest: JsonValue = part.get("sha256")
    if isinstance(data, str):
        try:
            content = base64.b64decode(data, validate=True)
        except ValueError:
            refuse("data is base64 (RFC 4648, section 4)", *at, "data")
        digest = sha256(content).hexdigest()
        known: dict[str, JsonValue] = {"sha256": digest, "size": len(content)}
        for name, true in known.items():
            if part.get(name) not in (None, true):
                refuse(f"the {name} of the data is another", *at, name)
    if digest is None and given is None:
        refuse("a file has its data, its sha256 or an attachment_id", *at)
    return {**part, "attachment_id": given or f"sha256-{digest}"}
