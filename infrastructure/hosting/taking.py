"""How does a request get its turn run here: warm, cold, later, or not at all?

One request of a session at a time is decided and recorded; what it began runs on by itself, whoever
asked. A seat that was looked at and not used is parked as it was.
"""

from dataclasses import replace
from typing import Final

from sqlalchemy import Connection

from domain.commands import HeadClaim
from domain.dispatch.outcomes import Begin, Deliver, Step
from domain.refusals import MessageExists
from domain.restarts import OWNER_LOST
from domain.state import Head
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.asking import Ask, HeldSeat, Wanted
from infrastructure.hosting.became import Dispatched, Means
from infrastructure.hosting.before import CameBefore, turn_of_same
from infrastructure.hosting.beginning import InputsBefore
from infrastructure.hosting.carrying import SUPERSEDED, NewSeat
from infrastructure.hosting.configured import Configurations
from infrastructure.hosting.giving import Giving
from infrastructure.hosting.launching import Launching
from infrastructure.hosting.live import Live, Locks
from infrastructure.hosting.outcomes import Finished, Lost, Paused
from infrastructure.hosting.queueing import known_input
from infrastructure.hosting.seeds import json_of
from infrastructure.hosting.timing import loop_ms
from infrastructure.hosting.took import Asked, Took, finishes_first
from infrastructure.idempotency import IdempotencyKey
from infrastructure.pool.seats import SeatKey


class Taking:
    """What takes requests for turns, one of a session at a time."""

    def __init__(self, log: Turnlog, launching: Launching, configurations: Configurations) -> None:
        """Take the log, what runs turns, and what knows configurations."""
        self._log: Final = log
        self._launching: Final = launching
        self._configurations: Final = configurations
        self._giving: Final = Giving(log, launching)
        self.locks: Final = Locks()

    async def take(
        self,
        target: Target,
        ask: Ask,
        caller: Caller,
        request: bytes = b"null",
        once: IdempotencyKey | None = None,
    ) -> Took:
        """Decide what comes of a request, record it, and have its turn run.

        Raises:
            Refusal: a rule of the log forbids it; nothing is recorded.
        """
        first = None
        while True:
            try:
                return await self._take(target, ask, caller, request, once)
            except InputsBefore as before:
                if before.queue_id != first:
                    first = before.queue_id
                elif ask.policies.on_busy in {"queue", "steer"}:
                    ask = replace(ask, in_line=True)
                else:  # what comes first cannot begin now, and so nor can this
                    return Took(dispatched=None, full=1)
            await self._launching.here.promote(target)

    async def _take(
        self,
        target: Target,
        ask: Ask,
        caller: Caller,
        request: bytes,
        once: IdempotencyKey | None,
    ) -> Took:
        key = SeatKey(target.project_id, target.session_id)
        ask = replace(self._completed(ask), came_ms=loop_ms())
        self._launching.here.deletions.check(key)  # who deletes may hold the session for long
        async with self.locks.of(key):
            try:
                took = await self._taken(target, key, ask, caller, request, once)
            except CameBefore as before:
                return await self.before(target, before)
            except MessageExists as exists:
                message_id = exists.message_id
                again = await self._log.read(
                    lambda connection: turn_of_same(connection, target, ask, message_id)
                )
                if again is None:
                    raise
                return Took(dispatched=None, again=again, replayed=True)
        if took.live is not None and self._launching.compacting.of(target) is not None:
            self._launching.here.spawn(self._launching.compacting.stop(target, SUPERSEDED))
        if took.dispatched is not None and finishes_first(took.dispatched):
            return await self._answered_first(target, ask, caller, request, once)
        return took

    async def before(self, target: Target, before: CameBefore) -> Took:
        """Return what became of a request that came before under the same key.

        Raises:
            NoSuchSession: the session in which it came is gone.
        """
        turn_id, queue_id, known = before.turn_id, before.queue_id, None
        target = replace(target, session_id=before.session_id or target.session_id)
        if queue_id is not None:
            known = await self._log.read(lambda c: known_input(c, target, queue_id))
            turn_id = None if known is None else known.turn_id
        waits = queue_id if turn_id is None else None
        return Took(
            dispatched=None,
            again=turn_id,
            queue_id=waits,
            steers=None if known is None else known.steers,
            recalled=known is not None and known.status == "recalled",
            replayed=True,
            session_id=target.session_id,
        )

    def _completed(self, ask: Ask) -> Ask:
        """Have a request say which configuration it asks for: its own, or else the session's.

        Raises:
            NoSuchHarness: it would begin a turn on one that there is not.
        """
        ask = replace(ask, lease_s=self._launching.lease_s)
        if ask.configure is not None and ask.policies.on_busy == "steer":
            # What runs goes on with the configuration that it has.
            ask = replace(ask, policies=replace(ask.policies, on_busy="queue"))
        if self._launching.here.closing:
            ask = replace(ask, standing="shutting-down")
        if ask.configure is not None:
            found = self._configurations.changed(json_of(ask.configure.config))
            if ask.start is not None:
                self._configurations.known(found, "config", "harness")
            return replace(ask, config=found.wanted)
        return replace(ask, config=self._begins if ask.start is not None else self._goes_on)

    def _begins(self, connection: Connection, key: int, head: Head) -> Wanted:
        return self._configurations.known(self._configurations.of(connection, key, head)).wanted

    def _goes_on(self, connection: Connection, key: int, head: Head) -> Wanted:
        return self._configurations.of(connection, key, head).wanted

    async def _taken(
        self,
        target: Target,
        key: SeatKey,
        ask: Ask,
        caller: Caller,
        request: bytes,
        once: IdempotencyKey | None,
    ) -> Took:
        launching = self._launching
        live = launching.here.live(key)
        held = None if live is not None else self._launching.here.checked_out(key)
        seat = live.seat if live is not None else held.seat if held is not None else None
        if seat is not None:
            busy = live is not None
            warmth = None if held is None else held.parked.warmth
            pin = None if warmth is None else (warmth.pin.history_version, warmth.pin.fingerprint)
            alive = seat.alive or busy
            held_seat = HeldSeat(seat_id=seat.seat_id, alive=alive, busy=busy, pin=pin)
            ask = replace(ask, seat=held_seat)
        means = Means(
            new=NewSeat(seat_id=launching.here.mint()),
            facets={} if seat is None else launching.here.facets_of(seat.seat_id),
            only_warm=True,
            request=request,
            queue_id=launching.here.mint(),
        )
        asked = Asked(target=target, key=key, ask=ask, means=means, caller=caller, once=once)
        used = False
        try:
            done = await self._giving.begin(asked)
            if done.again:
                return Took(dispatched=None, again=done.turn_id, replayed=True)
            if live is not None and done.deferred:
                await self._out_of_the_way(live, done, caller)
                once = once if done.appended is None else None
                ask = replace(ask, seat=None)
                return await self._taken(target, key, ask, caller, request, once)
            if done.deferred and not finishes_first(done):
                used = True
                return await self._giving.cold(asked, done, held)
            if held is not None and done.fence is not None:
                warm = await self._giving.warm(asked, done, held)
                used = True
                return Took(dispatched=done, live=warm)
            return await self._giving.without_harness(asked, done, live)
        finally:
            if held is not None and not used:
                launching.park_again(held.parked, held.seat)

    async def _out_of_the_way(self, live: Live, done: Dispatched, caller: Caller) -> None:
        """Wait for a turn here that ends, or pauses; one that the log knows to be over is ended."""
        before = done.decision.before if isinstance(done.decision, Begin | Deliver) else ()
        if Step.INTERRUPT_RUNNING in before:
            await self._launching.stop(live, SUPERSEDED, caller.actor)
        elif done.found.state.head.turn_id == live.turn_id:
            await live.wait()
        else:
            await self._launching.stop(live, OWNER_LOST, None)

    async def _answered_first(
        self,
        target: Target,
        ask: Ask,
        caller: Caller,
        request: bytes,
        once: IdempotencyKey | None,
    ) -> Took:
        """Have the turn that waited end with its answers, before the new text is said."""
        shape = replace(ask.shape, kind="answer", prior=(), fresh=None)
        answers = replace(ask, shape=shape, start=None, prior=None)
        first = await self.take(target, answers, caller)
        again = None if first.again is None else self._launching.here.runs(target, first.again)
        live = first.live or again  # the same answers may have come meanwhile, by another request
        if live is None and first.again is None:
            return first
        outcome = None if live is None else await live.wait()
        if isinstance(outcome, Paused):
            return first
        shape = replace(ask.shape, kind="minimal", prior=(), in_band=None)
        text = replace(ask, shape=shape, answers=(), prior=None, claim=_claim_after(ask, outcome))
        return await self.take(target, text, caller, request, once)


def _claim_after(ask: Ask, outcome: Finished | Lost | None) -> HeadClaim | None:
    """Return what a request that claimed a head claims once its answers were taken."""
    if ask.claim is None or not isinstance(outcome, Finished):
        return None
    head = outcome.head
    return HeadClaim(history_version=head.history_version, fingerprint=head.fingerprint.hex())
