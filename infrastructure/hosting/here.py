"""What does this server run now: which turns, in which seats, by which tasks?

A turn is here from its beginning until it ends or pauses; a seat that is let go is put on record.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from domain import commands as c
from domain import events as e
from domain.keys import keys
from domain.raw_json import RawJson, dumped
from domain.refusals import Refusal
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.deletions import Deletions
from infrastructure.hosting.hosted import Steered
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.hosting.live import Live
from infrastructure.hosting.relieving import pressure_of
from infrastructure.pool.pool import Pool
from infrastructure.pool.seats import Seat, SeatKey
from infrastructure.runner import Attempt

NextInput = Callable[[Live, set[str]], Awaitable[Steered | None]]
_LOGGER: Final = logging.getLogger("turnlog")


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A parked seat, checked out to be used or given back."""

    parked: Seat
    seat: Seat


class Here:
    """The turns, the seats and the tasks of this server.

    Attributes:
        closing: Whether no turn is begun any more.
        deletions: The sessions in which none is, since they are about to be deleted.
        promote: Has the input that waits longest in a session become a turn.
        next_input: Returns the input that is told to a turn next, if it is none of these.
    """

    def __init__(self, log: Turnlog, owner: str) -> None:
        """Begin with none; `owner` is what this server is called."""
        self._log: Final = log
        self._live: Final[dict[SeatKey, Live]] = {}
        self._facets: Final[dict[str, Mapping[str, str]]] = {}
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._watches: Final[set[asyncio.Task[None]]] = set()
        self.closing = False
        self.deletions: Final = Deletions()
        self.counting: Final = log.counting
        self.owner: Final = owner
        self.promote: Callable[[Target], Awaitable[None]] = _nothing_waits
        self.next_input: NextInput = _nothing_is_told
        self.pool: Final = Pool(
            log.settings.pool,
            now=log.now,
            timers=asyncio.get_running_loop(),
            mint=self.mint,
            on_gone=self._gone,
        )
        self.pressure: Final = pressure_of(log, self.pool, owner)

    def mint(self) -> str:
        """Return an id that was never used."""
        return uuid4().hex

    def live(self, key: SeatKey) -> Live | None:
        """Return the turn that runs here for a session; one that is paused does not."""
        return self._live.get(key)

    def runs(self, target: Target, turn_id: str) -> Live | None:
        """Return a turn that runs here, by its id."""
        live = self.live(SeatKey(target.project_id, target.session_id))
        return live if live is not None and live.turn_id == turn_id else None

    def busy(self) -> int:
        """Return how many turns run here."""
        return len(self._live)

    def running(self) -> Sequence[Live]:
        """Return the turns that run here; of those that pause, none."""
        return tuple(self._live.values())

    def enter(self, live: Live) -> None:
        """Have a turn run here from now on."""
        self._live[live.key] = live

    def has(self, live: Live) -> bool:
        """Tell whether a turn is the one that runs here for its session."""
        return self._live.get(live.key) is live

    def forget(self, live: Live) -> None:
        """Have a turn run here no more, if it does."""
        if self.has(live):
            del self._live[live.key]

    def facets_of(self, seat_id: str) -> Mapping[str, str]:
        """Return the facets of the configuration that a seat's harness applied."""
        return self._facets.get(seat_id, {})

    def apply(self, seat_id: str, facets: Mapping[str, str]) -> None:
        """Remember the facets of the configuration that a seat's harness applies."""
        self._facets[seat_id] = facets

    def checked_out(self, key: SeatKey) -> Held | None:
        """Return a session's parked seat, checked out; None if it has none that is free."""
        parked = self.pool.find(key)
        if parked is None or parked.state == "busy":
            return None
        seat = self.pool.checkout(parked.seat_id, key)
        return None if seat is None else Held(parked=parked, seat=seat)

    def spawn(self, work: Coroutine[object, object, object]) -> None:
        """Have some work done by a task of its own; the end of the server waits for it."""

        async def done() -> None:
            await work

        task = asyncio.get_running_loop().create_task(done())
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def watch(self, work: Coroutine[object, object, None]) -> None:
        """Have something waited for by a task of its own; the end of the server does not wait."""
        task = asyncio.get_running_loop().create_task(work)
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)

    async def done(self, within_s: float) -> None:
        """Wait until all work is done, or for so long."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)

    def cancel(self) -> None:
        """Cancel what is still done, or waited for."""
        for task in (*self._tasks, *self._watches):
            task.cancel()

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOGGER.error("a hosted turn broke", exc_info=error)

    async def _gone(self, seat: Seat, reason: str, detail: str | None) -> None:
        """Record that a seat was let go."""
        self._facets.pop(seat.seat_id, None)
        self.counting.evicted(reason)
        target = Target(project_id=seat.key.project_id, session_id=seat.key.session_id)
        evicted = e.HarnessEvicted(
            seat_id=seat.seat_id,
            owner=self.owner,
            reason=reason,
            detail=None if detail is None else _json(detail),
        )

        def write(attempt: Attempt) -> None:
            self._log.handler.carry_out(
                attempt, target, [c.Note(event=evicted)], keys([evicted]), caller=Caller()
            )

        try:
            await self._log.write(write)
        except (Refusal, *UNREACHABLE) as error:
            _LOGGER.warning("an eviction is not on record: %s", type(error).__qualname__)


async def _nothing_is_told(_: Live, __: set[str]) -> Steered | None:
    """Tell nothing."""
    return None


async def _nothing_waits(_: Target) -> None:
    """Nothing waits."""


def _json(detail: str) -> RawJson:
    """Return a detail as JSON: what is JSON already, else a text."""
    raw = detail.encode()
    return RawJson(raw if raw[:1] == b"{" else dumped({"detail": detail}))
