"""How does a request get its turn run here: warm, cold, later, or not at all?

One request of a session at a time is decided and recorded; what it began runs on by itself, whoever
asked. A seat that was looked at and not used is parked as it was.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection

from domain import commands as c
from domain import events as e
from domain.commands import HeadClaim
from domain.dispatch.outcomes import Begin, Decision, Deliver, Queue, Refuse, Step
from domain.keys import keys
from domain.refusals import InputStarted, MessageExists, NoSuchSession, Refusal
from domain.state import Head, Turn
from infrastructure import runs
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Answer
from infrastructure.hosting.asking import Ask, HeldSeat, Wanted
from infrastructure.hosting.became import Dispatched, Means, Request
from infrastructure.hosting.before import CameBefore, kept_of, turn_of_same
from infrastructure.hosting.beginning import begin, refused
from infrastructure.hosting.carrying import LOST, SUPERSEDED, NewSeat, difference
from infrastructure.hosting.configured import Configurations
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.hosting.launching import Launching
from infrastructure.hosting.live import Live, Locks
from infrastructure.hosting.outcomes import Finished, Lost, Paused
from infrastructure.hosting.queueing import next_input, turn_of_input
from infrastructure.hosting.seeds import UNANSWERED, answer_of, carried, json_of
from infrastructure.idempotency import IdempotencyKey, claim, keep, unclaim
from infrastructure.pool.seats import PoolClosed, PoolFull, Seat, SeatBusy, SeatKey
from infrastructure.runner import Attempt

_HUMP: Final = re.compile("(?<!^)(?=[A-Z])")
_PASSING: Final = frozenset({"turn-in-progress", "compacting", "gate-open", "shutting-down"})
"""Refusals of an input that waits after which it goes on waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What became of a request.

    Attributes:
        live: The turn that runs by it; None if none does here.
        full: No harness could be started now: after so many seconds it is worth trying again.
        queue_id: The input waits under this id.
        again: The turn that this request began when it came before.
        replayed: Whether it came before, and nothing comes of it now.
    """

    dispatched: Dispatched | None
    live: Live | None = None
    full: int | None = None
    queue_id: str | None = None
    again: str | None = None
    replayed: bool = False

    @property
    def decision(self) -> Decision | None:
        """Return what was decided; None of a request that came before."""
        return None if self.dispatched is None else self.dispatched.decision


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request as it is decided and recorded."""

    target: Target
    key: SeatKey
    ask: Ask
    means: Means
    caller: Caller
    once: IdempotencyKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A parked seat, checked out to be used or given back."""

    parked: Seat
    seat: Seat


class Hosting:
    """The turns that this server runs on its own harnesses."""

    def __init__(
        self,
        log: Turnlog,
        launching: Launching,
        configurations: Configurations,
        read: Callable[[Target, bytes], Awaitable[Ask]],
    ) -> None:
        """Take the log, what runs turns, what knows configurations, and what reads requests."""
        self._read: Final = read
        self._log: Final = log
        self._launching: Final = launching
        self._configurations: Final = configurations
        self._locks: Final = Locks()
        self.owner: Final = launching.here.owner
        launching.here.promote = self.promote

    @property
    def launching(self) -> Launching:
        """Return what runs the turns."""
        return self._launching

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
        key = SeatKey(target.project_id, target.session_id)
        ask = replace(self._completed(ask), came_ms=asyncio.get_running_loop().time() * 1_000)
        async with self._locks.of(key):
            try:
                took = await self._taken(target, key, ask, caller, request, once)
            except CameBefore as before:
                return await self._before(target, before)
            except MessageExists as exists:
                message_id = exists.message_id
                again = await self._log.read(
                    lambda connection: turn_of_same(connection, target, ask, message_id)
                )
                if again is None:
                    raise
                return Took(dispatched=None, again=again, replayed=True)
        if took.dispatched is not None and _finishes_first(took.dispatched):
            return await self._answered_first(target, ask, caller, request, once)
        return took

    async def _before(self, target: Target, before: CameBefore) -> Took:
        """Return what became of a request that came before under the same key."""
        turn_id, queue_id = before.turn_id, before.queue_id
        if queue_id is not None:
            turn_id = await self._log.read(lambda c: turn_of_input(c, target, queue_id))
        waits = queue_id if turn_id is None else None
        return Took(dispatched=None, again=turn_id, queue_id=waits, replayed=True)

    def runs(self, target: Target, turn_id: str) -> Live | None:
        """Return a turn that runs here, by its id."""
        live = self._launching.here.live(SeatKey(target.project_id, target.session_id))
        return live if live is not None and live.turn_id == turn_id else None

    async def interrupt(self, target: Target, reason: str, caller: Caller) -> bool | None:
        """Stop whatever runs in the session, or waits; None if nothing does.

        False if another program runs it, which is asked to stop.

        Raises:
            NoSuchSession: there is no such session.
        """
        key = SeatKey(target.project_id, target.session_id)
        live = self._launching.here.live(key)
        if live is not None:
            await self._launching.stop(live, reason, caller.actor)
            return True

        def write(attempt: Attempt) -> bool | None:
            session_key, state = self._log.handler.state(attempt, target)
            turn_id = state.head.turn_id
            if session_key is None or state.head.status in {"absent", "deleted"}:
                raise NoSuchSession
            turn = None if turn_id is None else state.turns.get(turn_id)
            if turn_id is None or turn is None:
                return None
            run = runs.find(attempt.connection, session_key)
            waits = turn.paused or _is_nobodys(turn, run, self._log.now())
            steps: list[c.SessionCommand] = [
                c.InterruptTurn(turn_id=turn_id, reason=reason, by=caller.actor)
                if waits
                else c.Note(
                    event=e.InterruptRequested(turn_id=turn_id, reason=reason, by=caller.actor)
                )
            ]
            known = (session_key, state)
            self._log.handler.carry_out(attempt, target, steps, caller=caller, known=known)
            if run is not None and waits:
                runs.release(attempt.connection, session_key, run.fence)
            return waits

        async with self._locks.of(key):
            stopped = await self._log.write(write)
            if stopped and (held := self._checked_out(key)) is not None:
                await self._launching.pool.release(held.seat, "history")
            return stopped

    async def promote(self, target: Target) -> None:
        """Have the input that waits longest become a turn, if nothing is in its way.

        One that can become none is taken back, and says why, so that the next can.
        """
        while (queued := await self._log.read(lambda c: next_input(c, target))) is not None:
            queue_id, request = queued
            try:
                ask = await self._read(target, request)
                took = await self.take(
                    target,
                    replace(_waited(ask), owner=self.owner, queue_id=queue_id),
                    Caller(),
                )
            except (InputStarted, NoSuchSession):
                return  # somebody else was faster
            except Refusal as refusal:
                await self.recall(target, queue_id, _word(refusal), Caller())
                continue
            if took.again is not None:  # its very message became a turn in another way
                await self.recall(target, queue_id, "said-before", Caller())
                continue
            if not isinstance(took.decision, Refuse) or took.decision.code in _PASSING:
                return
            await self.recall(target, queue_id, took.decision.code, Caller())

    async def recall(self, target: Target, queue_id: str, reason: str, caller: Caller) -> None:
        """Take an input back that waits.

        Raises:
            NoSuchInput, InputStarted, NoSuchSession: there is nothing to take back.
        """
        recalled = e.InputRecalled(queue_id=queue_id, reason=reason)
        await self._log.write(
            lambda attempt: self._log.handler.carry_out(
                attempt, target, [c.Note(event=recalled)], keys([recalled]), caller=caller
            )
        )

    async def expired(self, target: Target, gate_id: str) -> None:
        """Have a harness that waits here go on without an answer: nobody gave one in time."""
        key = SeatKey(target.project_id, target.session_id)
        live = self._launching.here.live(key)
        nobody = [(gate_id, Answer(verdict="denied", message=UNANSWERED))]
        if live is not None and live.run is not None:
            await live.run.answer(gate_id, nobody[0][1], consumed=True)
            return
        async with self._locks.of(key):
            held = self._checked_out(key)
            if held is None:
                return
            waiting, fence = held.parked.run, None
            try:
                if isinstance(waiting, Live):
                    waiting.seat = held.seat
                    fence = await self._log.write(
                        lambda attempt: self._resumed(attempt, target, waiting)
                    )
            finally:
                if fence is None:
                    self._launching.park_again(held.parked, held.seat)
            if isinstance(waiting, Live) and fence is not None:
                waiting.journal.fence = fence
                self._launching.go_on(waiting, nobody, consumed=True)

    def _resumed(self, attempt: Attempt, target: Target, live: Live) -> int | None:
        """Record that a parked harness goes on, and give it the lease.

        None if its turn is over, or was taken over meanwhile: then it does not go on.
        """
        turn_id, handler = live.turn_id, self._log.handler
        resumed = e.HarnessResumed(seat_id=live.seat.seat_id, owner=self.owner, turn_id=turn_id)
        key, state = handler.state(attempt, target, keys([resumed]))
        run = None if key is None else runs.find(attempt.connection, key)
        if run is None or run.fence != live.journal.fence or state.head.turn_id != turn_id:
            return None
        steps = [c.Note(event=resumed)]
        handler.carry_out(attempt, target, steps, caller=Caller(), known=(key, state))
        lease_s = self._launching.lease_s
        return runs.take_over(attempt.connection, run, turn_id, self.owner, lease_s, handler.now())

    def _completed(self, ask: Ask) -> Ask:
        """Have a request say which configuration it asks for: its own, or else the session's.

        Raises:
            NoSuchHarness: it would begin a turn on one that there is not.
        """
        ask = replace(ask, lease_s=self._launching.lease_s)
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
        held = None if live is not None else self._checked_out(key)
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
        asked = _Asked(target=target, key=key, ask=ask, means=means, caller=caller, once=once)
        used = False
        try:
            done = await self._begin(asked)
            if done.again:
                return Took(dispatched=None, again=done.turn_id, replayed=True)
            if live is not None and done.deferred:
                await self._out_of_the_way(live, done, caller)
                once = once if done.appended is None else None
                ask = replace(ask, seat=None)
                return await self._taken(target, key, ask, caller, request, once)
            if done.deferred and not _finishes_first(done):
                used = True
                return await self._cold(asked, done, held)
            if held is not None and done.fence is not None:
                warm = await self._warm(asked, done, held)
                used = True
                return Took(dispatched=done, live=warm)
            return await self._without_harness(asked, done, live)
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
            await self._launching.stop(live, LOST, None)

    async def _without_harness(self, asked: _Asked, done: Dispatched, live: Live | None) -> Took:
        """Answer a request that starts nothing: refused, waiting, or told to what runs."""
        match done.decision:
            case Refuse() as refusal:
                await self._note_refusal(asked, refusal)
            case Queue():
                return Took(dispatched=done, queue_id=asked.means.queue_id)
            case Deliver() if live is not None:
                await self._tell(live, done)
                return Took(dispatched=done, live=live)
            case _:
                pass
        return Took(dispatched=done)

    def _checked_out(self, key: SeatKey) -> _Held | None:
        parked = self._launching.pool.find(key)
        if parked is None or parked.state == "busy":
            return None
        seat = self._launching.pool.checkout(parked.seat_id, key)
        return None if seat is None else _Held(parked=parked, seat=seat)

    async def _begin(self, asked: _Asked) -> Dispatched:
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

    def _request(self, asked: _Asked, attempt: Attempt) -> Request:
        return Request(
            handler=self._log.handler,
            attempt=attempt,
            target=asked.target,
            ask=asked.ask,
            means=asked.means,
            caller=asked.caller,
        )

    async def _note_refusal(self, asked: _Asked, refusal: Refuse) -> None:
        """Record it, if there is where; the answer does not depend on it."""
        if asked.ask.queue_id is not None and refusal.code in _PASSING:
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
        for gate_id, answer in self._answers(done):
            await live.run.answer(gate_id, answer)

    def _answers(self, done: Dispatched) -> list[tuple[str, Answer]]:
        found: list[tuple[str, Answer]] = []
        for answered, proposal in zip(done.found.answered, done.ask.answers, strict=False):
            event = proposal.event
            if answered.gate is not None and isinstance(event, e.GateDecided):
                found.append((answered.gate.gate_id, answer_of(event)))
        return found

    async def _untold(self, done: Dispatched) -> list[tuple[str, Answer]]:
        """Return what was decided and the parked harness does not know, elsewhere or here."""
        key, turn_id = done.found.key, done.turn_id
        if key is None or turn_id is None:
            return self._answers(done)
        try:
            decided = await self._log.read(lambda connection: carried(connection, key, [turn_id]))
        except UNREACHABLE:
            return self._answers(done)
        return [(each.gate_id, each.answer) for each in decided]

    async def _warm(self, asked: _Asked, done: Dispatched, held: _Held) -> Live:
        """Have the parked harness go on: with the new text, or with the answers it waits for."""
        launching = self._launching
        waiting = held.parked.run
        if isinstance(waiting, Live) and isinstance(done.decision, Deliver):
            assert done.fence is not None  # noqa: S101 - it was given the lease
            waiting.seat = held.seat
            waiting.journal.fence = done.fence
            launching.go_on(waiting, await self._untold(done))
            return waiting
        return launching.warm(asked.target, done, held.seat, held.parked, asked.caller)

    async def _cold(self, asked: _Asked, done: Dispatched, held: _Held | None) -> Took:
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
            begun = await self._begin(again)
        except BaseException:
            await launching.pool.release(seat, "no-park")
            raise
        if begun.fence is None:
            await launching.pool.release(seat, "no-park")
            return await self._without_harness(again, begun, None)
        live = launching.cold(asked.target, begun, seat, asked.caller)
        return Took(dispatched=begun, live=live)

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
        again = None if first.again is None else self.runs(target, first.again)
        live = first.live or again  # the same answers may have come meanwhile, by another request
        if live is None and first.again is None:
            return first
        outcome = None if live is None else await live.wait()
        if isinstance(outcome, Paused):
            return first
        shape = replace(ask.shape, kind="minimal", prior=(), in_band=None)
        text = replace(ask, shape=shape, answers=(), prior=None, claim=_claim_after(ask, outcome))
        return await self.take(target, text, caller, request, once)


def _word(refusal: Refusal) -> str:
    """Return the name of a refusal as a word of the log.

    >>> _word(NoSuchSession())
    'no-such-session'
    """
    return _HUMP.sub("-", type(refusal).__name__).lower()


def _claim_after(ask: Ask, outcome: Finished | Lost | None) -> HeadClaim | None:
    """Return what a request that claimed a head claims once its answers were taken."""
    if ask.claim is None or not isinstance(outcome, Finished):
        return None
    head = outcome.head
    return HeadClaim(history_version=head.history_version, fingerprint=head.fingerprint.hex())


def _waited(ask: Ask) -> Ask:
    """Return what an input that waited asks for: it goes on waiting if something is in its way.

    The head that it claimed was compared when it came; what it waited for moved it.
    """
    policies = replace(ask.policies, on_busy="reject", on_gate="reject")
    if ask.claim is not None and policies.on_divergence == "default":
        policies = replace(policies, on_divergence="reject")
    return replace(ask, policies=policies, claim=None)


def _is_nobodys(turn: Turn, run: runs.Run | None, now: int) -> bool:
    """Tell whether a turn of a server, not of a runner, has nobody who runs it."""
    return (
        turn.producer_id is None
        and run is not None
        and run.is_of(turn.turn_id)
        and not runs.is_live(run, now)
    )


def _finishes_first(done: Dispatched) -> bool:
    return isinstance(done.decision, Begin) and Step.FINISH_TURN in done.decision.before
