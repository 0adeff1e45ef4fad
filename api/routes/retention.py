"""Retention: which ended sessions of a project go, or would?"""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field, StrictInt
from sqlalchemy import Connection

from api.body import json_of, read_body
from api.dependencies import From, Log, ProjectId
from api.prune_bodies import PruneFields
from api.retention_shapes import pruned_shape
from api.views import MEDIA
from api.writing import Key, Once, Written, once, replay_headers
from domain.raw_json import dumped
from domain.read_settings import DAYS_LIMIT
from infrastructure.retention import Pruning, prune, would_prune
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/sessions", tags=["sessions"])


class PruneBody(PruneFields):
    """Which ended sessions are meant."""

    older_than_days: Annotated[
        StrictInt | None,
        Field(
            ge=1,
            le=DAYS_LIMIT,
            description="Instead of the project's `sessions.retain_ended_days`.",
        ),
    ] = None


@router.post("/prune", openapi_extra=json_of(PruneBody, {"dry_run": True, "older_than_days": 90}))
async def prune_sessions(
    request: Request, project_id: ProjectId, log: Log, caller: From, key: Key
) -> Response:
    """Delete sessions that ended long ago, as a server does every hour where the settings say so.

    Those that are archived and whose last event is older than so many days; without a number the
    project's `sessions.retain_ended_days` counts, and 0 there lets none go. What is pinned, waits,
    runs, is parked or is a lane's current session stays and is counted as `spared`. Those that went
    can be restored until they are purged. Call again until nothing is `remaining`; with `dry_run`
    it is told what would go.
    """
    body = await read_body(request)
    fields = body.valid(PruneBody)
    asked = Pruning(
        project_id=project_id,
        days=fields.older_than_days,
        include_pinned=fields.include_pinned,
        limit=fields.limit,
    )
    if fields.dry_run:

        def look(connection: Connection) -> bytes:
            would = would_prune(connection, asked, log.now())
            return dumped(pruned_shape(would, dry_run=True))

        return Response(await log.read(look, long=True), media_type=MEDIA)

    def write(attempt: Attempt) -> tuple[tuple[bytes, int], Written]:
        done = prune(log.handler, attempt, asked, caller)
        told = dumped(pruned_shape(done, dry_run=False))
        return (told, len(done.session_ids)), Written(status=200, result=told)

    identity = Once(project_id=project_id, key=key, request=request, body=body.raw)
    (told, gone), replayed = await once(log, identity, write, lambda _, kept: (kept.result, 0))
    log.written.retired += gone
    return Response(told, media_type=MEDIA, headers=replay_headers(replayed=replayed))
