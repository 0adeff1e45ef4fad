"""How does a message at a place get its session, once, whoever asks at the same time?

What has to be recorded for it, of the lane and of sessions, is recorded in one transaction; who
asks for a lane that is as it should be writes nothing but when it was last asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os import urandom
from typing import Any, Final, cast

from sqlalchemy import Connection

from domain import commands as c
from domain.events.lane import LaneEvent, LaneMoved, LaneOpened
from domain.events.session import ApprovalMode
from domain.lanes import resolving as rules
from domain.lanes.adoption import Candidate, may_adopt
from domain.lanes.pruning import DAY_US
from domain.lanes.resolving import Resolution, Standing
from domain.raw_json import RawJson, dumped
from domain.refusals import InvalidValue, LaneDamaged, NoSuchSession, TurnInProgress
from infrastructure.command_handler import Caller, CommandHandler, Target, mint
from infrastructure.commit import Contended
from infrastructure.event_log import EventLog
from infrastructure.lanes.activity import TOUCHED_US, touch
from infrastructure.lanes.facts import LaneFact, folded, stamped, stream_name
from infrastructure.lanes.lookup import (
    FoundLane,
    find_lane,
    followed,
    lane_or_none,
    lane_version,
)
from infrastructure.lanes.writing import LaneWriting
from infrastructure.reading.sessions import session
from infrastructure.recorder import find_key
from infrastructure.runner import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a session begins with that is opened for a lane; else it is as the one before."""

    title: str | None = None
    config: RawJson | None = None
    approval_mode: ApprovalMode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Something came from a place.

    Attributes:
        opening: What is recorded of the place if it is new.
        candidates: The names that the place had once, under which it may be known.
        touches: Whether it counts as activity.
    """

    project_id: str
    lane_id: str
    opening: LaneOpened
    candidates: Sequence[Candidate] = ()
    force_new: bool = False
    touches: bool = True
    beginning: Beginning = Beginning()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Which session it is.

    Attributes:
        found: The lane as it stands now.
    """

    found: FoundLane
    session_id: str
    reason: rules.Reason
    created: bool = False
    previous_session_id: str | None = None

    @property
    def resume_pending(self) -> bool:
        """Tell whether there is something to go on with in the session."""
        return rules.is_resume_pending(self.found.lane, self.found.standing)


class Lanes:
    """The lanes of the log, as they are written."""

    def __init__(self, handler: CommandHandler, log: EventLog) -> None:
        """Take what writes sessions, and the log."""
        self._handler: Final = handler
        self._log: Final = log

    def peek(self, connection: Connection, arrival: Arrival) -> Resolved | None:
        """Return the session if nothing has to be written for it; else None."""
        found = followed(connection, arrival.project_id, arrival.lane_id)
        decided = self._decide(arrival, found)
        if found is None or decided.writes:
            return None
        if arrival.touches and self._handler.now() - found.touched_at >= TOUCHED_US:
            return None
        return Resolved(found=found, session_id=decided.session_id, reason=decided.reason)

    def resolve(self, attempt: Attempt, arrival: Arrival, caller: Caller) -> Resolved:
        """Return the session that the arrival belongs to; open it, and the lane, if need be.

        Raises:
            Contended: another came first; what it made is found the next time.
        """
        connection = attempt.connection
        found = followed(connection, arrival.project_id, arrival.lane_id)
        adopted = self._adopted(attempt, arrival, caller) if found is None else None
        found = found or adopted
        decided = self._decide(arrival, found)
        if adopted is not None and decided.reason == "existing":
            decided = decided._replace(reason="recovered")
        return self.carried_out(attempt, arrival, found, decided, caller)

    def carried_out(
        self,
        attempt: Attempt,
        arrival: Arrival,
        found: FoundLane | None,
        decided: Resolution,
        caller: Caller,
    ) -> Resolved:
        """Do what was decided, and return the session."""
        project_id = arrival.project_id
        lane_id = arrival.lane_id if found is None else found.lane_id
        if decided.created:
            self._open(attempt, arrival, lane_id, decided, caller)
        elif decided.heals:
            self._heal(attempt, project_id, decided.session_id, caller)
        if decided.ends is not None and found is not None:
            self.end(attempt, found, decided.ends, caller)
        now = self.append(attempt, (project_id, lane_id), found, decided.facts, caller)
        if decided.heals:
            now = find_lane(attempt.connection, project_id, lane_id) or now
        if arrival.touches or found is None or found.lane.status in {"pruned", "purged"}:
            touch(attempt.connection, now, self._handler.now())
            self._check_open(attempt.connection, now)
        return Resolved(
            found=now,
            session_id=decided.session_id,
            reason=decided.reason,
            created=decided.created,
            previous_session_id=decided.previous_session_id,
        )

    def _check_open(self, connection: Connection, found: FoundLane) -> None:
        """Have it judged again if a lane that rested for long was given up meanwhile."""
        rested = self._handler.now() - found.touched_at >= DAY_US
        if rested and lane_version(connection, found.key) != found.lane.version:
            raise Contended

    def _heal(self, attempt: Attempt, project_id: str, session_id: str, caller: Caller) -> None:
        target = Target(project_id=project_id, session_id=session_id)
        try:
            self._handler.carry_out(attempt, target, [c.UnarchiveSession()], caller=caller)
        except NoSuchSession as gone:  # it was deleted since it was looked at
            raise Contended from gone

    def end(
        self, attempt: Attempt, found: FoundLane, because: rules.EndedBecause, caller: Caller
    ) -> None:
        """Put away the session that a lane leaves; what began or is gone meanwhile stays so."""
        target = Target(project_id=found.project_id, session_id=found.lane.session_id)
        try:
            self._handler.carry_out(
                attempt, target, [c.ArchiveSession(reason=because)], caller=caller
            )
        except (TurnInProgress, NoSuchSession):
            return

    def append(
        self,
        attempt: Attempt,
        place: tuple[str, str],
        found: FoundLane | None,
        events: Sequence[LaneEvent],
        caller: Caller,
    ) -> FoundLane:
        """Record facts of a lane (`place` is its project and its id); return it as it stands then.

        Raises:
            Contended: another writer came first.
            LaneDamaged: the log has the lane's facts, and what is kept of it is lost.
        """
        project_id, lane_id = place
        if found is not None and not events:
            return found
        if found is None and attempt.patient:
            _check_kept(attempt.connection, place)
        lane = before = lane_or_none(found)
        facts: list[LaneFact] = []
        for event in events:
            made = stamped(place, lane, event, now=self._handler.now(), mint=mint, caller=caller)
            facts.append(made)
            lane = folded(lane, [made]).lane
        if facts:
            writing = LaneWriting(
                commit=attempt.commit,
                session_key=None if found is None else found.key,
                project_id=project_id,
                session_id=stream_name(lane_id),
                seen=before.version,
                facts=[each.recorded for each in facts],
                lane=lane,
                bound=folded(before, facts).bound,
            )
            try:
                self._log.append(writing)
            except Contended:
                if attempt.connection.dialect.name == "sqlite":  # where nothing is tried again
                    _check_kept(attempt.connection, place)
                raise
        now = find_lane(attempt.connection, project_id, lane_id)
        assert now is not None  # noqa: S101 - just written
        return now

    def move(
        self,
        attempt: Attempt,
        found: FoundLane,
        arrival: Arrival,
        caller: Caller,
        *,
        follow: bool,
    ) -> FoundLane:
        """Have a lane's conversation go on in the lane of the arrival; return that one."""
        there = find_lane(attempt.connection, arrival.project_id, arrival.lane_id)
        moved = LaneMoved(to_lane_id=arrival.lane_id, follow=follow)
        self.append(attempt, (found.project_id, found.lane_id), found, [moved], caller)
        events = rules.moved(found.lane, arrival.opening, found.lane_id)
        now = self.append(attempt, (arrival.project_id, arrival.lane_id), there, events, caller)
        touch(attempt.connection, now, self._handler.now())
        return now

    def _adopted(self, attempt: Attempt, arrival: Arrival, caller: Caller) -> FoundLane | None:
        """Return the lane of a place that was known under an older name, moved to the new one."""
        known = [
            (candidate, found)
            for candidate in arrival.candidates
            if (found := find_lane(attempt.connection, arrival.project_id, candidate.lane_id))
            and found.lane.status == "open"
            and may_adopt(
                candidate, dict(found.lane.source), claimed=found.lane.moved_to is not None
            )
        ]
        if not known:
            return None
        _, newest = max(known, key=lambda each: each[1].touched_at)
        return self.move(attempt, newest, arrival, caller, follow=False)

    def _decide(self, arrival: Arrival, found: FoundLane | None) -> Resolution:
        opening = arrival.opening
        if found is not None and found.lane_id != arrival.lane_id:  # it moved there
            opening = replace(
                opening,
                lane_key=found.lane.lane_key,
                source=dict(found.lane.source),
                owner=found.lane.owner,
                shared=found.lane.shared,
            )
        return rules.resolve(
            None if found is None else found.lane,
            Standing() if found is None else found.standing,
            opening,
            new_session_id(self._handler.now()),
            force_new=arrival.force_new,
        )

    def _open(
        self,
        attempt: Attempt,
        arrival: Arrival,
        lane_id: str,
        decided: Resolution,
        caller: Caller,
    ) -> None:
        given = arrival.beginning
        config, mode = given.config, given.approval_mode
        if decided.previous_session_id is not None:
            before = Target(project_id=arrival.project_id, session_id=decided.previous_session_id)
            try:
                view = session(attempt.connection, before, deleted=True)
            except NoSuchSession:
                pass
            else:
                config = config or view.config
                mode = mode or cast("ApprovalMode | None", view.head.approval_mode)
        source: dict[str, Any] = {"lane_id": lane_id, **_source(arrival)}
        if decided.previous_session_id is not None:
            source["previous_session_id"] = decided.previous_session_id
        opened = c.OpenSession(
            title=given.title,
            config=config,
            source=RawJson(dumped(source)),
            approval_mode=mode,
        )
        target = Target(project_id=arrival.project_id, session_id=decided.session_id)
        try:
            self._handler.carry_out(attempt, target, [opened], caller=caller)
        except InvalidValue as refusal:
            raise refusal.inside("open") from None


def _check_kept(connection: Connection, place: tuple[str, str]) -> None:
    """Tell a lane of which nothing is kept from one that another has opened just now.

    Raises:
        LaneDamaged: the log has its facts.
    """
    project_id, lane_id = place
    in_log = find_key(connection, project_id, stream_name(lane_id)) is not None
    if in_log and find_lane(connection, project_id, lane_id) is None:
        raise LaneDamaged


def new_session_id(now: int) -> str:
    """Return an id that tells when a session began, and is nobody else's."""
    when = datetime.fromtimestamp(now / 1_000_000, UTC)
    return f"{when:%Y%m%d_%H%M%S}_{urandom(4).hex()}"


def _source(arrival: Arrival) -> dict[str, Any]:
    source = arrival.opening.source
    return cast("dict[str, Any]", source) if isinstance(source, dict) else {}
