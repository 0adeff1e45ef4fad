"""How does a message of a chat get to its session: known again, allowed, resolved, and named?

A session that goes away between its lane's resolving and the turn is no answer: the lane is
resolved again. What a message came to before stands, in whichever session that was.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from fastapi import Response
from sqlalchemy import Connection

from api.asks import check_ask
from api.body import RawBody
from api.errors import retry
from api.lane_message_bodies import PassedOn
from api.problems import ProblemError
from api.shapes import Shape
from api.writing import replay_headers
from domain.json_text import JsonValue
from domain.lanes.resolving import goes_on
from domain.raw_json import dumped
from domain.refusals import (
    MessageExists,
    NoSuchLane,
    NoSuchSession,
    SessionIsArchived,
    SessionIsSuspended,
)
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.before import CameBefore
from infrastructure.hosting.hosts import Hosting
from infrastructure.idempotency import IdempotencyKey, KeyReused
from infrastructure.lanes.lookup import FoundLane
from infrastructure.lanes.messages import Came, came, id_in_session
from infrastructure.lanes.resolving import Resolved
from projections.turns import address_shape

Answer = TypeVar("Answer")
MEDIA: Final = "application/json"
NOTHING: Final[Mapping[str, JsonValue]] = MappingProxyType({})
PAUSES_S: Final = (0.0, 0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56)
"""Before each time that a lane is resolved for a message whose session goes away meanwhile: who
does that again and again is hardly at it for so long."""
GONE: Final = frozenset({"no-such-session", "session-archived", "session-suspended"})
"""Refusals of a session that went away since its lane was resolved."""
WENT_AWAY: Final = (NoSuchSession, SessionIsArchived, SessionIsSuspended)


class Passing(NamedTuple):
    """A message on its way to its session.

    Attributes:
        resolved: The session, if nothing has to be written to find it.
        before: What became of it when it came before; None if it did not.
    """

    log: Turnlog
    caller: Caller
    passed: PassedOn
    came: Came
    resolved: Resolved | None
    before: CameBefore | None


async def as_it_is(
    passing: Passing, use: Callable[[Target, FoundLane, Shape], Awaitable[Response | None]]
) -> Response:
    """Return what would come of a message, in the session that its lane has now.

    Raises:
        NoSuchLane: it would open one.
    """
    resolved = passing.resolved
    if resolved is None:
        raise NoSuchLane
    target = Target(project_id=passing.passed.incoming.project_id, session_id=resolved.session_id)
    told = await use(target, resolved.found, members_of(passing, resolved))
    if told is None:
        raise NoSuchLane
    return told


async def resolved_for(
    passing: Passing, use: Callable[[Target, FoundLane, Shape], Awaitable[Answer | None]]
) -> Answer:
    """Return what `use` makes of a message in its session; in the next one if that goes away.

    Raises:
        ProblemError: they went away again and again, or the server stops meanwhile.
    """
    log, arrival = passing.log, passing.came.arrival
    resolved: Resolved | None = passing.resolved
    for pause in PAUSES_S:
        if pause and not await log.pause(pause):
            raise retry("shutting-down", "the server is stopping")
        found, resolved = resolved, None
        if found is None:
            found = await log.write(
                lambda attempt: log.lanes.resolve(attempt, arrival, passing.caller)
            )
        target = Target(project_id=arrival.project_id, session_id=found.session_id)
        try:
            answer = await use(target, found.found, members_of(passing, found))
        except WENT_AWAY:
            continue
        if answer is not None:
            return answer
    raise retry("contended", "the lane's session went away; try again")


async def passing_of(
    log: Turnlog,
    passed: PassedOn,
    asked: IdempotencyKey | None,
    caller: Caller,
    *,
    dry: bool = False,
) -> Passing:
    """Look at what comes, and at the session that it would come to.

    If it is only looked at (`dry`), nothing is written, not even that something came.

    Raises:
        ProblemError: who says it may not.
        MessageExists: other words came under its id.
    """
    incoming = passed.incoming

    def look(connection: Connection) -> tuple[Came, Resolved | None]:
        found = came(connection, incoming, asked, log.now())
        arrival = replace(found.arrival, touches=False) if dry else found.arrival
        known = not dry and (found.kept is not None or not found.allowed)
        return found, None if known else log.lanes.peek(connection, arrival)

    try:
        found, resolved = await log.read(look)
    except KeyReused:
        if incoming.message_id is None:
            raise
        raise MessageExists(incoming.message_id) from None
    if not found.allowed:
        raise not_allowed()
    before = None if found.kept is None else CameBefore(found.kept)
    return Passing(log, caller, passed, found, resolved, before)


async def check_opening(passing: Passing, hosting: Hosting | None = None) -> None:
    """See to it that no session is opened for what can be no turn; `hosting` is what would run it.

    Raises:
        Refusal: it can be none, and where.
    """
    found = passing.came.found
    if passing.resolved is not None or (found is not None and goes_on(found.lane, found.standing)):
        return
    await check_ask(request_of(passing, None))
    config = passing.passed.incoming.beginning.config
    if hosting is not None and config is not None:
        hosting.check(config, "open", "config")


def not_allowed() -> ProblemError:
    """Return the problem of somebody who may not speak."""
    detail = "the project's settings say who may speak on this platform"
    return ProblemError("sender-not-allowed", detail)


def request_of(
    passing: Passing, found: FoundLane | None, more: Mapping[str, JsonValue] = NOTHING
) -> RawBody:
    """Return the request for a turn that a message is in this lane."""
    incoming, known = passing.passed.incoming, passing.came
    name = None
    if incoming.message_id is not None:
        name = id_in_session(known.place, incoming.message_id, incoming.revision)
    shared = found is not None and found.lane.shared
    return passing.passed.request(name, known.sender if shared else None, **more)


def other_words(passing: Passing) -> Exception:
    """Return why a key does not stand for this request."""
    message_id = passing.passed.incoming.message_id
    return KeyReused() if message_id is None else MessageExists(message_id)


def target_of(passing: Passing, before: CameBefore) -> Target:
    """Return the session in which a message came before."""
    project_id = passing.passed.incoming.project_id
    return Target(project_id=project_id, session_id=before.session_id or "")


def members_of(passing: Passing, resolved: Resolved) -> Shape:
    """Return what an answer tells besides the turn's: which lane it is, and how it was found."""
    members: Shape = {
        **address_shape(resolved.found.lane_id, passing.passed.reply_to),
        "session_id": resolved.session_id,
        "lane_reason": resolved.reason,
        "created": resolved.created,
    }
    if resolved.previous_session_id is not None:
        members["previous_session_id"] = resolved.previous_session_id
    return members


def members_again(passing: Passing, target: Target) -> Shape:
    """Return the same of a message that came before, in the session in which it did."""
    found = passing.came.found
    return {
        **address_shape(
            passing.came.place if found is None else found.lane_id, passing.passed.reply_to
        ),
        "session_id": target.session_id,
        "lane_reason": "existing",
        "created": False,
    }


def gone(members: Shape, *, replayed: bool) -> Response:
    """Answer a message that came, maybe before, to a session that is gone by now."""
    said = members | {"status": "gone"}
    return Response(dumped(said), media_type=MEDIA, headers=replay_headers(replayed=replayed))


def of_lane(problem: ProblemError, members: Shape) -> ProblemError:
    """Return a problem that tells, too, of which lane and session it is."""
    return replace(problem, extra=members | dict(problem.extra))
