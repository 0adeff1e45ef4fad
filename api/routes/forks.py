"""How does a session go on twice from one place, and which sessions are of one family?"""

from typing import Annotated, Final
from uuid import uuid4

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, StrictInt, StrictStr

from api.body import Body, json_of, read_body
from api.dependencies import ExpectedVersion, From, Log, Session
from api.lineage_shapes import lineage_shape
from api.paging import DEFAULT_LIMIT, KEY, Cursor, Limit, cursor, place_of, whole
from api.routes.sessions import made_once
from api.writing import Key, Once
from domain.raw_json import dumped
from infrastructure.command_handler import Target
from infrastructure.forking import ForkRequest, fork
from infrastructure.reading.lineages import ancestors, children
from infrastructure.reading.sessions import session_head

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["history"])
MEDIA: Final = "application/json"


class ForkBody(Body):
    """Where the fork begins; where the session is, if nothing is said."""

    at_turn: Annotated[
        StrictStr | None,
        Field(description="The last turn that it shares: it begins where that one ended."),
    ] = None
    at: Annotated[
        StrictInt | None,
        Field(ge=1, le=2**31 - 1, description="The last version that it shares."),
    ] = None
    session_id: Annotated[
        StrictStr | None, Field(description="The fork's id; one is given if none is named.")
    ] = None
    title: Annotated[
        StrictStr | None,
        Field(description="The fork's title; the session's own with a number, if none is given."),
    ] = None


@router.post(
    "/fork",
    status_code=201,
    openapi_extra=json_of(ForkBody, {"at_turn": "turn-1", "title": "Another way"}),
    responses={200: {"description": "The same fork was made before."}},
)
async def fork_session(
    request: Request,
    target: Session,
    log: Log,
    caller: From,
    version: ExpectedVersion,
    key: Key,
) -> Response:
    """Begin a session with the history of this one, up to a turn or a version.

    Nothing is copied, and neither session changes the other from there on. A turn that had not
    ended is interrupted in the fork, and its gates are withdrawn there. The same id and body again
    answer 200.
    """
    body = await read_body(request)
    asked = body.valid(ForkBody)
    wanted = ForkRequest(
        session_id=uuid4().hex if asked.session_id is None else asked.session_id,
        at=asked.at,
        at_turn=asked.at_turn,
        title=asked.title,
        expected_version=version,
    )
    child = Target(project_id=target.project_id, session_id=wanted.session_id)
    identity = Once(project_id=target.project_id, key=key, request=request, body=body.raw)
    return await made_once(
        log, identity, child, lambda attempt: fork(log.handler, attempt, target, wanted, caller)
    )


@router.get("/lineage")
async def read_lineage(
    target: Session,
    log: Log,
    limit: Limit = DEFAULT_LIMIT,
    page: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Tell whom a session shares its history with: its ancestors, and what was forked from it.

    Ancestors come from the root on, children the newest first; `version` is the last one shared.
    """
    parameters = {"route": "lineage", "session_id": target.session_id}
    after = None if page is None else whole(place_of(page, parameters, 1)[0], KEY)
    (found, older, head) = await log.read(
        lambda connection: (
            children(connection, target, after, limit + 1),
            ancestors(connection, target),
            session_head(connection, target)[1],
        )
    )
    shown = found[:limit]
    following = cursor([shown[-1].key], parameters) if len(found) > limit else None
    answer = lineage_shape(older, shown, following, head)
    return Response(dumped(answer), media_type=MEDIA)
