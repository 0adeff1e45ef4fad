"""How does a summary take the place of the messages that it was made of?"""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field, StrictInt, StrictStr

from api.body import Body, json_of, read_body
from api.dependencies import ExpectedVersion, From, Log, Session
from api.history_bodies import HeadBody
from api.moved_once import Asked, moved_once
from api.shapes import Shape, head_shape, readiness_shape
from api.views import MEDIA
from api.writing import Key
from domain import commands as c
from domain.keys import keys_of
from infrastructure.command_handler import Appended
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["history"])


class CompactBody(Body):
    """A summary, and the last message that it covers."""

    summary: Annotated[StrictStr, Field(pattern=r"\S", description="What the model sees instead.")]
    through_message_id: Annotated[
        StrictStr, Field(description="The last message that it covers; what follows is kept.")
    ]
    since_version: Annotated[
        StrictInt | None,
        Field(
            ge=1,
            description=(
                "The watermark: the version that the summary was made of. A summary that covers "
                "a message that came, or grew, later is refused."
            ),
        ),
    ] = None
    head: HeadBody | None = None


@router.post(
    "/compact",
    openapi_extra=json_of(
        CompactBody, {"summary": "They fixed the build.", "through_message_id": "turn-1:4"}
    ),
)
async def compact(
    request: Request,
    target: Session,
    log: Log,
    caller: From,
    version: ExpectedVersion,
    key: Key,
) -> Response:
    """Record a summary that stands for the messages up to one, between turns.

    The model sees the summary and what follows; the display goes on to show what it stands for, as
    `archived`, and `fingerprint` stays as it is. A call and its result are never split. A rewind to
    a place before the summary brings back what it stands for. Within a turn the runner itself
    records `history-compacted`.
    """
    body = await read_body(request)
    wanted = body.valid(CompactBody)
    command = c.Compact(
        summary=wanted.summary,
        through_message_id=wanted.through_message_id,
        since_version=wanted.since_version,
        claim=None if wanted.head is None else wanted.head.claim(),
    )

    def write(attempt: Attempt) -> tuple[Appended, Shape]:
        known = log.handler.state(attempt, target, keys_of([command]))
        steps: list[c.SessionCommand] = [c.BeginBatch(expected_version=version, events=1), command]
        done = log.handler.carry_out(attempt, target, steps, caller=caller, known=known)
        shape: Shape = {
            "compaction_version": done.facts[-1].version,
            "messages_archived": done.head.archived - known[1].head.archived,
            "head": head_shape(done.head),
            "readiness": readiness_shape(done.readiness, done.head),
        }
        return done, shape

    asked = Asked(request=request, body=body, key=key)
    answer, headers = await moved_once(log, target, asked, write)
    return Response(answer, media_type=MEDIA, headers=dict(headers))
