"""The state: what do the rules know of a session, or did they know at a version?"""

from fastapi import APIRouter, Response
from sqlalchemy import Connection

from api.dependencies import KnownTags, Log, Session
from api.shapes import Shape, head_shape, readiness_shape
from api.views import When, view
from domain.readiness import readiness
from infrastructure.reading.moment import Moment
from infrastructure.reading.past import known_at
from projections.session_state import open_turn, state_shape

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["history"])


@router.get("/state")
async def read_state(target: Session, log: Log, known: KnownTags, at: When) -> Response:
    """Read where a session stands, in one answer that does not grow with it.

    Its status and titles; how much is in sight and how much there ever was; the turn that has not
    ended with its open calls and gates; what is missing; the head; the readiness with its reasons.
    With `at`, all of it as it was then; the headers always tell how it is now. `redo_version` is
    the rewind that `redo` reverts, `branch` the number of the turn that the branch began with.
    """

    def look(connection: Connection, moment: Moment) -> Shape:
        state = known_at(connection, moment)
        policy = log.policy(moment.known_after)
        judged = readiness(state.head, open_turn(state), policy, moment.agreements)
        return {
            "session_id": target.session_id,
            **state_shape(state),
            "readiness": readiness_shape(judged, state.head),
            "head": head_shape(state.head),
            "through_version": moment.through,
        }

    return await view(log, target, known, look, at)
