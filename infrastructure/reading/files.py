"""How do messages get the bytes of their attachments back, for a form that holds them itself?"""

import base64
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Final, TypeAlias

from sqlalchemy import Connection

from domain.blobs import is_digest
from domain.json_text import JsonValue
from domain.messages import Part, readable
from infrastructure.blobs import content_of
from infrastructure.reading.blobs import find_blob
from projections.transcript import TranscriptMessage

Data: TypeAlias = Callable[[str], str | None]
HELD: Final = "held"
"""Stands for bytes that need not be looked at: their digest says which they are."""


def with_files(
    connection: Connection, project_id: str, messages: Iterable[TranscriptMessage]
) -> Iterator[TranscriptMessage]:
    """Yield messages whose attachments have their bytes in base64, where the project has them."""

    @cache
    def data(digest: str) -> str | None:
        content = content_of(connection, project_id, digest)
        return None if content is None else base64.b64encode(content).decode()

    for message in messages:
        yield _filled(message, data)


def with_files_of(
    connection: Connection, project_id: str, parts: Iterable[Part]
) -> list[dict[str, JsonValue]]:
    """Return the parts of a message, its attachments with their bytes as above."""

    def data(digest: str) -> str | None:
        content = content_of(connection, project_id, digest)
        return None if content is None else base64.b64encode(content).decode()

    return readable([_with_data(part, data) for part in parts])


def with_held_files(
    connection: Connection, project_id: str, messages: Iterable[TranscriptMessage]
) -> Iterator[TranscriptMessage]:
    """Yield messages whose attachments say that the project has their bytes, and not which."""

    @cache
    def data(digest: str) -> str | None:
        return None if find_blob(connection, project_id, digest) is None else HELD

    for message in messages:
        yield _filled(message, data)


def _filled(message: TranscriptMessage, data: Data) -> TranscriptMessage:
    parts = tuple(_with_data(part, data) for part in message.parts)
    changed = any(new is not old for new, old in zip(parts, message.parts, strict=True))
    return replace(message, parts=parts) if changed else message


def _with_data(part: Part, data: Data) -> Part:
    match part:
        case {"type": "attachment", "data": str()}:
            return part
        case {"type": "attachment", "sha256": str(digest)} if is_digest(digest):
            found = data(digest)
            return part if found is None else {**part, "data": found}
        case _:
            return part
