"""What comes of one file, in whichever format it is?

A transcript of another program is translated; rows of one's own table are appended by their ids; a
turnlog export comes back as it was. The file says which it is, if the caller does not.
"""

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import BinaryIO, Final, Literal, TypeAlias

from api.shapes import Shape
from domain.refusals import ImportConflict
from infrastructure.canonical_import import import_export
from infrastructure.composition import Turnlog
from infrastructure.import_sources import given
from infrastructure.importing import FileImport, OnConflict, TranscriptImport
from infrastructure.imports.formats import AnyFormat, UnknownFormat, format_of
from infrastructure.row_importing import RowImport

__all__ = [
    "AskedFormat",
    "Format",
    "TooLarge",
    "UnknownFormat",
    "format_in",
    "format_of",
    "import_shape",
    "take",
]

Format: TypeAlias = AnyFormat
AskedFormat: TypeAlias = Literal[
    "auto", "claude-code", "openai-chat", "codex", "ui-messages", "rows", "turnlog"
]
Heard: TypeAlias = Callable[[int, int], None]
TRANSCRIPT_LIMIT: Final = 64 * 1024 * 1024
STREAMED: Final = frozenset({"rows", "turnlog"})
BEGINNING: Final = 1024 * 1024
_CHUNK: Final = 1024 * 1024
_CANNOT_FORK: Final = (
    "the session holds other events than the export, and an export cannot fork: "
    "its ids and hashes are its own"
)


class TooLarge(ValueError):
    """A transcript is read whole, and this one is larger than that allows."""


def format_in(
    file: BinaryIO, size: int, asked: AskedFormat, limit: int = TRANSCRIPT_LIMIT
) -> Format:
    """Return which format a file is in; the file is at its beginning before and after.

    `limit` is how many bytes of a transcript may be read at once.

    Raises:
        UnknownFormat: it does not say.
        TooLarge: it is a transcript, and too large for one.
    """
    found: Format
    if asked != "auto":
        found = asked
    elif size <= limit:
        found = _format_of(file, size)
    else:
        found = format_of(file.read(BEGINNING), whole=False)
    file.seek(0)
    if size > limit and found not in STREAMED:
        raise TooLarge(f"a transcript has at most {limit} bytes")
    return found


def take(  # noqa: PLR0913
    log: Turnlog,
    project_id: str,
    name: str,
    content: bytes | BinaryIO,
    *,
    format_: Format,
    on_conflict: OnConflict,
    heard: Heard = lambda _lines, _events: None,
) -> FileImport:
    """Take a file into the log, as much of it as is new.

    `heard` is told of the lines read and the events appended so far; what it raises ends the
    import between two transactions.

    Raises:
        BadExport: it is a damaged export.
        ImportConflict: the log holds something else under the same ids.
        Refusal: the session is deleted or full.
    """
    file = BytesIO(content) if isinstance(content, bytes) else content
    if format_ == "turnlog":
        return _take_export(log, project_id, name, file, on_conflict)
    parts = (log.database, log.runner, log.handler, project_id)
    if format_ == "rows":
        return RowImport(*parts, heard).take(name, file, on_conflict)
    importing = TranscriptImport(*parts, format_, _summing(heard))
    return importing.take(given(name, file.read()), on_conflict)


def _format_of(file: BinaryIO, size: int) -> Format:
    """Return a file's format by its beginning, and only if that is not enough, by all of it."""
    beginning = file.read(BEGINNING)
    if size > BEGINNING:
        try:
            return format_of(beginning, whole=False)
        except UnknownFormat:
            beginning += file.read()
    return format_of(beginning)


def _summing(heard: Heard) -> Callable[[int], None]:
    events = 0

    def more(count: int) -> None:
        nonlocal events
        events += count
        heard(0, events)

    return more


def _take_export(
    log: Turnlog, project_id: str, name: str, file: BinaryIO, on_conflict: OnConflict
) -> FileImport:
    try:
        taken = import_export(log.log, log.runner, project_id, _chunks(file))
    except ImportConflict as conflict:
        if on_conflict == "skip":
            return FileImport(name=name, status="skipped", detail=conflict.detail)
        if on_conflict == "fork":
            raise ImportConflict(_CANNOT_FORK) from conflict
        raise
    return FileImport(
        name=name,
        status="imported" if taken.added else "unchanged",
        sessions=(taken.session_id,),
        facts=taken.added,
    )


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def import_shape(taken: FileImport) -> Shape:
    """Return what came of a file: counts, and what was lost; nothing that was said."""
    report = taken.report
    shape: Shape = {
        "name": taken.name,
        "status": taken.status,
        "sessions": taken.sessions,
        "events": taken.facts,
        "lines": report.lines,
        "turns": report.turns,
        "messages": report.messages,
        "tool_calls": report.tool_calls,
        "tool_results": report.tool_results,
        "kept_as_data": report.kept_as_data,
        "repeats_dropped": report.repeats_dropped,
        "losses": [
            {"line": loss.line, "code": loss.code, "detail": loss.detail} for loss in report.losses
        ],
    }
    return shape | ({"detail": taken.detail} if taken.detail else {})
