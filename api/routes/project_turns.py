"""The turns of a project: which were cold, for which reason, or slow?"""

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from api.dependencies import Log, ProjectId
from api.paging import DEFAULT_LIMIT, Cursor, Limit, cursor, place_of
from api.views import LARGEST, MEDIA, name_in_query, time_in_query, whole_numbers
from domain.raw_json import dumped
from infrastructure.reading.project_turns import (
    ProjectTurnQuery,
    place_of_turn,
    project_turns,
)
from infrastructure.reading.turns import TurnFilter
from projections.turns import turn_shape

router = APIRouter(prefix="/v1/projects/{project_id}/turns", tags=["turns"])
_TIME = "RFC 3339, of when the turn began."


@router.get("")
async def list_project_turns(
    project_id: ProjectId,
    log: Log,
    limit: Limit = DEFAULT_LIMIT,
    page_cursor: Annotated[Cursor, Query(alias="cursor")] = None,
    path: Annotated[
        Literal["warm", "cold", "evicted"] | None, Query(description="Only turns that went so.")
    ] = None,
    reason: Annotated[
        str | None, Query(description="Why no parked harness went on with it; a label.")
    ] = None,
    min_ms: Annotated[
        int | None,
        Query(ge=0, le=LARGEST, description="Only ended turns that took at least so long."),
    ] = None,
    status: Annotated[TurnFilter | None, Query(description="Only turns that stand so.")] = None,
    since: Annotated[str | None, Query(max_length=64, description=_TIME)] = None,
    until: Annotated[str | None, Query(max_length=64, description=f"{_TIME} Exclusive.")] = None,
) -> Response:
    """List the turns of all sessions, newest first, in sight or not."""
    parameters = {
        "route": "project-turns",
        "project": project_id,
        "path": path,
        "reason": reason,
        "min_ms": min_ms,
        "status": status,
        "since": since,
        "until": until,
    }
    query = ProjectTurnQuery(
        project_id=project_id,
        path=path,
        reason=name_in_query(reason, "reason"),
        min_ms=min_ms,
        status=status,
        since=time_in_query(since, "since"),
        until=time_in_query(until, "until"),
        after=_after(page_cursor, parameters),
        limit=limit + 1,
    )
    # What few turns have is looked for until the last one.
    chosen = any(each is not None for each in (path, reason, min_ms, status))
    found = await log.read(lambda connection: project_turns(connection, query), long=chosen)
    shown = found[:limit]
    more = len(found) > limit
    page = {
        "items": [
            {"session_id": each.session_id} | turn_shape(each.turn, each.end) for each in shown
        ],
        "next_cursor": cursor([*place_of_turn(shown[-1])], parameters) if more else None,
    }
    return Response(dumped(page), media_type=MEDIA)


def _after(
    page_cursor: str | None, parameters: Mapping[str, object]
) -> tuple[int, int, int] | None:
    if page_cursor is None:
        return None
    started_at, key, number = whole_numbers(place_of(page_cursor, parameters, 3))
    return started_at, key, number
