"""What people, and the programs of their chats, have a lane do with its conversation."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Response
from pydantic import StrictStr
from sqlalchemy import Connection

from api.body import json_of, read_body
from api.dependencies import ExpectedVersion, From, Log, ProjectId
from api.lane_bodies import beginning_of, source_in
from api.lane_command_bodies import (
    BranchBody,
    LaneChangeBody,
    MoveBody,
    ReasonBody,
    ResetBody,
    SwitchBody,
)
from api.lane_commanding import (
    MEDIA,
    Commanded,
    Did,
    LaneCommand,
    done_once,
    left_once,
    left_shape,
)
from api.lane_shapes import resolved_shape
from api.paging import DEFAULT_LIMIT, Limit
from api.problems import ProblemError
from api.routes.lanes import LaneId
from api.shapes import Shape
from domain.lanes import decide as lane
from domain.raw_json import dumped
from domain.refusals import AmbiguousSession, VersionMoved
from domain.times import rfc3339
from infrastructure.composition import Turnlog
from infrastructure.forking import ForkRequest
from infrastructure.lanes.arriving import arrival
from infrastructure.lanes.changing import LaneChanges, chosen
from infrastructure.lanes.departing import Find
from infrastructure.lanes.earlier import EarlierSession, earlier_sessions, titled
from infrastructure.lanes.leaving import Departure
from infrastructure.lanes.lookup import FoundLane, find_lane, the_lane
from infrastructure.lanes.resolving import new_session_id
from infrastructure.runner import Attempt

router = APIRouter(prefix="/v1/projects/{project_id}/lanes/{lane_id}", tags=["lanes"])
_REASON: Final = {"reason": "restart-timeout"}


@router.post("/reset", openapi_extra=json_of(ResetBody, {}))
@router.post("/new", openapi_extra=json_of(ResetBody, {}))
async def reset_lane(
    asked: Commanded, log: Log, caller: From, version: ExpectedVersion
) -> Response:
    """Begin a new session in the lane; `new` and `reset` are one.

    A turn that runs is interrupted and its gates are withdrawn; what waits is taken back, and named
    in `recalled`. The session before is put away (`lane-reset`), unless another lane has it: then
    only what came by this lane is stopped there. It can be gone on with by `switch`. With
    `If-Match`, of a lane that is at another version by now it is 412, and nothing is stopped.
    """
    body = await read_body(asked.request)
    fields = body.valid(ResetBody)
    beginning = beginning_of(body, fields.open)
    departure = Departure(because="lane-reset", interrupt=fields.interrupt, caller=caller)
    command = asked.to("reset", body, fields.message_id)

    def leaves(connection: Connection, found: FoundLane) -> bool:
        _check_version(connection, command, found, version)
        return True

    def write(attempt: Attempt, find: Find, stopped: str | None) -> Did:
        found = find(attempt)
        _check_version(attempt.connection, command, found, version)
        made, left = _changes(log).reset(attempt, found, departure, beginning)
        return Did(resolved_shape(made) | left_shape(left, stopped), left=left)

    return await left_once(log, command, departure, write, leaves)


@router.post("/suspend", openapi_extra=json_of(ReasonBody, {"reason": "stuck"}))
async def suspend_lane(asked: Commanded, log: Log, caller: From) -> Response:
    """Have whoever comes next get a new session; nothing is done about the one that there is."""
    body = await read_body(asked.request)
    fields = body.valid(ReasonBody)
    command = asked.to("suspend", body, fields.message_id)
    order = lane.SuspendLane(reason=fields.reason)
    return await _ordered(log, command, order, caller, "changed")


@router.post("/resume-mark", openapi_extra=json_of(ReasonBody, _REASON))
async def mark_lane(asked: Commanded, log: Log, caller: From) -> Response:
    """Say that a turn of the lane was cut off, and can be gone on with.

    A mark that is there already is kept as it is (`marked` is false), also one that the session got
    when its server was lost. A suspended lane takes none: 409 `lane-suspended`.
    """
    body = await read_body(asked.request)
    fields = body.valid(ReasonBody)
    command = asked.to("resume-mark", body, fields.message_id)
    order = lane.MarkResume(reason=fields.reason)
    return await _ordered(log, command, order, caller, "marked")


@router.delete("/resume-mark")
async def clear_lane(asked: Commanded, log: Log, caller: From) -> Response:
    """Say that there is nothing to go on with; `cleared` tells whether there was."""
    command = asked.to("resume-clear", await read_body(asked.request))
    order = lane.ClearResume(reason="cleared")
    return await _ordered(log, command, order, caller, "cleared")


@router.patch("", openapi_extra=json_of(LaneChangeBody, {"pinned": True}))
async def change_lane(
    asked: Commanded, log: Log, caller: From, version: ExpectedVersion
) -> Response:
    """Pin a lane, so that it is not pruned, or pin it no more."""
    body = await read_body(asked.request)
    order = lane.PinLane(pinned=body.valid(LaneChangeBody).pinned)
    command = asked.to("change", body)
    return await _ordered(log, command, order, caller, "changed", version)


@router.post(
    "/move",
    openapi_extra=json_of(MoveBody, {"source": {"platform": "telegram", "chat_id": "-100"}}),
)
async def move_lane(asked: Commanded, log: Log, caller: From) -> Response:
    """Have the conversation go on at another place, as when a platform changes a chat's id.

    The lane there has the same session then, and is what is answered with; what stands in the way
    here does so there. A place that has a conversation of its own takes none: 409 `lane-exists`.
    """
    body = await read_body(asked.request)
    fields = body.valid(MoveBody)
    source = source_in(body, "source")
    command = asked.to("move", body, fields.message_id)

    def write(attempt: Attempt) -> Did:
        found = the_lane(attempt.connection, *command.place)
        there = arrival(attempt.connection, asked.project_id, source)
        now, changed = _changes(log).move(attempt, found, there, caller, follow=fields.follow)
        return Did({"changed": changed}, now.lane_id)

    return await done_once(log, command, write)


@router.post("/switch", openapi_extra=json_of(SwitchBody, {"title": "the gard"}))
async def switch_lane(asked: Commanded, log: Log, caller: From) -> Response:
    """Go on with an earlier session, by its id or its title.

    One that this lane had, or a lane of the same person; no other is found, and nothing tells
    whether there is one (404 `no-such-session`). A title is compared whole first, then by how it
    begins; if several fit it is 409 `ambiguous-session`, with `candidates`. The session that is
    left is put away (`lane-switched`) as by a reset, and the other one is taken out again.
    """
    body = await read_body(asked.request)
    fields = body.valid(SwitchBody)
    named = fields.named()
    departure = Departure(because="lane-switched", interrupt=fields.interrupt, caller=caller)
    command = asked.to("switch", body, fields.message_id)

    def leaves(connection: Connection, found: FoundLane) -> bool:
        return chosen(connection, found, named) != found.lane.session_id

    def write(attempt: Attempt, find: Find, stopped: str | None) -> Did:
        done = _changes(log).switch(attempt, find(attempt), departure, named)
        shape = {"changed": done.changed} | left_shape(done.left, stopped)
        return Did(shape, done.found.lane_id, done.left)

    try:
        return await left_once(log, command, departure, write, leaves)
    except AmbiguousSession as refusal:
        raise await _ambiguous(log, command, refusal) from None


@router.get("/resumable")
async def list_resumable(
    project_id: ProjectId,
    lane_id: LaneId,
    log: Log,
    title: Annotated[
        StrictStr | None, Query(max_length=256, description="Only those whose title begins so.")
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
) -> Response:
    """List the sessions that `switch` finds, the newest activity first."""

    def look(connection: Connection) -> Sequence[EarlierSession]:
        found = the_lane(connection, project_id, lane_id)
        return titled(earlier_sessions(connection, found), title)

    found = await log.read(look)
    items = [_earlier_shape(each) for each in found[:limit]]
    shape = {"items": items, "next_cursor": None, "more": len(found) > limit}
    return Response(dumped(shape), media_type=MEDIA)


@router.post("/branch", openapi_extra=json_of(BranchBody, {"title": "Another way"}))
async def branch_lane(asked: Commanded, log: Log, caller: From) -> Response:
    """Go on in a branch of the lane's session: a fork of it, here or at another place.

    The session itself stays as it is, open, and can be gone on with by `switch`. With `source`, as
    of a new thread, the branch is the session of the lane there, which is what is answered with,
    and this lane stays. A turn that runs does so on; in the branch it is interrupted.
    """
    body = await read_body(asked.request)
    fields = body.valid(BranchBody)
    fields.check()
    source = None if fields.source is None else source_in(body, "source")
    command = asked.to("branch", body, fields.message_id)

    def write(attempt: Attempt) -> Did:
        found = the_lane(attempt.connection, *command.place)
        there = None if source is None else arrival(attempt.connection, asked.project_id, source)
        forked = ForkRequest(
            session_id=new_session_id(log.now()), at_turn=fields.at_turn, title=fields.title
        )
        now = _changes(log).branch(attempt, found, forked, caller, there)
        branch = {"session_id": forked.session_id, "forked_from": found.lane.session_id}
        return Did({"branch": branch}, now.lane_id)

    return await done_once(log, command, write)


async def _ordered(
    log: Turnlog,
    command: LaneCommand,
    order: lane.LaneCommand,
    caller: From,
    told: Literal["changed", "marked", "cleared"],
    version: int | None = None,
) -> Response:
    """Have a lane do what it is told; `told` is the member that says whether that was anything."""

    def write(attempt: Attempt) -> Did:
        found = the_lane(attempt.connection, *command.place)
        _check_version(attempt.connection, command, found, version)
        now, changed = _changes(log).ordered(attempt, found, order, caller)
        return Did({told: changed}, now.lane_id)

    return await done_once(log, command, write)


def _check_version(
    connection: Connection, command: LaneCommand, found: FoundLane, expected: int | None
) -> None:
    """Check the version of the lane that is named, wherever it moved: its tag is what was seen."""
    if expected is None:
        return
    named = found
    if found.lane_id != command.lane_id:
        named = find_lane(connection, *command.place) or found
    if expected != named.lane.version:
        raise VersionMoved(expected, named.lane.version, "the lane")


async def _ambiguous(log: Turnlog, command: LaneCommand, refusal: AmbiguousSession) -> ProblemError:
    """Return the problem that names those that could be meant."""

    def look(connection: Connection) -> Sequence[EarlierSession]:
        return earlier_sessions(connection, the_lane(connection, *command.place))

    found = [each for each in await log.read(look) if each.session_id in refusal.session_ids]
    candidates = [{"session_id": each.session_id, "title": each.title} for each in found]
    return ProblemError("ambiguous-session", refusal.detail, extra={"candidates": candidates})


def _earlier_shape(each: EarlierSession) -> Shape:
    return {
        "session_id": each.session_id,
        "title": each.title,
        "status": each.status,
        "current": each.is_current,
        "lane_id": each.lane_id,
        "bound_at": rfc3339(each.bound_at),
        "updated_at": rfc3339(each.updated_at),
    }


def _changes(log: Turnlog) -> LaneChanges:
    return LaneChanges(log.lanes, log.handler)
