"""Search: where something was said, over the sessions of a project."""

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from api.async_views import Wait, caught_up, through
from api.dependencies import Log, ProjectId
from api.errors import retry
from api.paging import DEFAULT_LIMIT, KEY, Cursor, Limit, Place, cursor, place_of, whole
from api.problems import ProblemError
from api.search_shapes import hit_shape
from api.shapes import Shape
from api.views import MEDIA, invalid, time_in_query
from domain.identifiers import ID_RULE, LANE, is_id
from domain.raw_json import dumped
from infrastructure.command_handler import Target
from infrastructure.lanes.earlier import keys_of_ours
from infrastructure.lanes.lookup import the_lane
from infrastructure.reading.search import (
    VIEW,
    Hits,
    IndexBrokenError,
    SearchQuery,
    Whose,
    search,
)
from infrastructure.reading.sessions import session_head
from projections.search import terms

router = APIRouter(prefix="/v1/projects/{project_id}", tags=["search"])
QUERY_LIMIT: Final = 1_000
REBUILD: Final = "turnlog rebuild --view search"


@router.get("/search")
async def search_project(
    project_id: ProjectId,
    log: Log,
    wait: Wait,
    q: Annotated[
        str,
        Query(
            min_length=1,
            max_length=QUERY_LIMIT,
            description="Words that a text has, in any order; in quotes, one after the other. "
            "Nothing is an operator. Identifiers are found by their parts.",
        ),
    ],
    session: Annotated[str | None, Query(max_length=128, description="Only in it.")] = None,
    lane: Annotated[
        str | None,
        Query(
            pattern=f"^{LANE.pattern}$",
            description="Only in the sessions that this lane has or had, or another lane of the "
            "same person: what whoever asks there may see.",
        ),
    ] = None,
    role: Annotated[
        Literal["user", "assistant", "system", "developer", "tool"] | None,
        Query(description="Only what was said in this role."),
    ] = None,
    first: Annotated[
        str | None,
        Query(alias="from", max_length=64, description="RFC 3339: only what was said since."),
    ] = None,
    last: Annotated[
        str | None,
        Query(alias="to", max_length=64, description="RFC 3339: only what was said before."),
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    page: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Find texts, the newest first. A snippet's `marks` are ranges in it, in code points.

    The view follows the log: `lag` says how far behind it is. Deleted sessions are not searched;
    what a rewind took out of sight is passed over until a redo brings it back. A page can be short
    of `limit` though there is more: only `next_cursor` null is the end.
    """
    if not log.settings.search:
        raise ProblemError("search-off", "this server was told not to search")
    parameters: Shape = {
        "route": "search",
        "project": project_id,
        "query": [q, session, lane, role, first, last],
    }
    before = None if page is None else _before(place_of(page, parameters, 2))
    since, until = time_in_query(first, "from"), time_in_query(last, "to")
    if session is not None and not is_id(session):
        raise invalid(ID_RULE, "session")

    def look(connection: Connection) -> tuple[Hits, Shape]:
        key = None
        if session is not None:
            key, _, __ = session_head(connection, Target(project_id=project_id, session_id=session))
        whose = None
        if lane is not None:
            found = the_lane(connection, project_id, lane)
            whose = Whose(tuple(keys_of_ours(connection, found)), found.lane.owner)
        query = SearchQuery(
            project_id=project_id,
            terms=terms(q),
            session_key=key,
            lane=whose,
            role=role,
            first=since,
            last=until,
            before=before,
            limit=limit,
        )
        return search(connection, query), through(log, connection, VIEW)

    headers = await caught_up(log, VIEW, wait)
    try:
        found, reached = await log.read(look, long=True)
    except IndexBrokenError:
        detail = f"the search index is missing or broken; run: {REBUILD}"
        raise retry("index-unavailable", detail) from None
    shape: Shape = {
        "items": [hit_shape(hit) for hit in found.hits],
        "next_cursor": None if found.more is None else cursor([*found.more], parameters),
        **reached,
    }
    return Response(dumped(shape), headers=headers, media_type=MEDIA)


def _before(place: Place) -> tuple[int, int]:
    position, item = place
    return whole(position), whole(item, KEY)
