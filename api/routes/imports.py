"""Imports: a file of another program, or an export, becomes sessions of this project.

The file is compared with the log, and only what is new of it is appended: the same file again adds
nothing, whether or not it comes with an `Idempotency-Key`.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import uuid4

from fastapi import APIRouter, Query, Request, Response

from api.body import read_bytes
from api.dependencies import Log, ProjectId
from api.problems import Flaw, ProblemError
from api.taking import Format, format_of, import_shape, take
from api.writing import Key, Once, Written, once, replay_headers
from domain.identifiers import is_id, is_name
from domain.raw_json import RawJson, dumped, without_raw
from domain.times import rfc3339
from infrastructure.composition import Turnlog
from infrastructure.export_format import BadExport
from infrastructure.idempotency import Kept
from infrastructure.import_records import ImportRecord, find_record, keep_record
from infrastructure.importing import FileImport, OnConflict
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/imports", tags=["imports"])
MEDIA: Final = "application/json"
IMPORT_LIMIT: Final = 64 * 1024 * 1024
FILES: Final = frozenset({"application/x-ndjson", "application/jsonl", "application/octet-stream"})
_FILE: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The file itself, at most 64 MiB.",
        "content": {
            media: {"schema": {"type": "string", "format": "binary"}}
            for media in ("application/x-ndjson", "application/octet-stream")
        },
    }
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    name: str
    format: Format
    on_conflict: OnConflict


class _NotAnswered(Exception):
    """No request with this key was answered yet."""


@router.post("", status_code=201, openapi_extra=_FILE)
async def import_file(
    request: Request,
    project_id: ProjectId,
    log: Log,
    key: Key,
    format_: Annotated[
        Format | None,
        Query(alias="format", description="Not given: the file says it by its first line."),
    ] = None,
    source_name: Annotated[
        str,
        Query(description="The file's name: it names a session that its lines do not name."),
    ] = "import.jsonl",
    on_conflict: Annotated[
        OnConflict,
        Query(description="What to do if a session holds something else, or went on here."),
    ] = "refuse",
) -> Response:
    """Import a file: Claude Code's JSON Lines, or an export, which comes back byte for byte.

    A session is imported whole or not at all. The report counts what became of the file's lines
    and lists what could not be carried; nothing that was said is in it.
    """
    if not is_name(source_name):
        detail = "a file's name has 1 to 256 characters and no control characters"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("query", "source_name"))])
    content = await _content(request)
    chosen = format_ or format_of(content)
    asked = f"{format_}\n{source_name}\n{on_conflict}\n".encode()
    identity = Once(project_id=project_id, key=key, request=request, body=asked + content)
    record = await _answered(log, identity)
    if record is not None:
        return _answer(record, replayed=True)

    asking = _Asked(name=source_name, format=chosen, on_conflict=on_conflict)
    record = await _imported(log, project_id, content, asking)

    def write(attempt: Attempt) -> tuple[ImportRecord, Written]:
        keep_record(attempt.connection, record)
        result = dumped({"import_id": record.import_id})
        return record, Written(status=201, result=result)

    told, replayed = await once(log, identity, write, lambda a, kept: _kept(a, identity, kept))
    return _answer(told, replayed=replayed)


@router.get("/{import_id}")
async def read_import(project_id: ProjectId, import_id: str, log: Log) -> Response:
    """Read what came of an import."""
    record = None
    if is_id(import_id):
        record = await log.read(lambda connection: find_record(connection, project_id, import_id))
    if record is None:
        raise ProblemError("no-such-import", "there is no such import in this project")
    return Response(_body(record), media_type=MEDIA)


async def _content(request: Request) -> bytes:
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared not in FILES:
        detail = "send the file itself, as application/x-ndjson or application/octet-stream"
        raise ProblemError("unsupported-media-type", detail)
    content = await read_bytes(request, IMPORT_LIMIT)
    if not content.strip():
        raise ProblemError("nothing-to-import", "the file is empty")
    return content


async def _imported(log: Turnlog, project_id: str, content: bytes, asked: _Asked) -> ImportRecord:
    began = log.now()
    taken = await asyncio.to_thread(_taken, log, project_id, content, asked)
    log.arrivals.announce({(project_id, session_id) for session_id in taken.sessions})
    return ImportRecord(
        project_id=project_id,
        import_id=uuid4().hex,
        format=asked.format,
        status=taken.status,
        created_at=began,
        finished_at=log.now(),
        report=dumped(import_shape(taken)),
    )


def _taken(log: Turnlog, project_id: str, content: bytes, asked: _Asked) -> FileImport:
    try:
        taken = take(
            log,
            project_id,
            asked.name,
            content,
            format_=asked.format,
            on_conflict=asked.on_conflict,
        )
    except BadExport as error:
        extra = {"line": error.line, "reason": error.code}
        raise ProblemError("bad-export", str(error), extra=extra) from None
    if taken.status == "no-conversation":
        detail = f"none of the file's {taken.report.lines} lines belongs to a conversation"
        raise ProblemError("nothing-to-import", detail)
    return taken


async def _answered(log: Turnlog, identity: Once) -> ImportRecord | None:
    """Return what a request with this key was answered before."""
    if identity.key is None:
        return None

    def not_yet(_: Attempt) -> tuple[ImportRecord, Written]:
        raise _NotAnswered

    try:
        record, _ = await once(log, identity, not_yet, lambda a, kept: _kept(a, identity, kept))
    except _NotAnswered:
        return None
    return record


def _kept(attempt: Attempt, identity: Once, kept: Kept) -> ImportRecord:
    result = without_raw(RawJson(kept.result))
    import_id = str(result["import_id"]) if isinstance(result, dict) else ""
    record = find_record(attempt.connection, identity.project_id, import_id)
    if record is None:
        raise ProblemError("no-such-import", "the import of this key is not kept any more")
    return record


def _answer(record: ImportRecord, *, replayed: bool) -> Response:
    headers = {"Location": f"/v1/projects/{record.project_id}/imports/{record.import_id}"}
    return Response(
        _body(record),
        status_code=201,
        media_type=MEDIA,
        headers=headers | replay_headers(replayed=replayed),
    )


def _body(record: ImportRecord) -> bytes:
    return dumped(
        {
            "import_id": record.import_id,
            "status": record.status,
            "format": record.format,
            "created_at": rfc3339(record.created_at),
            "finished_at": rfc3339(record.finished_at),
            "report": RawJson(record.report),
        }
    )
