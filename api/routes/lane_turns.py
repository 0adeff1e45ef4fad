"""What people do about the turns of a lane's session: take back, bring back, repeat, stop, wait."""

from dataclasses import replace
from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Path, Response
from sqlalchemy import Connection

from api.asks import TurnBody, hosted_ask
from api.body import RawBody, json_of, read_body
from api.dependencies import From, Log, ProjectId
from api.errors import retry
from api.going_back import Move, move, moved_shape, with_target
from api.lane_command_bodies import LaneRedoBody, RetryBody, StopBody, UndoBody
from api.lane_commanding import MEDIA, Commanded, LaneCommand, recalled_shape
from api.lane_message_bodies import LaneQueueBody
from api.lane_passing import GONE, PAUSES_S, WENT_AWAY, gone, not_allowed
from api.recovering import recovered
from api.routes.hosted_turns import answered, hosting_of
from api.routes.lane_messages import SAID, Accept, Prefer, Said, passed_on
from api.routes.lanes import LaneId
from api.routes.queue import queue_shape
from api.runnable import begins_a_run
from api.shapes import Shape
from api.writing import Written, once, replay_headers
from domain import commands as c
from domain.dispatch.outcomes import Refuse
from domain.json_text import JsonValue, dump, parse, raw_members
from domain.raw_json import dumped
from domain.refusals import LaneIsSuspended, NoSuchSession, NoSuchTurn
from infrastructure import idempotency
from infrastructure.command_handler import Caller, Target
from infrastructure.commit import Contended
from infrastructure.composition import Turnlog
from infrastructure.hosting.asking import Address
from infrastructure.hosting.before import CameBefore
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.took import Took
from infrastructure.idempotency import Kept
from infrastructure.lanes.addressed import counted
from infrastructure.lanes.changing import LaneChanges
from infrastructure.lanes.leaving import target_of
from infrastructure.lanes.lookup import FoundLane, the_lane
from infrastructure.lanes.messages import may_speak
from infrastructure.lanes.retrying import LastInput, last_input
from infrastructure.reading.moment import moment
from infrastructure.runner import Attempt
from projections.turns import address_shape

router = APIRouter(prefix="/v1/projects/{project_id}/lanes/{lane_id}", tags=["lanes"])
QueueId = Annotated[str, Path(description="The id that queueing answered with.")]


@router.post("/undo", openapi_extra=json_of(UndoBody, {"turns": 1}))
async def undo_in_lane(asked: Commanded, log: Log, caller: From) -> Response:
    """Take the last turns of the lane's session out of sight, as `POST .../rewind` does.

    `redo` brings them back. `target` is what the first of them began with, to be edited and said
    again. Nothing to undo is 409 `nothing-to-rewind`.
    """
    body = await read_body(asked.request)
    fields = body.valid(UndoBody)
    command = c.Rewind(turns=max(1, fields.turns), interrupt=fields.interrupt)
    said, replayed = await _moved(log, asked.to("undo", body, fields.message_id), command, caller)
    target = Target(project_id=asked.project_id, session_id=_session_in(said))
    said = await log.read(lambda connection: with_target(connection, target, said))
    return Response(said, media_type=MEDIA, headers=replay_headers(replayed=replayed))


@router.post("/redo", openapi_extra=json_of(LaneRedoBody))
async def redo_in_lane(asked: Commanded, log: Log, caller: From) -> Response:
    """Bring back what the newest undo took out of the lane's session, as `POST .../redo` does."""
    body = await read_body(asked.request)
    fields = body.valid(LaneRedoBody)
    command = c.Redo(rewind_version=fields.rewind_version, interrupt=fields.interrupt)
    said, replayed = await _moved(log, asked.to("redo", body, fields.message_id), command, caller)
    return Response(said, media_type=MEDIA, headers=replay_headers(replayed=replayed))


@router.post("/retry", responses=SAID, openapi_extra=json_of(RetryBody, {}))
@begins_a_run
async def retry_in_lane(
    asked: Commanded,
    log: Log,
    caller: From,
    accept: Accept = "",
    prefer: Prefer = "",
) -> Response:
    """Say again what was said last to the agent, in the place of the turn that it began.

    That turn, and what came after it, goes out of sight in the transaction in which the new one
    begins; nothing else is changed, and `redo` brings it back. What is said is what was recorded:
    the words, the files, and whose they are. The answer is the turn's, with the lane's members.
    While a turn runs it is 409 `turn-in-progress`, unless `interrupt` says so; with nothing in
    sight it is 409 `nothing-to-retry`, and of a suspended lane 409 `lane-suspended`.
    """
    hosting = hosting_of(asked.request)
    body = await read_body(asked.request)
    fields = body.valid(RetryBody)
    await recovered(asked.request, log)
    command = asked.to("retry", body, fields.message_id)
    said = await _said_again(log, hosting, command, caller, interrupt=fields.interrupt)
    target, took, members = said
    try:
        return await answered(
            log, hosting, target, took, accept=accept, prefer=prefer, members=members
        )
    except NoSuchSession:
        if not took.replayed:
            raise
        return gone(members, replayed=True)


@router.post("/stop", openapi_extra=json_of(StopBody, {"reason": "cancelled"}))
async def stop_in_lane(asked: Commanded, log: Log, caller: From) -> Response:
    """Stop whatever runs or waits in the lane's session, as `POST .../interrupt` does.

    `stopped` is false if nothing did; `delivered` is false until another program that runs it says
    that it stopped. What waits in the queue comes next: `DELETE .../queue` takes it back.
    """
    body = await read_body(asked.request)
    fields = body.valid(StopBody)
    command = asked.to("stop", body, fields.message_id)
    found, kept = await _asked_before(log, command)
    if kept is not None:
        return Response(kept.result, media_type=MEDIA, headers=replay_headers(replayed=True))
    target = target_of(found)
    try:
        stopped = await hosting_of(asked.request).interrupt(target, fields.reason, caller)
    except NoSuchSession:
        stopped = None
    shape = _members(found, target) | {"stopped": stopped is not None, "delivered": bool(stopped)}
    return Response(await _kept(log, command, dumped(shape)), media_type=MEDIA)


@router.get("/queue")
async def list_lane_queue(project_id: ProjectId, lane_id: LaneId, log: Log) -> Response:
    """List the inputs that wait in the lane's session, first in, first out."""

    def look(connection: Connection) -> Shape:
        found = the_lane(connection, project_id, lane_id)
        target = target_of(found)
        return _members(found, target) | queue_shape(log, connection, moment(connection, target))

    return Response(dumped(await log.read(look)), media_type=MEDIA)


@router.post("/queue", responses=SAID, openapi_extra=json_of(LaneQueueBody, {"text": "And 3?"}))
@begins_a_run
async def queue_in_lane(
    asked: Commanded, log: Log, caller: From, accept: Accept = "", prefer: Prefer = ""
) -> Response:
    """Have a message wait for its own turn, whatever runs or is asked; if nothing is, it runs.

    As `POST .../messages` with the same members, but for those that say what becomes of it.
    """
    place, how = (asked.project_id, asked.lane_id), (accept, prefer)
    return await passed_on(asked.request, log, place, caller, asked.key, how, queues=True)


@router.delete("/queue")
async def empty_lane_queue(asked: Commanded, log: Log, caller: From) -> Response:
    """Take all inputs back that wait in the lane's session; `recalled` names them.

    Of a session that another lane has too, only those that came by this lane.
    """
    command = asked.to("queue-empty", await read_body(asked.request))

    def write(attempt: Attempt) -> tuple[bytes, Written]:
        found = the_lane(attempt.connection, *command.place)
        recalled = LaneChanges(log.lanes, log.handler).emptied(attempt, found, caller)
        said = dumped(_members(found, target_of(found)) | {"recalled": recalled_shape(recalled)})
        return said, Written(status=200, result=said)

    said, replayed = await once(log, command.identity(), write, lambda _, kept: kept.result)
    return Response(said, media_type=MEDIA, headers=replay_headers(replayed=replayed))


@router.delete("/queue/{queue_id}")
async def recall_in_lane(asked: Commanded, log: Log, caller: From, queue_id: QueueId) -> Response:
    """Take an input back that waits; once it became a turn it is 409 `input-started`."""
    command = asked.to("recall", await read_body(asked.request))
    found, kept = await _asked_before(log, command)
    if kept is not None:
        return Response(kept.result, media_type=MEDIA, headers=replay_headers(replayed=True))
    target = target_of(found)
    await hosting_of(asked.request).recall(target, queue_id, "recalled", caller)
    shape = _members(found, target) | {"queue_id": queue_id, "status": "recalled"}
    return Response(await _kept(log, command, dumped(shape)), media_type=MEDIA)


async def _asked_before(log: Turnlog, command: LaneCommand) -> tuple[FoundLane, Kept | None]:
    """Return the lane, and what a command was answered when it was asked for before."""
    key = command.identity().named()

    def look(connection: Connection) -> tuple[FoundLane, Kept | None]:
        found = the_lane(connection, *command.place)
        return found, None if key is None else idempotency.find(connection, key, log.now())

    return await log.read(look)


async def _kept(log: Turnlog, command: LaneCommand, said: bytes) -> bytes:
    """Return an answer, kept for the same command; the first one, if two came at once."""

    def write(_: Attempt) -> tuple[bytes, Written]:
        return said, Written(status=200, result=said)

    if command.identity().named() is None:
        return said
    return (await once(log, command.identity(), write, lambda _, kept: kept.result))[0]


async def _moved(
    log: Turnlog, command: LaneCommand, way: Move, caller: Caller
) -> tuple[bytes, bool]:
    """Move the history of a lane's session, once; return what came of it, and whether again."""

    def write(attempt: Attempt) -> tuple[bytes, Written]:
        found = the_lane(attempt.connection, *command.place)
        target = target_of(found)
        # Of turns that were for the agent.
        undo = counted(attempt.connection, target, way) if isinstance(way, c.Rewind) else way
        try:
            done = move(log, attempt, target, undo, caller)
        except (NoSuchTurn, *WENT_AWAY) as refusal:
            now = the_lane(attempt.connection, *command.place)
            if isinstance(refusal, NoSuchTurn) or now.lane.session_id != found.lane.session_id:
                raise Contended from refusal  # it went since it was looked at
            raise
        said = dumped(_members(found, target) | moved_shape(done, way))
        first, last = done.facts[0].version, done.facts[-1].version
        return said, Written(status=200, first_version=first, last_version=last, result=said)

    said = await once(log, command.identity(), write, lambda _, kept: kept.result)
    if way.interrupt:  # a compaction is told that it is over
        await hosting_of(command.request).launching.compacting.renew()
    return said


async def _said_again(
    log: Turnlog, hosting: Hosting, command: LaneCommand, caller: Caller, *, interrupt: bool
) -> Said:
    """Have it said again what was said last, or return what came of that when it was asked before.

    What is the last may go out of sight, or be followed by more, between the look at it and the
    turn; and so may the session be left. Then it is looked at again.

    Raises:
        NothingToRetry: nothing is in sight.
        ProblemError: who said it may not speak any more, the history changes all the time, or the
            server stops meanwhile.
    """
    refused_in = None
    for pause in PAUSES_S:
        if pause and not await log.pause(pause):
            raise retry("shutting-down", "the server is stopping")
        found, last = await log.read(lambda connection: _last(connection, command, log.now()))
        if isinstance(last, Kept):
            return await _retried_before(hosting, command, found, CameBefore(last))
        session_id = found.lane.session_id
        try:
            said = await _retried(log, hosting, command, caller, (found, last), interrupt=interrupt)
        except NoSuchTurn:
            continue
        except WENT_AWAY:
            if refused_in == session_id:
                raise
        else:
            decision = said.took.decision
            code = decision.code if isinstance(decision, Refuse) else None
            went = code in GONE and refused_in != session_id
            if not went and code != "head-behind":
                return said
        refused_in = session_id
    raise retry("contended", "the session's history changes all the time; try again")


def _last(
    connection: Connection, command: LaneCommand, now: int
) -> tuple[FoundLane, Kept | LastInput]:
    """Return the lane, and what was said last there; or what came of the same command before."""
    once_key = command.identity().named()
    found = the_lane(connection, *command.place)
    if not may_speak(connection, found):
        raise not_allowed()
    kept = None if once_key is None else idempotency.find(connection, once_key, now)
    if kept is None and found.lane.suspended_reason is not None:
        raise LaneIsSuspended
    return found, kept or last_input(connection, target_of(found))


async def _retried(
    log: Turnlog,
    hosting: Hosting,
    command: LaneCommand,
    caller: Caller,
    seen: tuple[FoundLane, LastInput],
    *,
    interrupt: bool,
) -> Said:
    """Have it said again what was seen to be the last."""
    found, last = seen
    target = target_of(found)
    here = last.address.lane_id == found.lane_id  # another chat's ids mean nothing in this one
    reply_to = command.message_id or (last.address.reply_to if here else None)
    request = _again(last, interrupt=interrupt)
    fields, address = request.valid(TurnBody), Address(found.lane_id, reply_to)
    ask = await hosted_ask(log, target, request, fields, uuid4().hex, hosting.owner, address)
    took = await hosting.take(target, ask, caller, request.raw, command.identity().named())
    return Said(target, took, _members(found, target, reply_to))


async def _retried_before(
    hosting: Hosting, command: LaneCommand, found: FoundLane, before: CameBefore
) -> Said:
    """Return what came of it when the same was asked for before."""
    target = target_of(found)
    target = replace(target, session_id=before.session_id or target.session_id)
    try:
        took = await hosting.before(target, before)
    except NoSuchSession:
        took = Took(dispatched=None, again=before.turn_id or before.queue_id, replayed=True)
    return Said(target, took, _members(found, target, command.message_id))


def _again(last: LastInput, *, interrupt: bool) -> RawBody:
    """Return the request that says it again, in the place of the turn that it began."""
    said: dict[str, JsonValue] = {
        "messages": [last.message],
        "format": "turnlog",
        "rewind": {"to_turn": last.turn_id, "interrupt": interrupt},
        "on_busy": "interrupt" if interrupt else "reject",
        "on_gate": "withdraw",
    }
    if last.claim is not None:
        claim = last.claim
        said["head"] = {
            "history_version": claim.history_version,
            "fingerprint": claim.fingerprint,
        }
    raw = dump(said)
    return RawBody(raw, said)


def _members(found: FoundLane, target: Target, reply_to: str | None = None) -> Shape:
    """Return which lane it is, and which of its sessions."""
    where = address_shape(found.lane_id, reply_to)
    return {**where, "session_id": target.session_id}


def _session_in(said: bytes) -> str:
    """Return the session that an answer is about."""
    found = parse(raw_members(said)["session_id"])
    assert isinstance(found, str)  # noqa: S101 - from `_members`
    return found
