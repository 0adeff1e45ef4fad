"""The difference of two points of a session, for programs and for people."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import Connection

from api.dependencies import KnownTags, Log, Session, is_known
from api.diff_text import diff_text
from api.diffing import Page, diff_shape
from api.negotiation import preferred
from api.paging import DEFAULT_LIMIT, Cursor, Limit, cursor, place_of
from api.problems import ProblemError
from api.shapes import readiness_headers
from api.views import MEDIA, found_moment, moment_named, now_shape, whole_numbers
from domain.raw_json import dumped
from domain.readiness import readiness
from infrastructure.reading.events import NEWEST_VERSION

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["history"])
TEXT: Final = "text/plain"
_SAID: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "What is different; as text, a line each. Nothing at all is an empty text.",
        "content": {
            MEDIA: {"schema": {"$ref": "#/components/schemas/Diff"}},
            TEXT: {
                "schema": {"type": "string"},
                "example": "- turn 3 t3 (completed): rewound\n- #4 user: and in Oslo?\n"
                "+ turn 4 t4 (running): new\n+ #4 user: and in Rome?\n",
            },
        },
    }
}


def _cursor(
    versions: tuple[int, int], parameters: Mapping[str, object], side: int, depth: int
) -> str:
    return cursor([*versions, side, depth], parameters)


@router.get("/diff", responses=_SAID)
async def read_diff(
    request: Request,
    target: Session,
    log: Log,
    known: KnownTags,
    first: Annotated[
        str,
        Query(alias="from", max_length=64, description="A version, or an RFC 3339 time."),
    ],
    second: Annotated[
        str | None,
        Query(alias="to", max_length=64, description="The same; not given: now. Either order."),
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    page_cursor: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Tell what is different at `to` from what was at `from`: turns, messages, calls, gates, state.

    What came into sight is `new` or `restored`, what went is `rewound`; if `to` is the earlier one,
    what went began `later`. What is in sight at both is only counted. Messages are shown as they
    stood at the point where they are in sight, `limit` of those that went and of those that came;
    each of the two has a `next_cursor`. `Accept: text/plain` gives the same page as lines that
    begin with `+`, `-` or `~`.
    """
    start = moment_named(first, "from")
    end = None if second is None else moment_named(second, "to")
    parameters: Mapping[str, object] = {
        "route": "diff",
        "project": target.project_id,
        "session": target.session_id,
        "from": start,
        "to": end,
    }
    pinned: tuple[int | None, int | None] = (None, None)
    side, depth = None, 0
    if page_cursor is not None:
        low, high, side, depth = whole_numbers(place_of(page_cursor, parameters, 4))
        pinned = (low, high)
        if side not in {0, 1} or not 0 <= depth <= NEWEST_VERSION:
            raise ProblemError("invalid-cursor", "the cursor cannot be read")
    accept = ", ".join(request.headers.getlist("accept"))
    media = preferred(accept, [MEDIA, TEXT])

    def read(connection: Connection) -> tuple[bytes | None, Mapping[str, str]]:
        a = found_moment(connection, target, start, pinned[0], "from")
        b = found_moment(connection, target, end, pinned[1], "to")
        policy = log.policy(b.known_after)
        judged = readiness(b.head, b.open_turn, policy, b.agreements)
        headers = {**readiness_headers(judged, b.head), "Vary": "Accept"}
        if is_known(headers["ETag"], known):
            return None, headers
        page = Page(
            limit=limit,
            cursor=partial(_cursor, (a.through, b.through), parameters),
            side=side,
            depth=depth,
        )
        shape = diff_shape(connection, (a, b), policy, page)
        if media == TEXT:
            return diff_text(shape).encode(), headers
        return dumped(now_shape(log, b) | shape), headers

    body, headers = await log.read(read, long=True)
    if body is None:
        return Response(status_code=304, headers=dict(headers))
    return Response(body, media_type=media, headers=dict(headers))
