"""Lanes: where conversations happen, and which session each has."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from sqlalchemy import Connection

from api.body import json_of, read_body
from api.dependencies import From, Log, ProjectId
from api.lane_bodies import ResolveBody, beginning_of, source_in
from api.lane_shapes import lane_session_shape, lane_shape, resolved_shape
from api.paging import DEFAULT_LIMIT, KEY, Cursor, Limit, Order, cursor, place_of, whole
from api.problems import Flaw, ProblemError
from api.session_shapes import event_json
from api.shapes import Shape
from api.views import time_in_query
from api.writing import Key, Once, Written, once, replay_headers
from domain.identifiers import ID, LANE, LANE_RULE, is_lane_id, is_readable
from domain.raw_json import RawJson, dumped
from domain.refusals import NoSuchLane
from infrastructure.lane_aliases import PLATFORM
from infrastructure.lanes.arriving import arrival, forced_by
from infrastructure.lanes.facts import stream_name
from infrastructure.lanes.listing import (
    LaneFilter,
    LaneQuery,
    LaneSession,
    lane_sessions,
    lanes,
)
from infrastructure.lanes.lookup import FoundLane, find_lane
from infrastructure.lanes.recovery import why_held_back
from infrastructure.lanes.resolving import Arrival, Resolved
from infrastructure.mapper import StoredFact
from infrastructure.recorder import stream_facts
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/lanes", tags=["lanes"])
MEDIA: Final = "application/json"
KEY_LIMIT: Final = 4_096


async def the_lane_id(
    lane_id: Annotated[
        str,
        Path(description="The lane's id.", json_schema_extra={"pattern": f"^{LANE.pattern}$"}),
    ],
) -> str:
    """Return the lane of the path."""
    if not is_lane_id(lane_id):
        raise ProblemError("invalid-value", LANE_RULE, flaws=[Flaw(LANE_RULE, ("path", "lane_id"))])
    return lane_id


LaneId = Annotated[str, Depends(the_lane_id)]

_EXAMPLE: Final = {
    "source": {
        "platform": "telegram",
        "chat_id": "-1002285219667",
        "chat_type": "group",
        "user_id": "42",
        "user_name": "Alice",
    }
}


@router.post("/resolve", openapi_extra=json_of(ResolveBody, _EXAMPLE))
async def resolve_lane(
    request: Request, project_id: ProjectId, log: Log, caller: From, key: Key
) -> Response:
    """Tell which session a message belongs to, by where it came from; open one if need be.

    The same source always finds the same lane, and the lane keeps its session, however long nothing
    comes: a new one is begun only if the lane is suspended (`suspended`), its session was deleted
    or put away (`session-ended`), or `force_new` asks for it (`forced`). `resume_pending` tells
    that its last turn was cut off and can be gone on with; the mark stays until a turn completes.
    Requests for one source at the same time, by whichever server, get the same session.
    """
    body = await read_body(request)
    fields = body.valid(ResolveBody)
    source = source_in(body, "source")
    beginning = beginning_of(body, fields.open)

    def arrived(connection: Connection) -> Arrival:
        return arrival(
            connection,
            project_id,
            source,
            force_new=fields.force_new,
            touches=fields.touch,
            beginning=beginning,
        )

    def peek(connection: Connection) -> tuple[Arrival, Resolved | None]:
        came = arrived(connection)
        return came, log.lanes.peek(connection, came)

    came, found = await log.read(peek, long=source.platform == PLATFORM)
    if found is not None and key is None:
        return _answer(dumped(resolved_shape(found)))

    def write(attempt: Attempt) -> tuple[bytes, Written]:
        said = dumped(resolved_shape(log.lanes.resolve(attempt, came, caller)))
        return said, Written(status=200, result=said)

    identity = Once(
        project_id=project_id,
        key=key,
        request=request,
        body=body.raw,
        natural=forced_by(came, source),
    )
    said, replayed = await once(log, identity, write, lambda _, kept: kept.result)
    answer = _answer(said)
    answer.headers.update(replay_headers(replayed=replayed))
    return answer


@router.get("")
async def list_lanes(
    project_id: ProjectId,
    log: Log,
    limit: Limit = DEFAULT_LIMIT,
    page: Annotated[Cursor, Query(alias="cursor")] = None,
    order: Order = "desc",
    status: Annotated[LaneFilter, Query(description="Which lanes.")] = "open",
    id_prefix: Annotated[
        str | None,
        Query(pattern="^[0-9a-f]{6,32}$", description="Only lanes whose id begins so."),
    ] = None,
    key: Annotated[
        str | None, Query(max_length=KEY_LIMIT, description="Only lanes of this key.")
    ] = None,
    platform: Annotated[
        str | None, Query(max_length=64, description="Only lanes of this platform.")
    ] = None,
    session_id: Annotated[
        str | None,
        Query(pattern=f"^{ID.pattern}$", description="Only lanes with this current session."),
    ] = None,
    active_since: Annotated[
        str | None, Query(max_length=64, description="RFC 3339; only lanes active since.")
    ] = None,
    pinned: Annotated[
        bool | None, Query(description="Only those that are pinned, or only those that are not.")
    ] = None,
) -> Response:
    """List lanes, newest activity first."""
    parameters = {
        "route": "lanes",
        "project": project_id,
        "order": order,
        "status": status,
        "id_prefix": id_prefix,
        "key": key,
        "platform": platform,
        "session_id": session_id,
        "active_since": active_since,
        "pinned": pinned,
    }
    after = None
    if page is not None:
        touched, number = place_of(page, parameters, 2)
        after = whole(touched), whole(number)
    query = LaneQuery(
        project_id=project_id,
        status=status,
        id_prefix=id_prefix,
        lane_key=_text(key, "key"),
        platform=_text(platform, "platform"),
        session_id=session_id,
        active_since=time_in_query(active_since, "active_since"),
        pinned=pinned,
        after=after,
        ascending=order == "asc",
        limit=limit + 1,
    )
    found = await log.read(lambda connection: lanes(connection, query), long=query.is_long)
    shown = found[:limit]
    more = len(found) > limit
    return _answer(
        dumped(
            {
                "items": [lane_shape(each) for each in shown],
                "next_cursor": (
                    cursor([shown[-1].touched_at, shown[-1].key], parameters) if more else None
                ),
            }
        )
    )


@router.get("/{lane_id}")
async def read_lane(project_id: ProjectId, lane_id: LaneId, log: Log) -> Response:
    """Return a lane: its source, its current session, and what stands in its way.

    One that was given up (`pruned`) or whose conversation goes on elsewhere (`moved`) is told too.
    `held_back` says why what was cut off in it is not gone on with unasked; null if it is, or if
    nothing was.
    """

    def look(connection: Connection) -> tuple[FoundLane, Shape]:
        found = _lane(connection, project_id, lane_id)
        return found, {"held_back": why_held_back(connection, found, log.now())}

    found, held_back = await log.read(look)
    tag = f'"{found.lane.version}"'
    return _answer(dumped(lane_shape(found) | held_back), {"ETag": tag})


@router.get("/{lane_id}/sessions")
async def list_lane_sessions(
    project_id: ProjectId,
    lane_id: LaneId,
    log: Log,
    limit: Limit = DEFAULT_LIMIT,
    page: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """List the sessions that a lane has or had, the one that became its current one last first."""
    parameters = {"route": "lane-sessions", "project": project_id, "lane": lane_id}
    after = None
    if page is not None:
        bound_at, session_id = place_of(page, parameters, 2)
        after = whole(bound_at), str(session_id)

    def look(connection: Connection) -> Sequence[LaneSession]:
        found = _lane(connection, project_id, lane_id)
        return lane_sessions(connection, found, after=after, limit=limit + 1)

    found = await log.read(look)
    shown = found[:limit]
    more = len(found) > limit
    return _answer(
        dumped(
            {
                "items": [lane_session_shape(each) for each in shown],
                "next_cursor": (
                    cursor([shown[-1].bound_at, shown[-1].session_id], parameters) if more else None
                ),
            }
        )
    )


@router.get("/{lane_id}/events")
async def list_lane_events(
    project_id: ProjectId,
    lane_id: LaneId,
    log: Log,
    limit: Limit = DEFAULT_LIMIT,
    after: Annotated[int, Query(ge=0, le=KEY, description="Only later versions.")] = 0,
) -> Response:
    """List the facts of a lane, oldest first: what became of the place, when, and by whom."""

    def look(connection: Connection) -> Sequence[StoredFact]:
        found = _lane(connection, project_id, lane_id)
        stream = (project_id, stream_name(lane_id), found.key)
        return stream_facts(connection, stream, gt=after, limit=limit + 1)

    found = await log.read(look)
    shown = found[:limit]
    lane = dumped({"lane_id": lane_id})
    items = [RawJson(lane[:-1] + b"," + event_json(each)[1:]) for each in shown]
    more = shown[-1].envelope.version if len(found) > limit else None
    return _answer(dumped({"items": items, "next_after": more}))


def _lane(connection: Connection, project_id: str, lane_id: str) -> FoundLane:
    found = find_lane(connection, project_id, lane_id)
    if found is None:
        raise NoSuchLane
    return found


def _text(value: str | None, name: str) -> str | None:
    if value is not None and not is_readable(value):
        detail = "a text has no control characters"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("query", name))])
    return value


def _answer(said: bytes, headers: dict[str, str] | None = None) -> Response:
    return Response(said, media_type=MEDIA, headers=headers)
