"""The audit: who did what, when, with which effect."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from api.dependencies import KnownTags, Log, Session
from api.paging import DEFAULT_LIMIT, Cursor, Limit, Order, cursor, place_of
from api.shapes import Shape
from api.views import name_in_query, now_shape, view, whole_numbers
from infrastructure.reading.audit import AuditQuery, audit
from infrastructure.reading.moment import Moment
from projections.audit import audit_shape

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["audit"])


@router.get("/audit")
async def read_audit(
    target: Session,
    log: Log,
    known: KnownTags,
    limit: Limit = DEFAULT_LIMIT,
    page_cursor: Annotated[Cursor, Query(alias="cursor")] = None,
    order: Order = "asc",
    type_: Annotated[str | None, Query(alias="type", description="Only this event type.")] = None,
    actor: Annotated[str | None, Query(description="Only what this actor did.")] = None,
    turn_id: Annotated[str | None, Query(description="Only this turn.")] = None,
) -> Response:
    """Read the log as one sentence a fact, without anything that was said."""
    filters = {
        "type": name_in_query(type_, "type"),
        "actor": name_in_query(actor, "actor"),
        "turn_id": name_in_query(turn_id, "turn_id"),
    }
    parameters = {
        "route": "audit",
        "project": target.project_id,
        "session": target.session_id,
        "order": order,
        **filters,
    }
    after = None if page_cursor is None else whole_numbers(place_of(page_cursor, parameters, 1))[0]
    query = AuditQuery(**filters, after=after, ascending=order == "asc", limit=limit + 1)

    def look(connection: Connection, moment: Moment) -> Shape:
        stream = (target.project_id, target.session_id, moment.key)
        found = audit(connection, stream, query)
        shown = found[:limit]
        more = len(found) > limit
        return {
            "items": [audit_shape(line.envelope, line.hash, line.fact) for line in shown],
            "next_cursor": cursor([shown[-1].envelope.version], parameters) if more else None,
            **now_shape(log, moment),
        }

    return await view(log, target, known, look, long=True)
