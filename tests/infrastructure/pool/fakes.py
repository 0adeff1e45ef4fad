"""A pool whose time is turned by hand, with harnesses that do nothing but live and end."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import wraps
from itertools import count
from typing import Any, ParamSpec

from infrastructure.harness.port import Answer, Ended, Give, Listener, Prompt
from infrastructure.pool.limits import PoolLimits
from infrastructure.pool.pool import Pool
from infrastructure.pool.seats import Parked, Pin, Seat, SeatKey, Warmth

P = ParamSpec("P")
A, B, C, D = (SeatKey("project", name) for name in "abcd")
PIN = Pin(history_version=3, fingerprint="f3", version=5)
WARMTH = Warmth(pin=PIN, config_fingerprint="c", prior_was_sent=True)
SECOND = 1_000_000


def on_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test that awaits; what never comes fails it."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 60))

    return run


async def settle() -> None:
    """Let everything be done that can be done without time."""
    for _ in range(12):
        await asyncio.sleep(0)


@dataclass(eq=False)
class Call:
    """A call that is still to come."""

    due: int
    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass(eq=False)
class HandClock:
    """The time, and calls by it, as the test lets it pass."""

    us: int = 1_000 * SECOND
    calls: list[Call] = field(default_factory=list[Call])

    def now(self) -> int:
        return self.us

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Call:
        call = Call(self.us + round(delay * SECOND), callback)
        self.calls.append(call)
        return call

    @property
    def waiting(self) -> list[Call]:
        """The calls that will come."""
        self.calls = [call for call in self.calls if not call.cancelled]
        return self.calls

    async def let_pass(self, seconds: float) -> None:
        """Make the calls that are due by then, in order, each at its time."""
        until = self.us + round(seconds * SECOND)
        await settle()
        while due := [call for call in self.waiting if call.due <= until]:
            call = min(due, key=lambda each: each.due)
            self.calls.remove(call)
            self.us = max(self.us, call.due)
            call.callback()
            await settle()
        self.us = until
        await settle()


@dataclass(eq=False)
class FakeHarness:
    """Lives until it is closed, or `alive` is set; ends at once, or when `may_end` is."""

    alive: bool = True
    closed: int = 0
    ended: bool = False
    slow: bool = False
    failing: bool = False
    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    async def prompt(self, prompt: Prompt, listener: Listener) -> Ended:
        raise AssertionError(prompt, listener)

    async def answer(self, permission_id: str, answer: Answer) -> bool:
        raise AssertionError(permission_id, answer)

    async def steer(self, give: Give) -> bool:
        raise AssertionError(give)

    async def cancel(self) -> None:
        raise AssertionError

    async def close(self) -> None:
        self.closed += 1
        self.alive = False
        if self.slow:
            await self.may_end.wait()
        if self.failing:
            raise ConnectionResetError
        self.ended = True


@dataclass(eq=False)
class Desk:
    """A pool, and all that it told."""

    limits: PoolLimits = field(default_factory=PoolLimits)
    clock: HandClock = field(default_factory=HandClock)
    told: list[tuple[str, str, str | None]] = field(
        default_factory=list[tuple[str, str, str | None]]
    )
    gone: list[Seat] = field(default_factory=list[Seat])
    telling_fails: bool = False
    may_tell: asyncio.Event | None = None

    def __post_init__(self) -> None:
        ids = count(1)
        self.pool = Pool(
            self.limits,
            now=self.clock.now,
            timers=self.clock,
            mint=lambda: f"seat-{next(ids)}",
            on_gone=self._on_gone,
        )

    async def _on_gone(self, seat: Seat, reason: str, detail: str | None) -> None:
        self.told.append((seat.key.session_id, reason, detail))
        self.gone.append(seat)
        if self.may_tell is not None:
            await self.may_tell.wait()
        if self.telling_fails:
            raise ConnectionRefusedError

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Whose seats went, and why."""
        return [(session, reason) for session, reason, _ in self.told]

    async def begun(self, key: SeatKey, harness: FakeHarness | None = None) -> Seat:
        """A busy seat with a harness, as `reserve` gave it."""
        seat = await self.pool.reserve(key)
        assert self.pool.seat_harness(seat, harness or FakeHarness())
        return seat

    async def parked(
        self, key: SeatKey, state: Parked = "idle", harness: FakeHarness | None = None
    ) -> Seat:
        """A parked seat, as it is now."""
        seat = await self.begun(key, harness)
        assert self.pool.park(seat, state, WARMTH)
        return self.seat(key)

    def seat(self, key: SeatKey) -> Seat:
        """The session's seat."""
        seat = self.pool.find(key)
        assert seat is not None
        return seat
