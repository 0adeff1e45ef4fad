"""Errors: what went wrong in a project, and does a person have to step in?"""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from api.async_views import Wait, caught_up, through
from api.dependencies import Log, ProjectId
from api.error_shapes import error_shape
from api.paging import DEFAULT_LIMIT, Cursor, Limit, cursor, place_of, whole
from api.shapes import Shape
from api.views import MEDIA, name_in_query, time_in_query
from domain.identifiers import ID
from domain.raw_json import dumped
from infrastructure.command_handler import Target
from infrastructure.reading.errors import VIEW, ErrorQuery, errors
from infrastructure.reading.sessions import session_head

router = APIRouter(prefix="/v1/projects/{project_id}/errors", tags=["errors"])


@router.get("")
async def list_errors(
    project_id: ProjectId,
    log: Log,
    wait: Wait,
    source: Annotated[
        Literal["harness", "tool", "producer", "log"] | None,
        Query(description="Only errors of this source."),
    ] = None,
    code: Annotated[str | None, Query(description="Only this code, in full.")] = None,
    kind: Annotated[
        Literal["expected", "unexpected"] | None,
        Query(description="`unexpected`: a person has to step in."),
    ] = None,
    session: Annotated[
        str | None,
        Query(pattern=f"^{ID.pattern}$", description="Only what began in this session."),
    ] = None,
    since: Annotated[
        str | None, Query(max_length=64, description="RFC 3339; what came at that time or later.")
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    page: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """List errors, newest first: codes and places, never what was said.

    The same again within two seconds is counted in `count`. A project keeps its newest 20,000. The
    view follows the log: `lag` says how far behind it is.
    """
    parameters: Shape = {
        "route": "errors",
        "project": project_id,
        "chosen": [source, code, kind, session, since],
    }
    moment = time_in_query(since, "since")
    named = name_in_query(code, "code")
    before = None if page is None else whole(place_of(page, parameters, 1)[0])

    def look(connection: Connection) -> Shape:
        key = None
        if session is not None:
            target = Target(project_id=project_id, session_id=session)
            key, _, __ = session_head(connection, target)
        query = ErrorQuery(
            project_id=project_id,
            source=source,
            code=named,
            kind=kind,
            session_key=key,
            since=moment,
            before=before,
            limit=limit + 1,
        )
        found = errors(connection, query)
        shown = found[:limit]
        more = len(found) > limit
        return {
            "items": [error_shape(item) for item in shown],
            "next_cursor": cursor([shown[-1].errors.position], parameters) if more else None,
            **through(log, connection, VIEW),
        }

    headers = await caught_up(log, VIEW, wait)
    return Response(dumped(await log.read(look, long=True)), headers=headers, media_type=MEDIA)
