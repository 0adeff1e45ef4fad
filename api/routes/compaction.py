"""How does a summary take the place of the messages that it was made of?"""

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Request, Response
from pydantic import Field, StrictInt, StrictStr

from api.body import Body, json_of, read_body
from api.dependencies import ExpectedVersion, From, Log, Session
from api.history_bodies import HeadBody
from api.shapes import head_shape, readiness_headers, readiness_shape
from api.views import MEDIA
from api.writing import Key, Once, Written, once, replay_headers
from domain import commands as c
from domain.keys import keys_of
from domain.raw_json import dumped
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["history"])
Headers: TypeAlias = Mapping[str, str]


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

    def write(attempt: Attempt) -> tuple[tuple[bytes, Headers], Written]:
        known = log.handler.state(attempt, target, keys_of([command]))
        steps: list[c.SessionCommand] = [c.BeginBatch(expected_version=version, events=1), command]
        done = log.handler.carry_out(attempt, target, steps, caller=caller, known=known)
        compacted = done.facts[-1].version
        answer = dumped(
            {
                "compaction_version": compacted,
                "messages_archived": done.head.archived - known[1].head.archived,
                "head": head_shape(done.head),
                "readiness": readiness_shape(done.readiness, done.head),
            }
        )
        kept = Written(status=200, first_version=compacted, last_version=compacted, result=answer)
        return (answer, readiness_headers(done.readiness, done.head)), kept

    identity = Once(project_id=target.project_id, key=key, request=request, body=body.raw)
    (answer, headers), replayed = await once(
        log, identity, write, lambda _, kept: (kept.result, {})
    )
    return Response(
        answer, media_type=MEDIA, headers={**headers, **replay_headers(replayed=replayed)}
    )
