"""Producers: mint the next epoch, and learn of the turns that the last one left open."""

from typing import Any, Final, Literal

from fastapi import APIRouter, Request, Response

from api.body import Body, json_of, read_body
from api.dependencies import From, Log, ProducerId, ProjectId
from api.writing import Key, Once, Written, once, replay_headers
from domain.raw_json import RawJson, dumped
from infrastructure.appending import next_epoch
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/producers", tags=["producers"])
MEDIA: Final = "application/json"


class EpochBody(Body):
    """What to do with the turns that the producer's earlier epochs left open."""

    on_open_turns: Literal["interrupt", "list"] = "list"


@router.post(
    "/{producer_id}/epochs",
    status_code=201,
    openapi_extra=json_of(EpochBody, {"on_open_turns": "interrupt"}),
)
async def mint_epoch(
    request: Request,
    project_id: ProjectId,
    producer_id: ProducerId,
    log: Log,
    caller: From,
    key: Key,
) -> Response:
    """Mint the next epoch: from its commit on, earlier ones may not write any more.

    Epoch 1 exists without a call. The open turns are listed as they were, interrupted or not.
    """
    body = await read_body(request)
    interrupt = body.valid(EpochBody).on_open_turns == "interrupt"

    def write(attempt: Attempt) -> tuple[bytes, Written]:
        epoch, left = next_epoch(
            log.handler, attempt, project_id, producer_id, caller, interrupt=interrupt
        )
        shape: dict[str, Any] = {
            "epoch": epoch,
            "open_turns": [
                {
                    "session_id": turn.session_id,
                    "turn_id": turn.turn_id,
                    "last_sequence": turn.last_sequence,
                    "open_calls": turn.open_calls,
                    "open_gates": turn.open_gates,
                }
                for turn in left
            ],
        }
        answer = dumped(shape)
        return answer, Written(status=201, result=answer)

    identity = Once(project_id=project_id, key=key, request=request, body=body.raw)
    answer, replayed = await once(log, identity, write, lambda _, kept: kept.result)
    return Response(
        RawJson(answer),
        status_code=201,
        media_type=MEDIA,
        headers=replay_headers(replayed=replayed),
    )
