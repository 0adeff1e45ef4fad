"""Approvals: what waits for an answer, in a session or anywhere in the project."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from sqlalchemy import Connection

from api.dependencies import KnownTags, Log, ProjectId, Session
from api.gate_shapes import gate_shape
from api.paging import DEFAULT_LIMIT, Cursor, Limit, Order, Place, cursor, place_of
from api.problems import ProblemError
from api.shapes import Shape
from api.views import LARGEST, MEDIA, When, now_shape, view
from domain.identifiers import is_name
from domain.raw_json import dumped
from domain.state import Gate
from infrastructure.reading.approvals import (
    GateFilter,
    GateQuery,
    GateView,
    gate,
    gates,
    named_gate,
)
from infrastructure.reading.events import NEWEST_VERSION
from infrastructure.reading.moment import Moment

router = APIRouter(prefix="/v1/projects/{project_id}", tags=["approvals"])
Status = Annotated[GateFilter, Query(description="`open`: those that wait; `all`: decided too.")]
PageCursor = Annotated[Cursor, Query(alias="cursor")]


@router.get("/approvals")
async def list_approvals(
    project_id: ProjectId,
    log: Log,
    limit: Limit = DEFAULT_LIMIT,
    page_cursor: PageCursor = None,
    order: Order = "desc",
    status: Status = "open",
) -> Response:
    """List what waits for an answer in any session, newest first.

    `through_version` of an item is the version of its session.
    """
    parameters = {"route": "approvals", "project": project_id, "order": order, "status": status}
    query = GateQuery(
        project_id=project_id,
        status=status,
        after=_after(page_cursor, parameters),
        ascending=order == "asc",
        limit=limit + 1,
    )
    found = await log.read(lambda connection: gates(connection, query))
    return Response(dumped(_page(found, limit, parameters)), media_type=MEDIA)


@router.get("/approvals/{gate_id}")
async def read_approval(
    project_id: ProjectId,
    log: Log,
    gate_id: Annotated[str, Path(description="The id that turnlog gave the gate.")],
) -> Response:
    """Read one gate, by its `gate_id`; other ids are taken below its session."""
    found = await log.read(lambda connection: gate(connection, project_id, gate_id))
    return Response(dumped(gate_shape(found)), media_type=MEDIA)


@router.get("/sessions/{session_id}/approvals")
async def list_session_approvals(
    target: Session,
    log: Log,
    known: KnownTags,
    at: When,
    limit: Limit = DEFAULT_LIMIT,
    page_cursor: PageCursor = None,
    order: Order = "desc",
    status: Status = "open",
) -> Response:
    """List what waits for an answer in a session, or waited at a version or time."""
    parameters = {
        "route": "session-approvals",
        "project": target.project_id,
        "session": target.session_id,
        "order": order,
        "status": status,
        "at": at,
    }
    after = _after(page_cursor, parameters)

    def look(connection: Connection, moment: Moment) -> Shape:
        query = GateQuery(
            project_id=target.project_id,
            session_key=moment.key,
            status=status,
            through=None if moment.is_now else moment.through,
            after=after,
            ascending=order == "asc",
            limit=limit + 1,
        )
        found = gates(connection, query)
        return _page(found, limit, parameters, moment.through) | now_shape(log, moment)

    return await view(log, target, known, look, at)


@router.get("/sessions/{session_id}/approvals/{name}")
async def read_session_approval(
    target: Session,
    log: Log,
    known: KnownTags,
    name: Annotated[
        str, Path(description="A gate id, or a permission or tool call id that names one gate.")
    ],
) -> Response:
    """Read one gate of a session, by any of its names."""

    def look(connection: Connection, moment: Moment) -> Shape:
        return gate_shape(named_gate(connection, target.project_id, moment.key, name))

    return await view(log, target, known, look)


def _page(
    found: Sequence[GateView],
    limit: int,
    parameters: Mapping[str, object],
    through: int | None = None,
) -> Shape:
    shown = found[:limit]
    last = shown[-1].gate if len(found) > limit else None
    return {
        "items": [gate_shape(each, through) for each in shown],
        "next_cursor": last and cursor(_place(last), parameters),
    }


def _place(gate: Gate) -> Place:
    return [gate.opened_at, gate.opened_version, gate.gate_id]


def _after(
    page_cursor: str | None, parameters: Mapping[str, object]
) -> tuple[int, int, str] | None:
    if page_cursor is None:
        return None
    match place_of(page_cursor, parameters, 3):
        case [int(opened_at), int(version), str(gate_id)] if (
            abs(opened_at) < LARGEST and 0 < version <= NEWEST_VERSION and is_name(gate_id)
        ):
            return opened_at, version, gate_id
        case _:
            raise ProblemError("invalid-cursor", "the cursor cannot be read")
