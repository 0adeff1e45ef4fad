"""What does a server look after between requests: what it promised, and what others did?

Every second or so, and for what concerns this server alone: questions whose time is over, turns
whose gates are decided and that nobody goes on with, inputs that wait for nothing, and seats here
whose sessions went on elsewhere. All of it is in the log, so a restart forgets none of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from domain import commands as c
from domain import events as e
from domain.dispatch.kinds import Shape
from domain.keys import Keys
from domain.refusals import Refusal
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.attending_places import (
    AT_ONCE,
    CUT_OFF,
    DECIDED,
    EXPIRED,
    INTERRUPTED,
    LEFT_BEHIND,
    LOST,
    OF_OWNER,
    SECOND,
    STALE,
    STEERING,
    WAITING,
    Place,
    places,
)
from infrastructure.hosting.hosts import Hosting
from infrastructure.hosting.recovery import AWAY
from infrastructure.hosting.resuming import Resuming
from infrastructure.hosting.resuming_lanes import LaneResuming
from infrastructure.pool.seats import SeatKey
from infrastructure.prepared import Prepared
from infrastructure.reading.facts import fact_at
from infrastructure.recovering import recover_from
from infrastructure.runner import Attempt

EVERY_S: Final = 1.0
RENEWALS: Final = 4
"""So often a lease is renewed while it lasts, if rounds come often enough."""
BURY_EACH: Final = 30
SETTLED: Final = 20
_LOGGER: Final = logging.getLogger("turnlog")


class Attending:
    """The rounds of one server."""

    def __init__(
        self,
        log: Turnlog,
        hosting: Hosting,
        lost: Sequence[str] = (),
        settled: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take what it looks after, and the names of servers that are known to be gone.

        `settled` hears of each of which nothing is left to be taken up.
        """
        self._lost: Final = list(lost)
        self._settled: Final = settled
        self._log: Final = log
        self._hosting: Final = hosting
        self._resuming: Final = Resuming(log, hosting)
        self._of_lanes: Final = LaneResuming(log, hosting, self._resuming)
        self._round = 0
        self._looked_at = 0

    async def rounds(self, every: float = EVERY_S) -> None:
        """Take up what was left, then look around until cancelled."""
        await self._hosting.recovery.run()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._rounds(every))
            group.create_task(self._renewals())

    async def look_around(self) -> None:
        """Do what is to be done now."""
        launching = self._hosting.launching
        self._round += 1
        if self._lost:
            await self._settle()
        await self._each(EXPIRED, self._expire)
        if launching.pool.seats():
            self._looked_at = self._log.now()
            await self._each(LEFT_BEHIND, self._let_go)
        if launching.here.busy():
            await self._each(INTERRUPTED, self._interrupt)
            await self._each(STEERING, self._steer)
        if self._round % BURY_EACH == 1:
            await self._each(LOST, self._bury)
        await self._each(DECIDED, self._go_on)
        await self._each(WAITING, self._promote)
        resumes = self._log.settings.restarts.auto_resume
        if resumes:
            await self._each(CUT_OFF, self._resuming.resume)
        await self._of_lanes.look(self._round, resumes=resumes)
        if self._round % BURY_EACH == 1:
            await self._each(STALE, self._resuming.clear)

    async def _each(
        self, look: Prepared, act: Callable[[Place], Awaitable[None]], owner: str | None = None
    ) -> bool:
        """Do something about each place that is found; tell whether none is left."""
        now = self._log.now()
        since = now - self._log.settings.restarts.auto_resume_fresh_s * SECOND
        params: dict[str, object] = {
            "now": now,
            "since": since,
            "owner": owner or self._hosting.owner,
        }
        try:
            found = await self._log.read(lambda connection: places(connection, look, params))
        except AWAY as error:
            _LOGGER.info("what was to be looked after has to wait: %s", type(error).__qualname__)
            return False
        done = len(found) < AT_ONCE
        for place in found:
            try:
                await act(place)
            except (Refusal, *AWAY) as error:  # it keeps no other from being looked after
                _LOGGER.info("something has to wait: %s", type(error).__qualname__)
                done = False
        return done

    async def _renewals(self) -> None:
        """Renew the leases of the turns that run here, a few times while they last.

        Apart from the rounds, so that nothing which takes long there can cost a turn its lease.
        """
        launching = self._hosting.launching
        while True:
            await asyncio.sleep(launching.lease_s / RENEWALS)
            if launching.here.busy() or launching.compacting.running():
                try:
                    await launching.renew()
                    await launching.compacting.renew()
                except Exception as error:  # noqa: BLE001 - the next time may do
                    _LOGGER.warning("leases are not renewed: %s", type(error).__qualname__)

    async def _rounds(self, every: float) -> None:
        while True:
            try:
                await self.look_around()
            except Exception as error:  # noqa: BLE001 - whatever one round meets, the next may not
                _LOGGER.error("a round broke off: %s", type(error).__qualname__)  # noqa: TRY400
            await asyncio.sleep(every)

    async def _settle(self) -> None:
        """Take up what servers left behind that are known to be gone: turns, and seats.

        For some rounds: the database may still be busy with what they asked for last.
        """
        for owner in tuple(self._lost):
            try:
                await recover_from(self._log, owner)
            except AWAY:
                return
            if await self._each(OF_OWNER, self._bury, owner) and self._round > SETTLED:
                self._lost.remove(owner)
                self._settled(owner)

    async def _expire(self, place: Place) -> None:
        """End the questions whose time is over; a harness that waits is told that nobody did."""
        target = Target(project_id=place.project_id, session_id=place.session_id)

        def write(attempt: Attempt) -> None:
            known = self._log.handler.state(attempt, target)
            steps = [c.ExpireGates(now=self._log.now())]
            self._log.handler.carry_out(attempt, target, steps, caller=Caller(), known=known)

        await self._log.write(write)
        await self._hosting.expired(target, place.name)

    async def _let_go(self, place: Place) -> None:
        """Let a harness go that remembers a history that is not the session's any more."""
        pool = self._hosting.launching.pool
        seat = pool.find(SeatKey(place.project_id, place.session_id))
        if seat is None or seat.seat_id != place.name or seat.state == "busy":
            return
        if seat.last_used < self._looked_at:  # else what was looked at was before its last turn
            await pool.evict(seat, "history")

    async def _bury(self, place: Place) -> None:
        """Record that a seat is gone whose server was killed with it."""
        target = Target(project_id=place.project_id, session_id=place.session_id)

        def write(attempt: Attempt) -> None:
            key, state = self._log.handler.state(
                attempt, target, Keys(seats=frozenset({place.name}))
            )
            seat = state.seats.get(place.name)
            if seat is not None and seat.state != "gone":
                lost = e.HarnessEvicted(seat_id=seat.seat_id, owner=seat.owner, reason="seat-lost")
                steps = [c.Note(event=lost)]
                known = (key, state)
                self._log.handler.carry_out(attempt, target, steps, caller=Caller(), known=known)

        await self._log.write(write)

    async def _interrupt(self, place: Place) -> None:
        """Stop a turn here that was asked to stop elsewhere."""
        target = Target(project_id=place.project_id, session_id=place.session_id)
        live = self._hosting.runs(target, place.name)
        if live is not None:
            asked = await self._log.read(lambda c: fact_at(c, place.key, place.version))
            if isinstance(asked, e.InterruptRequested):
                await self._hosting.launching.stop(live, asked.reason, asked.by)

    async def _go_on(self, place: Place) -> None:
        """Go on with a turn whose gates are decided, and that nobody runs."""
        hosting = self._hosting
        target = Target(project_id=place.project_id, session_id=place.session_id)
        if hosting.runs(target, place.name) is None:
            ask = Ask(
                shape=Shape(kind="answer"),
                turn_id=hosting.launching.here.mint(),
                owner=hosting.owner,
                hosted=True,
                continues=True,
            )
            await hosting.take(target, ask, Caller())

    async def _steer(self, place: Place) -> None:
        """Have a turn here told what waits for that, whichever server took it."""
        self._hosting.steer(SeatKey(place.project_id, place.session_id), place.name)

    async def _promote(self, place: Place) -> None:
        target = Target(project_id=place.project_id, session_id=place.session_id)
        await self._hosting.promote(target)
