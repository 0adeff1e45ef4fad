"""What goes out of sight, and what comes back?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fastapi import APIRouter, Request, Response

from api.body import RawBody, json_of, read_body
from api.dependencies import ExpectedVersion, From, Log, Session
from api.going_back import Move, foreseen, move, moved_shape, with_target
from api.history_bodies import RedoBody, RewindBody
from api.shapes import readiness_headers
from api.views import MEDIA
from api.writing import Key, Once, Written, once, replay_headers
from domain.raw_json import dumped
from domain.refusals import NoSuchSession
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.idempotency import Kept
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["history"])
Headers: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request to go back or forth, and how it is known again."""

    request: Request
    body: RawBody
    key: str | None
    version: int | None
    caller: Caller


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
    asked = _Asked(request=request, body=body, key=key, version=version, caller=caller)
    answer, headers = await _moved(log, target, command, asked)
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
    if wanted.dry_run:
        return await _foreseen(log, target, wanted.command(), version)
    asked = _Asked(request=request, body=body, key=key, version=version, caller=caller)
    answer, headers = await _moved(log, target, wanted.command(), asked)
    return Response(answer, media_type=MEDIA, headers=dict(headers))


async def _foreseen(log: Turnlog, target: Target, command: Move, version: int | None) -> Response:
    answer, readiness, head = await log.read(
        lambda connection: foreseen(log, connection, target, command, version)
    )
    return Response(answer, media_type=MEDIA, headers=dict(readiness_headers(readiness, head)))


async def _moved(
    log: Turnlog, target: Target, command: Move, asked: _Asked
) -> tuple[bytes, Headers]:
    """Do it, once; return what came of it, but for what was said."""

    def write(attempt: Attempt) -> tuple[tuple[bytes, Headers], Written]:
        done = move(log, attempt, target, command, asked.caller, asked.version)
        answer = dumped(moved_shape(done, command))
        written = Written(
            status=200,
            first_version=done.facts[0].version,
            last_version=done.facts[-1].version,
            result=answer,
        )
        return (answer, readiness_headers(done.readiness, done.head)), written

    def again(attempt: Attempt, kept: Kept) -> tuple[bytes, Headers]:
        key, state = log.handler.state(attempt, target)
        if state.head.status in {"absent", "deleted"}:
            raise NoSuchSession
        readiness = log.handler.readiness(attempt, state, key)
        return kept.result, readiness_headers(readiness, state.head)

    identity = Once(
        project_id=target.project_id, key=asked.key, request=asked.request, body=asked.body.raw
    )
    (answer, headers), replayed = await once(log, identity, write, again)
    return answer, {**headers, **replay_headers(replayed=replayed)}
