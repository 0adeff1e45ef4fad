"""Usage: tokens and cost, by session, model or day."""

from dataclasses import replace
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection, select

from api.async_views import Wait, caught_up, through
from api.dependencies import Log, ProjectId, Session
from api.paging import DEFAULT_LIMIT, KEY, Cursor, Limit, cursor, place_of, whole
from api.shapes import Shape
from api.usage_shapes import day_number, item_shape, usage_shape
from api.views import MEDIA, invalid
from domain.raw_json import dumped
from infrastructure import tables as t
from infrastructure.reading.sessions import session_head
from infrastructure.reading.usage import VIEW, By, Key, UsageQuery, total, usage_by
from projections.prices import Prices

router = APIRouter(prefix="/v1/projects/{project_id}", tags=["usage"])
MOST: Final = 200
Grouping = Annotated[Literal["session", "model", "day"], Query(description="What to sum up by.")]
First = Annotated[
    str | None,
    Query(alias="from", max_length=10, description="The first day, in UTC: `2026-01-31`."),
]
Last = Annotated[str | None, Query(alias="to", max_length=10, description="The last day, in UTC.")]


@router.get("/usage")
async def project_usage(
    project_id: ProjectId,
    log: Log,
    wait: Wait,
    by: Grouping = "day",
    first: First = None,
    last: Last = None,
    limit: Limit = DEFAULT_LIMIT,
    page: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Sum up what the models used, and how turns ended.

    Records that told no amount are priced by the settings' prices as they are now. The view follows
    the log: `lag` says how far behind it is.
    """
    parameters: Shape = {"route": "usage", "project": project_id, "by": by, "days": [first, last]}
    query = UsageQuery(
        project_id=project_id,
        by=by,
        first_day=_day(first, "from"),
        last_day=_day(last, "to"),
        after=_after(page, by, parameters),
        limit=limit + 1,
    )

    def look(connection: Connection) -> Shape:
        return {
            **_page(connection, query, parameters, log.settings.prices),
            **through(log, connection, VIEW),
        }

    headers = await caught_up(log, VIEW, wait)
    return Response(dumped(await log.read(look, long=True)), headers=headers, media_type=MEDIA)


@router.get("/sessions/{session_id}/usage")
async def session_usage(
    target: Session,
    log: Log,
    wait: Wait,
    by: Grouping = "model",
    include: Annotated[
        Literal["subagents"] | None,
        Query(description="With what its sub-agents used, and theirs."),
    ] = None,
    first: First = None,
    last: Last = None,
    limit: Limit = MOST,
    page: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Sum up what the models used in a session, and how its turns ended.

    `lag` says how far behind the view is.
    """
    parameters: Shape = {
        "route": "session-usage",
        "session": target.session_id,
        "by": by,
        "days": [first, last],
    }
    if include is not None:
        parameters["include"] = include
    after = _after(page, by, parameters)
    days = _day(first, "from"), _day(last, "to")

    def look(connection: Connection) -> Shape:
        key, _, __ = session_head(connection, target)
        query = UsageQuery(
            project_id=target.project_id,
            by=by,
            session_key=key,
            below=include is not None,
            first_day=days[0],
            last_day=days[1],
            after=after,
            limit=limit + 1,
        )
        reached = through(log, connection, VIEW)
        return {
            **_page(connection, query, parameters, log.settings.prices),
            "through_version": _version(connection, key, int(str(reached["through_position"]))),
            **reached,
        }

    headers = await caught_up(log, VIEW, wait)
    return Response(dumped(await log.read(look, long=True)), headers=headers, media_type=MEDIA)


def _page(connection: Connection, query: UsageQuery, parameters: Shape, prices: Prices) -> Shape:
    """Return a page of sums, of which `query` asks for one more, and the sum of all."""
    limit = query.limit - 1
    found = usage_by(connection, query, prices)
    shown = found[:limit]
    return {
        "items": [item_shape(item, query.by) for item in shown],
        "next_cursor": cursor([shown[-1].key], parameters) if len(found) > limit else None,
        "total": usage_shape(total(connection, replace(query, after=None), prices)),
    }


def _day(text: str | None, name: str) -> int | None:
    day = None if text is None else day_number(text)
    if text is not None and day is None:
        raise invalid("a day is written as 2026-01-31", name)
    return day


def _after(page: str | None, by: By, parameters: Shape) -> Key | None:
    if page is None:
        return None
    [key] = place_of(page, parameters, 1)
    return str(key) if by == "model" else whole(key, KEY)


def _version(connection: Connection, session_key: int, position: int) -> int:
    """Return the newest version of a session that a view has seen."""
    statement = (
        select(t.events.c.version)
        .where(t.events.c.session_key == session_key, t.events.c.position <= position)
        .order_by(t.events.c.version.desc())
        .limit(1)
    )
    return connection.execute(statement).scalar_one_or_none() or 0
