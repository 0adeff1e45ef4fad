"""What does a history of AI SDK UIMessages say?

A call and its result are one part here; approvals in it are envelopes, and not part of history.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from domain.json_text import JsonValue
from domain.messages import Role
from projections.comparing.told import (
    Part,
    Tokens,
    Told,
    file_of,
    list_at,
    name_in,
    object_at,
    role_at,
    text_at,
)

_ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
}
_NO_HISTORY: Final = frozenset({"step-start", "source-url", "source-document"})


def read_ui(value: JsonValue, index: int) -> Told:
    """Return one message.

    Raises:
        Unreadable: it is none.
    """
    message = object_at(value, index)
    role = role_at(message, _ROLES, index)
    parts = list_at(message.get("parts"), index, "parts")
    return Told(
        index=index,
        message_id=name_in(message, "id"),
        role=role,
        parts=tuple(
            (told, ("parts", n))
            for n, part in enumerate(parts)
            for told in _parts(object_at(part, index, "parts", n), (index, "parts", n))
        ),
    )


def _parts(part: dict[str, JsonValue], at: Tokens) -> Iterator[Part]:
    kind = text_at(part.get("type"), *at, "type")
    match part:
        case {"type": "text" | "reasoning", "text": str(text)}:
            yield {"type": kind, "text": text}
        case {"type": "file", "url": str(url)}:
            yield file_of(url, part.get("mediaType"))
        case {"toolCallId": str(call_id)} if kind == "dynamic-tool" or kind.startswith("tool-"):
            name = part.get("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-")
            yield {
                "type": "tool_call",
                "tool_call_id": call_id,
                "name": name,
                "arguments": part.get("input", part.get("rawInput")),
            }
            yield from _result(part, call_id)
        case _ if kind.startswith("data-"):
            yield {"type": "data", "kind": kind.removeprefix("data-"), "data": part.get("data")}
        case _ if kind not in _NO_HISTORY:
            yield part
        case _:
            pass


def _result(part: dict[str, JsonValue], call_id: str) -> Iterator[Part]:
    result: dict[str, JsonValue] = {"type": "tool_result", "tool_call_id": call_id}
    match part:
        case {"state": "output-available", "preliminary": True}:
            pass
        case {"state": "output-available"}:
            yield {**result, "output": part.get("output"), "is_error": False}
        case {"state": "output-error"}:
            yield {**result, "output": part.get("errorText"), "is_error": True}
        case {"state": "output-denied"}:
            yield {**result, "is_error": True, "denied": True}  # it has no output
        case _:
            pass
