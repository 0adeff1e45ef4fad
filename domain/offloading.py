"""What of an event's body is kept beside it, and how does the whole come back?

A text or an opaque value of more than 64 KiB leaves its beginning in its place; the whole becomes a
blob, and the body gets one last member, `blobs`, that says where which blob belongs. Whatever folds
sees the whole again. The stored bytes are what is hashed: they hold the digest of each blob.

Inside an opaque value it is its long texts that leave, so that it still reads; only if that is not
enough does it leave as a whole. A file in base64 leaves as the file, so that a picture that a tool
gives back is the same blob as the picture that was sent.
"""

import base64
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from domain.blobs import JSON, TEXT, Blob, Cut, Cuts, blob_of, read_cut
from domain.graphemes import beginning
from domain.json_spans import children, find, pointer, start_of
from domain.json_text import JsonValue, NotJson, dump, parse

LIMIT: Final = 64 * 1024
"""So many bytes of a text or an opaque value stay in an event's body."""
PREVIEW: Final = 4 * 1024
WHOLE_LIMIT: Final = 256 * 2**20
"""No body is put together that would be larger."""
_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_KEY_ENDS: Final = re.compile(r"[ \t\n\r]*+:")

_Structure: TypeAlias = "Mapping[str, _Structure]"
_MESSAGE: Final[_Structure] = {"content": {"*": {}}, "author": {}}
_BODY: Final[_Structure] = {"message": _MESSAGE, "messages": {"*": _MESSAGE}, "error": {}}
"""The objects and arrays that are the log's own shape; every other one is opaque."""

_LIST: Final = b',"blobs":['
_ENDS: Final = b"}]}"
_FILES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "application/octet-stream"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"OggS", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1f\x8b", "application/gzip"),
)
"""How files begin that come in base64: no ordinary text is taken for one."""


@dataclass(frozen=True, slots=True)
class Offloaded:
    """A body as it is stored, and what was taken out of it."""

    body: bytes
    blobs: tuple[Blob, ...] = ()


class Incomplete(ValueError):
    """A blob is missing, or is not what belongs in its place."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A value of a text that leaves it: where it stands, and what takes its place."""

    start: int
    end: int
    path: tuple[str, ...]
    content: bytes
    media_type: str
    preview: str
    base64: bool = False


def offload(body: bytes) -> Offloaded:
    """Return an event's body with all that is long taken out; a short one is not even read."""
    if len(body) <= LIMIT:
        return Offloaded(body)
    text = body.decode()
    start = start_of(text)
    pieces = list(_structured(text, start, (), _BODY)) if text[start] == "{" else []
    return _without(text.rstrip(), pieces) if pieces else Offloaded(body)


def cuts_of(body: bytes) -> Cuts:
    """Return what a stored body says of what was taken out of it."""
    return () if not body.endswith(_ENDS) else _split(body)[1]


def inline(body: bytes, blobs: Iterable[Blob]) -> bytes:
    """Return the whole of a stored body, whose blobs are among these.

    Opaque values come back as they were sent; a text may be spelled with other escapes.

    Raises:
        Incomplete: a blob is missing, of another size, or has no place.
    """
    rest, cuts = _split(body)
    if not cuts:
        return body
    if sum(cut.size for cut in cuts) > WHOLE_LIMIT:
        raise Incomplete
    contents = {blob.sha256: blob.content for blob in blobs}
    try:
        text = rest.decode()
        places = find(text, [cut.at for cut in cuts])
        wholes = [_restored(cut, contents) for cut in cuts]
    except (KeyError, ValueError, IndexError, RecursionError) as error:
        raise Incomplete from error
    done: list[bytes] = []
    at = 0
    for (start, end), whole in sorted(zip(places, wholes, strict=True)):
        if start < at:
            raise Incomplete
        done += [text[at:start].encode(), whole]
        at = end
    return b"".join([*done, text[at:].encode()])


def _split(body: bytes) -> tuple[bytes, Cuts]:
    """Return a body without its list of blobs, and the list.

    The list is the last member of the body itself: what follows one that stands deeper, up to the
    last brace, is no JSON.
    """
    at = body.rfind(_LIST + b'{"at":"')
    if at < 0 or not body.endswith(_ENDS):
        return body, ()
    try:
        entries = parse(body[at + len(_LIST) - 1 : -1])
    except NotJson:
        return body, ()
    cuts = tuple(map(read_cut, entries)) if isinstance(entries, list) else ()
    known = tuple(cut for cut in cuts if cut is not None)
    return (body[:at] + b"}", known) if len(known) == len(cuts) else (body, ())


def _restored(cut: Cut, contents: Mapping[str, bytes | None]) -> bytes:
    content = contents[cut.sha256]
    if content is None or len(content) != cut.size:
        raise Incomplete
    if cut.base64:
        return b'"' + base64.b64encode(content) + b'"'
    return content if cut.media_type == JSON else dump(content.decode())


def _without(text: str, pieces: Sequence[_Piece]) -> Offloaded:
    kept: list[str] = []
    entries: list[JsonValue] = []
    blobs: list[Blob] = []
    at = 0
    for piece in pieces:
        kept += [text[at : piece.start], dump(piece.preview).decode()]
        at = piece.end
        blob = blob_of(piece.content, piece.media_type)
        blobs.append(blob)
        cut = Cut(
            at=pointer(piece.path),
            sha256=blob.sha256,
            size=len(piece.content),
            media_type=piece.media_type,
            kept=len(piece.preview.encode()),
            base64=piece.base64,
        )
        entries.append(cut.entry())
    rest = "".join([*kept, text[at:-1]]).encode()
    return Offloaded(rest + _LIST[:-1] + dump(entries) + b"}", tuple(blobs))


def _structured(
    text: str, start: int, path: tuple[str, ...], structure: _Structure
) -> Iterator[_Piece]:
    """Yield what leaves an object or array of the log's own shape."""
    for child in children(text, start):
        within = (*path, child.key)
        inside = structure.get(child.key, structure.get("*"))
        if not _is_long(text, child.start, child.end):
            continue
        if text[child.start] == '"':
            piece = _text(text, child.start, child.end, within)
            if piece is not None:
                yield piece
        elif inside is None:
            yield from _opaque(text, child.start, child.end, within)
        else:
            yield from _structured(text, child.start, within, inside)


def _opaque(text: str, start: int, end: int, path: tuple[str, ...]) -> list[_Piece]:
    """Return what leaves an opaque value: its long texts, or all of it.

    How the value is built is looked at once it is known to be short without them, and so, however
    deep it is, in no time.
    """
    raw = text[start:end]
    pieces = [_text(raw, *span, path) for span in _long_strings(raw)]
    found = [piece for piece in pieces if piece is not None]
    left = _size(raw) + sum(
        _size(piece.preview) - _size(raw[piece.start : piece.end]) for piece in found
    )
    if left > LIMIT:
        return [_Piece(start, end, path, raw.encode(), JSON, beginning(raw, PREVIEW))]
    return [
        replace(piece, start=start + piece.start, end=start + piece.end, path=(*path, *within))
        for piece, within in zip(found, _paths(raw, found), strict=True)
    ]


def _long_strings(raw: str) -> Iterator[tuple[int, int]]:
    """Yield where strings stand in a JSON text that may be long, but for keys, in order."""
    for match in _STRING.finditer(raw):
        start, end = match.span()
        if _is_long(raw, start, end) and not _KEY_ENDS.match(raw, end):
            yield start, end


def _paths(raw: str, pieces: Sequence[_Piece]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each of these strings of a JSON text, in order."""
    kept: list[str] = []
    marks: list[int] = []
    at = length = 0
    for piece in pieces:
        kept += [raw[at : piece.start], '""']
        marks.append(length + piece.start - at)
        length, at = marks[-1] + len('""'), piece.end
    return _ways("".join([*kept, raw[at:]]), 0, (), marks)


def _ways(
    text: str, start: int, path: tuple[str, ...], marks: Sequence[int]
) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the values that begin at `marks`, all within the one at `start`."""
    low = 0
    for child in children(text, start):
        if low == len(marks):
            return
        high = bisect_left(marks, child.end, low)
        within = (*path, child.key)
        if high > low and marks[low] == child.start:
            yield within
        elif high > low:
            yield from _ways(text, child.start, within, marks[low:high])
        low = high


def _text(text: str, start: int, end: int, path: tuple[str, ...]) -> _Piece | None:
    """Return what leaves of a string, if it is long."""
    said: str = json.loads(text[start:end])
    if not _is_long(said, 0, len(said)):
        return None
    file = _file(said)
    if file is None:
        return _Piece(start, end, path, said.encode(), TEXT, beginning(said, PREVIEW))
    return _Piece(start, end, path, file[0], file[1], "", base64=True)


def _file(text: str) -> tuple[bytes, str] | None:
    """Return the file that `text` is in base64, with its media type."""
    first = text[:16].encode("ascii", "replace")
    try:
        beginning_ = base64.b64decode(first, validate=True)
        kind = next((kind for magic, kind in _FILES if beginning_.startswith(magic)), None)
        content = base64.b64decode(text, validate=True) if kind else b""
    except ValueError:
        return None
    if kind is None or base64.b64encode(content).decode() != text:
        return None
    return content, kind


def _is_long(text: str, start: int, end: int) -> bool:
    if (end - start) * 4 <= LIMIT:  # no code point has more bytes
        return False
    return end - start > LIMIT or _size(text[start:end]) > LIMIT


def _size(text: str) -> int:
    return len(text.encode())
