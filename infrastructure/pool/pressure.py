"""When does a pool look whether memory is short, and what does it do about it?

Every few seconds, and when a harness was started, one look at a time. What has to go is decided by
`domain.pressure`; it has ended, and the log was told, before the next look.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from domain.pressure import MIB, Candidate, Plan, plan
from infrastructure.pool.limits import PoolLimits
from infrastructure.pool.pool import Pool
from infrastructure.pool.seats import Seat
from infrastructure.pool.timers import Timer, Timers

_LOGGER: Final = logging.getLogger("turnlog")


class Looked(NamedTuple):
    """What was measured, in bytes; None where it is not known, or not limited."""

    budget: int | None
    used: int | None


Look: TypeAlias = Callable[[], Awaitable[Looked]]
OnRecord: TypeAlias = Callable[[], Awaitable[Container[str]]]


@dataclass(slots=True, kw_only=True)
class Relieved:
    """What came of the looks since the start, for an operator.

    Attributes:
        budget: Of the last look, as `used` is; bytes.
        passes: How often it was looked.
        evicted: How many seats were let go.
        unevictable: How often memory was short, and no seat could go.
    """

    budget: int | None = None
    used: int | None = None
    passes: int = 0
    evicted: int = 0
    unevictable: int = 0


class Pressure:
    """The looks of one pool."""

    def __init__(
        self,
        pool: Pool,
        limits: PoolLimits,
        timers: Timers,
        *,
        look: Look,
        on_record: OnRecord,
        relieved: Relieved,
    ) -> None:
        """Take a pool, and what it is looked at with.

        Args:
            pool: Whose seats go.
            limits: What was set.
            timers: The event loop.
            look: Measures the memory.
            on_record: Returns the ids of the parked seats of which the log tells all that they
                know; none if that cannot be asked now.
            relieved: Is told what comes of it.
        """
        self._pool: Final = pool
        self._limits: Final = limits
        self._timers: Final = timers
        self._look: Final = look
        self._on_record: Final = on_record
        self._relieved: Final = relieved
        self._timer: Timer | None = None
        self._task: asyncio.Task[int] | None = None
        self._ended = False

    def begin(self) -> None:
        """Look every few seconds from now on, if there can be a budget."""
        if self._limits.memory_budget is not None:
            every_s = self._limits.pressure_every_s
            self._timer = self._timers.call_later(every_s, self._again)

    def stir(self) -> None:
        """Look now, unless that is done already: more memory is used than a moment ago."""
        if self._limits.memory_budget is not None and self._task is None and not self._ended:
            self._task = asyncio.get_running_loop().create_task(self.relieve())
            self._task.add_done_callback(self._done)

    async def end(self) -> None:
        """Look no more; seats that are ending go on to."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def relieve(self) -> int:
        """Let seats go if more memory is used than may be, and wait for it; return how many."""
        budget, used = await self._look()
        told = self._relieved
        told.budget, told.used = budget, used
        told.passes += 1
        if budget is None or used is None or used <= budget:
            return 0
        known = await self._known()
        found = self._plan(known, used, budget)
        told.unevictable += found.unevictable
        if found.unevictable:
            _LOGGER.warning(
                "%d MiB are used, more than the %d that may be, and no harness can be let go: %d"
                " are in a turn or wait for a decision, %d are not known to be on record",
                used // MIB,
                budget // MIB,
                found.busy,
                found.undurable,
            )
        gone = await self._pool.relieve(found.chosen)
        told.evicted += gone
        return gone

    async def _known(self) -> Container[tuple[str, int]]:
        """Return the seats that are on record, each with the use for which that holds."""
        parked = [seat for seat in self._pool.seats() if seat.state == "idle"]
        on_record = await self._on_record() if parked else ()
        return {(seat.seat_id, seat.uses) for seat in parked if seat.seat_id in on_record}

    def _plan(self, known: Container[tuple[str, int]], used: int, budget: int) -> Plan:
        return plan(
            [_candidate(seat, known) for seat in self._pool.seats()],
            used=used,
            budget=budget,
            protect_recent=self._limits.pressure_protect_recent,
            batch=self._limits.pressure_batch,
        )

    def _again(self) -> None:
        self.begin()
        self.stir()

    def _done(self, task: "asyncio.Task[int]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOGGER.error("memory could not be looked after: %s", type(error).__qualname__)


def _candidate(seat: Seat, known: Container[tuple[str, int]]) -> Candidate:
    return Candidate(
        seat_id=seat.seat_id,
        last_used=seat.last_used,
        busy=seat.state != "idle",
        durable=(seat.seat_id, seat.uses) in known or None,
    )
