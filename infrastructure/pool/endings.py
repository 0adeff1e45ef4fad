"""How does a seat end? Its harness is closed and the log is told, in one task, once, whoever waits.

The seat's place goes on, to the heir or to the next who waits, when that task is over, however it
ended; until then the session gets no other seat.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from infrastructure.harness.port import Harness
from infrastructure.pool.room import Place, Room, is_given
from infrastructure.pool.seats import PoolClosed, PoolFull, Seat, SeatKey
from infrastructure.pool.timers import Patience, Timer, Timers

OnGone: TypeAlias = Callable[[Seat, str, str | None], Awaitable[None]]
Task: TypeAlias = asyncio.Task[None]
ENDS_WITHIN_S: Final = 30.0
"""Harnesses bound their own end; this is for one that does not, so that no place is lost to it."""
CUT_S: Final = 1.0
"""How long a shutdown waits for the ends that it cuts short."""
_LOGGER: Final = logging.getLogger("turnlog")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    seat_id: str
    task: Task
    limit: Timer


class Endings:
    """The seats that end; one a session at most."""

    def __init__(self, room: Room, timers: Timers, on_gone: OnGone) -> None:
        self._room: Final = room
        self._timers: Final = timers
        self._on_gone: Final = on_gone
        self._endings: Final[dict[SeatKey, _Ending]] = {}
        self._heirs: Final[dict[SeatKey, Place]] = {}
        self._strays: Final[set[Task]] = set()

    def __len__(self) -> int:
        """Return how many end."""
        return len(self._endings)

    @property
    def to_come(self) -> int:
        """Return how many places will be there for those who wait, once all that end have."""
        return len(self._endings) - len(self._heirs)

    def begin(self, seat: Seat, reason: str, detail: str | None, heir: Place | None) -> None:
        """End a seat; its place goes to `heir`, if there is one, rather than to who waits."""
        task = asyncio.get_running_loop().create_task(self._end(seat, reason, detail))
        limit = self._timers.call_later(ENDS_WITHIN_S, partial(_cancel, task))
        self._endings[seat.key] = _Ending(seat_id=seat.seat_id, task=task, limit=limit)
        if heir is not None:
            self._heirs[seat.key] = heir
        # Not in the task itself: one that is cancelled before its first step runs no `finally`.
        task.add_done_callback(partial(self._ended, seat.key))

    def close_stray(self, harness: Harness) -> None:
        """End a harness that was started for a seat which is gone by now."""
        task = asyncio.get_running_loop().create_task(_log_failures([harness.close()]))
        self._strays.add(task)
        task.add_done_callback(self._strays.discard)

    async def make_way(self, key: SeatKey, place: Place, wait_s: int) -> None:
        """Wait until the place is given, and the session's last seat has ended.

        If it fails, or is cancelled, the place goes to another.

        Raises:
            PoolFull: that was not so in time.
            PoolClosed: the process ends.
        """
        if is_given(place) and key not in self._endings:
            return
        try:
            await self._wait_for(key, place, wait_s)
        except BaseException:
            self._heirs.pop(key, None)
            self._room.withdraw(place)
            raise

    async def over(self, seat: Seat) -> None:
        """Wait for the end of this very seat. Who is cancelled in this leaves it as it is."""
        ending = self._endings.get(seat.key)
        if ending is not None and ending.seat_id == seat.seat_id:
            await asyncio.wait({ending.task})

    async def finish(self, within_s: int) -> None:
        """Wait for every end for so long, then cut short what is left."""
        await self._wait_for_all(within_s)
        for task in self._tasks():
            task.cancel()
        await self._wait_for_all(CUT_S)

    async def _wait_for(self, key: SeatKey, place: Place, wait_s: int) -> None:
        with Patience(self._timers, wait_s) as patience:
            await patience.wait_for(place)
            if is_given(place) and key in self._endings:
                await patience.wait_for(self._endings[key].task)
        if self._room.closed:
            raise PoolClosed
        if not is_given(place) or key in self._endings:
            raise PoolFull(wait_s)

    async def _wait_for_all(self, within_s: float) -> None:
        if tasks := self._tasks():
            with Patience(self._timers, within_s) as patience:
                await patience.wait_for(asyncio.gather(*tasks, return_exceptions=True))

    def _tasks(self) -> Sequence[Task]:
        return [*(ending.task for ending in self._endings.values()), *self._strays]

    def _ended(self, key: SeatKey, task: Task) -> None:
        self._endings.pop(key).limit.cancel()
        heir = self._heirs.pop(key, None)
        if heir is not None:
            heir.set_result(None)
        else:
            self._room.give_back()
        if task.cancelled():
            _LOGGER.error("a seat was given up before its harness had ended")

    async def _end(self, seat: Seat, reason: str, detail: str | None) -> None:
        # At once, so that a slow harness does not keep the log from knowing, nor the other way.
        ends = [self._tell(seat, reason, detail)]
        if seat.harness is not None:
            ends.append(seat.harness.close())
        await _log_failures(ends)

    async def _tell(self, seat: Seat, reason: str, detail: str | None) -> None:
        await self._on_gone(seat, reason, detail)


async def _log_failures(ends: Iterable[Awaitable[None]]) -> None:
    for result in await asyncio.gather(*ends, return_exceptions=True):
        if result is not None:  # its words may hold what was said
            _LOGGER.error("the end of a seat failed: %s", type(result).__name__)


def _cancel(task: Task) -> None:
    task.cancel()
