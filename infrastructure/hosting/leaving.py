"""What becomes of a seat once its turn ends, pauses or is lost, and who is told?

The seat is parked or let go first; then whoever waits is told, and the next input comes after that.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from domain import events as e
from domain.events.turn import TurnError
from domain.refusals import Refusal
from infrastructure.command_handler import Target
from infrastructure.hosting.here import Here
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.hosting.journal_port import StoreAway
from infrastructure.hosting.live import Live
from infrastructure.hosting.outcomes import Finished, Lost, Outcome, Paused, Retriable
from infrastructure.pool.seats import Pin, Seat, Warmth

_LOGGER: Final = logging.getLogger("turnlog")


class Leaving:
    """How the turns of this server leave their seats."""

    def __init__(self, here: Here, retry: Callable[[Live, str], Awaitable[None]]) -> None:
        """Take what runs here, and what runs a turn once more that a parked harness failed at."""
        self._here: Final = here
        self._retry: Final = retry

    async def left(self, live: Live, outcome: Outcome) -> None:
        """Park the seat or let it go, then tell whoever waits; the next input comes after that."""
        here = self._here
        match outcome:
            case Finished():
                here.counting.turn(live.path, live.reason, outcome.timings)
                if not self._parked(live, outcome, "idle"):
                    await here.pool.release(live.seat, "no-park", outcome.status)
                here.forget(live)
                live.settle(outcome)
                if outcome.head.queued and not here.closing:
                    await self._promoted(live.target)
            case Paused():
                if self._parked(live, outcome, "awaiting_approval"):
                    here.watch(self._watched(live, live.seat))
                else:
                    await here.pool.release(live.seat, "no-park", "paused")
                here.forget(live)
                live.settle(outcome)
            case Retriable(code=code):
                await self._retry(live, code)
            case Lost(reason=reason):
                await here.pool.release(live.seat, "continuation-failed", reason)
                here.forget(live)
                live.settle(outcome)

    async def failed(self, live: Live, code: str, detail: str) -> None:
        """Record that a turn failed that had no run."""
        error = TurnError(code=code, message=detail)
        await self._ended(live, e.TurnFailed(turn_id=live.turn_id, error=error), "failed", error)

    async def interrupted(self, live: Live, reason: str, by: str | None) -> None:
        """Record that a turn was stopped that had no run."""
        event = e.TurnInterrupted(turn_id=live.turn_id, reason=reason, by=by)
        await self._ended(live, event, "interrupted")

    async def dropped(self, live: Live, seat: Seat) -> None:
        """See to a harness that ended its prompt while it was waited for an answer."""
        assert live.run is not None  # noqa: S101 - what is paused has a run
        live.seat = seat
        await self.left(live, await live.run.going_on())

    async def _watched(self, live: Live, seat: Seat) -> None:
        """Wait for the end of a run that pauses; if nobody goes on with it, see to its seat."""
        assert live.run is not None  # noqa: S101 - what is paused has a run
        await live.run.ended()
        parked = self._here.pool.find(seat.key)
        if parked is None or parked.run is not live or not live.is_over:
            return
        taken = self._here.pool.checkout(parked.seat_id, seat.key)
        if taken is not None:
            await self.dropped(live, taken)

    def _parked(self, live: Live, outcome: Finished | Paused, state: str) -> bool:
        head = outcome.head
        pin = Pin(
            history_version=head.history_version,
            fingerprint=head.fingerprint.hex(),
            version=head.version,
        )
        warmth = Warmth(
            pin=pin,
            config_fingerprint=live.config_fingerprint,
            prior_was_sent=live.prior_was_sent,
        )
        return outcome.parked and self._here.pool.park(
            live.seat,
            "idle" if state == "idle" else "awaiting_approval",
            warmth,
            run=live if state == "awaiting_approval" else None,
        )

    async def _promoted(self, target: Target) -> None:
        try:
            await self._here.promote(target)
        except (Refusal, *UNREACHABLE) as error:  # it is looked for again soon
            _LOGGER.info("an input has to wait: %s", type(error).__qualname__)

    async def _ended(
        self,
        live: Live,
        event: e.TurnFailed | e.TurnInterrupted,
        status: str,
        error: TurnError | None = None,
    ) -> None:
        """Record the end of a turn that had no run."""
        try:
            stood = await live.journal.record([event], release=True)
        except (Refusal, StoreAway) as why:
            await self.left(live, Lost(reason=type(why).__name__))
            return
        reason = event.reason if isinstance(event, e.TurnInterrupted) else None
        outcome = Finished(
            status="failed" if status == "failed" else "interrupted",
            head=stood.head,
            parked=False,
            timings={},
            error=error,
            reason=reason,
        )
        await self.left(live, outcome)
