"""What does a file inside a message become, when it comes as a URL or as base64?

Bytes that are there become an attachment named by their digest; an address of bytes elsewhere stays
as it is, since nothing is fetched.
"""

import base64
import binascii
import hashlib
from typing import Final
from urllib.parse import unquote_to_bytes

from domain.identifiers import is_name
from infrastructure.imports.claude_lines import JsonObject

_SCHEME: Final = "data:"


def from_base64(data: str, media_type: str | None, filename: str | None) -> JsonObject | None:
    """Return the attachment that base64 text holds, or None if it is none."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return _attachment(raw, data, media_type, filename)


def from_url(url: str, media_type: str | None, filename: str | None) -> JsonObject | None:
    """Return the attachment that a data URL holds (RFC 2397), or None for any other address."""
    if not url.startswith(_SCHEME) or "," not in url:
        return None
    head, _, data = url.removeprefix(_SCHEME).partition(",")
    declared, _, parameters = head.partition(";")
    if "base64" in f";{parameters}".split(";"):
        return from_base64(data, media_type or declared or None, filename)
    raw = unquote_to_bytes(data)
    return _attachment(raw, base64.b64encode(raw).decode(), media_type or declared, filename)


def _attachment(raw: bytes, data: str, media_type: str | None, filename: str | None) -> JsonObject:
    part: JsonObject = {
        "type": "attachment",
        "attachment_id": f"sha256-{hashlib.sha256(raw).hexdigest()}",
    }
    if media_type and is_name(media_type):
        part["media_type"] = media_type
    if filename and is_name(filename):
        part["filename"] = filename
    return {**part, "data": data}
