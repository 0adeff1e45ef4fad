"""Readiness: may a client send only its newest message, and if not, why not?"""

from fastapi import APIRouter, Response
from sqlalchemy import Connection

from api.dependencies import KnownTags, Log, Session
from api.shapes import Shape, readiness_shape
from api.views import When, view
from infrastructure.reading.moment import Moment
from infrastructure.reading.readiness import judged

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["readiness"])


@router.get("/readiness")
async def read_readiness(target: Session, log: Log, known: KnownTags, at: When) -> Response:
    """Tell whether the log can stand in for the history; with `at`, whether it could then.

    The headers always tell how it is now.
    """

    def look(connection: Connection, moment: Moment) -> Shape:
        then, head = judged(connection, moment, log.policy(moment.known_after))
        return readiness_shape(then, head)

    return await view(log, target, known, look, at)
