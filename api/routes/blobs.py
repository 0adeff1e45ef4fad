"""Blobs: the bytes that events name by their digest; read whole or in part, or stored ahead."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import Connection

from api.body import read_bytes
from api.dependencies import KnownTags, Log, ProjectId, is_known
from api.problems import Flaw, ProblemError
from api.ranges import ByteRange, Unsatisfiable, byte_range
from domain.blobs import Blob, is_digest
from domain.raw_json import dumped
from infrastructure.blobs import BLOB_LIMIT, Entangled, put
from infrastructure.commit import Contended
from infrastructure.composition import Turnlog
from infrastructure.reading.blobs import BlobView, find_blob, stretch
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/blobs", tags=["blobs"])
MEDIA: Final = "application/octet-stream"
PIECE: Final = 2 * 1024 * 1024
"""So much of a blob is in memory at once."""
_DIGEST: Final = "SHA-256 of the bytes, in lower-case hex."
_BINARY: Final[dict[str, Any]] = {"schema": {"type": "string", "format": "binary"}}
_SAFE: Final = {
    # What an agent or a user attached is never run, whatever it says it is.
    "Content-Disposition": "attachment",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, max-age=31536000, immutable",
    "Accept-Ranges": "bytes",
}

Digest = Annotated[str, Path(description=_DIGEST, json_schema_extra={"pattern": "^[0-9a-f]{64}$"})]


@router.get(
    "/{sha256}",
    response_class=StreamingResponse,
    responses={
        200: {"content": {MEDIA: _BINARY}, "description": "All of it."},
        206: {"content": {MEDIA: _BINARY}, "description": "The bytes that were asked for."},
    },
)
async def read_blob(
    project_id: ProjectId,
    log: Log,
    known: KnownTags,
    digest: Annotated[Digest, Path(alias="sha256")],
    asked: Annotated[
        str | None,
        Header(alias="Range", description="`bytes=0-99`, `bytes=100-` or `bytes=-100`."),
    ] = None,
    if_range: Annotated[
        str | None, Header(description="The range counts only with this entity tag.")
    ] = None,
) -> Response:
    """Read the bytes of an attachment, or of a text that an event only begins.

    They never change. The media type is the one that an event gave them; they come as a file to
    be saved, and a browser runs nothing of them.
    """
    _check(digest)

    def look(connection: Connection) -> BlobView | None:
        return find_blob(connection, project_id, digest)

    found = await log.read(look)
    if found is None:
        raise ProblemError("no-such-blob", "the project has nothing of this digest")
    tag = f'"{digest}"'
    headers = {**_SAFE, "ETag": tag}
    if is_known(tag, known):
        return Response(status_code=304, headers=headers)
    try:
        part = byte_range(asked, found.size) if if_range in {None, tag} else None
    except Unsatisfiable:
        raise ProblemError(
            "range-not-satisfiable",
            f"there are {found.size} bytes",
            headers={"Content-Range": f"bytes */{found.size}"},
        ) from None
    whole = ByteRange(0, found.size)
    if part is not None:
        headers["Content-Range"] = f"bytes {part.start}-{part.end - 1}/{found.size}"
    headers["Content-Length"] = str((part or whole).length)
    return StreamingResponse(
        _pieces(log, project_id, digest, part or whole),
        status_code=200 if part is None else 206,
        headers={**headers, "Content-Type": found.media_type or MEDIA},
    )


@router.put(
    "/{sha256}",
    status_code=201,
    openapi_extra={"requestBody": {"required": True, "content": {MEDIA: _BINARY}}},
    responses={200: {"description": "The project has it already."}},
)
async def store_blob(
    request: Request,
    project_id: ProjectId,
    log: Log,
    digest: Annotated[Digest, Path(alias="sha256")],
) -> Response:
    """Store bytes ahead of the event that names them: an attachment then has a `sha256` alone.

    Nothing is lost by doing it twice. What no event names is kept for a day.
    """
    _check(digest)
    content = await read_bytes(request, BLOB_LIMIT)
    found = await asyncio.to_thread(lambda: sha256(content).hexdigest())
    if found != digest:
        detail = "the bytes that came have another digest"
        raise ProblemError("digest-mismatch", detail, flaws=[Flaw(detail, ("path", "sha256"))])
    blob = Blob(sha256=digest, size=len(content), content=content)

    def work(attempt: Attempt) -> bool:
        try:
            return put(attempt.connection, project_id, blob, log.now())
        except Entangled as error:
            raise Contended from error

    is_new = await log.write(work)
    return Response(
        dumped({"sha256": digest, "size": len(content)}),
        status_code=201 if is_new else 200,
        media_type="application/json",
        headers={"ETag": f'"{digest}"', "Location": request.url.path},
    )


def _check(digest: str) -> None:
    if not is_digest(digest):
        detail = "a digest is 64 lower-case hex digits"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("path", "sha256"))])


async def _pieces(
    log: Turnlog, project_id: str, digest: str, part: ByteRange
) -> AsyncIterator[bytes]:
    for start in range(part.start, part.end, PIECE):
        length = min(PIECE, part.end - start)

        def look(connection: Connection, start: int = start, length: int = length) -> bytes | None:
            return stretch(connection, project_id, digest, start, length)

        found = await log.read(look, long=True)
        if found is None:
            return  # it was collected meanwhile; that bytes are missing shows by the length
        yield found
