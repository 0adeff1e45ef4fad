"""What does a history of Anthropic messages say?"""

from collections.abc import Iterator, Mapping
from typing import Final

from domain.json_text import JsonValue
from domain.messages import Role
from projections.anthropic_parts import BEGINNING, PROVIDER, WRAPPED
from projections.comparing.told import (
    Part,
    Tokens,
    Told,
    list_at,
    name_in,
    object_at,
    role_at,
    text_at,
)

_ROLES: Final[Mapping[str, Role]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
}


def read_anthropic(value: JsonValue, index: int) -> Told:
    """Return one message.

    Raises:
        Unreadable: it is none.
    """
    message = object_at(value, index)
    role = role_at(message, _ROLES, index)
    return Told(
        index=index,
        message_id=name_in(message, "id"),
        role=role,
        parts=tuple(_parts(message.get("content"), index)),
    )


def _parts(content: JsonValue, index: int) -> Iterator[tuple[Part, Tokens]]:
    whole: list[JsonValue] = [{"type": "text", "text": content}]
    blocks = whole if isinstance(content, str) else list_at(content, index, "content")
    for n, block in enumerate(blocks):
        part = _part(object_at(block, index, "content", n), (index, "content", n))
        if index or part.get("text") != BEGINNING:  # the export makes that one up
            yield part, ("content", n)


def _part(block: dict[str, JsonValue], at: Tokens) -> Part:
    text_at(block.get("type"), *at, "type")
    return _said(block) or _tool(block) or block


def _said(block: dict[str, JsonValue]) -> Part | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "thinking", "thinking": str(text)}:
            signature = block.get("signature")
            return {
                "type": "reasoning",
                "text": text,
                "signature": signature,
                "provider": PROVIDER,
            }
        case {"type": "redacted_thinking"}:
            return {"type": "reasoning", "text": ""}
        case {"type": "image" | "document", "source": dict(source)}:
            return _file(source)
        case _:
            return None


def _tool(block: dict[str, JsonValue]) -> Part | None:
    match block:
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            return {
                "type": "tool_call",
                "tool_call_id": call_id,
                "name": name,
                "arguments": _arguments(block.get("input")),
            }
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            return {
                "type": "tool_result",
                "tool_call_id": call_id,
                "output": block.get("content"),
                "is_error": block.get("is_error") is True,
            }
        case _:
            return None


def _arguments(given: JsonValue) -> JsonValue:
    """Arguments that the export had to wrap are the text that they were."""
    if isinstance(given, dict) and given.keys() == {WRAPPED}:
        return given[WRAPPED]
    return given


def _file(source: dict[str, JsonValue]) -> Part:
    match source:
        case {"type": "base64", "data": str(data)}:
            return {"type": "attachment", "media_type": source.get("media_type"), "data": data}
        case {"type": "url", "url": str(place)} | {"type": "file", "file_id": str(place)}:
            return {"type": "attachment", "attachment_id": place}
        case _:
            return {"type": "document", "source": source}
