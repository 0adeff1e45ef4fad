"""How is a request recorded, and given to a harness: a parked one, a new one, or none?

What is recorded stands before a harness hears of it; a seat that is not used is let go.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Final

from domain import events as e
from domain.dispatch.outcomes import Deliver, Queue, Refuse, Steer, Step
from domain.refusals import Refusal
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Answer
from infrastructure.hosting.became import Dispatched, Request
from infrastructure.hosting.before import CameBefore, kept_of
from infrastructure.hosting.beginning import begin, refused
from infrastructure.hosting.carrying import NewSeat, difference
from infrastructure.hosting.here import Held
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.hosting.launching import Launching
from infrastructure.hosting.live import Live
from infrastructure.hosting.queueing import PASSING
from infrastructure.hosting.seeds import answer_of, carried
from infrastructure.hosting.took import Asked, Took
from infrastructure.idempotency import claim, keep, unclaim
from infrastructure.pool.seats import PoolClosed, PoolFull, SeatBusy
from infrastructure.runner import Attempt


class Giving:
    """What records requests, and has harnesses take them."""

    def __init__(self, log: Turnlog, launching: Launching) -> None:
        """Take the log, and what runs turns."""
        self._log: Final = log
        self._launching: Final = launching

    async def begin(self, asked: Asked) -> Dispatched:
        """Decide and record a request, once under its key.

        Raises:
            CameBefore: it came under that key already.
            Refusal: a rule of the log forbids it; nothing is recorded.
        """
        self._launching.here.deletions.check(asked.key)
        once = asked.once

        def write(attempt: Attempt) -> Dispatched:
            if once is None:
                return begin(self._request(asked, attempt))
            kept = claim(attempt.connection, once, self._log.now())
            if kept is not None:
                raise CameBefore(kept)
            done = begin(self._request(asked, attempt))
            if done.appended is None:
                unclaim(attempt.connection, once)
            else:
                keep(attempt.connection, once, kept_of(done))
            return done

        return await self._log.write(write)

    async def warm(self, asked: Asked, done: Dispatched, held: Held) -> Live:
        """Have the parked harness go on: with the new text, or with the answers it waits for."""
        launching = self._launching
        waiting = held.parked.run
        if isinstance(waiting, Live) and isinstance(done.decision, Deliver):
            waiting.seat = held.seat
            waiting.journal.lease(*done.leased)
            launching.go_on(waiting, await self._untold(done))
            return waiting
        return launching.warm(asked.target, done, held.seat, held.parked, asked.caller)

    async def cold(self, asked: Asked, done: Dispatched, held: Held | None) -> Took:
        """Make room, record the start, and have a harness started.

        The parked one goes first, and says why; then everything is decided once more.
        """
        launching = self._launching
        detail = difference(done.found, done.label)
        try:
            seat = await launching.pool.reserve(
                asked.key,
                replacing=None if held is None else held.seat,
                reason=done.label or "history",
                detail=None if detail is None else detail.decode(),
            )
        except PoolFull as full:
            launching.here.counting.refused("pool-full")
            return Took(dispatched=done, full=full.retry_after_s)
        except (SeatBusy, PoolClosed):
            return Took(dispatched=done, full=1)
        new = NewSeat(seat_id=seat.seat_id, evicted=done.label, detail=detail)
        again = replace(
            asked,
            ask=replace(asked.ask, seat=None, continues=isinstance(done.decision, Deliver)),
            means=replace(asked.means, new=new, only_warm=False),
            once=asked.once if done.appended is None else None,
        )
        try:
            begun = await self.begin(again)
        except BaseException:
            await launching.pool.release(seat, "no-park")
            raise
        if begun.fence is None:
            await launching.pool.release(seat, "no-park")
            return await self.without_harness(again, begun, None)
        live = launching.cold(asked.target, begun, seat, asked.caller)
        return Took(dispatched=begun, live=live)

    async def without_harness(self, asked: Asked, done: Dispatched, live: Live | None) -> Took:
        """Answer a request that starts nothing: refused, waiting, or told to what runs."""
        match done.decision:
            case Refuse() as refusal:
                await self._note_refusal(asked, refusal)
            case Queue() | Steer() as waits:
                return await self._waits(asked, done, waits, live)
            case Deliver() if live is not None:
                await self._tell(live, done)
                return Took(dispatched=done, live=live)
            case _:
                pass
        return Took(dispatched=done)

    async def _waits(
        self, asked: Asked, done: Dispatched, decision: Queue | Steer, live: Live | None
    ) -> Took:
        """Tell what runs here of the answers that came with an input, and of the input itself."""
        queue_id, head = asked.means.queue_id, done.found.state.head
        runs = live is not None and live.turn_id == head.turn_id
        if live is not None and runs and Step.TAKE_ANSWERS in decision.before:
            await self._tell(live, done)
        if isinstance(decision, Queue):
            return Took(dispatched=done, queue_id=queue_id)
        if live is not None and runs:
            live.steer(queue_id)
        return Took(dispatched=done, queue_id=queue_id, steers=head.turn_id)

    def _request(self, asked: Asked, attempt: Attempt) -> Request:
        return Request(
            handler=self._log.handler,
            attempt=attempt,
            target=asked.target,
            ask=asked.ask,
            means=asked.means,
            caller=asked.caller,
        )

    async def _note_refusal(self, asked: Asked, refusal: Refuse) -> None:
        """Record it, if there is where; the answer does not depend on it."""
        if asked.ask.queue_id is not None and refusal.code in PASSING:
            return  # it goes on waiting
        self._launching.here.counting.refused(refusal.code)
        if refusal.code in {"no-such-session", "shutting-down"}:
            return
        with suppress(Refusal, *UNREACHABLE):
            await self._log.write(lambda attempt: refused(self._request(asked, attempt), refusal))

    async def _tell(self, live: Live, done: Dispatched) -> None:
        """Give the answers to a harness that is in the middle of its turn."""
        if live.run is None:
            return  # it is being started, and finds them in the log
        live.go_on()
        for gate_id, answer in _answers(done):
            await live.run.answer(gate_id, answer)

    async def _untold(self, done: Dispatched) -> list[tuple[str, Answer]]:
        """Return what was decided and the parked harness does not know, elsewhere or here."""
        key, turn_id = done.found.key, done.turn_id
        if key is None or turn_id is None:
            return _answers(done)
        try:
            decided = await self._log.read(lambda connection: carried(connection, key, [turn_id]))
        except UNREACHABLE:
            return _answers(done)
        return [(each.gate_id, each.answer) for each in decided]


def _answers(done: Dispatched) -> list[tuple[str, Answer]]:
    """Return what the gates were answered that the request named."""
    found: list[tuple[str, Answer]] = []
    for answered, proposal in zip(done.found.answered, done.ask.answers, strict=False):
        event = proposal.event
        if answered.gate is not None and isinstance(event, e.GateDecided):
            found.append((answered.gate.gate_id, answer_of(event)))
    return found
