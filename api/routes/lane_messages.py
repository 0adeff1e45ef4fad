"""Messages of chats: one request resolves where they come from, and runs, queues or records."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple
from uuid import uuid4

from fastapi import APIRouter, Header, Request, Response

from api.asks import WaitingBody, hosted_ask
from api.body import RawBody, json_of, read_body
from api.dependencies import From, Log, ProjectId
from api.lane_message_bodies import LaneMessageBody, LaneQueueBody, PassedOn
from api.lane_passing import (
    GONE,
    Passing,
    check_opening,
    gone,
    members_again,
    of_lane,
    other_words,
    passing_of,
    request_of,
    resolved_for,
    target_of,
)
from api.problems import Flaw, ProblemError
from api.recovering import recovered
from api.routes.hosted_turns import STREAM, TAKEN, answered, hosting_of
from api.routes.lanes import LaneId
from api.runnable import begins_a_run
from api.shapes import Shape
from api.writing import Key, Once
from domain.dispatch.outcomes import Refuse
from domain.json_text import JsonValue
from domain.refusals import NoSuchSession, Refusal
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.asking import Address
from infrastructure.hosting.before import CameBefore
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.took import Took
from infrastructure.idempotency import KeyReused
from infrastructure.lanes.lookup import FoundLane

router = APIRouter(prefix="/v1/projects/{project_id}/lanes", tags=["lanes"])
_ALONE: Final = ("answers", "rewind", "config", "head")
"""What says nothing of words that are only recorded."""

_SOURCE: Final = {
    "platform": "telegram",
    "chat_id": "-1002285219667",
    "chat_type": "group",
    "thread_id": "17585",
    "user_id": "42",
    "user_name": "Alice",
    "message_id": "1001",
}
EXAMPLE: Final = {"source": _SOURCE, "text": "What is 2 + 2?"}
TO_LANE: Final = {"text": "What is 2 + 2?"}
SAID: Final[dict[int | str, dict[str, Any]]] = TAKEN | {
    200: {
        "description": "The turn, as it ended or as it waits; what waits for nothing is recorded.",
        "content": {
            "application/json": {
                "schema": {
                    "anyOf": [
                        {"$ref": "#/components/schemas/TurnAnswer"},
                        {"$ref": "#/components/schemas/MessageGone"},
                    ]
                }
            },
            STREAM: {"schema": {"type": "string"}},
        },
    },
}
_WAITS: Final[Mapping[str, JsonValue]] = MappingProxyType({"on_busy": "queue"})
_IN_LINE: Final = MappingProxyType({**_WAITS, "on_gate": "queue"})
_OVERHEARD: Final = MappingProxyType({**_WAITS, "run": False})
"""What a request for a turn asks for if it does not say; of the last, nothing runs."""
Accept = Annotated[str, Header(description="`text/event-stream` to see it as it comes.")]
Prefer = Annotated[str, Header(description="`respond-async` for an answer at once.")]


class Said(NamedTuple):
    """What became of it, where, and what is told of that besides."""

    target: Target
    took: Took
    members: Shape


@router.post("/messages", responses=SAID, openapi_extra=json_of(LaneMessageBody, EXAMPLE))
@begins_a_run
async def send_by_source(
    request: Request,
    project_id: ProjectId,
    log: Log,
    caller: From,
    key: Key,
    accept: Accept = "",
    prefer: Prefer = "",
) -> Response:
    """Pass a message on to the session of the place where it was said, and run its turn.

    As `POST /lanes/resolve`, and then as `POST .../turns`, in one request; the answer is the
    turn's, with `lane_id`, `session_id`, `lane_reason`, `created` and `reply_to`. While a turn runs
    the message waits for its own (`on_busy`). Where several people speak, the sender's name stands
    before the words. The same platform message again gets the first answer, marked
    `Idempotent-Replayed`, even if the lane has another session by now; an edited one comes with a
    higher `revision`. `run: false` records what is not for the agent, which sees it at its next
    turn; a harness that is kept for the session goes on, and is told it before the new message.
    """
    return await passed_on(request, log, (project_id, None), caller, key, (accept, prefer))


@router.post("/{lane_id}/messages", responses=SAID, openapi_extra=json_of(LaneMessageBody, TO_LANE))
@begins_a_run
async def send_to_lane(
    request: Request,
    project_id: ProjectId,
    lane_id: LaneId,
    log: Log,
    caller: From,
    key: Key,
    accept: Accept = "",
    prefer: Prefer = "",
) -> Response:
    """Pass a message on to the session of a lane, and run its turn.

    As `POST /lanes/messages`, for a gateway that knows the lane: `source` can be left out, and
    then nobody is named; one of another lane is refused.
    """
    return await passed_on(request, log, (project_id, lane_id), caller, key, (accept, prefer))


async def passed_on(
    request: Request,
    log: Turnlog,
    place: tuple[str, str | None],
    caller: Caller,
    key: str | None,
    how: tuple[str, str],
    *,
    queues: bool = False,
) -> Response:
    """Pass a message on; one that `queues` only says what is said, and waits for its turn."""
    hosting = hosting_of(request)
    body = await read_body(request)
    fields = body.valid(LaneQueueBody if queues else LaneMessageBody)
    runs = not isinstance(fields, LaneMessageBody) or fields.run
    if not runs:
        _check_alone(body)
    passed = PassedOn(body, fields, *place)
    await recovered(request, log)
    asked = Once(project_id=place[0], key=key, request=request, body=body.raw).named()
    passing = await passing_of(log, passed, asked, caller)
    if passing.before is not None:
        said = await _said_before(passing, hosting, passing.before)
    else:
        default = _IN_LINE if queues else _WAITS
        try:
            said = await _said(passing, hosting, runs=runs, default=default)
        except Refusal as refusal:
            raise passed.placed(refusal) from None
    target, took, members = said
    accept, prefer = how
    try:
        return await answered(
            log, hosting, target, took, accept=accept, prefer=prefer, members=members
        )
    except NoSuchSession:
        return gone(members, replayed=took.replayed)
    except ProblemError as problem:
        raise of_lane(problem, members) from None


async def _said(
    passing: Passing, hosting: Hosting, *, runs: bool, default: Mapping[str, JsonValue]
) -> Said:
    """Return what becomes of a message; what it does not say itself is as `default` has it."""

    async def take(target: Target, found: FoundLane, members: Shape) -> Said | None:
        took = await _took(passing, hosting, target, found, default if runs else None)
        went = isinstance(took.decision, Refuse) and took.decision.code in GONE
        return None if went else Said(target, took, members)

    await check_opening(passing, hosting if runs else None)
    said = await resolved_for(passing, take)
    session_id = said.took.session_id
    if session_id in {None, said.target.session_id}:
        return said
    target = replace(said.target, session_id=session_id or "")  # it came before it was reset
    return Said(target, said.took, members_again(passing, target))


async def _said_before(passing: Passing, hosting: Hosting, before: CameBefore) -> Said:
    """Return what became of a message that came before."""
    target = target_of(passing, before)
    try:
        took = await hosting.before(target, before)
    except NoSuchSession:
        took = Took(dispatched=None, again=before.turn_id or before.queue_id, replayed=True)
    return Said(target, took, members_again(passing, target))


async def _took(
    passing: Passing,
    hosting: Hosting,
    target: Target,
    found: FoundLane,
    default: Mapping[str, JsonValue] | None,
) -> Took:
    """Have a message run or wait, by `default` as it says; or have it only be recorded."""
    log, caller, once = passing.log, passing.caller, passing.came.key
    runs = default is not None
    body = request_of(passing, found, _OVERHEARD if default is None else default)
    address = Address(found.lane_id, passing.passed.reply_to)
    fields, turn_id = body.valid(WaitingBody), uuid4().hex
    ask = await hosted_ask(log, target, body, fields, turn_id, hosting.owner, address)
    try:
        take = hosting.take if runs else hosting.overhear
        return await take(target, ask, caller, body.raw, once)
    except KeyReused:
        raise other_words(passing) from None


def _check_alone(body: RawBody) -> None:
    """See to it that words which are only recorded ask for nothing."""
    said = body.value if isinstance(body.value, dict) else {}
    found = next((name for name in _ALONE if said.get(name)), None)
    messages = said.get("messages")
    if found is None and isinstance(messages, list) and len(messages) > 1:
        found = "messages"
    if found is not None:
        detail = "what is not run is one message, and asks for nothing"
        raise ProblemError("invalid-value", detail, flaws=[Flaw(detail, (found,))])
