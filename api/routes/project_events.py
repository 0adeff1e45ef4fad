"""The project's events: follow them live, over all of its sessions."""

from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from sqlalchemy import Connection

from api.dependencies import Log, ProjectId
from api.live_answer import LiveAnswer
from api.problems import ProblemError
from api.project_following import Wanted, follow_project
from api.routes.events import wanted_types
from api.views import invalid
from infrastructure.reading.whole_log import is_lost, newest_position, visible_through

router = APIRouter(prefix="/v1/projects/{project_id}", tags=["events"])
LATEST: Final = "latest"
LARGEST: Final = 2**63
DIGITS: Final = 19


@router.get("/events/stream", response_class=StreamingResponse)
async def stream_project_events(
    project_id: ProjectId,
    log: Log,
    after: Annotated[
        str | None,
        Query(
            max_length=20,
            description="Exclusive: an event's `position`, or `latest`. Default: everything.",
        ),
    ] = None,
    types: Annotated[
        str | None, Query(max_length=1_000, description="Only these types, separated by commas.")
    ] = None,
    last_event_id: Annotated[
        str | None, Header(description="The position that the client saw last.")
    ] = None,
) -> StreamingResponse:
    """Follow every session of a project live: server-sent events, `id` = position, opaque.

    Each event once, a session's in their order; never one after which an earlier one could still
    come. Frames: `event` (with its `session_id`), `gate` for each that waits for an answer (the
    first 200) and then `synced` once, `error`, `goaway` with its `reason` (`shutting-down`,
    `slow-reader`). A comment every 15 seconds.
    """
    wanted = wanted_types(types)
    asked = after if after is not None else (last_event_id or "0")
    start = None if asked == LATEST else _position(asked, header=after is None)

    def look(connection: Connection) -> tuple[int, int]:
        newest = visible_through(connection)
        if start is not None and is_lost(connection, start):
            raise ProblemError(
                "stale-cursor", "the store was restored to before what is at this position"
            )
        if start is not None and start > newest and start > newest_position(connection):
            raise ProblemError(
                "cursor-ahead-of-log", "the log has not come to this position: it is another log"
            )
        return newest if start is None else start, newest

    begin, watermark = await log.read(look)
    follower = Wanted(project_id=project_id, types=wanted, start=begin, watermark=watermark)
    return LiveAnswer(follow_project(log, follower))


def _position(text: str, *, header: bool) -> int:
    good = text.isascii() and text.isdigit() and len(text) <= DIGITS and int(text) < LARGEST
    if not good and header:
        raise ProblemError("invalid-header", "Last-Event-ID is the position that came last")
    if not good:
        raise invalid("`after` is the position of an event, or `latest`", "after")
    return int(text)
