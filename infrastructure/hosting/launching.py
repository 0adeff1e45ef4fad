"""How does a turn come to run here, warm or cold, and how do all of them stop?

A turn is here before its work begins; whoever stops one waits for its end.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from domain.restarts import OWNER_LOST, SHUTDOWN
from infrastructure import runs
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Answer, Harnesses
from infrastructure.hosting.became import Dispatched
from infrastructure.hosting.compacting import Compacting
from infrastructure.hosting.configured import Configurations
from infrastructure.hosting.here import Here
from infrastructure.hosting.journal import LogJournal
from infrastructure.hosting.live import Live
from infrastructure.hosting.running import Running, Told
from infrastructure.hosting.timing import loop_ms
from infrastructure.pool.seats import Seat
from infrastructure.runner import Attempt

STOPS_S: Final = 12.0
"""A harness that does not stop when it is told to is closed, and given up, within so long."""


class Launching:
    """The harnesses of this server, and the turns that they run."""

    def __init__(
        self,
        log: Turnlog,
        harnesses: Harnesses,
        configurations: Configurations,
        fan_out: Callable[[Target, str, Told], None],
        owner: str,
    ) -> None:
        """Take what starts harnesses, who is told of each piece that they say, and our name."""
        self._log: Final = log
        self._harnesses: Final = harnesses
        self._limits: Final = log.settings.pool
        self.here: Final = Here(log, owner)
        self.pool: Final = self.here.pool
        self._running: Final = Running(log, self.here, harnesses, configurations, fan_out)
        self.compacting: Final = Compacting(log, self.here, harnesses, configurations, fan_out)

    @property
    def lease_s(self) -> int:
        """Return how long the lease of a turn lasts that runs here."""
        return self._log.settings.harness_lease_s

    def park_again(self, parked: Seat, seat: Seat) -> None:
        """Give back a seat that was looked at and not used."""
        if isinstance(parked.run, Live) and parked.run.is_over:
            self.here.spawn(self._running.leaving.dropped(parked.run, seat))
        elif not self.here.pool.put_back(seat, parked):
            self.here.spawn(self.here.pool.release(seat, "process-died"))

    def warm(
        self, target: Target, done: Dispatched, seat: Seat, parked: Seat, caller: Caller
    ) -> Live:
        """Have a parked harness take the turn that was begun."""
        live = self._entered(target, done, seat, caller)
        warmth = parked.warmth
        live.config_fingerprint = warmth.config_fingerprint if warmth else None
        live.prior_was_sent = bool(done.ask.shape.prior)
        harness = seat.harness
        assert harness is not None  # noqa: S101 - what is parked has one
        self.here.spawn(
            self._running.guarded(live, self._running.run(live, done, harness, parked=True))
        )
        return live

    def cold(self, target: Target, done: Dispatched, seat: Seat, caller: Caller) -> Live:
        """Have a harness started for the turn that was begun."""
        live = self._entered(target, done, seat, caller)
        wanted = done.found.wanted
        live.path = "cold" if done.evicted is None else "evicted"
        live.reason = done.evicted or "no-seat"
        live.config_fingerprint = wanted.fingerprint
        live.prior_was_sent = bool(done.ask.shape.prior)
        self.here.apply(seat.seat_id, wanted.facets)
        self.here.spawn(self._running.guarded(live, self._running.start(live, done)))
        return live

    def go_on(
        self, live: Live, answers: Sequence[tuple[str, Answer]], *, consumed: bool = False
    ) -> None:
        """Have a paused turn go on with what its gates were answered."""
        self.here.enter(live)
        live.go_on()
        self.here.spawn(
            self._running.guarded(live, self._running.going_on(live, answers, consumed=consumed))
        )

    async def stop(self, live: Live, reason: str, by: str | None) -> bool:
        """Stop a turn that runs here, and wait for its end; False if somebody does already."""
        first = live.cancelled is None
        if first:
            live.cancelled = (reason, by)
            if live.run is not None:
                await live.run.cancel(reason, by)
            elif live.starting is not None:
                live.starting.cancel()
        await live.wait()
        return first

    async def renew(self) -> None:
        """Renew the leases of the turns that run here, however long their harnesses are silent.

        One whose lease is another's by now is stopped: whatever it does is nobody's.
        """
        lives = self.here.running()

        def write(attempt: Attempt) -> list[Live]:
            return [live for live in lives if not self._is_renewed(attempt, live)]

        for live in await self._log.write(write):
            self.here.spawn(self.stop(live, OWNER_LOST, None))

    def _is_renewed(self, attempt: Attempt, live: Live) -> bool:
        """Tell whether a turn is still ours, and then for how long from now on."""
        target, fence = live.target, live.journal.fence
        run = runs.find_named(attempt.connection, target.project_id, target.session_id)
        if run is None or run.fence != fence or not run.is_of(live.turn_id):
            return False
        if run.lease_until:
            runs.renew_unasked(attempt.connection, run.session_key, fence, self._log.now())
        return True

    async def drain(self) -> None:
        """Begin no turn any more, and let those that run end; interrupt those that take longer.

        Compactions are given up: nothing is lost by that.
        """
        self.here.closing = True
        self.here.spawn(self.compacting.stop_all())
        settled = [live.settled for live in self.here.running()]
        if settled:
            await asyncio.wait(settled, timeout=self._log.settings.restarts.shutdown_grace_s)
        stops = [
            asyncio.ensure_future(self.stop(live, SHUTDOWN, None)) for live in self.here.running()
        ]
        if stops:
            await asyncio.wait(stops, timeout=STOPS_S)

    async def close(self) -> None:
        """Let all harnesses go; what runs is interrupted."""
        self.here.closing = True
        await self.here.pressure.end()
        self.here.spawn(self.compacting.stop_all())
        for live in self.here.running():
            self.here.spawn(self.stop(live, SHUTDOWN, None))
        await self.here.done(self._limits.shutdown_s)
        await self.here.pool.close()
        await self._harnesses.close()
        self.here.cancel()

    def _entered(self, target: Target, done: Dispatched, seat: Seat, caller: Caller) -> Live:
        assert done.turn_id is not None  # noqa: S101 - it was given the lease
        journal = LogJournal(self._log, target, done.turn_id, caller)
        journal.lease(*done.leased)
        came = done.ask.came_ms
        live = Live(
            target=target,
            turn_id=done.turn_id,
            journal=journal,
            seat=seat,
            begun=done,
            came_ms=came,
            dispatch_ms=0 if came is None else round(loop_ms() - came),
        )
        self.here.enter(live)
        return live
