"""Where do the bytes of attachments go, and which blobs does a body name?

A message never holds a file: an attachment's base64 `data` becomes its `sha256` and `size`, and the
bytes become a blob. So a picture costs its size once, however often it is sent.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from domain.blobs import Blob, blob_of, is_digest, is_media_type
from domain.json_spans import Span, children, start_of
from domain.json_text import JsonValue, dump, parse, raw_members
from domain.offloading import Offloaded, cuts_of
from domain.refusals import InvalidValue

_LARGEST: Final = 2**53


@dataclass(frozen=True, slots=True)
class _Found:
    """An attachment's text, its members as they are written, and where it stands."""

    span: Span
    members: dict[str, bytes]
    path: tuple[str | int, ...]


def without_files(body: bytes) -> Offloaded:
    """Return an event's body with the bytes of its attachments taken out.

    Members are kept as they were sent, but for `data`; a body without attachments is not touched.

    Raises:
        InvalidValue: `data` is no base64, or `sha256` or `size` are not those of the bytes.
    """
    # JSON can spell a letter as an escape; then it takes a closer look to know.
    if b'"attachment"' not in body and b"\\u00" not in body:
        return Offloaded(body)
    text = body.decode()
    done: list[str] = []
    blobs: list[Blob] = []
    at = 0
    for found in _attachments(text):
        members, blob = _named(found)
        if blob is None:
            continue
        blobs.append(blob)
        written = b",".join(dump(name) + b":" + raw for name, raw in members.items())
        done += [text[at : found.span.start], "{" + written.decode() + "}"]
        at = found.span.end
    if not blobs:
        return Offloaded(body)
    return Offloaded("".join([*done, text[at:]]).encode(), tuple(blobs))


def named_blobs(body: bytes) -> list[Blob]:
    """Return the blobs that a stored body names, each once; never raises."""
    if b'"sha256":"' not in body:
        return []
    found = {
        cut.sha256: Blob(sha256=cut.sha256, size=cut.size, media_type=cut.media_type)
        for cut in cuts_of(body)
    }
    if b'"attachment"' in body:
        try:
            files = [_reference(attachment.members) for attachment in _attachments(body.decode())]
        except (ValueError, IndexError, RecursionError):
            files = []  # whoever wrote these bytes did not read them first
        found |= {file.sha256: file for file in files if file is not None}
    return list(found.values())


def _attachments(text: str) -> Iterator[_Found]:
    at = start_of(text)
    for member in _members(text, at):
        if member.key == "message":
            yield from _of_message(text, member.start, ("message",))
        elif member.key == "messages" and text[member.start] == "[":
            for item in children(text, member.start):
                yield from _of_message(text, item.start, ("messages", int(item.key)))


def _of_message(text: str, at: int, path: tuple[str | int, ...]) -> Iterator[_Found]:
    for member in _members(text, at):
        if member.key != "content" or text[member.start] != "[":
            continue
        for part in children(text, member.start):
            if text[part.start] != "{":
                continue
            members = raw_members(text[part.start : part.end].encode())
            if "type" in members and parse(members["type"]) == "attachment":
                yield _Found(part, members, (*path, "content", int(part.key)))


def _members(text: str, at: int) -> Iterator[Span]:
    return children(text, at) if text[at] == "{" else iter(())


def _named(found: _Found) -> tuple[dict[str, bytes], Blob | None]:
    """Return an attachment's members without its bytes, and the blob that it names, if any."""
    members = dict(found.members)
    data = parse(members.pop("data", b"null"))
    if not isinstance(data, str):
        return members, _reference(found.members)
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        content = None
    if content is None:
        raise InvalidValue("data is base64 (RFC 4648, section 4)", *found.path, "data")
    blob = blob_of(content, _media_type(members))
    for name, true in (("sha256", blob.sha256), ("size", blob.size)):
        told = parse(members.get(name, b"null"))
        if told not in (None, true):
            raise InvalidValue(f"the {name} of the data is another", *found.path, name)
        members[name] = dump(true)
    return members, blob


def _reference(members: dict[str, bytes]) -> Blob | None:
    digest = parse(members.get("sha256", b"null"))
    if not isinstance(digest, str) or not is_digest(digest):
        return None
    size: JsonValue = parse(members.get("size", b"null"))
    known = isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= _LARGEST
    return Blob(
        sha256=digest,
        size=size if known and isinstance(size, int) else None,
        media_type=_media_type(members),
    )


def _media_type(members: dict[str, bytes]) -> str | None:
    told = parse(members.get("media_type", b"null"))
    return told if isinstance(told, str) and is_media_type(told) else None
