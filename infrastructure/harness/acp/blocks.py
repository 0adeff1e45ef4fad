"""How does a part of a message look as an ACP content block, and the other way round?

An agent gets what it can take: pictures, sounds and files only if it says so, and else a link.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from domain.json_text import JsonValue, dump
from domain.messages import Part, readable
from infrastructure.harness.acp.fields import EXTENSION, Object, member, text

_ATTACHMENT: Final = "attachment"
_TEXT_LIKE: Final = ("text/", "application/json", "application/xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """Which content blocks an agent takes besides text and links."""

    image: bool = False
    audio: bool = False
    resource: bool = False

    @classmethod
    def said(cls, capabilities: Mapping[str, JsonValue]) -> "Takes":
        """Read an agent's `promptCapabilities`."""
        return cls(
            image=capabilities.get("image") is True,
            audio=capabilities.get("audio") is True,
            resource=capabilities.get("embeddedContext") is True,
        )


def blocks_of(parts: Iterable[Part], takes: Takes) -> list[Object]:
    """Return the content blocks that say `parts`."""
    return [_block(part, takes) for part in readable(parts)]


def text_block(words: str) -> Object:
    """Return a block of text."""
    return {"type": "text", "text": words}


def _block(part: Object, takes: Takes) -> Object:
    kind = part.get("type")
    words = part.get("text")
    if kind in {"text", "reasoning"} and isinstance(words, str):
        return text_block(words)
    if kind == _ATTACHMENT:
        return _file(part, takes)
    return text_block(dump(part).decode())


def _file(part: Object, takes: Takes) -> Object:
    data, media_type = text(part, "data"), text(part, "media_type") or ""
    if data is not None and media_type.startswith("image/") and takes.image:
        return {"type": "image", "data": data, "mimeType": media_type}
    if data is not None and media_type.startswith("audio/") and takes.audio:
        return {"type": "audio", "data": data, "mimeType": media_type}
    if data is not None and takes.resource:
        return {"type": "resource", "resource": _resource(part, data, media_type)}
    return _link(part)


def _resource(part: Object, data: str, media_type: str) -> Object:
    resource: Object = {"uri": _address(part)}
    if media_type:
        resource["mimeType"] = media_type
    if media_type.startswith(_TEXT_LIKE):
        try:
            return resource | {"text": base64.b64decode(data).decode()}
        except ValueError:
            pass  # no text after all
    return resource | {"blob": data}


def _link(part: Object) -> Object:
    attachment_id = text(part, "attachment_id")
    link: Object = {
        "type": "resource_link",
        "uri": _address(part),
        "name": text(part, "filename") or attachment_id or _ATTACHMENT,
    }
    media_type = text(part, "media_type")
    if media_type is not None:
        link["mimeType"] = media_type
    if attachment_id is not None:
        link["_meta"] = {f"{EXTENSION}/attachment_id": attachment_id}
    return link


def _address(part: Object) -> str:
    return f"attachment:{text(part, 'attachment_id') or text(part, 'sha256') or 'unnamed'}"


def part_of(block: Object) -> Part:
    """Return the part that a content block other than text says."""
    kind = text(block, "type")
    resource = member(block, "resource")
    data = text(block, "data") if kind in {"image", "audio"} else text(resource, "blob")
    if data is not None and _is_base64(data):
        holder = block if kind in {"image", "audio"} else resource
        return _attachment(data, text(holder, "mimeType"))
    said: JsonValue = {key: value for key, value in block.items() if key != "type"}
    return {"type": "data", "kind": kind or "content", "data": said}


def _attachment(data: str, media_type: str | None) -> Part:
    """Return a file as a part; the same bytes have the same id wherever they are shown."""
    found: dict[str, object] = {
        "type": _ATTACHMENT,
        "attachment_id": f"shown-{sha256(data.encode()).hexdigest()[:32]}",
    }
    if media_type is not None:
        found["media_type"] = media_type
    return found | {"data": data}


def _is_base64(data: str) -> bool:
    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        return False
    return True
