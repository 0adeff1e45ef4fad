"""What do the blocks of an API message become in a message of ours?

Text, reasoning and pictures have a part of their own; every other block goes into a
`data` part as it is. Signatures stay verbatim, since the provider refuses its own
reasoning without them.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterator
from typing import Final

from domain.json_text import JsonValue
from infrastructure.imports.claude_lines import JsonObject

_REJECTED: Final = (
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
)
_REFUSED: Final = (
    ("Permission to use ", "has been denied"),
    ("Claude requested permissions to ", "you haven't granted it"),
)
_REFUSAL_LENGTH: Final = 500
_ERROR_TAGS: Final = ("<tool_use_error>", "</tool_use_error>")


def part_of(block: JsonObject) -> JsonObject:
    """Return the part that carries `block`."""
    kind = block.get("type")
    text = block.get("text")
    if kind == "text" and isinstance(text, str):
        return {"type": "text", "text": text}
    if kind == "thinking":
        return _reasoning(block)
    if kind in {"image", "document"}:
        return _attachment(block) or _opaque(block)
    return _opaque(block)


def is_denied(output: JsonValue, *, is_error: bool) -> bool:
    """Tell whether a result is Claude Code's note that the call was not allowed to run."""
    if not is_error:
        return False
    text = result_text(output)
    if text.startswith(_REJECTED):
        return True
    opening = text[:_REFUSAL_LENGTH]
    return any(opening.startswith(first) and then in opening for first, then in _REFUSED)


def result_text(output: JsonValue) -> str:
    """Return the text of a result's content, its blocks joined by newlines."""
    if isinstance(output, str):
        return output
    if not isinstance(output, list):
        return ""
    found = [block.get("text") for block in output if isinstance(block, dict)]
    return "\n".join(text for text in found if isinstance(text, str))


def repeats(structured: JsonValue, output: JsonValue) -> bool:
    """Tell whether a structured result says nothing that the result itself does not say.

    A picture's own measures count as said, so that no picture is kept twice.
    """
    text = _without_error_tags(result_text(output))
    sources = list(_sources(output))
    said = [text, *(value for source in sources for value in source.values())]
    if isinstance(structured, str):
        return structured in {text, f"Error: {text}", ""}
    if isinstance(structured, list):
        return structured == output
    return all(_is_said(leaf, said, has_picture=bool(sources)) for leaf in _leaves(structured))


def _reasoning(block: JsonObject) -> JsonObject:
    thinking = block.get("thinking")
    if not isinstance(thinking, str):
        return _opaque(block)
    part: JsonObject = {"type": "reasoning", "text": thinking}
    signature = block.get("signature")
    if isinstance(signature, str):
        part["signature"] = signature
    part["provider"] = "anthropic"
    return part


def _attachment(block: JsonObject) -> JsonObject | None:
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        return None
    data = source.get("data")
    if not isinstance(data, str) or (raw := _decoded(data)) is None:
        return None
    part: JsonObject = {
        "type": "attachment",
        "attachment_id": f"sha256-{hashlib.sha256(raw).hexdigest()}",
    }
    media_type = source.get("media_type")
    if isinstance(media_type, str):
        part["media_type"] = media_type
    title = block.get("title")
    if isinstance(title, str):
        part["filename"] = title
    return {**part, "data": data}


def _decoded(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _opaque(block: JsonObject) -> JsonObject:
    kind = block.get("type")
    known = isinstance(kind, str) and kind.isascii() and kind.replace("_", "").isalnum()
    return {"type": "data", "kind": f"anthropic/{kind if known else 'unknown'}", "data": block}


def _without_error_tags(text: str) -> str:
    opening, closing = _ERROR_TAGS
    return text.removeprefix(opening).removesuffix(closing)


def _sources(output: JsonValue) -> Iterator[dict[str, str]]:
    for block in output if isinstance(output, list) else []:
        source = block.get("source") if isinstance(block, dict) else None
        if isinstance(source, dict):
            yield {key: value for key, value in source.items() if isinstance(value, str)}


def _leaves(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict):
        for key, member in value.items():
            if key != "type" or not isinstance(member, str):
                yield from _leaves(member)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _is_said(leaf: JsonValue, said: list[str], *, has_picture: bool) -> bool:
    if leaf is None or leaf is False or leaf == "":
        return True
    if isinstance(leaf, str):
        return any(leaf in text for text in said)
    return has_picture and leaf is not True
