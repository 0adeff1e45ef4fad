"""Which lanes of a project are given up, since nothing came for long, or would be?"""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field, StrictInt
from sqlalchemy import Connection

from api.body import json_of, read_body
from api.dependencies import From, Log, ProjectId
from api.lane_pruning_shapes import pruned_lanes_shape
from api.prune_bodies import PruneFields
from api.views import MEDIA
from api.writing import Key, Once, Written, once, replay_headers
from domain.raw_json import dumped
from domain.read_settings import DAYS_LIMIT
from infrastructure.lanes.pruning import PrunedLanes, prune_lanes, would_prune_lanes
from infrastructure.retention import Pruning
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/lanes", tags=["lanes"])


class LanePruneBody(PruneFields):
    """Which lanes are meant."""

    older_than_days: Annotated[
        StrictInt | None,
        Field(
            le=DAYS_LIMIT,
            description="Instead of the project's `lanes.prune_after_days`; 0 or less: none goes.",
        ),
    ] = None


@router.post(
    "/prune", openapi_extra=json_of(LanePruneBody, {"dry_run": True, "older_than_days": 90})
)
async def prune_project_lanes(
    request: Request, project_id: ProjectId, log: Log, caller: From, key: Key
) -> Response:
    """Give up lanes to which nothing came for long, as a server does every hour if it is to.

    Those that are open and whose last activity is older than so many days; without a number the
    project's `lanes.prune_after_days` counts. What is pinned, suspended, in use or has something to
    go on with stays, and is counted as `spared`. Their sessions stay as they are, and whoever comes
    from there next finds the conversation again (`recovered`). Call again until nothing is
    `remaining`; with `dry_run` it is told what would go.
    """
    body = await read_body(request)
    fields = body.valid(LanePruneBody)
    asked = Pruning(
        project_id=project_id,
        days=fields.older_than_days,
        include_pinned=fields.include_pinned,
        limit=fields.limit,
    )

    def look(connection: Connection) -> PrunedLanes:
        return would_prune_lanes(connection, asked, log.now())

    would = await log.read(look, long=True)  # nobody who writes waits for that
    if fields.dry_run:
        return Response(dumped(pruned_lanes_shape(would, dry_run=True)), media_type=MEDIA)

    def write(attempt: Attempt) -> tuple[tuple[bytes, int], Written]:
        done = prune_lanes(log.lanes, attempt, asked, would, log.now(), caller)
        told = dumped(pruned_lanes_shape(done, dry_run=False))
        return (told, len(done.lane_ids)), Written(status=200, result=told)

    identity = Once(project_id=project_id, key=key, request=request, body=body.raw)
    (told, gone), replayed = await once(log, identity, write, lambda _, kept: (kept.result, 0))
    log.written.pruned += gone
    return Response(told, media_type=MEDIA, headers=replay_headers(replayed=replayed))
