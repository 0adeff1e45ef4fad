"""What is a blob: bytes that are kept once, under the name that they themselves give?"""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias

from domain.json_text import JsonValue

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,64}/[A-Za-z0-9!#$&^_.+-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """Bytes that an event is made of besides its body; their digest stands in the body.

    Attributes:
        sha256: In hex.
        content: The bytes, or None where only their name came.
    """

    sha256: str
    size: int | None
    media_type: str | None = None
    content: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where a stored body holds the beginning of something, and what it is the beginning of.

    Attributes:
        at: The JSON pointer of the value that stands for the whole.
        kept: How many bytes of the whole that value shows.
        base64: Whether the whole is base64 text of what the blob holds.
    """

    at: str
    sha256: str
    size: int
    media_type: str
    kept: int
    base64: bool = False

    def entry(self) -> dict[str, JsonValue]:
        """Return it as it stands in a body, and as readers are told of it."""
        entry: dict[str, JsonValue] = {
            "at": self.at,
            "sha256": self.sha256,
            "size": self.size,
            "media_type": self.media_type,
            "kept": self.kept,
        }
        return entry | ({"encoding": "base64"} if self.base64 else {})


Cuts: TypeAlias = tuple[Cut, ...]


def is_digest(text: str) -> bool:
    """Tell whether `text` is a SHA-256 in hex."""
    return _DIGEST.fullmatch(text) is not None


def is_media_type(text: str) -> bool:
    """Tell whether `text` names a media type (RFC 6838), without parameters."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def blob_of(content: bytes, media_type: str | None = None) -> Blob:
    """Return bytes as a blob."""
    return Blob(
        sha256=sha256(content).hexdigest(),
        size=len(content),
        media_type=media_type,
        content=content,
    )


def read_cut(entry: JsonValue) -> Cut | None:
    """Return what an entry of a body says, or None if it says nothing that is one."""
    if not isinstance(entry, dict):
        return None
    match entry:
        case {
            "at": str(at),
            "sha256": str(digest),
            "size": int(size),
            "media_type": str(media_type),
            "kept": int(kept),
        } if is_digest(digest) and size >= 0 and kept >= 0:
            return Cut(
                at=at,
                sha256=digest,
                size=size,
                media_type=media_type,
                kept=kept,
                base64=entry.get("encoding") == "base64",
            )
        case _:
            return None
