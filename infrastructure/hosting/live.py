"""Which turn does this server run for a session now, and who waits for it?"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from domain.json_text import JsonValue
from domain.state import TurnPath
from infrastructure.command_handler import Target
from infrastructure.hosting.became import Dispatched
from infrastructure.hosting.journal import LogJournal
from infrastructure.hosting.outcomes import Finished, Lost, Paused
from infrastructure.hosting.turn_run import TurnRun
from infrastructure.pool.seats import Seat, SeatKey

Settled = Finished | Paused | Lost
Watcher = Callable[[Mapping[str, JsonValue]], None]


def _open() -> "asyncio.Future[Settled]":
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, kw_only=True, eq=False)
class Live:
    """A hosted turn from its beginning to its end, paused times included.

    Attributes:
        run: None while its harness is being started.
        seat: As this server holds it in its present use.
        path, reason: By which way it got its harness.
        config_fingerprint: Of the configuration that the harness applied.
        begun: The request that began it; of a turn that goes on, the one before.
        watchers: Who is told of each piece as it comes.
        came_ms: When the request came, by the event loop's clock.
        dispatch_ms: How long it took until it was decided and recorded.
        starting: The task that starts its harness.
        cancelled: Why it is to stop, if it is stopped before it has a run.
        steers: The inputs that are to be told to it while it runs.
    """

    target: Target
    turn_id: str
    journal: LogJournal
    seat: Seat
    run: TurnRun | None = None
    path: TurnPath = "warm"
    reason: str | None = None
    config_fingerprint: str | None = None
    prior_was_sent: bool = False
    watchers: set[Watcher] = field(default_factory=set[Watcher])
    begun: Dispatched | None = None
    cancelled: tuple[str, str | None] | None = None
    came_ms: float | None = None
    dispatch_ms: int = 0
    starting: "asyncio.Task[None] | None" = None
    settled: "asyncio.Future[Settled]" = field(default_factory=_open)
    steers: set[str] = field(default_factory=set[str])

    @property
    def key(self) -> SeatKey:
        """Return what the session's seat goes by."""
        return SeatKey(self.target.project_id, self.target.session_id)

    @property
    def is_over(self) -> bool:
        """Tell whether its run has ended, and is not only paused."""
        return self.run is not None and self.run.is_over

    def steer(self, queue_id: str) -> None:
        """Have its harness told an input that waits, as soon as it has one."""
        self.steers.add(queue_id)
        if self.run is not None:
            self.run.steer(queue_id)

    def tell(self, delta: Mapping[str, JsonValue]) -> None:
        """Pass a piece on to whoever watches."""
        for watcher in tuple(self.watchers):
            watcher(delta)

    def settle(self, outcome: Settled) -> None:
        """Tell whoever waits how the turn ended, or that it pauses."""
        if not self.settled.done():
            self.settled.set_result(outcome)

    def go_on(self) -> None:
        """Have whoever waits from now on wait for the next end or pause."""
        if self.settled.done():
            self.settled = _open()

    async def wait(self) -> Settled:
        """Return how the turn ends, or pauses; whoever waits may be cancelled."""
        return await asyncio.shield(self.settled)


class Locks:
    """One lock for each key that somebody holds or waits for, and no other."""

    def __init__(self) -> None:
        """Begin with none."""
        self._locks: Final[dict[object, tuple[asyncio.Lock, int]]] = {}

    def of(self, key: object) -> "_Held":
        """Return what holds the lock of `key` in an `async with`."""
        return _Held(self._locks, key)


class _Held:
    def __init__(self, locks: dict[object, tuple[asyncio.Lock, int]], key: object) -> None:
        self._locks = locks
        self._key = key

    async def __aenter__(self) -> None:
        lock, users = self._locks.get(self._key, (asyncio.Lock(), 0))
        self._locks[self._key] = (lock, users + 1)
        try:
            await lock.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._locks[self._key][0].release()
        self._leave()

    def _leave(self) -> None:
        lock, users = self._locks[self._key]
        if users == 1:
            del self._locks[self._key]
        else:
            self._locks[self._key] = (lock, users - 1)
