"""The pool: which harnesses are kept where, and how many turns were warm?"""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import Connection

from api.dependencies import Log, ProjectId, Session
from api.paging import DEFAULT_LIMIT, Cursor, Limit, cursor, place_of
from api.pool_shapes import counts_shape, process_shape, seats_shape
from api.problems import ProblemError
from api.routes.hosted_turns import hosting_of
from api.shapes import Shape
from api.views import LARGEST, MEDIA
from domain.identifiers import is_name
from domain.raw_json import dumped
from infrastructure.pool.seats import SeatKey
from infrastructure.reading.seats import SeatQuery, SeatView, seats

router = APIRouter(prefix="/v1/projects/{project_id}/pool", tags=["pool"])


@router.get("")
async def read_pool(
    project_id: ProjectId,
    log: Log,
    limit: Limit = DEFAULT_LIMIT,
    page_cursor: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """List the seats that are not gone, the last changed first; tell how many turns were warm.

    The log tells of every process's seats; `here` marks those of the one that answers.
    """
    parameters = {"route": "pool", "project": project_id}
    query = SeatQuery(project_id=project_id, after=_after(page_cursor, parameters), limit=limit + 1)

    def look(connection: Connection) -> tuple[list[SeatView], Shape]:
        counts = counts_shape(connection, project_id, log.now())
        return list(seats(connection, query)), counts

    found, counts = await log.read(look)
    shown = found[:limit]
    page = {
        "seats": seats_shape(shown, log.live_pool),
        "next_cursor": cursor(_place(shown[-1]), parameters) if len(found) > limit else None,
        "counts": counts,
        "process": process_shape(log.live_pool, log.counting.relieved),
    }
    return Response(dumped(page), media_type=MEDIA)


@router.delete("/{session_id}", status_code=204)
async def let_go(request: Request, target: Session) -> Response:
    """Let the harness go that this process keeps for a session; its next turn is cold.

    What waits for a decision goes on waiting. The answer comes when the harness has ended; one that
    a turn has is not ended by this.
    """
    pool = hosting_of(request).launching.pool
    seat = pool.find(SeatKey(target.project_id, target.session_id))
    if seat is None:
        raise ProblemError("no-such-seat", "no harness of this session is kept here")
    if seat.state == "busy" or not await pool.evict(seat, "request"):
        raise ProblemError("turn-in-progress", "a turn has the harness; interrupt it first")
    return Response(status_code=204)


def _place(view: SeatView) -> list[str | int | None]:
    return [view.seat.changed_at, view.session_key, view.seat.seat_id]


def _after(
    page_cursor: str | None, parameters: Mapping[str, object]
) -> tuple[int, int, str] | None:
    if page_cursor is None:
        return None
    match place_of(page_cursor, parameters, 3):
        case [int(changed_at), int(key), str(seat_id)] if max(
            abs(changed_at), abs(key)
        ) < LARGEST and is_name(seat_id):
            return changed_at, key, seat_id
        case _:
            raise ProblemError("invalid-cursor", "the cursor cannot be read")
