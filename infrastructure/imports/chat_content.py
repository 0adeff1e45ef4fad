"""What do the parts of an OpenAI chat message become in a message of ours?

Text and bytes that are there have parts of their own; everything else stays as it is in a `data`
part.
"""

from collections.abc import Iterator

from domain.json_text import JsonValue
from infrastructure.imports.attachments import from_base64, from_url
from infrastructure.imports.claude_lines import JsonObject, text_or_none
from infrastructure.imports.source_lines import within


def parts_of(content: JsonValue) -> list[JsonValue]:
    """Return a message's content as parts; an empty text and null are none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if isinstance(content, list):
        return [_part(each) for each in content]
    return [] if content is None else [_opaque("content", content)]


def extra_parts(message: JsonObject) -> Iterator[JsonValue]:
    """Yield what an assistant's message says beside its content."""
    for field in ("refusal", "audio"):
        if message.get(field) is not None:
            yield _opaque(field, message[field])


def reasoning_parts(message: JsonObject) -> Iterator[JsonValue]:
    """Yield the reasoning that some servers put beside the content."""
    for field in ("reasoning_content", "reasoning"):
        text = message.get(field)
        if isinstance(text, str) and text:
            yield {"type": "reasoning", "text": text}
            return


def _part(part: JsonValue) -> JsonValue:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        return _opaque("content", part)
    kind, text = part.get("type"), part.get("text")
    if kind in {"text", "input_text", "output_text"} and isinstance(text, str):
        return {"type": "text", "text": text}
    return _attached(part) or _opaque(text_or_none(kind) or "unknown", part)


def _attached(part: JsonObject) -> JsonObject | None:
    match part:
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return from_url(url, None, None)
        case {"type": "input_image", "image_url": str(url)}:
            return from_url(url, None, None)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
            return from_base64(data, f"audio/{kind}", None)
        case {"type": "file", "file": {"file_data": str(data)}}:
            filename = text_or_none(within(part, "file", "filename"))
            return from_url(data, None, filename) or from_base64(data, None, filename)
        case _:
            return None


def _opaque(kind: str, value: JsonValue) -> JsonObject:
    known = kind.isascii() and kind.replace("_", "").isalnum()
    return {"type": "data", "kind": f"openai/{kind if known else 'unknown'}", "data": value}
