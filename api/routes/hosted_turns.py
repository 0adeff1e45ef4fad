"""Hosted turns: say something, or answer, and have this server's harness do the work."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Final
from uuid import uuid4

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field
from sqlalchemy import Connection

from api import following
from api.asks import TurnBody, hosted_ask
from api.body import Body, json_of, read_body
from api.dependencies import From, Log, Session
from api.errors import UNREACHABLE, problem_of, retry, unreachable
from api.following import frame
from api.problems import ProblemError
from api.recovering import recovered
from api.refused import refused
from api.runnable import begins_a_run
from api.shapes import Shape
from api.turn_answers import divergence_of, standing_of, turn_answer
from api.writing import Key, Once, replay_headers
from domain.dispatch.outcomes import Deliver, Refuse
from domain.json_text import JsonValue
from domain.raw_json import dumped
from domain.refusals import Refusal
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.live import Live
from infrastructure.hosting.took import Took
from infrastructure.reading.moment import moment
from projections.turns import address_shape

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["turns"])
MEDIA: Final = "application/json"
STREAM: Final = "text/event-stream"
BEHIND: Final = 10_000
"""So many pieces a watcher may be behind; then it is told no more of them, only the end."""

_EXAMPLE: Final = {"messages": [{"role": "user", "content": "What is 2 + 2?"}]}
TAKEN: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The turn, as it ended or as it waits; or its pieces, and then the turn.",
        "content": {
            MEDIA: {"schema": {"$ref": "#/components/schemas/TurnAnswer"}},
            STREAM: {"schema": {"type": "string"}},
        },
    },
    202: {
        "description": "Taken: the turn runs, the input waits, or the answers are recorded.",
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/TurnTaken"}}},
    },
}


@router.post("/turns", responses=TAKEN, openapi_extra=json_of(TurnBody, _EXAMPLE))
@begins_a_run
async def run_turn(
    request: Request,
    target: Session,
    log: Log,
    caller: From,
    key: Key,
    accept: Annotated[str, Header(description="`text/event-stream` to see it as it comes.")] = "",
    prefer: Annotated[str, Header(description="`respond-async` for an answer at once.")] = "",
) -> Response:
    """Run a turn on a harness of this server: warm if one remembers the conversation, else cold.

    The answer is the turn as it ended, or as it pauses for a gate. `path` says how it got its
    harness, `reason` why it was not warm. With `Accept: text/event-stream` its pieces come as
    `delta` frames and the answer as `done`; with `Prefer: respond-async` the answer is 202 at once.
    A client that goes away stops nothing. The same user `message_id` with the same content, and the
    same `Idempotency-Key`, get the first turn's answer.
    """
    hosting = hosting_of(request)
    body = await read_body(request)
    fields = body.valid(TurnBody)
    await recovered(request, log)
    ask = await hosted_ask(log, target, body, fields, uuid4().hex, hosting.owner)
    once = Once(project_id=target.project_id, key=key, request=request, body=body.raw).named()
    took = await hosting.take(target, ask, caller, body.raw, once)
    return await answered(log, hosting, target, took, accept=accept, prefer=prefer)


class InterruptBody(Body):
    """Why the turn is stopped."""

    reason: Annotated[str, Field(min_length=1, max_length=256)] = "cancelled"


@router.post(
    "/interrupt",
    status_code=202,
    responses={204: {"description": "Nothing runs, and nothing waits."}},
    openapi_extra=json_of(InterruptBody, {"reason": "cancelled"}),
)
async def interrupt(request: Request, target: Session, caller: From) -> Response:
    """Stop whatever runs or waits in the session; 204 if nothing does.

    What was said is kept; open gates are withdrawn, and calls without a result get an outcome. What
    stops already is waited for: 204, since nothing was left to be stopped. A
    turn that another program runs is asked to stop by `interrupt-requested` in the project's
    stream: `delivered` is false until it says that it did.
    """
    body = (await read_body(request)).valid(InterruptBody)
    stopped = await hosting_of(request).interrupt(target, body.reason, caller)
    if stopped is None:
        return Response(status_code=204)
    return Response(dumped({"delivered": stopped}), status_code=202, media_type=MEDIA)


def hosting_of(request: Request) -> Hosting:
    """Return what runs turns here.

    Raises:
        ProblemError: the server is stopping.
    """
    hosting: Hosting | None = request.app.state.hosting
    if hosting is None:
        raise retry("shutting-down", "the server is stopping")
    return hosting


async def answered(
    log: Turnlog,
    hosting: Hosting,
    target: Target,
    took: Took,
    *,
    accept: str,
    prefer: str,
    members: Shape | None = None,
) -> Response:
    """Return the answer to a request for a turn, when it is there or at once.

    It has `members` besides its own.

    Raises:
        ProblemError: it was refused, or no harness could be started now.
    """
    if took.full is not None and not isinstance(took.decision, Deliver):
        raise retry("pool-full", "as many harnesses work as this server keeps", took.full)
    decision = took.decision
    if isinstance(decision, Refuse) and took.dispatched is not None:
        done = took.dispatched
        raise await log.read(lambda connection: refused(connection, target, done, decision))
    again = replay_headers(replayed=took.replayed)
    more = members or {}
    divergence = None if took.dispatched is None else divergence_of(took.dispatched.appended)
    if took.queue_id is not None:
        return await _told(log, target, more | queued(took), again)
    turn_id = took.again if took.dispatched is None else took.dispatched.turn_id

    def look(connection: Connection) -> tuple[bytes, dict[str, str]]:
        return turn_answer(log, connection, target, turn_id or "", divergence, more)

    live = took.live or (None if turn_id is None else hosting.runs(target, turn_id))
    if isinstance(decision, Deliver) and live is None:
        shape: Shape = {"status": "answered", "continuation": continuation(took)}
        return await _told(log, target, more | shape)
    if turn_id is None:
        raise ProblemError("contended", "nothing came of the request; try again")
    if STREAM in accept:
        return await _streamed(log, live, look, again)
    if live is not None and "respond-async" in prefer:
        shape = {"turn_id": turn_id, "status": "running", "path": live.path}
        applied = {"Preference-Applied": "respond-async"} | again
        return await _told(log, target, more | shape, applied)
    if live is not None:
        await live.wait()
    said, headers = await log.read(look)
    return Response(said, media_type=MEDIA, headers=dict(headers) | again)


def queued(took: Took) -> Shape:
    """Return how an input waits: for its own turn, or to be told to the one that runs."""
    if took.recalled:
        return {"status": "recalled", "queue_id": took.queue_id}
    shape: Shape = {"status": "queued", "queue_id": took.queue_id}
    return shape if took.steers is None else shape | {"steers": took.steers}


def continuation(took: Took) -> Shape:
    """Return how the turn goes on whose gates were answered."""
    decision, done = took.decision, took.dispatched
    if not isinstance(decision, Deliver) or done is None:
        return {"status": "started", "turn_id": took.again}
    status = "blocked" if took.full is not None else decision.continuation
    shape: Shape = {"status": status, "turn_id": done.turn_id}
    blocked = "pool-full" if took.full is not None else decision.blocked_by
    if blocked is not None:
        shape |= {"reason": blocked, "reasons": list(decision.reasons)}
    return shape


async def _told(
    log: Turnlog, target: Target, shape: Shape, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a 202 that says where the session stands."""

    def look(connection: Connection) -> tuple[bytes, dict[str, str]]:
        found = moment(connection, target)
        standing, told = standing_of(log, found)
        turn = found.open_turn
        if turn is not None and turn.turn_id == shape.get("turn_id"):
            standing = address_shape(turn.lane_id, turn.reply_to) | standing
        return dumped(shape | standing), told

    said, told = await log.read(look)
    return Response(
        said, status_code=202, media_type=MEDIA, headers=dict(told) | dict(headers or {})
    )


@contextmanager
def _watching(live: Live) -> Generator["asyncio.Queue[Mapping[str, JsonValue]]"]:
    queue: asyncio.Queue[Mapping[str, JsonValue]] = asyncio.Queue()

    def take(delta: Mapping[str, JsonValue]) -> None:
        if queue.qsize() < BEHIND:
            queue.put_nowait(delta)

    live.watchers.add(take)
    try:
        yield queue
    finally:
        live.watchers.discard(take)


async def _streamed(
    log: Turnlog,
    live: Live | None,
    look: Callable[[Connection], tuple[bytes, dict[str, str]]],
    again: Mapping[str, str],
) -> Response:
    """Return the pieces of a turn as they come, then the turn.

    Raises:
        NoSuchSession: it is gone already.
    """
    if live is None:
        await log.read(look)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **again}
    return StreamingResponse(_frames(log, live, look), media_type=STREAM, headers=headers)


async def _frames(
    log: Turnlog, live: Live | None, look: Callable[[Connection], tuple[bytes, dict[str, str]]]
) -> AsyncGenerator[bytes]:
    """Yield the pieces of a turn as they come, then the turn."""
    if live is not None:
        async for piece in _pieces(live):
            yield piece
    try:
        said, _ = await log.read(look)
    except UNREACHABLE as error:
        yield frame("error", unreachable(error).body())
    except Refusal as refusal:  # the session was deleted meanwhile
        yield frame("error", problem_of(refusal).body())
    else:
        yield frame("done", said)


async def _pieces(live: Live) -> AsyncGenerator[bytes]:
    """Yield that the turn runs, and what it does, until it ends or pauses."""
    started = {"turn_id": live.turn_id, "status": "running", "path": live.path}
    with _watching(live) as queue:
        yield frame("state", dumped(started | {"reason": live.reason}))
        ended = asyncio.ensure_future(live.wait())
        piece = asyncio.ensure_future(queue.get())
        try:
            while True:
                await asyncio.wait(
                    {piece, ended},
                    return_when=asyncio.FIRST_COMPLETED,
                    timeout=following.HEARTBEAT_S,
                )
                if piece.done():
                    yield frame("delta", dumped(dict(piece.result())))
                    piece = asyncio.ensure_future(queue.get())
                elif ended.done():
                    break
                else:
                    yield b": still here\n\n"
        finally:
            piece.cancel()
            ended.cancel()
