"""Why was a turn warm or cold, and where did its time go?"""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from sqlalchemy import Connection

from api.dependencies import KnownTags, Log, Session
from api.shapes import Shape
from api.views import When, now_shape, view
from infrastructure.reading.explaining import around
from infrastructure.reading.moment import Moment
from infrastructure.reading.turns import turn
from projections.explanation import explanation_shape

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}/turns", tags=["turns"])


@router.get("/{turn_id}/explain")
async def explain_turn(
    target: Session,
    log: Log,
    known: KnownTags,
    at: When,
    turn_id: Annotated[str, Path(description="The turn's id, compared bytewise.")],
) -> Response:
    """Tell why a turn was warm or cold: its harness, the one before, what moved the history.

    `path` is null where nobody told. Nothing that was said is told.
    """

    def look(connection: Connection, moment: Moment) -> Shape:
        found = turn(connection, moment, turn_id)
        return explanation_shape(around(connection, moment, found)) | now_shape(log, moment)

    return await view(log, target, known, look, at)
