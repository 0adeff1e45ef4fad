"""Agreement: how often were clients' histories ours in this project, and where not?"""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from sqlalchemy import Connection

from api.dependencies import Log, ProjectId
from api.paging import DEFAULT_LIMIT, Cursor, Limit, cursor, place_of
from api.problems import ProblemError
from api.session_shapes import agreement_shape
from api.shapes import Shape
from api.views import LARGEST, MEDIA
from domain.raw_json import dumped
from infrastructure.agreement import AgreementQuery, agreements, totals
from projections.comparing.differences import Kind

router = APIRouter(prefix="/v1/projects/{project_id}", tags=["agreement"])


@router.get("/agreement")
async def read_agreement(
    project_id: ProjectId,
    log: Log,
    limit: Limit = DEFAULT_LIMIT,
    page_cursor: Annotated[Cursor, Query(alias="cursor")] = None,
    kind: Annotated[
        Kind | None, Query(description="Only sessions where this kind of difference was found.")
    ] = None,
    differing: Annotated[  # noqa: FBT002
        bool, Query(description="Only sessions where a comparison did not agree.")
    ] = False,
) -> Response:
    """Tell how often compared histories agreed, and list the sessions, newest comparison first.

    `differences` counts the comparisons in which a kind was found.
    """
    parameters: Shape = {
        "route": "agreement",
        "project": project_id,
        "kind": kind,
        "differing": differing,
    }
    query = AgreementQuery(
        project_id=project_id,
        kind=kind,
        differing=differing,
        after=_after(page_cursor, parameters),
        limit=limit + 1,
    )

    def look(connection: Connection) -> Shape:
        whole = totals(connection, project_id)
        found = agreements(connection, query)
        shown = found[:limit]
        last = shown[-1] if len(found) > limit else None
        return {
            "sessions": whole.sessions,
            "compared": whole.compared,
            "agreed": whole.agreed,
            "differences": {name: n for name, n in whole.kinds.items() if n},
            "items": [
                {"session_id": each.session_id, **agreement_shape(each.agreement)} for each in shown
            ],
            "next_cursor": last and cursor([last.agreement.last_at, last.session_key], parameters),
        }

    return Response(dumped(await log.read(look, long=True)), media_type=MEDIA)


def _after(page_cursor: str | None, parameters: Shape) -> tuple[int, int] | None:
    if page_cursor is None:
        return None
    match place_of(page_cursor, parameters, 2):
        case [int(last_at), int(key)] if max(abs(last_at), abs(key)) < LARGEST:
            return last_at, key
        case _:
            raise ProblemError("invalid-cursor", "the cursor cannot be read")
