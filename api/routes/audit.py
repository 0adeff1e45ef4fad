"""The audit: who did what, when, with which effect; by the page, or whole for other programs."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import Connection

from api.chunks import chunks
from api.dependencies import KnownTags, Log, Session
from api.negotiation import preferred
from api.paging import DEFAULT_LIMIT, KEY, Cursor, Order, cursor, place_of, whole
from api.shapes import Shape
from api.views import (
    When,
    found_moment,
    invalid,
    name_in_query,
    now_shape,
    time_in_query,
    view,
)
from domain.identifiers import ID_RULE, is_id
from domain.raw_json import dumped
from domain.registry import KINDS
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.reading.audit import AuditQuery, audit, line_shape, whole_audit
from infrastructure.reading.moment import At, Moment
from projections.audit import shown_tool
from projections.audit_csv import csv_header, csv_line

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["audit"])
Form: TypeAlias = Literal["json", "csv", "jsonl"]
MEDIA: Final[Mapping[str, Form]] = {
    "application/json": "json",
    "text/csv": "csv",
    "application/jsonl": "jsonl",
    "application/x-ndjson": "jsonl",
}
_EXAMPLE: Final = (
    "version,at,actor,producer_id,producer_epoch,producer_sequence,type,turn_id,tool,what,effect,"
    "bears_on,late,rewound_by,id,hash\r\n"
    "2,2026-01-01T12:00:00.000000Z,local,runner-1,1,1,turn-started,turn-1,,"
    "a turn began with 1 message,history,turn transcript,,,01890a5d-ac96-774b-bcce-b302099a8057,"
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\r\n"
)
_SAID: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A page of what was done; as CSV or JSON Lines, all of it.",
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Audit"}},
            "text/csv": {"schema": {"type": "string"}, "example": _EXAMPLE},
            "application/jsonl": {
                "schema": {
                    "type": "string",
                    "description": "On each line an item as a page has it.",
                }
            },
        },
    }
}


@router.get("/audit", responses=_SAID)
async def read_audit(
    request: Request,
    target: Session,
    log: Log,
    known: KnownTags,
    at: When,
    limit: Annotated[
        int | None, Query(ge=1, le=200, description="How many items a page has at most; else 50.")
    ] = None,
    page_cursor: Annotated[Cursor, Query(alias="cursor")] = None,
    order: Order = "asc",
    type_: Annotated[
        list[str] | None,
        Query(alias="type", description="Only these event types, with commas between."),
    ] = None,
    actor: Annotated[str | None, Query(description="Only what this actor did.")] = None,
    turn_id: Annotated[str | None, Query(description="Only this turn.")] = None,
    tool: Annotated[
        str | None,
        Query(description="Only what is about this tool: calls, results, gates, answers."),
    ] = None,
    effect: Annotated[
        Literal["history", "none"] | None,
        Query(description="`history`: only what changed what a model sees, or which gates wait."),
    ] = None,
    since: Annotated[
        str | None, Query(max_length=64, description="RFC 3339: only what was recorded since.")
    ] = None,
    until: Annotated[
        str | None, Query(max_length=64, description="RFC 3339: only what was recorded before.")
    ] = None,
    form: Annotated[
        Form | None,
        Query(
            alias="format",
            description="Instead of `Accept`. All but `json` come whole, without pages.",
        ),
    ] = None,
) -> Response:
    """Read the log as one line a fact, without anything that was said.

    Everything that was recorded is in it, late results and what was rewound too. `Accept: text/csv`
    and `application/jsonl` give all lines at once, through the version that the header
    `Turnlog-Through-Version` names.
    """
    query = AuditQuery(
        types=_types(type_),
        actor=name_in_query(actor, "actor"),
        turn_id=name_in_query(turn_id, "turn_id"),
        tool=_tool(tool),
        effect=effect,
        since=time_in_query(since, "since"),
        until=time_in_query(until, "until"),
        ascending=order == "asc",
        limit=(limit or DEFAULT_LIMIT) + 1,
    )
    accept = ", ".join(request.headers.getlist("accept"))
    wanted: Form = form or MEDIA[preferred(accept, [*MEDIA])]
    if wanted != "json":
        if limit is not None or page_cursor is not None:
            raise invalid("all but `json` come whole: without `limit` and `cursor`", "format")
        return await _whole(log, target, query, at, wanted)
    parameters: Shape = {
        "route": "audit",
        "project": target.project_id,
        "session": target.session_id,
        "at": at,
        "query": replace(query, limit=0),
    }
    if page_cursor is not None:
        query = replace(query, after=whole(place_of(page_cursor, parameters, 1)[0], KEY))

    def look(connection: Connection, moment: Moment) -> Shape:
        found = audit(connection, moment, query)
        shown = found[: query.limit - 1]
        more = len(found) > len(shown)
        return {
            "items": [line_shape(line) for line in shown],
            "next_cursor": cursor([shown[-1].envelope.version], parameters) if more else None,
            **now_shape(log, moment),
        }

    answer = await view(log, target, known, look, at, long=True)
    answer.headers["Vary"] = "Accept"
    return answer


async def _whole(
    log: Turnlog, target: Target, query: AuditQuery, at: At | None, form: Form
) -> StreamingResponse:
    moment = await log.read(
        lambda connection: found_moment(connection, target, at), long=at is not None
    )
    lines = map(line_shape, whole_audit(log.database, moment, query))
    if form == "csv":
        pieces = chain((csv_header(),), map(csv_line, lines))
    else:
        pieces = chain(dumped(line) + b"\n" for line in lines)
    return StreamingResponse(
        chunks(pieces),
        media_type="text/csv" if form == "csv" else "application/jsonl",
        headers={
            "Content-Disposition": f'attachment; filename="{target.session_id}.audit.{form}"',
            "Turnlog-Through-Version": str(moment.through),
            "Cache-Control": "no-store",
            "Vary": "Accept",
        },
    )


def _types(given: list[str] | None) -> tuple[str, ...]:
    names = {name.strip() for names in given or () for name in names.split(",")} - {""}
    if any(name not in KINDS and not is_id(name) for name in names):
        raise invalid("types are names of event types, separated by commas", "type")
    return tuple(sorted(names))


def _tool(name: str | None) -> str | None:
    if name is not None and shown_tool(name) is None:
        raise invalid(f"an audit tells the names of tools that are plain: {ID_RULE}", "tool")
    return name
