"""Deletion: of a session, of all sessions of a project or of an agent; and purging for ever."""

from asyncio import to_thread
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from api.body import Body, json_of, read_body
from api.dependencies import ExpectedVersion, From, Log, ProjectId, Session
from api.problems import Flaw, ProblemError
from api.purge_shapes import purge_shape
from api.views import MEDIA
from api.writing import Key, Once, Written, once, replay_headers
from domain.raw_json import dumped
from infrastructure.hosting.deleting import Deleting
from infrastructure.hosting.deleting_many import DeletedMany, delete_many
from infrastructure.purging import Purged, begin_purge, finish, foreseen
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}", tags=["sessions"])
MOST: Final = 1_000
ManyAtOnce = Annotated[
    int, Query(ge=1, le=MOST, description="How many sessions at most; the same call goes on.")
]
Confirmed = Annotated[str, Query(description="The project's id once more, so that it is meant.")]


class PurgeBody(Body):
    """What a purge is asked for with."""

    dry_run: bool = False


@router.delete("/sessions/{session_id}", status_code=204)
async def delete_session(
    request: Request, target: Session, log: Log, caller: From, version: ExpectedVersion
) -> Response:
    """Take a session out of sight; it can be restored until it is purged.

    What runs in it is stopped, on whichever server, its open gates are withdrawn first, and its
    queue is recalled; the harness that is kept for it is let go. Meanwhile nothing begins in it
    (409 `session-deleting`). What takes too long to end is cut off. A second time it is 404.
    """
    await Deleting(log, request.app.state.hosting).delete(target, caller, version)
    return Response(status_code=204)


@router.delete("/sessions")
async def delete_sessions_of_harness(
    request: Request,
    project_id: ProjectId,
    log: Log,
    caller: From,
    harness: Annotated[
        str, Query(min_length=1, description="Sessions whose turns run on this harness.")
    ],
    limit: ManyAtOnce = 100,
) -> Response:
    """Delete the sessions of one agent: those whose configuration names a harness, or its default.

    Each as it is deleted alone; call again until nothing is `remaining`. What they used stays.
    `deleted` leaves out sessions of sub-agents that went with their parent.
    """
    deleting = Deleting(log, request.app.state.hosting)
    return _many(await delete_many(log, deleting, project_id, caller, harness=harness, limit=limit))


@router.delete("")
async def delete_project(
    request: Request,
    project_id: ProjectId,
    log: Log,
    caller: From,
    confirm: Confirmed,
    limit: ManyAtOnce = 100,
) -> Response:
    """Delete all sessions of a project, each as it is deleted alone.

    No turn begins in any of them on this server meanwhile. Call again until nothing is `remaining`.
    What they used stays. `deleted` leaves out sessions of sub-agents that went with their parent.
    """
    if confirm != project_id:
        detail = "confirm is the project's id"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("query", "confirm"))])
    deleting = Deleting(log, request.app.state.hosting)
    return _many(await delete_many(log, deleting, project_id, caller, limit=limit))


@router.post("/sessions/{session_id}/purge", openapi_extra=json_of(PurgeBody, {"dry_run": True}))
async def purge_session(
    request: Request, target: Session, log: Log, caller: From, key: Key
) -> Response:
    """Destroy what was said in a deleted session, for ever, before its time is over.

    Of it are left the envelopes of its events, whose chain still verifies, and what it used. With
    `dry_run` it is told how many rows of each kind would go. A session with forks that are not
    purged is 409 `has-forks`; one that is not deleted 409 `session-not-deleted`.
    """
    body = await read_body(request)
    if body.valid(PurgeBody).dry_run:
        would = await log.read(lambda connection: foreseen(connection, target), long=True)
        told = dumped(purge_shape(target.session_id, would, dry_run=True))
        return Response(told, media_type=MEDIA)

    def write(attempt: Attempt) -> tuple[tuple[bytes, Purged | None], Written]:
        would = foreseen(attempt.connection, target)
        begun = begin_purge(log.handler, attempt, target, caller)
        told = dumped(purge_shape(target.session_id, would, dry_run=False))
        return (told, begun), Written(status=200, result=told)

    identity = Once(project_id=target.project_id, key=key, request=request, body=body.raw)
    (told, begun), replayed = await once(log, identity, write, lambda _, kept: (kept.result, None))
    if begun is not None:
        await to_thread(finish, log.runner, begun)
    return Response(told, media_type=MEDIA, headers=replay_headers(replayed=replayed))


def _many(done: DeletedMany) -> Response:
    told = {"deleted": done.deleted, "remaining": done.remaining}
    return Response(dumped(told), media_type=MEDIA)
