"""What parts does a prompt have, as ACP writes it?

Files are remembered by their digest, never by their bytes.
"""

import base64
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from domain.json_text import JsonValue
from infrastructure.demo_agent.memory import Part

ATTACHMENT_ID: Final = "turnlog.dev/attachment_id"
"""The `_meta` of a link that stands for an attachment by this id."""


def parts_of(blocks: Iterable[JsonValue]) -> list[Part]:
    """Return the parts that ACP content blocks say; of an unknown type, the block itself."""
    return [_part(block) for block in blocks if isinstance(block, dict)]


def _part(block: Part) -> Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image" | "audio", "data": str(data)}:
            return _file(base64.b64decode(data, validate=True), block.get("mimeType"))
        case {"type": "resource", "resource": dict(resource)}:
            return _resource(resource)
        case {"type": "resource_link", "uri": str(uri)}:
            meta = block.get("_meta")
            named = meta.get(ATTACHMENT_ID) if isinstance(meta, dict) else None
            return _link(named if isinstance(named, str) else uri, block.get("mimeType"))
        case _:
            return block


def _resource(resource: Part) -> Part:
    match resource:
        case {"blob": str(blob)}:
            return _file(base64.b64decode(blob, validate=True), resource.get("mimeType"))
        case {"text": str(text)}:
            return _file(text.encode(), resource.get("mimeType"))
        case _:
            return {"type": "resource", "resource": resource}


def _file(content: bytes, media_type: JsonValue) -> Part:
    return {
        "type": "attachment",
        "sha256": sha256(content).hexdigest(),
        "media_type": media_type,
    }


def _link(attachment_id: str, media_type: JsonValue) -> Part:
    return {"type": "attachment", "attachment_id": attachment_id, "media_type": media_type}
