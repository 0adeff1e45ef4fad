"""What goes out of sight, and what comes back?"""

from fastapi import APIRouter, Request, Response

from api.body import json_of, read_body
from api.dependencies import ExpectedVersion, From, Log, Session
from api.going_back import Move, foreseen, move, moved_shape, with_target
from api.history_bodies import RedoBody, RewindBody
from api.moved_once import Asked, Headers, moved_once
from api.routes.hosted_turns import hosting_of
from api.shapes import Shape, readiness_headers
from api.views import MEDIA
from api.writing import Key
from infrastructure.command_handler import Appended, Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["history"])


@router.post("/rewind", openapi_extra=json_of(RewindBody, {"turns": 1}))
async def rewind(
    request: Request,
    target: Session,
    log: Log,
    caller: From,
    version: ExpectedVersion,
    key: Key,
) -> Response:
    """Take the last turns out of sight. Nothing of them is lost: `redo` brings them back.

    More turns than there are means all. A turn that waits for an answer is interrupted and its
    gates are withdrawn; one that runs only if `interrupt` says so. `target` is what the first of
    them began with, to be edited and said again; its `text` is null where that is more than one
    text can say. With `dry_run` nothing is written, and the answer is what it would be, but for a
    version and a hash that nobody knows yet.
    """
    body = await read_body(request)
    wanted = body.valid(RewindBody)
    command = wanted.command(claim=None if wanted.head is None else wanted.head.claim())
    if wanted.dry_run:
        return await _foreseen(log, target, command, version)
    asked = Asked(request=request, body=body, key=key)
    answer, headers = await _moved(log, target, command, caller, version, asked)
    answer = await log.read(lambda connection: with_target(connection, target, answer))
    return Response(answer, media_type=MEDIA, headers=dict(headers))


@router.post("/redo", openapi_extra=json_of(RedoBody, {}))
async def redo(
    request: Request,
    target: Session,
    log: Log,
    caller: From,
    version: ExpectedVersion,
    key: Key,
) -> Response:
    """Bring back what was in sight just before a rewind: the newest, or the one at a version.

    Without `rewind_version` only while nothing but rewinds and redos changed the history since.
    With one at any time: what is newer goes out of sight first, so that one switches between
    branches. Messages come back, and gates that were withdrawn stay so.
    """
    body = await read_body(request)
    wanted = body.valid(RedoBody)
    command = wanted.command()
    if wanted.dry_run:
        return await _foreseen(log, target, command, version)
    asked = Asked(request=request, body=body, key=key)
    answer, headers = await _moved(log, target, command, caller, version, asked)
    return Response(answer, media_type=MEDIA, headers=dict(headers))


async def _foreseen(log: Turnlog, target: Target, command: Move, version: int | None) -> Response:
    answer, readiness, head = await log.read(
        lambda connection: foreseen(log, connection, target, command, version)
    )
    return Response(answer, media_type=MEDIA, headers=dict(readiness_headers(readiness, head)))


async def _moved(
    log: Turnlog,
    target: Target,
    command: Move,
    caller: Caller,
    version: int | None,
    asked: Asked,
) -> tuple[bytes, Headers]:
    """Do it, once; return what came of it, but for what was said."""

    def write(attempt: Attempt) -> tuple[Appended, Shape]:
        done = move(log, attempt, target, command, caller, version)
        return done, moved_shape(done, command)

    answer = await moved_once(log, target, asked, write)
    if command.interrupt and asked.request.app.state.hosting is not None:
        await hosting_of(asked.request).launching.compacting.renew()  # it is told that it is over
    return answer
