"""What comes of one file, in whichever format it is?

A Claude Code session file is translated; a turnlog export comes back as it was. The file says
which it is, if the caller does not.
"""

from typing import Final, Literal, TypeAlias

from api.shapes import Shape
from domain.json_text import NotJson, parse
from domain.refusals import ImportConflict
from infrastructure.canonical_import import import_export
from infrastructure.composition import Turnlog
from infrastructure.export_format import FORMAT
from infrastructure.import_sources import given
from infrastructure.importing import ClaudeCodeImport, FileImport, OnConflict

Format: TypeAlias = Literal["claude-code", "turnlog"]
_CANNOT_FORK: Final = (
    "the session holds other events than the export, and an export cannot fork: "
    "its ids and hashes are its own"
)


def format_of(content: bytes) -> Format:
    """Return which format a file has, by its first line."""
    line, _, __ = content.partition(b"\n")
    try:
        first = parse(line)
    except NotJson:
        return "claude-code"
    named = first.get("format") if isinstance(first, dict) else None
    return "turnlog" if named == FORMAT else "claude-code"


def take(
    log: Turnlog,
    project_id: str,
    name: str,
    content: bytes,
    *,
    format_: Format,
    on_conflict: OnConflict,
) -> FileImport:
    """Take a file into the log, as much of it as is new.

    Raises:
        BadExport: it is a damaged export.
        ImportConflict: the log holds something else under the same ids.
        Refusal: the session is deleted or full.
    """
    if format_ == "claude-code":
        importing = ClaudeCodeImport(log.database, log.runner, log.handler, project_id)
        return importing.take(given(name, content), on_conflict)
    try:
        taken = import_export(log.log, log.runner, project_id, [content])
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
