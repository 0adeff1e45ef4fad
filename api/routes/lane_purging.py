"""Lanes of which nothing is to be known any more: where they were, and who spoke there."""

from fastapi import APIRouter, Request, Response

from api.body import json_of, read_body
from api.dependencies import From, Log, ProjectId
from api.purge_shapes import lane_purge_shape
from api.routes.deleting import PurgeBody
from api.routes.lanes import LaneId
from api.views import MEDIA
from api.writing import Key, Once, Written, once, replay_headers
from domain.raw_json import dumped
from infrastructure.lanes.purging import lane_foreseen, purge_lane
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/lanes/{lane_id}", tags=["lanes"])


@router.post("/purge", openapi_extra=json_of(PurgeBody, {"dry_run": True}))
async def purge_one_lane(
    request: Request, project_id: ProjectId, lane_id: LaneId, log: Log, caller: From, key: Key
) -> Response:
    """Destroy what is known of a lane, for ever: ids and names of its chat and its people.

    Its sessions are deleted first: as long as one that it has or had is not, this is 409
    `lane-has-sessions`. Of the lane are left its id and the envelopes of its facts, whose chain
    still verifies; `lane-purged` tells who did it, and when. Whoever comes from there next begins
    the lane anew. With `dry_run` it is told how many rows of each kind would go.
    """
    body = await read_body(request)
    if body.valid(PurgeBody).dry_run:
        would = await log.read(lambda each: lane_foreseen(each, project_id, lane_id), long=True)
        told = dumped(lane_purge_shape(lane_id, would, dry_run=True))
        return Response(told, media_type=MEDIA)

    def write(attempt: Attempt) -> tuple[bytes, Written]:
        purged = purge_lane(log.lanes, attempt, project_id, lane_id, caller)
        told = dumped(lane_purge_shape(lane_id, purged, dry_run=False))
        return told, Written(status=200, result=told)

    identity = Once(project_id=project_id, key=key, request=request, body=body.raw)
    told, replayed = await once(log, identity, write, lambda _, kept: kept.result)
    return Response(told, media_type=MEDIA, headers=replay_headers(replayed=replayed))
