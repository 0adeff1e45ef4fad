"""Imports: a file of another program, or an export, becomes sessions of this project.

The file is compared with the log, and only what is new of it is appended: the same file again adds
nothing, whether or not it comes with an `Idempotency-Key`. A large file, or one whose sender does
not want to wait, is a job that tells how far it has come.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any, BinaryIO, Final, cast
from uuid import uuid4

from fastapi import APIRouter, Header, Query, Request, Response

from api.dependencies import Log, ProjectId
from api.import_jobs import Asked, ImportJobs, completed, taken
from api.problems import Flaw, ProblemError
from api.taking import (
    BEGINNING,
    STREAMED,
    TRANSCRIPT_LIMIT,
    AskedFormat,
    TooLarge,
    UnknownFormat,
    format_in,
    format_of,
)
from api.writing import Key, Once, Written, once, replay_headers
from domain.identifiers import is_id, is_name
from domain.raw_json import RawJson, dumped, without_raw
from domain.times import rfc3339
from infrastructure.composition import Turnlog
from infrastructure.idempotency import Kept
from infrastructure.import_records import NOTHING, ImportRecord, find_record, keep_record
from infrastructure.importing import OnConflict
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/imports", tags=["imports"])
MEDIA: Final = "application/json"
STREAM_LIMIT: Final = 4 * 1024 * 1024 * 1024
WAITED_FOR: Final = 4 * 1024 * 1024
IN_MEMORY: Final = 8 * 1024 * 1024
RETRY_AFTER_S: Final = 1
FILES: Final = frozenset(
    {"application/x-ndjson", "application/jsonl", "application/octet-stream", "text/csv"}
)
_FILE: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The file itself: a transcript of at most 64 MiB, rows or an export of at "
        "most 4 GiB.",
        "content": {
            media: {"schema": {"type": "string", "format": "binary"}}
            for media in ("application/x-ndjson", "application/octet-stream", "text/csv")
        },
    },
    "responses": {
        "202": {
            "description": "The import runs; `Location` tells how far it has come.",
            "headers": {"Location": {"schema": {"type": "string"}}},
        }
    },
}


class _NotAnswered(Exception):
    """No request with this key was answered yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """What was sent: the file, how large it is, and its digest."""

    file: BinaryIO
    size: int
    digest: bytes


@router.post("", status_code=201, openapi_extra=_FILE)
async def import_file(
    request: Request,
    project_id: ProjectId,
    log: Log,
    key: Key,
    format_: Annotated[
        AskedFormat,
        Query(alias="format", description="`auto`: the file says it by its content."),
    ] = "auto",
    source_name: Annotated[
        str,
        Query(description="The file's name: it names a session that its lines do not name."),
    ] = "import.jsonl",
    on_conflict: Annotated[
        OnConflict,
        Query(description="What to do if a session holds something else, or went on here."),
    ] = "refuse",
    prefer: Annotated[
        str | None, Header(description="`respond-async`: do not wait for the end.")
    ] = None,
) -> Response:
    """Import a transcript of another program, rows of a table, or an export.

    What is there already is not imported again. The report counts what became of the file's lines
    and lists what could not be carried; nothing that was said is in it. A file of more than 4 MiB
    is imported in the background (202), as is any with `Prefer: respond-async`; a job that was
    interrupted goes on when the same file is sent again.
    """
    if not is_name(source_name):
        detail = "a file's name has 1 to 256 characters and no control characters"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("query", "source_name"))])
    sent = await _received(request, format_)
    with _closed_unless_kept(sent) as keep:
        asked = Asked(name=source_name, format=_format(sent, format_), on_conflict=on_conflict)
        named = f"{format_}\n{source_name}\n{on_conflict}\n".encode()
        identity = Once(project_id=project_id, key=key, request=request, body=named + sent.digest)
        found = await _answered(log, identity)
        if found is not None and found.status != "interrupted":
            return _answer(found, replayed=True)
        record = found or _new(log, project_id, asked)
        if found or sent.size > WAITED_FOR or _is_async(prefer):
            now = log.now()
            record = replace(record, status="running", seen_at=now, finished_at=None)
            told, replayed = await _kept_once(log, identity, record, again=found is not None)
            if not replayed or found is not None:
                keep()
                jobs: ImportJobs = request.app.state.import_jobs
                jobs.start(log, record, sent.file, asked)
            return _answer(told, replayed=replayed)
        file = await asyncio.to_thread(taken, log, project_id, sent.file, asked)
        now = log.now()
        record = replace(completed(record, file), seen_at=now, finished_at=now)
        told, replayed = await _kept_once(log, identity, record)
        return _answer(told, replayed=replayed)


@router.get("/{import_id}")
async def read_import(project_id: ProjectId, import_id: str, log: Log) -> Response:
    """Read how far an import has come, and what came of it."""
    record = None
    if is_id(import_id):
        record = await log.read(
            lambda connection: find_record(connection, project_id, import_id, log.now())
        )
    if record is None:
        raise ProblemError("no-such-import", "there is no such import in this project")
    return Response(_body(record), media_type=MEDIA)


async def _received(request: Request, asked: AskedFormat) -> _File:
    """Return the body, kept on disk if it is large.

    Raises:
        ProblemError: it is empty, too large for what it is, or declared as something else.
    """
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared not in FILES:
        detail = "send the file itself, as application/x-ndjson or application/octet-stream"
        raise ProblemError("unsupported-media-type", detail)
    file = cast("BinaryIO", SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115 - outlives this
    digest, size, is_blank = sha256(), 0, True
    limit = STREAM_LIMIT if asked in STREAMED else TRANSCRIPT_LIMIT
    async for chunk in request.stream():
        digest.update(chunk)
        size += len(chunk)
        is_blank = is_blank and not chunk.strip()
        if size > limit:
            limit = _limit(file, asked)
            if size > limit:
                file.close()
                detail = f"a file of this kind has at most {limit} bytes"
                raise ProblemError("body-too-large", detail, headers={"Connection": "close"})
        file.write(chunk)
    file.seek(0)
    if is_blank:
        file.close()
        raise ProblemError("nothing-to-import", "the file is empty")
    return _File(file=file, size=size, digest=digest.digest())


def _limit(file: BinaryIO, asked: AskedFormat) -> int:
    """Return how large a file may be that begins so; it is at its end before and after."""
    if asked == "auto":
        file.seek(0)
        beginning = file.read(BEGINNING)
        file.seek(0, 2)
        try:
            is_streamed = format_of(beginning, whole=False) in STREAMED
        except UnknownFormat:
            is_streamed = False
        return STREAM_LIMIT if is_streamed else TRANSCRIPT_LIMIT
    return STREAM_LIMIT if asked in STREAMED else TRANSCRIPT_LIMIT


def _format(sent: _File, asked: AskedFormat) -> Any:  # noqa: ANN401 - a `Format`
    try:
        return format_in(sent.file, sent.size, asked)
    except UnknownFormat as error:
        raise ProblemError("unknown-format", str(error)) from None
    except TooLarge as error:
        raise ProblemError("body-too-large", str(error)) from None


@contextmanager
def _closed_unless_kept(sent: _File) -> Generator[Callable[[], None]]:
    kept = False

    def keep() -> None:
        nonlocal kept
        kept = True

    try:
        yield keep
    finally:
        if not kept:
            sent.file.close()


def _is_async(prefer: str | None) -> bool:
    """Tell whether a client does not want to wait (RFC 7240)."""
    wishes = (prefer or "").lower().split(",")
    return any(wish.partition(";")[0].strip() == "respond-async" for wish in wishes)


def _new(log: Turnlog, project_id: str, asked: Asked) -> ImportRecord:
    now = log.now()
    return ImportRecord(
        project_id=project_id,
        import_id=uuid4().hex,
        format=asked.format,
        source_name=asked.name,
        status="running",
        created_at=now,
        seen_at=now,
    )


async def _kept_once(
    log: Turnlog, identity: Once, record: ImportRecord, *, again: bool = False
) -> tuple[ImportRecord, bool]:
    """Keep a record, unless the request's key has another; `again` if it has this one."""

    def write(attempt: Attempt) -> tuple[ImportRecord, Written]:
        keep_record(attempt.connection, record)
        status = 202 if record.status == "running" else 201
        return record, Written(status=status, result=dumped({"import_id": record.import_id}))

    def kept(attempt: Attempt, found: Kept) -> ImportRecord:
        if again:
            keep_record(attempt.connection, record)
            return record
        return _kept(log, attempt, identity, found)

    return await once(log, identity, write, kept)


async def _answered(log: Turnlog, identity: Once) -> ImportRecord | None:
    """Return what a request with this key was answered before."""
    if identity.key is None:
        return None

    def not_yet(_: Attempt) -> tuple[ImportRecord, Written]:
        raise _NotAnswered

    try:
        record, _ = await once(
            log, identity, not_yet, lambda attempt, kept: _kept(log, attempt, identity, kept)
        )
    except _NotAnswered:
        return None
    return record


def _kept(log: Turnlog, attempt: Attempt, identity: Once, kept: Kept) -> ImportRecord:
    result = without_raw(RawJson(kept.result))
    import_id = str(result["import_id"]) if isinstance(result, dict) else ""
    record = find_record(attempt.connection, identity.project_id, import_id, log.now())
    if record is None:
        raise ProblemError("no-such-import", "the import of this key is not kept any more")
    return record


def _answer(record: ImportRecord, *, replayed: bool) -> Response:
    headers = {"Location": f"/v1/projects/{record.project_id}/imports/{record.import_id}"}
    runs = record.status == "running"
    if runs:
        headers |= {"Retry-After": str(RETRY_AFTER_S), "Preference-Applied": "respond-async"}
    return Response(
        _body(record),
        status_code=202 if runs else 201,
        media_type=MEDIA,
        headers=headers | replay_headers(replayed=replayed),
    )


def _body(record: ImportRecord) -> bytes:
    finished = record.finished_at
    return dumped(
        {
            "import_id": record.import_id,
            "status": record.status,
            "format": record.format,
            "source_name": record.source_name,
            "created_at": rfc3339(record.created_at),
            "finished_at": None if finished is None else rfc3339(finished),
            "progress": {"files": 1, "lines": record.lines, "events": record.events},
            "report": None if record.report == NOTHING else RawJson(record.report),
        }
    )
