"""Dispatch: for runners that keep their own harnesses, the decision and the turn's start."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from fastapi import APIRouter, Request, Response
from sqlalchemy import Connection

from api.asks import Read, TurnBody, ask_of, read_ask
from api.body import RawBody, json_of, read_body
from api.dependencies import From, Log, Session
from api.dispatch_answers import Told, told_again, told_of, whole
from api.dispatch_bodies import DispatchBody
from api.problems import Flaw, ProblemError
from api.recovering import recovered
from api.refused import refused
from api.runnable import begins_a_run
from api.shapes import Shape, readiness_headers
from api.turn_answers import PATH, standing_of
from api.views import MEDIA
from api.writing import Key, Once, replay_headers
from domain.dispatch.kinds import Shape as Carries
from domain.dispatch.outcomes import Refuse
from domain.json_text import parse, raw_members
from domain.raw_json import dumped
from domain.refusals import MessageExists, Refusal
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.asking import NOWHERE, Address, Ask
from infrastructure.hosting.became import Dispatched, Means
from infrastructure.hosting.became import Request as Asked
from infrastructure.hosting.before import CameBefore, kept_of, turn_of_same
from infrastructure.hosting.beginning import refused as note_refusal
from infrastructure.hosting.carrying import NewSeat
from infrastructure.hosting.dispatching import dispatched, dispatched_before
from infrastructure.hosting.queueing import input_of, known_input
from infrastructure.hosting.redispatching import Replayed
from infrastructure.hosting.requests import Heard
from infrastructure.idempotency import IdempotencyKey, claim, keep, unclaim
from infrastructure.reading.moment import moment
from infrastructure.reading.turns import turn as turn_view
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/sessions/{session_id}", tags=["turns"])

_EXAMPLE: Final = {
    "messages": [{"role": "user", "content": "What is 2 + 2?"}],
    "owner": "runner-1",
    "include": "history",
    "dry_run": True,
}
_QUEUED: Final = (
    "messages",
    "format",
    "answers",
    "config",
    "rewind",
    "on_gate",
    "on_divergence",
    "owner",
)
"""What of a request waits with its input. The head that it claimed was looked at already."""
_DISPATCHED: Final = {"application/json": {"schema": {"$ref": "#/components/schemas/Dispatched"}}}
DISPATCHED: Final[dict[int | str, dict[str, Any]]] = {
    201: {"description": "It is recorded in the runner's batch.", "content": _DISPATCHED},
    202: {"description": "The input waits.", "content": _DISPATCHED},
}
_NOTHING_SAID: Final = Read(
    heard=Heard(form="turnlog", messages=()),
    shape=Carries(kind="answer"),
    start=None,
    prior=None,
    answers=(),
)
_BEGAN: Final = "This very message began a turn before; there is nothing to run."
_WAITS: Final = "This very message waits for its turn already."
_TAKEN_BACK: Final = "This very message waited before, and was taken back."
_UNRECORDED: Final = frozenset({"no-such-session", "shutting-down"})


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """How a request came, if not straight to its session.

    Attributes:
        address: Where its answer goes.
        members: What else is answered.
        once: Whether its key names a message, which begins no second turn as another batch.
    """

    address: Address = NOWHERE
    members: Shape = field(default_factory=dict[str, object])
    once: bool = False


STRAIGHT: Final = By()


class QueuedBody(TurnBody):
    """An input that waits for its runner."""

    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dispatch:
    """A request as it is decided and recorded."""

    fields: DispatchBody
    target: Target
    ask: Ask
    means: Means
    caller: Caller


@router.post(
    "/dispatch",
    responses=DISPATCHED,
    openapi_extra=json_of(DispatchBody, _EXAMPLE),
)
@begins_a_run
async def dispatch_turn(
    request: Request, target: Session, log: Log, caller: From, key: Key
) -> Response:
    """Decide how a turn goes on that a runner brings, and start it for the runner.

    The decision is the one of `POST /turns`; only who keeps the harness differs. With `begin` it is
    carried out in one commit: the turn's start, what is told of its harness, the lease. 201: it
    was, and the sequence number is used up; 202: the input waits; 200: nothing of the runner's was
    recorded. The same number with the same request gets the same answer. A request that is turned
    down is a problem, and uses up none.

    What was said in the session to others since a harness was parked has a new one started, unless
    the request says `tells_asides`: then the decision can be `resume` with `asides`, which that
    harness has to be told before what is new.
    """
    body = await read_body(request)
    fields = body.valid(DispatchBody)
    fields.check(body.value if isinstance(body.value, dict) else {})
    if not fields.dry_run:
        await recovered(request, log)
    named = Once(project_id=target.project_id, key=key, request=request, body=body.raw).named()
    return await decided(log, target, body, caller, named)


async def decided(
    log: Turnlog,
    target: Target,
    body: RawBody,
    caller: Caller,
    named: IdempotencyKey | None,
    by: By = STRAIGHT,
) -> Response:
    """Return the answer to a runner's request, which is checked already.

    Raises:
        CameBefore: the message that its key names came before.
        ProblemError: it is turned down.
    """
    fields = body.valid(DispatchBody)
    asked = await _asked(log, target, body, fields, caller, by.address)
    try:
        done = await log.write(_write(log, asked, named if fields.carry_out else None, by))
    except MessageExists as exists:
        return await _begun_before(log, asked, exists, by)
    if isinstance(done, Dispatched) and isinstance(done.decision, Refuse):
        told, refusal = done, done.decision
        raise await log.read(lambda connection: refused(connection, target, told, refusal))
    return await _told(log, asked, done, by)


async def decided_before(
    log: Turnlog, target: Target, body: RawBody, caller: Caller, before: CameBefore, by: By
) -> Response:
    """Return what came of a message that came before: by the same batch, or by another.

    Raises:
        Refusal: the batch's number was used for something else, or the session is gone.
    """
    fields = body.valid(DispatchBody)
    asked = await _asked(log, target, body, fields, caller, by.address)
    done = await log.write(lambda attempt: dispatched_before(_request(log, asked, attempt)))
    if done is not None:
        return await _told(log, asked, done, by)
    turn_id, queue_id, waits = before.turn_id, before.queue_id, _WAITS
    if queue_id is not None:
        known = await log.read(lambda connection: known_input(connection, target, queue_id))
        turn_id = None if known is None else known.turn_id
        waits = _TAKEN_BACK if known is not None and known.status == "recalled" else _WAITS
    return await _said_before(log, asked, turn_id, (queue_id, waits), by)


async def _told(log: Turnlog, asked: _Dispatch, done: Dispatched | Replayed, by: By) -> Response:
    """Return what a runner is told that was decided."""
    fields, target = asked.fields, asked.target
    again = isinstance(done, Replayed)
    answer = (
        told_again(done, asked.ask.batch.sequence if asked.ask.batch else 0)
        if isinstance(done, Replayed)
        else told_of(done, rest=asked.ask.start is not None and done.ask.start is None)
    )
    form, history = fields.history_format, fields.include == "history"
    shape = await log.read(
        lambda connection: whole(connection, target, answer, form, history=history),
        long=history or answer.asides > 0,
    )
    return _response(answer, dumped(by.members | shape), again=again)


async def _asked(
    log: Turnlog,
    target: Target,
    body: RawBody,
    fields: DispatchBody,
    caller: Caller,
    address: Address,
) -> _Dispatch:
    """Return what is asked for.

    Raises:
        Refusal: it is none of the five shapes, or a message is none, and where.
        ProblemError: text begins a turn, which has no id.
    """
    begin = fields.begin
    turn_id = (begin.turn_id if begin else None) or uuid4().hex
    said: TurnBody = fields
    queue_id = fields.queue_id
    if fields.go_on is not None:
        read = _NOTHING_SAID
    else:
        if queue_id is not None:
            body, said, address = await _queued(log, target, queue_id, fields)
        read = await read_ask(log, target, body, said, turn_id, address)
    if read.start is not None and begin is not None and begin.turn_id is None:
        detail = "a request with new text begins a turn, which needs an id"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, ("begin", "turn_id"))])
    ask = ask_of(
        read,
        said,
        turn_id,
        fields.owner,
        hosted=False,
        raw=body.raw,
        config=fields.wanted(),
        seat=fields.held(),
        tells_asides=fields.tells_asides,
        continues=fields.go_on is not None,
        continued=fields.go_on,
        queue_id=queue_id,
        batch=fields.batch(),
        standing="shutting-down" if log.stopping.is_set() else "present",
        **({} if begin is None else {"lease_s": begin.lease_s}),
    )
    if queue_id is not None:
        on_busy = "reject" if fields.on_busy == "queue" else fields.on_busy  # it waited already
        ask = replace(ask, policies=replace(ask.policies, on_busy=on_busy))
    means = Means(
        new=NewSeat(seat_id=(begin.seat_id if begin else None) or uuid4().hex),
        facets=fields.applied_facets or {},
        request=_waiting(body),
        queue_id=uuid4().hex,
        consumes=True,
    )
    return _Dispatch(fields=fields, target=target, ask=ask, means=means, caller=caller)


async def _queued(
    log: Turnlog, target: Target, queue_id: str, fields: DispatchBody
) -> tuple[RawBody, TurnBody, Address]:
    """Return an input that waited, with what is known of it by now, and where its answer goes."""
    _, stored, address = await log.read(lambda connection: input_of(connection, target, queue_id))
    body = RawBody(stored, parse(stored))
    said = body.valid(QueuedBody if b'"owner"' in stored else TurnBody)
    return body, said.model_copy(update={"head": fields.head}), address


def _waiting(body: RawBody) -> bytes:
    """Return what of a request waits with it, each member as it was sent."""
    members = raw_members(body.raw)
    kept = (b'"%b":%b' % (name.encode(), members[name]) for name in _QUEUED if name in members)
    return b"{%b}" % b",".join(kept)


def _request(log: Turnlog, asked: _Dispatch, attempt: Attempt) -> Asked:
    return Asked(
        handler=log.handler,
        attempt=attempt,
        target=asked.target,
        ask=asked.ask,
        means=asked.means,
        caller=asked.caller,
    )


def _write(
    log: Turnlog, asked: _Dispatch, named: IdempotencyKey | None, by: By
) -> Callable[[Attempt], Dispatched | Replayed]:
    fields = asked.fields

    def write(attempt: Attempt) -> Dispatched | Replayed:
        kept = None if named is None else claim(attempt.connection, named, log.now())
        if kept is not None and by.once:
            raise CameBefore(kept)
        request = _request(log, asked, attempt)
        done = dispatched(request, carry_out=fields.carry_out)
        if isinstance(done, Dispatched) and isinstance(done.decision, Refuse):
            _note(request, done.decision, dry_run=fields.dry_run)
        if named is not None and kept is None:
            if isinstance(done, Dispatched) and done.appended is not None:
                keep(attempt.connection, named, kept_of(done))
            else:
                unclaim(attempt.connection, named)
        return done

    return write


def _note(request: Asked, refusal: Refuse, *, dry_run: bool) -> None:
    """Record a refusal, if there is where; the answer does not depend on it."""
    if dry_run or refusal.code in _UNRECORDED:
        return
    with suppress(Refusal):
        note_refusal(request, refusal)


async def _begun_before(log: Turnlog, asked: _Dispatch, exists: MessageExists, by: By) -> Response:
    """Tell which turn began with this very message.

    Raises:
        MessageExists: the words were others.
    """
    target, message_id = asked.target, exists.message_id
    turn_id = await log.read(
        lambda connection: turn_of_same(connection, target, asked.ask, message_id)
    )
    if turn_id is None:
        raise exists
    return await _said_before(log, asked, turn_id, (None, _WAITS), by)


async def _said_before(
    log: Turnlog, asked: _Dispatch, turn_id: str | None, queued: tuple[str | None, str], by: By
) -> Response:
    """Tell which turn a message began that came before, or under which id it waits, or waited."""

    def look(connection: Connection) -> tuple[bytes, dict[str, str]]:
        found = moment(connection, asked.target)
        standing, headers = standing_of(log, found)
        shape: Shape = {
            "decision": "queue" if turn_id is None else "started",
            "reason": "message-exists",
            "explain": queued[1] if turn_id is None else _BEGAN,
            "path": None,
            "history_from": None,
            "evict": None,
            "before": [],
            "seat_id": None,
        }
        if turn_id is None:
            shape["queue_id"] = queued[0]
        else:
            turn = turn_view(connection, found, turn_id).turn
            shape |= {
                "path": turn.path,
                "history_from": turn.history_from,
                "turn": {"turn_id": turn_id, "records": turn.records},
            }
        if asked.ask.batch is not None:
            shape["next_sequence"] = asked.ask.batch.sequence
        return dumped(by.members | shape | standing), headers

    said, told = await log.read(look)
    return Response(
        said,
        status_code=202 if turn_id is None else 200,
        media_type=MEDIA,
        headers=dict(told) | replay_headers(replayed=True),
    )


def _response(answer: Told, said: bytes, *, again: bool) -> Response:
    headers = dict(readiness_headers(answer.readiness, answer.head))
    if answer.path is not None:
        headers[PATH] = answer.path
    return Response(
        said,
        status_code=answer.status,
        media_type=MEDIA,
        headers=headers | replay_headers(replayed=again),
    )
