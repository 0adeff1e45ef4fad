"""What is a model told of the place where its conversation happens?"""

from fastapi import APIRouter, Response
from sqlalchemy import Connection

from api.dependencies import Log, ProjectId
from api.routes.lanes import MEDIA, LaneId
from api.shapes import Shape
from domain.raw_json import dumped
from infrastructure.lanes.context import lane_context
from infrastructure.lanes.lookup import the_lane

router = APIRouter(prefix="/v1/projects/{project_id}/lanes", tags=["lanes"])


@router.get("/{lane_id}/context")
async def read_lane_context(project_id: ProjectId, lane_id: LaneId, log: Log) -> Response:
    """Return what a model is to know of a lane, as words for its prompt and one by one.

    The platform, the chat, the thread and its topic; who speaks, unless the session is `shared`:
    then nobody in particular, as each message begins with its sender's name in square brackets; the
    home channels; the lane's key and the session. It is the same, byte for byte, until the lane
    gets another session or the settings change, so that a prompt that begins with it stays in a
    model's cache. With the setting `redact_ids`, ids are digests where the platform allows for
    that (`redacted`); who has a name is told by it alone. A harness that turnlog runs is told the
    same by itself when it starts. Of a lane whose conversation moved, it is that of the new one.
    """

    def look(connection: Connection) -> Shape:
        found = the_lane(connection, project_id, lane_id)
        told = lane_context(connection, found)
        return {
            "lane_id": found.lane_id,
            "session_id": found.lane.session_id,
            "prompt": told.prompt,
            "redacted": told.redacted,
            "shared": found.lane.shared,
            "facts": told.facts,
        }

    return Response(dumped(await log.read(look)), media_type=MEDIA)
