"""Export: a session as canonical JSON Lines, which any turnlog takes back byte for byte."""

import asyncio
from typing import Final

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from api.chunks import chunks
from api.dependencies import Log, Session
from infrastructure.export import export_session
from infrastructure.reading.sessions import session_head

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["history"])
MEDIA: Final = "application/x-ndjson"


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {MEDIA: {}}, "description": "Manifest, events, end."}},
)
async def export(target: Session, log: Log) -> StreamingResponse:
    """Export a session: a manifest, each event as it was recorded, and an end with a digest.

    A session that grows meanwhile is exported as it was at the start. An answer that was cut off
    lacks its last line, and is refused when it is imported.
    """
    await log.read(lambda connection: session_head(connection, target))
    lines = await asyncio.to_thread(
        export_session, log.database, target.project_id, target.session_id
    )
    name = f"{target.session_id}.turnlog.jsonl"
    return StreamingResponse(
        chunks(lines),
        media_type=MEDIA,
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
        },
    )
