"""Turns: how each one went, newest first, or one by its id."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from sqlalchemy import Connection

from api.dependencies import KnownTags, Log, Session
from api.paging import DEFAULT_LIMIT, KEY, Cursor, Limit, Order, cursor, place_of, whole
from api.shapes import Shape
from api.views import When, now_shape, view
from infrastructure.reading.moment import Moment
from infrastructure.reading.turns import TurnFilter, TurnQuery, TurnView, turn, turns
from projections.turns import turn_shape

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}/turns", tags=["turns"])


@router.get("")
async def list_turns(
    target: Session,
    log: Log,
    known: KnownTags,
    at: When,
    limit: Limit = DEFAULT_LIMIT,
    page_cursor: Annotated[Cursor, Query(alias="cursor")] = None,
    order: Order = "desc",
    status: Annotated[TurnFilter | None, Query(description="Only turns that stand so.")] = None,
    include: Annotated[
        Literal["rewound"] | None, Query(description="Turns that are out of sight too.")
    ] = None,
) -> Response:
    """List turns, newest first; with `at`, as they stood then.

    A turn that waits for gates and for nothing else is `paused`. One out of sight is `rewound`.
    """
    parameters = {
        "route": "turns",
        "project": target.project_id,
        "session": target.session_id,
        "order": order,
        "status": status,
        "include": include,
        "at": at,
    }
    after = None if page_cursor is None else whole(place_of(page_cursor, parameters, 1)[0], KEY)
    query = TurnQuery(
        status=status,
        with_rewound=include is not None,
        after=after,
        ascending=order == "asc",
        limit=limit + 1,
    )

    def look(connection: Connection, moment: Moment) -> Shape:
        found = turns(connection, moment, query)
        shown = found[:limit]
        more = len(found) > limit
        return {
            "items": [_shape(view) for view in shown],
            "next_cursor": cursor([shown[-1].turn.number], parameters) if more else None,
            **now_shape(log, moment),
        }

    return await view(log, target, known, look, at)


@router.get("/{turn_id}")
async def read_turn(
    target: Session,
    log: Log,
    known: KnownTags,
    at: When,
    turn_id: Annotated[str, Path(description="The turn's id, compared bytewise.")],
) -> Response:
    """Read one turn, in sight or not; with `at`, as it stood then."""

    def look(connection: Connection, moment: Moment) -> Shape:
        return _shape(turn(connection, moment, turn_id)) | now_shape(log, moment)

    return await view(log, target, known, look, at)


def _shape(found: TurnView) -> Shape:
    return turn_shape(found.turn, found.end) | {"state": found.state}
