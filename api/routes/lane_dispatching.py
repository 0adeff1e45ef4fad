"""Messages of chats whose gateways have runners of their own: resolve, decide, begin."""

from typing import Final

from fastapi import APIRouter, Request, Response

from api.body import json_of, read_body
from api.dependencies import From, Log, ProjectId
from api.lane_message_bodies import LaneDispatchBody, PassedOn
from api.lane_passing import (
    GONE,
    Passing,
    as_it_is,
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
from api.problems import ProblemError
from api.recovering import recovered
from api.routes.dispatching import DISPATCHED, By, decided, decided_before
from api.routes.lane_messages import EXAMPLE, TO_LANE
from api.routes.lanes import LaneId
from api.runnable import begins_a_run
from api.shapes import Shape
from api.writing import Key, Once
from domain.refusals import NoSuchSession, Refusal
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.asking import Address
from infrastructure.hosting.before import CameBefore
from infrastructure.idempotency import KeyReused
from infrastructure.lanes.lookup import FoundLane

router = APIRouter(prefix="/v1/projects/{project_id}/lanes", tags=["lanes"])
_RUNNER: Final = {**EXAMPLE, "owner": "runner-1", "dry_run": True}
_RUNNER_TO_LANE: Final = {**TO_LANE, "owner": "runner-1", "dry_run": True}


@router.post("/dispatch", responses=DISPATCHED, openapi_extra=json_of(LaneDispatchBody, _RUNNER))
@begins_a_run
async def dispatch_by_source(
    request: Request, project_id: ProjectId, log: Log, caller: From, key: Key
) -> Response:
    """Decide, for a gateway with a runner of its own, how the turn of a chat's message goes on.

    As `POST /lanes/resolve`, and then as `POST .../dispatch`, in one request; the answer is the
    decision, with `lane_id`, `session_id`, `lane_reason`, `created` and `reply_to`. With `begin`
    the same platform message again begins no second turn. `dry_run` opens nothing.
    """
    return await _dispatch(request, log, (project_id, None), caller, key)


@router.post(
    "/{lane_id}/dispatch",
    responses=DISPATCHED,
    openapi_extra=json_of(LaneDispatchBody, _RUNNER_TO_LANE),
)
@begins_a_run
async def dispatch_to_lane(
    request: Request, project_id: ProjectId, lane_id: LaneId, log: Log, caller: From, key: Key
) -> Response:
    """Decide how the turn of a message to a lane goes on.

    As `POST /lanes/dispatch`, for a gateway that knows the lane: `source` can be left out.
    """
    return await _dispatch(request, log, (project_id, lane_id), caller, key)


async def _dispatch(
    request: Request,
    log: Turnlog,
    place: tuple[str, str | None],
    caller: Caller,
    key: str | None,
) -> Response:
    body = await read_body(request)
    fields = body.valid(LaneDispatchBody)
    fields.check(body.value if isinstance(body.value, dict) else {})
    passed = PassedOn(body, fields, *place)
    if not fields.dry_run:
        await recovered(request, log)
    asked = Once(project_id=place[0], key=key, request=request, body=body.raw).named()
    passing = await passing_of(
        log, passed, asked if fields.carry_out else None, caller, dry=fields.dry_run
    )
    once = passing.came.key if fields.carry_out else None
    by_id = passed.incoming.message_id is not None

    async def decide(target: Target, found: FoundLane, members: Shape) -> Response | None:
        turn = request_of(passing, found)
        by = By(address=Address(found.lane_id, passed.reply_to), members=members, once=by_id)
        try:
            return await decided(log, target, turn, caller, once, by)
        except KeyReused:
            raise other_words(passing) from None
        except CameBefore as before:
            return await _dispatched_before(passing, before)
        except ProblemError as problem:
            if problem.code in GONE:
                return None
            raise of_lane(problem, members) from None

    try:
        if fields.dry_run:
            return await as_it_is(passing, decide)
        if passing.before is not None and fields.carry_out:
            return await _dispatched_before(passing, passing.before)
        await check_opening(passing)
        return await resolved_for(passing, decide)
    except Refusal as refusal:
        raise passed.placed(refusal) from None


async def _dispatched_before(passing: Passing, before: CameBefore) -> Response:
    """Return what came of a message that a runner brought before, maybe as another batch."""
    target, passed = target_of(passing, before), passing.passed
    found = passing.came.found
    lane_id = passing.came.place if found is None else found.lane_id
    by = By(
        address=Address(lane_id, passed.reply_to),
        members=members_again(passing, target),
        once=True,
    )
    turn = request_of(passing, found)
    try:
        return await decided_before(passing.log, target, turn, passing.caller, before, by)
    except NoSuchSession:
        return gone(by.members, replayed=True)
