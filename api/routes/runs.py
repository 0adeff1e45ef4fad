"""Runs: whoever runs a turn says that it is alive, and shows what it does before it is recorded."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field, StrictInt

from api.body import Body, json_of, read_body
from api.dependencies import Log, Session
from api.problems import Flaw, ProblemError
from domain.json_text import raw_items, raw_members
from domain.raw_json import dumped
from domain.times import rfc3339
from infrastructure.leasing import check_writer, heartbeat
from infrastructure.runs import MOST_LEASE_S

router = APIRouter(
    prefix="/v1/projects/{project_id}/sessions/{session_id}/turns/{turn_id}", tags=["turns"]
)
MEDIA: Final = "application/json"
DELTAS_LIMIT: Final = 256
DELTAS_BYTES: Final = 256 * 1024

TurnId = Annotated[str, Path(description="The turn's id, compared bytewise.")]
Fence = Annotated[
    StrictInt, Field(ge=1, le=2**53, description="As the answer gave it that leased the turn.")
]


class HeartbeatBody(Body):
    """The fence of a leased turn, and how long the lease is to last from now on."""

    fence: Fence
    lease_s: Annotated[
        StrictInt | None,
        Field(ge=1, le=MOST_LEASE_S, description="Seconds; if absent, as many as before."),
    ] = None


class DeltasBody(Body):
    """Chunks of a turn, any JSON each; of a leased turn with its fence."""

    fence: Fence | None = None
    deltas: Annotated[list[Any], Field(min_length=1)]


@router.post("/heartbeat", openapi_extra=json_of(HeartbeatBody))
async def renew_lease(request: Request, target: Session, log: Log, turn_id: TurnId) -> Response:
    """Renew the lease of a turn that takes long; nothing is recorded.

    `lease_until` is null while the turn is paused: who waits for gates holds no lease, and needs
    none. A turn that was taken over or interrupted answers 409 (`fenced`, `turn-over`): stop.
    """
    body = (await read_body(request)).valid(HeartbeatBody)
    until = await log.write(
        lambda attempt: heartbeat(attempt, target, turn_id, body.fence, body.lease_s, now=log.now())
    )
    shown = None if until is None else rfc3339(until)
    return Response(dumped({"lease_until": shown}), media_type=MEDIA)


@router.post(
    "/deltas",
    status_code=202,
    openapi_extra=json_of(DeltasBody),
)
async def send_deltas(request: Request, target: Session, log: Log, turn_id: TurnId) -> Response:
    """Show chunks to who follows the session at this moment, through this server; none is stored.

    They come as `delta` frames without an id, after the events that were there when they were sent.
    A follower that reads too slowly loses some, and is told how many: record what has to stay.
    """
    body = await read_body(request)
    said = body.valid(DeltasBody)
    deltas = raw_items(raw_members(body.raw)["deltas"])
    if len(deltas) > DELTAS_LIMIT:
        raise _too_many(f"a request holds at most {DELTAS_LIMIT} deltas")
    if sum(map(len, deltas)) > DELTAS_BYTES:
        raise _too_many(f"the deltas of a request hold at most {DELTAS_BYTES} bytes")
    version = await log.read(
        lambda connection: check_writer(connection, target, turn_id, said.fence)
    )
    log.deltas.send((target.project_id, target.session_id), version, turn_id, deltas)
    return Response(status_code=202)


def _too_many(detail: str) -> ProblemError:
    return ProblemError("too-many-deltas", detail, flaws=[Flaw(detail, ("deltas",))])
