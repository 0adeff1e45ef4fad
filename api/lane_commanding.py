"""How is what people have a lane do done once, and answered?

Once for the message that it was typed in, or for an `Idempotency-Key`. What is kept of an answer is
what was done; how the lane stands is told as it is when it is asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple, cast

from fastapi import Depends, Request, Response
from pydantic import Field, StrictInt, StrictStr
from sqlalchemy import Connection

from api.body import RawBody
from api.dependencies import ProjectId
from api.lane_message_bodies import check_message_id
from api.lane_shapes import lane_shape
from api.routes.hosted_turns import hosting_of
from api.routes.lanes import LaneId
from api.shapes import Shape
from api.writing import Key, Once, Written, once, replay_headers
from domain.json_text import parse
from domain.raw_json import dumped
from domain.refusals import NoSuchLane
from infrastructure import idempotency
from infrastructure.composition import Turnlog
from infrastructure.hosting.queue_listing import Listed
from infrastructure.idempotency import Kept
from infrastructure.lanes.departing import Departing, Find, Leaves, always
from infrastructure.lanes.leaving import NOTHING_LEFT, Departure, Left
from infrastructure.lanes.lookup import FoundLane, find_lane
from infrastructure.runner import Attempt
from projections.turns import address_shape

MEDIA: Final = "application/json"
MessageId = Annotated[
    StrictStr | StrictInt | None,
    Field(
        description="The platform's id of the message that it was typed in: the same again does "
        "nothing, and gets the first answer."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCommand:
    """A command as it came: what a lane is to do, and how it is known again.

    Attributes:
        verb: What it is called; one message has each done once.
    """

    request: Request
    project_id: str
    lane_id: str
    verb: str
    body: RawBody
    key: str | None
    message_id: str | None = None

    @property
    def place(self) -> tuple[str, str]:
        """Return the lane's project and its id."""
        return self.project_id, self.lane_id

    def identity(self) -> Once:
        """Return what makes it the same command again.

        Raises:
            InvalidValue: the message's id is none.
        """
        check_message_id(self.message_id)
        natural = None
        if self.message_id is not None:
            natural = f"lane {self.lane_id} {self.verb} {self.message_id}"
        return Once(
            project_id=self.project_id,
            key=self.key,
            request=self.request,
            body=self.body.raw,
            natural=natural,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request that has a lane do something, before it is read."""

    request: Request
    project_id: str
    lane_id: str
    key: str | None

    def to(self, verb: str, body: RawBody, message_id: str | int | None = None) -> LaneCommand:
        """Return the command that it is."""
        return LaneCommand(
            request=self.request,
            project_id=self.project_id,
            lane_id=self.lane_id,
            verb=verb,
            body=body,
            key=self.key,
            message_id=None if message_id is None else str(message_id),
        )


async def the_asked(request: Request, project_id: ProjectId, lane_id: LaneId, key: Key) -> Asked:
    """Return the request."""
    return Asked(request=request, project_id=project_id, lane_id=lane_id, key=key)


Commanded = Annotated[Asked, Depends(the_asked)]


class Did(NamedTuple):
    """What was done.

    Attributes:
        shape: What is told of it.
        lane_id: The lane that is told with it; None if none is.
    """

    shape: Shape
    lane_id: str | None = None
    left: Left = NOTHING_LEFT


async def done_once(
    log: Turnlog, command: LaneCommand, write: Callable[[Attempt], Did]
) -> Response:
    """Answer with what `write` did, and with the lane as it stands."""
    did, replayed = await _once(log, command, write)
    return await _answer(log, command, did, replayed=replayed)


async def left_once(
    log: Turnlog,
    command: LaneCommand,
    departure: Departure,
    write: Callable[[Attempt, Find, str | None], Did],
    leaves: Leaves = always,
) -> Response:
    """Answer the same of what has a lane leave its session: what runs there is stopped first."""
    key = command.identity().named()

    def before(connection: Connection) -> Kept | None:
        return None if key is None else idempotency.find(connection, key, log.now())

    def is_left(connection: Connection, found: FoundLane) -> bool:
        return before(connection) is None and leaves(connection, found)

    kept = await log.read(before)
    if kept is not None:
        return await _answer(log, command, _kept(kept), replayed=True)

    async def record(find: Find, stopped: str | None) -> tuple[tuple[Did, bool], Left]:
        found = await _once(log, command, lambda attempt: write(attempt, find, stopped))
        return found, found[0].left

    departing = Departing(log, hosting_of(command.request))
    did, replayed = await departing.depart(command.place, departure, record, is_left)
    return await _answer(log, command, did, replayed=replayed)


def left_shape(left: Left, stopped: str | None) -> Shape:
    """Return what was cut off, and what waits no more."""
    return {
        "interrupted": left.interrupted or stopped,
        "recalled": recalled_shape(left.recalled),
    }


def recalled_shape(recalled: Sequence[Listed]) -> list[Shape]:
    """Return the inputs that wait no more."""
    return [
        {
            "queue_id": each.queued.queue_id,
            "message_id": each.message_id,
            **address_shape(*each.address),
        }
        for each in recalled
    ]


async def _once(
    log: Turnlog, command: LaneCommand, write: Callable[[Attempt], Did]
) -> tuple[Did, bool]:
    def first(attempt: Attempt) -> tuple[Did, Written]:
        did = write(attempt)
        result = dumped({"lane_id": did.lane_id, "did": did.shape})
        return did, Written(status=200, result=result)

    return await once(log, command.identity(), first, lambda _, kept: _kept(kept))


def _kept(kept: Kept) -> Did:
    said = cast("dict[str, Any]", parse(kept.result))
    return Did(said["did"], said["lane_id"])


async def _answer(log: Turnlog, command: LaneCommand, did: Did, *, replayed: bool) -> Response:
    def look(connection: Connection) -> Shape:
        if did.lane_id is None:
            return did.shape
        found = find_lane(connection, command.project_id, did.lane_id)
        if found is None:
            raise NoSuchLane
        return lane_shape(found) | did.shape

    said = dumped(await log.read(look))
    return Response(said, media_type=MEDIA, headers=replay_headers(replayed=replayed))
