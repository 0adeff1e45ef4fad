"""The sub-agents of a session: which there are, and how each stands."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from api.dependencies import Log, Session
from api.paging import DEFAULT_LIMIT, KEY, Cursor, Limit, cursor, place_of, whole
from api.subagent_shapes import subagent_shape
from domain.raw_json import dumped
from infrastructure.reading.sessions import session_head
from infrastructure.reading.subagents import subagents

router = APIRouter(
    prefix="/v1/projects/{project_id}/sessions/{session_id}/subagents", tags=["sessions"]
)
MEDIA: Final = "application/json"


@router.get("")
async def list_subagents(
    target: Session,
    log: Log,
    limit: Limit = DEFAULT_LIMIT,
    page: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """List the sessions of the sub-agents that a session ran, the first one first.

    `tool_call_id` names the call of the turn `turn_id` that began one; null: none is known to have.
    `usage` is of its own turns; `subagents` tells how many are right below it.
    """
    parameters = {
        "route": "subagents",
        "project": target.project_id,
        "session": target.session_id,
    }
    after = 0 if page is None else whole(place_of(page, parameters, 1)[0], KEY)
    found, (_, head, _) = await log.read(
        lambda connection: (
            subagents(connection, target, after, limit + 1),
            session_head(connection, target),
        )
    )
    shown = found[:limit]
    answer = {
        "items": [*map(subagent_shape, shown)],
        "next_cursor": cursor([shown[-1].key], parameters) if len(found) > limit else None,
        "through_version": head.version,
    }
    return Response(dumped(answer), media_type=MEDIA)
