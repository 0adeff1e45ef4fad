"""The queue: inputs that wait for their turn, and taking one back."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from sqlalchemy import Connection

from api.dependencies import From, KnownTags, Log, Session
from api.routes.hosted_turns import hosting_of
from api.shapes import Shape
from api.views import MEDIA, now_shape, view
from domain.raw_json import dumped
from domain.times import rfc3339
from infrastructure.composition import Turnlog
from infrastructure.hosting.queue_listing import listed
from infrastructure.reading.moment import Moment
from projections.turns import address_shape

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}/queue", tags=["turns"])


@router.get("")
async def list_queue(target: Session, log: Log, known: KnownTags) -> Response:
    """List the inputs that wait, first in, first out; at most 32 of a session do.

    `steers` is the turn that an input is told to while it runs. An input leaves the queue in the
    commit that puts its message into the transcript: this page and the transcript `at` its
    `through_version` together hold everything once.
    """
    return await view(log, target, known, partial(queue_shape, log))


def queue_shape(log: Turnlog, connection: Connection, moment: Moment) -> Shape:
    """Return the inputs of a session that wait."""
    return {
        "items": [
            {
                "queue_id": each.queued.queue_id,
                "queued_at": rfc3339(each.queued.queued_at),
                "version": each.queued.queued_version,
                "steers": each.queued.steers,
                "message_id": each.message_id,
                "by": each.by,
                **address_shape(*each.address),
            }
            for each in listed(connection, moment.key)
        ],
        "next_cursor": None,
        **now_shape(log, moment),
    }


@router.delete("/{queue_id}")
async def recall_input(
    request: Request,
    target: Session,
    caller: From,
    queue_id: Annotated[str, Path(description="The id that queueing answered with.")],
) -> Response:
    """Take an input back that waits; once it became a turn it is 409 `input-started`."""
    await hosting_of(request).recall(target, queue_id, "recalled", caller)
    return Response(dumped({"queue_id": queue_id, "status": "recalled"}), media_type=MEDIA)
