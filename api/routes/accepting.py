"""Accepting: an administrator says that the history goes on without what is missing."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field, StrictStr

from api.accepted_shapes import accepted_shape
from api.body import Body, json_of, read_body
from api.dependencies import ExpectedVersion, From, Log, Session
from api.history_bodies import HeadBody
from api.moved_once import Asked, moved_once
from api.shapes import Shape
from api.views import MEDIA
from api.writing import Key
from infrastructure import accepting
from infrastructure.accepting import MARKER, MESSAGE_LIMIT, Gap
from infrastructure.command_handler import Appended
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["readiness"])


class AcceptBody(Body):
    """What is accepted as missing, and what the model is told of it."""

    reasons: Annotated[
        list[StrictStr] | None,
        Field(
            max_length=64,
            description="Codes as readiness gives them. If they are named, all that stand have to "
            "be: nothing is accepted that was not seen.",
        ),
    ] = None
    message: Annotated[
        StrictStr | None,
        Field(
            pattern=r"\S",
            max_length=MESSAGE_LIMIT,
            description=f"What the model reads where the history has the gap; else `{MARKER}`.",
        ),
    ] = None
    head: HeadBody | None = None


@router.post("/readiness/accept", openapi_extra=json_of(AcceptBody, {"reasons": ["records-lost"]}))
async def accept_gap(
    request: Request,
    target: Session,
    log: Log,
    caller: From,
    version: ExpectedVersion,
    key: Key,
) -> Response:
    """Let the history count as complete, although records of it are missing.

    For a session whose client cannot send its history any more, between turns. What remains of the
    record is the history from then on; a message in a small turn of its own tells the model that
    something is missing, and `gap-accepted` keeps which reasons stood, and who accepted them. It is
    409 `nothing-to-accept` if nothing is missing: a turn that runs, and the agreement that the
    project asks for, are no gaps.
    """
    body = await read_body(request)
    wanted = body.valid(AcceptBody)
    gap = Gap(
        reasons=wanted.reasons,
        message=wanted.message,
        claim=None if wanted.head is None else wanted.head.claim(),
        expected_version=version,
    )

    def write(attempt: Attempt) -> tuple[Appended, Shape]:
        done = accepting.accept_gap(log.handler, attempt, target, gap, caller)
        return done, accepted_shape(done)

    asked = Asked(request=request, body=body, key=key)
    answer, headers = await moved_once(log, target, asked, write)
    return Response(answer, media_type=MEDIA, headers=dict(headers))
