"""In which form is a history told, and what can that form say?"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, assert_never

from domain.json_text import JsonValue
from domain.messages import readable
from projections.anthropic_parts import file_block
from projections.comparing.anthropic import read_anthropic
from projections.comparing.native import read_native
from projections.comparing.openai import read_openai
from projections.comparing.told import Form, Part, Told
from projections.comparing.ui import read_ui
from projections.openai_parts import image_url
from projections.transcript import TranscriptMessage
from projections.ui_parts import file_part

_READERS: Final[Mapping[Form, Callable[[JsonValue, int], Told]]] = {
    "turnlog": read_native,
    "openai": read_openai,
    "anthropic": read_anthropic,
    "ui": read_ui,
}
_OPENAI: Final = frozenset({"image_url", "input_audio", "file", "refusal"})
_ANTHROPIC: Final = frozenset(
    {"tool_use", "thinking", "redacted_thinking", "image", "document", "tool_result"}
)


def read_history(messages: Sequence[JsonValue], form: Form) -> list[Told]:
    """Return what a client tells.

    Raises:
        Unreadable: a message is not what the form says.
    """
    read = _READERS[form]
    return [read(message, index) for index, message in enumerate(messages)]


def our_history(messages: Sequence[TranscriptMessage]) -> list[Told]:
    """Return what we know, in the same words."""
    return [
        Told(
            index=message.index,
            message_id=message.message_id,
            role=message.role,
            parts=tuple((part, ("parts", n)) for n, part in enumerate(readable(message.parts))),
            turn_id=message.turn_id,
        )
        for message in messages
    ]


def form_of(messages: Sequence[JsonValue]) -> Form:
    """Return the form that a history is in; what any form could say is ours."""
    for message in messages:
        form = _form(message)
        if form is not None:
            return form
    return "turnlog"


def carries(form: Form, part: Part, role: str) -> bool:
    """Tell whether a form has a place for an attachment, for data or for anything else."""
    match form:
        case "turnlog":
            return True
        case "openai":
            return role == "user" and image_url(part) is not None
        case "anthropic":
            return role == "user" and file_block(part) is not None
        case "ui":
            placed = part.get("type") == "data" or file_part(part) is not None
            return placed and role in {"user", "assistant"}
        case _:
            assert_never(form)


def _form(message: JsonValue) -> Form | None:
    if not isinstance(message, dict):
        return None
    if isinstance(message.get("parts"), list):
        return None if message.keys() & {"content", "message_id"} else "ui"
    if message.keys() & {"tool_calls", "tool_call_id", "function_call"}:
        return "openai"
    parts = message.get("content")
    forms = map(_form_of_part, parts if isinstance(parts, list) else ())
    for form in forms:
        if form is not None:
            return form
    return None


def _form_of_part(part: JsonValue) -> Form | None:
    match part:
        case {"type": str(kind)} if kind in _OPENAI:
            return "openai"
        case {"type": "tool_result", "tool_call_id": _}:
            return "turnlog"
        case {"type": str(kind)} if kind in _ANTHROPIC:
            return "anthropic"
        case _:
            return None
