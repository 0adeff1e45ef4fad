"""What do people have a lane do, each in one transaction?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection

from domain import commands as c
from domain import events as e
from domain.events.lane import LaneEvent
from domain.lanes import resolving as rules
from domain.lanes.choosing import by_id, by_title
from domain.lanes.decide import ClearResume, LaneCommand, SwitchLane, decide
from domain.lanes.elsewhere import branched, check_free
from domain.lanes.leaving import Leaving
from domain.refusals import NoSuchSession
from domain.state import GONE
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.forking import ForkRequest, fork
from infrastructure.hosting.queue_listing import Listed, listed
from infrastructure.lanes.activity import touch
from infrastructure.lanes.arriving import arrival_at
from infrastructure.lanes.earlier import earlier_sessions
from infrastructure.lanes.leaving import (
    NOTHING_LEFT,
    Departure,
    Left,
    carry_out_at,
    leave,
    names_of,
    recall,
    target_of,
)
from infrastructure.lanes.lookup import FoundLane, find_lane
from infrastructure.lanes.resolving import (
    Arrival,
    Beginning,
    Lanes,
    Resolved,
    new_session_id,
)
from infrastructure.reading.sessions import session_head
from infrastructure.runner import Attempt

RECALLED: Final = "recalled"
"""Why an input waits no more that was taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Which earlier session somebody means: by its id, or by its title."""

    session_id: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Switched:
    """The lane with the session that was asked for.

    Attributes:
        changed: Whether it was another before.
    """

    found: FoundLane
    changed: bool
    left: Left = NOTHING_LEFT


class LaneChanges:
    """What changes lanes that are known."""

    def __init__(self, lanes: Lanes, handler: CommandHandler) -> None:
        """Take what writes lanes, and what writes sessions."""
        self._lanes = lanes
        self._handler = handler

    def ordered(
        self, attempt: Attempt, found: FoundLane, command: LaneCommand, caller: Caller
    ) -> tuple[FoundLane, bool]:
        """Do what a lane is told; return it as it stands then, and whether that changed anything.

        Raises:
            NoSuchLane, LaneIsSuspended, InvalidValue: as `domain.lanes.decide.decide` says.
        """
        facts = decide(found.lane, found.standing, command)
        changed = bool(facts)
        if isinstance(command, ClearResume):
            changed |= self._cleared(attempt, found, command.reason, caller)
        return self._appended(attempt, found, facts, caller), changed

    def reset(
        self, attempt: Attempt, found: FoundLane, departure: Departure, beginning: Beginning
    ) -> tuple[Resolved, Left]:
        """Have a new session take the place of the lane's current one.

        Raises:
            TurnInProgress: a turn runs, and is not to be interrupted.
        """
        left = leave(self._handler, attempt, found, departure)
        new_id = new_session_id(self._handler.now())
        decided = rules.reset(found.lane, found.standing, new_id, "requested")
        came = replace(arrival_at(found.lane_id, found.project_id, found.lane), beginning=beginning)
        resolved = self._lanes.carried_out(
            attempt, came, found, decided._replace(ends=None), departure.caller
        )
        return resolved, left

    def switch(
        self, attempt: Attempt, found: FoundLane, departure: Departure, named: Named
    ) -> Switched:
        """Have an earlier session be the lane's current one again.

        Raises:
            NoSuchSession, AmbiguousSession: none of theirs is called so, or several are.
            TurnInProgress: a turn runs in the current one, and is not to be interrupted.
        """
        session_id = chosen(attempt.connection, found, named)
        facts = decide(found.lane, found.standing, SwitchLane(session_id=session_id))
        left = leave(self._handler, attempt, found, departure) if facts else NOTHING_LEFT
        target = Target(project_id=found.project_id, session_id=session_id)
        opens: list[c.SessionCommand] = [c.UnarchiveSession(), c.UnsuspendSession()]
        self._handler.carry_out(attempt, target, opens, caller=departure.caller)
        now = self._appended(attempt, found, facts, departure.caller)
        touch(attempt.connection, now, self._handler.now())
        return Switched(found=now, changed=bool(facts), left=left)

    def move(
        self, attempt: Attempt, found: FoundLane, arrival: Arrival, caller: Caller, *, follow: bool
    ) -> tuple[FoundLane, bool]:
        """Have the lane's conversation go on in the lane of the arrival, unless it is this one.

        Raises:
            LaneExists: there is another conversation there.
        """
        if arrival.lane_id == found.lane_id:
            return found, False
        self._check_free(attempt, arrival)
        return self._lanes.move(attempt, found, arrival, caller, follow=follow), True

    def branch(
        self,
        attempt: Attempt,
        found: FoundLane,
        request: ForkRequest,
        caller: Caller,
        there: Arrival | None = None,
    ) -> FoundLane:
        """Have a branch of the lane's session be its current one, or that of the lane `there`.

        The session itself stays as it is. Return the lane that has the branch.

        Raises:
            LaneExists: there is another conversation there.
            Refusal: as `infrastructure.forking.fork`.
        """
        before = None if there is None else self._check_free(attempt, there)
        fork(self._handler, attempt, target_of(found), request, caller)
        if there is None:
            facts = decide(found.lane, found.standing, SwitchLane(session_id=request.session_id))
            now = self._appended(attempt, found, facts, caller)
        else:
            place = (there.project_id, there.lane_id)
            opens = branched(there.opening, request.session_id)
            now = self._lanes.append(attempt, place, before, opens, caller)
        touch(attempt.connection, now, self._handler.now())
        return now

    def emptied(self, attempt: Attempt, found: FoundLane, caller: Caller) -> Sequence[Listed]:
        """Take back what waits in the lane's session, but for what others have there.

        Raises:
            NoSuchSession: it is gone.
        """
        target = target_of(found)
        key, head, _ = session_head(attempt.connection, target)
        names = names_of(found) if found.standing.is_shared else None
        rule = Leaving(names=names)
        waiting = listed(attempt.connection, key)
        taken = [each for each in waiting if rule.recalls(each.address.lane_id)]
        steps = [recall(each, RECALLED) for each in taken]
        carry_out_at(self._handler, attempt, target, steps, (head.version, caller))
        return taken

    def _cleared(self, attempt: Attempt, found: FoundLane, reason: str, caller: Caller) -> bool:
        """Have nothing be gone on with in the session itself; tell whether there was something."""
        if found.standing.resume_reason is None:
            return False
        target = target_of(found)
        key, state = self._handler.state(attempt, target)
        turn_id = state.head.resume_turn
        if turn_id is None or state.head.status in GONE:
            return False
        steps = [c.Note(event=e.ResumeCleared(turn_id=turn_id, reason=reason))]
        self._handler.carry_out(attempt, target, steps, caller=caller, known=(key, state))
        return True

    def _check_free(self, attempt: Attempt, arrival: Arrival) -> FoundLane | None:
        """Return what is known of a place that has no conversation."""
        there = find_lane(attempt.connection, arrival.project_id, arrival.lane_id)
        check_free(None if there is None else there.lane)
        return there

    def _appended(
        self, attempt: Attempt, found: FoundLane, facts: Sequence[LaneEvent], caller: Caller
    ) -> FoundLane:
        place = (found.project_id, found.lane_id)
        return self._lanes.append(attempt, place, found, facts, caller)


def chosen(connection: Connection, found: FoundLane, named: Named) -> str:
    """Return the earlier session that somebody means.

    Raises:
        NoSuchSession, AmbiguousSession: none of theirs is called so, or several are.
    """
    earlier = earlier_sessions(connection, found, session_id=named.session_id)
    theirs = [each.named for each in earlier]
    if named.session_id is not None:
        return by_id(theirs, named.session_id)
    if named.title is None:
        raise NoSuchSession
    return by_title(theirs, named.title)
