"""Which harnesses are kept alive between turns, and for how long?

A session has one seat, and a seat ends once. It is busy, or parked with a timer; only idle ones are
let go to make room, and take room until they have ended. In memory only, on one event loop: between
two awaits nothing changes.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from infrastructure.harness.port import Harness
from infrastructure.pool.endings import Endings, OnGone
from infrastructure.pool.limits import PoolLimits
from infrastructure.pool.parking import Parking
from infrastructure.pool.room import Place, Room, new_place
from infrastructure.pool.seats import (
    Counts,
    Parked,
    PoolClosed,
    Seat,
    SeatBusy,
    SeatKey,
    Warmth,
)
from infrastructure.pool.timers import Timers

_SECOND: Final = 1_000_000


class Pool:
    """The seats of one process."""

    def __init__(
        self,
        limits: PoolLimits,
        *,
        now: Callable[[], int],
        timers: Timers,
        mint: Callable[[], str],
        on_gone: OnGone,
    ) -> None:
        """Take what asks for the time in microseconds, and what makes up seat ids.

        Args:
            limits: What was set.
            now: The time.
            timers: The event loop.
            mint: Makes up a seat id that was never used.
            on_gone: Told of each seat once, with the reason and a detail, whichever way it ends:
                begun together with the end of its harness, awaited before the session gets another
                seat. What it raises is logged by its type.
        """
        self._limits: Final = limits
        self._now: Final = now
        self._timers: Final = timers
        self._mint: Final = mint
        self._room: Final = Room(limits.capacity)
        self._endings: Final = Endings(self._room, timers, on_gone)
        self._seats: Final[dict[str, Seat]] = {}
        self._by_key: Final[dict[SeatKey, str]] = {}
        self._parking: Final = Parking(timers, self._end)
        self._reserving: Final[set[SeatKey]] = set()
        self._gone: Final[Counter[str]] = Counter()

    def find(self, key: SeatKey) -> Seat | None:
        """Return the session's seat as it is now."""
        seat_id = self._by_key.get(key)
        return None if seat_id is None else self._seats[seat_id]

    async def reserve(
        self,
        key: SeatKey,
        *,
        replacing: Seat | None = None,
        reason: str = "supersede",
        detail: str | None = None,
    ) -> Seat:
        """Return a busy seat for a harness that is still to be started.

        A parked seat of the session, or the one that the caller has, is let go first, for the
        reason given, and its place is taken over: no other turn comes between. Else there may be
        room, or an idle seat is let go, or it waits, first come, first served. Who is cancelled
        meanwhile takes none. Hand the seat back by `park` or `release`, in a `finally`; await this
        directly, or a cancellation may lose it.

        Args:
            key: Whose seat.
            replacing: A seat of this session that the caller checked out.
            reason: Why the session's seat is let go, if it has one.
            detail: More of that.

        Raises:
            SeatBusy: another turn of this session has its seat.
            PoolFull: there was no room in time.
            PoolClosed: the process ends.
        """
        seat = self.find(key)
        if self._room.closed:
            raise PoolClosed
        mine = replacing is not None and self._held(replacing) is seat
        if key in self._reserving or (seat is not None and seat.state == "busy" and not mine):
            raise SeatBusy(key)
        seat_id = self._mint()
        self._reserving.add(key)
        try:
            await self._make_room(key, seat, reason, detail)
        finally:
            self._reserving.discard(key)
        now = self._now()
        new = Seat(seat_id=seat_id, key=key, state="busy", started_at=now, last_used=now)
        self._seats[new.seat_id] = new
        self._by_key[key] = new.seat_id
        return new

    def seat_harness(self, seat: Seat, harness: Harness) -> bool:
        """Give a reserved seat its harness; False if it is gone, and the harness is closed."""
        held = self._held(seat)
        if held is None or held.harness is not None:
            self._endings.close_stray(harness)
            return False
        self._seats[seat.seat_id] = replace(held, harness=harness)
        return True

    def checkout(self, seat_id: str, key: SeatKey) -> Seat | None:
        """Return a parked seat, busy from now on; None if it is gone, or another turn has it.

        Hand it back by `park` or `release`, in a `finally`.
        """
        seat = self._seats.get(seat_id)
        if seat is None or seat.key != key or seat.state == "busy":
            return None
        if not seat.alive:
            self._end(seat, "process-died")
            return None
        self._parking.take(seat_id)
        busy = replace(
            seat, state="busy", uses=seat.uses + 1, last_used=self._now(), expires_at=None
        )
        # What the turn side left is the holder's now; the pool would keep it alive for nothing.
        self._seats[seat_id] = replace(busy, run=None)
        return busy

    def park(
        self,
        seat: Seat,
        state: Parked,
        warmth: Warmth,
        *,
        durable: bool = True,
        run: object | None = None,
    ) -> bool:
        """Keep a busy seat for the next turn, or for a decision; False: the holder releases it.

        Args:
            seat: As `reserve` or `checkout` gave it.
            state: What it waits for.
            warmth: What it is warm for.
            durable: Whether all that the turn did is recorded; else the harness knows more than
                the log, and is not kept.
            run: What the turn side wants back with it.
        """
        ttl_s = self._limits.idle_ttl_s if state == "idle" else self._limits.approval_ttl_s
        if not self._limits.enabled or not durable or ttl_s == 0:
            return False
        now = self._now()
        new = replace(seat, state=state, warmth=warmth, run=run, last_used=now)
        return self._keep(new, now + ttl_s * _SECOND)

    def put_back(self, seat: Seat, parked: Seat) -> bool:
        """Leave a seat that was checked out and not used as it was; False: the holder releases it.

        Args:
            seat: As `checkout` gave it.
            parked: As it was before that; it does not wait any longer by having been looked at.
        """
        new = replace(seat, state=parked.state, last_used=parked.last_used)
        return self._keep(new, parked.expires_at or 0)

    def let_go(self, seat: Seat, reason: str, detail: str | None = None) -> bool:
        """Begin to end a seat, busy or parked; False if it is gone, or in a later use than seen."""
        current = self._seats.get(seat.seat_id)
        if current is None or current.uses != seat.uses:
            return False
        self._end(current, reason, detail)
        return True

    async def evict(self, seat: Seat, reason: str, detail: str | None = None) -> bool:
        """End a seat as `let_go` does, and wait for it; True if it is gone, whoever ended it."""
        self.let_go(seat, reason, detail)
        await self._endings.over(seat)
        return seat.seat_id not in self._seats

    async def release(self, seat: Seat, reason: str, detail: str | None = None) -> None:
        """End a seat that its holder has not parked, and wait for it.

        Does nothing to one that was parked, also if another turn has it by now.
        """
        held = self._held(seat)
        if held is not None:
            self._end(held, reason, detail)
        await self._endings.over(seat)

    async def relieve(self, seat_ids: Sequence[str]) -> int:
        """Let those of these seats go that are idle, and wait for it; return how many."""
        found = [self._seats.get(seat_id) for seat_id in seat_ids]
        chosen = [seat for seat in found if seat is not None and seat.state == "idle"]
        for seat in chosen:
            self._end(seat, "pressure")
        for seat in chosen:
            await self._endings.over(seat)
        return len(chosen)

    def counts(self) -> Counts:
        """Return how full it is."""
        return Counts(
            capacity=self._limits.capacity,
            busy=len(self._seats) - len(self._parking),
            idle=self._parking.idle,
            awaiting_approval=len(self._parking) - self._parking.idle,
            ending=len(self._endings),
            waiting=self._room.waiting,
            gone=dict(self._gone),
        )

    def seats(self) -> Sequence[Seat]:
        """Return every seat that is not gone, the oldest first."""
        return tuple(self._seats.values())

    async def close(self) -> None:
        """End every seat, and wait for it as long as was set; then cut short what still ends."""
        self._room.close()
        self._parking.stop_looking()
        for seat in self.seats():
            busy = seat.state == "busy"
            self._end(seat, "shutdown-in-flight" if busy else "shutdown-idle")
        await self._endings.finish(self._limits.shutdown_s)

    def _keep(self, seat: Seat, until: int) -> bool:
        """Park a seat that is busy now."""
        held = self._held(seat)
        left = until - self._now()
        if held is None or not held.alive or self._room.closed or left <= 0:
            return False
        parked = replace(seat, harness=held.harness, expires_at=until)
        self._seats[seat.seat_id] = parked
        self._parking.put(parked, left / _SECOND)
        self._let_idle_go()
        return True

    def _held(self, seat: Seat) -> Seat | None:
        """Return the seat as it is now, if it is busy in the use that the caller was given."""
        current = self._seats.get(seat.seat_id)
        mine = current is not None and current.state == "busy" and current.uses == seat.uses
        return current if mine else None

    def _end(
        self, seat: Seat, reason: str, detail: str | None = None, heir: Place | None = None
    ) -> None:
        self._parking.take(seat.seat_id)
        del self._seats[seat.seat_id]
        del self._by_key[seat.key]
        self._gone[reason] += 1
        self._endings.begin(replace(seat, state="gone", expires_at=None), reason, detail, heir)

    def _let_idle_go(self) -> None:
        """Let idle seats go until there is one for each who waits."""
        while self._parking.idle and self._room.waiting > self._endings.to_come:
            self._end(self._parking.least_recent(1)[0], "lru")

    async def _make_room(
        self, key: SeatKey, parked: Seat | None, reason: str, detail: str | None
    ) -> None:
        if parked is None:
            place = self._room.ask()
            self._let_idle_go()
        else:
            place = new_place()
            self._end(parked, reason, detail, heir=place)
        await self._endings.make_way(key, place, self._limits.wait_s)
