"""How are the parts of a message written in Anthropic messages?"""

import re
from hashlib import sha256
from typing import Final

from domain.json_text import JsonValue, NotJson, parse
from domain.messages import Part
from domain.raw_json import RawJson, without_raw
from projections.openai_parts import arguments_text, output_text, text_of

Shape = dict[str, object]

BEGINNING: Final = "[The conversation begins with the assistant.]"
"""What stands for a user's first message that is not there."""
WRAPPED: Final = "unparsed_arguments"
"""The one member of arguments that were no JSON object."""
PROVIDER: Final = "anthropic"
IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
_PDF: Final = "application/pdf"
_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
_ID_LIMIT: Final = 48


def spelled_id(tool_call_id: str) -> str:
    """Return a call's id with letters, digits, `_` and `-` only.

    An id that has to be changed gets a digest, so that no two calls share one.

    >>> spelled_id("toolu_1"), spelled_id("call:1")
    ('toolu_1', 'call_1_0af63155')
    """
    if _ID.fullmatch(tool_call_id):
        return tool_call_id
    digest = sha256(tool_call_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_OTHER.sub('_', tool_call_id)[:_ID_LIMIT]}_{digest}"


def thinking_block(part: Part) -> Shape | None:
    """Return reasoning that Anthropic signed as it came; None for everything else."""
    signature = text_of(part, "signature")
    if part.get("type") != "reasoning" or not signature or part.get("provider") != PROVIDER:
        return None
    return {"type": "thinking", "thinking": text_of(part, "text"), "signature": signature}


def file_block(part: Part) -> Shape | None:
    """Return an image or a PDF that is stored inline as a block; None for everything else."""
    media_type, data = text_of(part, "media_type"), text_of(part, "data")
    if part.get("type") != "attachment" or not data:
        return None
    if media_type not in IMAGES | {_PDF}:
        return None
    kind = "document" if media_type == _PDF else "image"
    return {"type": kind, "source": _inline(media_type, data)}


def input_of(part: Part) -> tuple[object, bool]:
    """Return a call's arguments as an object, and whether they had to be wrapped in one."""
    text = arguments_text(part)
    if text is None or not text.strip():
        return {}, False
    try:
        is_object = isinstance(parse(text.encode("utf-8", "surrogatepass")), dict)
    except NotJson:
        is_object = False
    return (RawJson(text.encode()), False) if is_object else ({WRAPPED: text}, True)


def result_content(part: Part, *, text_only: bool) -> object:
    """Return a result's output: blocks if it is texts and images, else its text.

    The provider takes no images in a result that is an error.
    """
    output = without_raw(part.get("output"))
    if isinstance(output, list) and output and not text_only:
        blocks = [_block(item) for item in output]
        shown = [block for block in blocks if block is not None]
        if len(shown) == len(blocks):
            return shown
    return output_text(part)


def _block(item: JsonValue) -> Shape | None:
    match item:
        case {"type": "text", "text": str(text)} if text.strip():
            return {"type": "text", "text": text}
        case {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}:
            return _image(kind, data)
        case {"type": "image", "mimeType": kind, "data": data}:
            return _image(kind, data)
        case _:
            return None


def _image(media_type: object, data: object) -> Shape | None:
    if media_type in IMAGES and isinstance(data, str) and data:
        return {"type": "image", "source": _inline(str(media_type), data)}
    return None


def _inline(media_type: str, data: str) -> Shape:
    return {"type": "base64", "media_type": media_type, "data": data}
