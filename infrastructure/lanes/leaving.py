"""How does a lane leave its session, in the transaction in which it gets another?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlalchemy import Connection

from domain import commands as c
from domain import events as e
from domain.keys import keys_of
from domain.lanes.leaving import Leaving, leaving
from domain.lanes.resolving import EndedBecause
from domain.refusals import NoSuchSession
from domain.state import Turn
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.commit import Contended
from infrastructure.hosting.queue_listing import Listed, listed
from infrastructure.lanes.lookup import FoundLane
from infrastructure.reading.sessions import session_head
from infrastructure.runner import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """Why a lane leaves its session, and whether what runs there is interrupted."""

    because: EndedBecause
    interrupt: bool
    caller: Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What became of the session that was left.

    Attributes:
        ended: Whether it was put away.
        interrupted: The turn that was cut off by it.
        recalled: The inputs that waited there, and wait no more.
    """

    ended: bool = False
    interrupted: str | None = None
    recalled: Sequence[Listed] = ()


NOTHING_LEFT: Final = Left()


def target_of(found: FoundLane) -> Target:
    """Return the lane's current session."""
    return Target(project_id=found.project_id, session_id=found.lane.session_id)


def names_of(found: FoundLane) -> frozenset[str]:
    """Return the lanes whose messages are this one's: itself, and the one that moved here."""
    return frozenset({found.lane_id, found.lane.moved_from or found.lane_id})


class Foreseen(NamedTuple):
    """What is to become of a session, as it stands at this version of it.

    Attributes:
        key: Of the session, in the tables; None if it is gone.
        turn: What has not ended there.
    """

    key: int | None = None
    version: int = 0
    turn: Turn | None = None
    decided: Leaving = Leaving()


def foreseen(connection: Connection, found: FoundLane, departure: Departure) -> Foreseen:
    """Return what is to become of the session that a lane leaves.

    Raises:
        TurnInProgress: a turn runs, and is not to be interrupted.
    """
    try:
        key, head, turn = session_head(connection, target_of(found))
    except NoSuchSession:
        return Foreseen()
    decided = leaving(found.standing, turn, names_of(found), interrupt=departure.interrupt)
    return Foreseen(key, head.version, turn, decided)


def leave(
    handler: CommandHandler, attempt: Attempt, found: FoundLane, departure: Departure
) -> Left:
    """Interrupt what runs in a lane's session, take back what waits, and put the session away.

    Raises:
        TurnInProgress: a turn runs, and is not to be interrupted.
        Contended: another writer came first.
    """
    key, version, turn, decided = foreseen(attempt.connection, found, departure)
    if key is None or turn is None or decided.stops is None:
        stops: list[c.SessionCommand] = []
    else:
        stops = _stops(turn, departure)
    waiting = () if key is None else listed(attempt.connection, key)
    recalled = [each for each in waiting if decided.recalls(each.address.lane_id)]
    steps = [*stops, *(recall(each, departure.because) for each in recalled)]
    if decided.ends:
        steps.append(c.ArchiveSession(reason=departure.because))
    carry_out_at(handler, attempt, target_of(found), steps, (version, departure.caller))
    return Left(ended=decided.ends, interrupted=decided.stops, recalled=recalled)


def carry_out_at(
    handler: CommandHandler,
    attempt: Attempt,
    target: Target,
    steps: Sequence[c.SessionCommand],
    seen: tuple[int, Caller],
) -> None:
    """Carry out what was made of a session at the version that was `seen`; who asks comes with it.

    Raises:
        Contended: another writer came first, so that it is to be looked at again.
    """
    version, caller = seen
    if not steps:
        return
    known = handler.state(attempt, target, keys_of(steps))
    if known[1].head.version != version:
        raise Contended
    handler.carry_out(attempt, target, steps, caller=caller, known=known)


def _stops(turn: Turn, departure: Departure) -> list[c.SessionCommand]:
    """Return the end of a turn; another program that runs it is told, too."""
    by = departure.caller.actor
    ends = c.InterruptTurn(turn_id=turn.turn_id, reason=departure.because, by=by)
    if turn.paused:
        return [ends]
    told = e.InterruptRequested(turn_id=turn.turn_id, reason=departure.because, by=by)
    return [c.Note(event=told), ends]


def recall(waiting: Listed, reason: str) -> c.SessionCommand:
    """Return that an input is taken back."""
    return c.Note(event=e.InputRecalled(queue_id=waiting.queued.queue_id, reason=reason))
