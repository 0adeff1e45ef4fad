"""Which seats are parked, and when is one to go? When its time is over, or its harness has died.

Each has a timer, from when it is parked until it is taken. The idle ones stand in the order in
which they were used.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from infrastructure.pool.seats import Seat
from infrastructure.pool.timers import Timer, Timers

LOOK_S: Final = 1.0
"""How often parked harnesses are asked whether they still live."""


class _Place(NamedTuple):
    seat: Seat
    timer: Timer


class Parking:
    """The parked seats of a pool."""

    def __init__(self, timers: Timers, let_go: Callable[[Seat, str], None]) -> None:
        """Take who lets a seat go, for a reason; it takes the seat from here."""
        self._timers: Final = timers
        self._let_go: Final = let_go
        self._places: Final[dict[str, _Place]] = {}
        self._idle: Final[OrderedDict[str, Seat]] = OrderedDict()
        self._look: Timer | None = None

    def __len__(self) -> int:
        """Return how many are parked."""
        return len(self._places)

    @property
    def idle(self) -> int:
        """Return how many of them are idle."""
        return len(self._idle)

    def least_recent(self, count: int) -> Sequence[Seat]:
        """Return up to `count` idle seats, the one that was not used for longest first."""
        return tuple(islice(self._idle.values(), count))

    def put(self, seat: Seat, ttl_s: float) -> None:
        """Keep a seat for so long at most."""
        timer = self._timers.call_later(ttl_s, partial(self._expire, seat))
        self._places[seat.seat_id] = _Place(seat, timer)
        if seat.state == "idle":
            self._idle[seat.seat_id] = seat
        if self._look is None:
            self._look = self._timers.call_later(LOOK_S, self._look_for_dead)

    def take(self, seat_id: str) -> None:
        """Keep a seat no longer, if it is parked."""
        if (place := self._places.pop(seat_id, None)) is not None:
            place.timer.cancel()
            self._idle.pop(seat_id, None)

    def stop_looking(self) -> None:
        """Look for dead harnesses no more, until another seat is parked."""
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def _expire(self, seat: Seat) -> None:
        place = self._places.get(seat.seat_id)
        if place is not None and place.seat is seat:  # a timer may come though it was cancelled
            self._let_go(seat, "expire" if seat.state == "idle" else "approval-ttl-expire")

    def _look_for_dead(self) -> None:
        self._look = None
        for seat in [place.seat for place in self._places.values() if not place.seat.alive]:
            self._let_go(seat, "process-died")
        if self._places:
            self._look = self._timers.call_later(LOOK_S, self._look_for_dead)
