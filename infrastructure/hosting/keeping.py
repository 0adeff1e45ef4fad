"""What is recorded of a run, when it waits and when it ends, and what becomes of whoever waits?"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from domain import events as e
from domain.approval_modes import ModeVerdict
from domain.events import SessionEvent
from domain.events.harness import ParkedState
from domain.refusals import Refusal
from infrastructure.harness.port import Ended, Harness, HarnessFailed
from infrastructure.hosting import ending
from infrastructure.hosting.account import Account
from infrastructure.hosting.below import Below
from infrastructure.hosting.by_mode import Question
from infrastructure.hosting.ending import End
from infrastructure.hosting.hosted import Hosted, Steered
from infrastructure.hosting.outcomes import Lost, Outcome, Paused, Retriable, Waiting
from infrastructure.hosting.recording import Gone, Recording
from infrastructure.hosting.timing import Timing

Look = Callable[[set[str]], Awaitable[Steered | None]]
_log: Final = logging.getLogger(__name__)


class Keeping:
    """The record of one run.

    Attributes:
        paused: Whether the turn waits, and its lease is let go.
        received: Whether anything came from the harness.
        delivered: Whether the harness was given a decision.
        stopped: Why somebody stopped the turn, and who; None if nobody did.
    """

    def __init__(
        self,
        hosted: Hosted,
        harness: Harness,
        account: Account,
        recording: Recording,
        timing: Timing,
        below: Below,
    ) -> None:
        """Take what is known of the turn and of those below it, and the way to the log."""
        self.paused = self.received = self.delivered = False
        self.stopped: tuple[str, str | None] | None = None
        self._hosted: Final = hosted
        self._harness: Final = harness
        self._account: Final = account
        self._unrecorded: Final = account.unrecorded
        self._recording: Final = recording
        self._timing: Final = timing
        self._below: Final = below
        self._passed: Final[set[str]] = set()

    @property
    def gone(self) -> bool:
        """Tell whether nothing more can be recorded."""
        return self._recording.gone is not None

    async def flush(self) -> bool:
        """Record what there is; False if nothing can be recorded any more."""
        try:
            await self._recording.record(self._drain, release=self.paused)
        except Gone:
            return False
        return True

    async def next_input(self, look: Look) -> Steered | None:
        """Record the input that waits first as told to the turn; None if none is to be told.

        One that was taken back meanwhile, or that a rule forbids, is passed by.
        """
        while not self.paused and (found := await look(self._passed)) is not None:
            self._unrecorded.end_message()
            if not await self.flush():
                return None
            if await self._heard(found):
                return found
            self._passed.add(found.queue_id)
        return None

    async def _heard(self, found: Steered) -> bool:
        turn_id = self._hosted.turn_id
        events = (
            e.InputDequeued(queue_id=found.queue_id, turn_id=turn_id),
            e.MessageRecorded(turn_id=turn_id, message=found.message),
        )
        try:
            await self._recording.record(lambda: events, optional=True)
        except (Gone, Refusal):
            return False
        self.delivered = True
        self._unrecorded.heard()
        return True

    async def pause(self) -> Paused | None:
        """Let the lease go with what there is; None if nothing can be recorded any more."""
        self.paused = True
        return self._pausing() if await self.flush() else None

    async def ask(self, gate: Waiting, *, waits: bool) -> ModeVerdict | Paused | None:
        """Record a question, with what the session's approval mode makes of it.

        Returns how the turn waits, if a person is asked and it does; None if nothing can be
        recorded any more.

        Args:
            gate: What was asked; the question itself is not recorded yet.
            waits: Whether nothing else is left to be done without an answer.
        """
        asked, waited = gate.asked, self.paused
        pauses = waits or waited
        question = Question(
            gate_id=gate.gate_id,
            turn_id=self._hosted.turn_id,
            kind=asked.kind,
            tool_kind=asked.tool_kind,
            waits=self._parked_waiting() if pauses else (),
            pauses=pauses,
        )
        try:
            verdict = await self._recording.record(
                self._unrecorded.drain, release=waited, question=question
            )
        except Gone:
            return None
        if verdict != "ask" or not pauses:
            return verdict
        self.paused = True
        return self._pausing()

    async def conclude(self, how: Ended | BaseException | None) -> Outcome:
        """Record the end, and return it.

        Args:
            how: The prompt ended, or what it failed by; None if it was given up, or never said.
        """
        failure = how if isinstance(how, BaseException) else None
        if failure is not None and not isinstance(failure, HarnessFailed):
            _log.error("a turn's run failed: %s", type(failure).__name__)
        await self._recording.caught_up()
        if self._recording.gone is not None:
            return await self._refused(self._recording.gone)
        if self.paused and not isinstance(how, Ended):
            return await self._left_waiting()
        if isinstance(failure, HarnessFailed) and self._may_retry(failure):
            return Retriable(code=failure.code)
        left = self._account.settle()
        if isinstance(how, Ended) and how.used is not None:
            self._account.use(how.used)
        return await self._ended(self._end(how), clean=not left)

    def _pausing(self) -> Paused:
        parked = self._parks(self._hosted.parking.approval_ttl_s)
        return Paused(gates=self._account.gates, head=self._recording.head, parked=parked)

    def _parks(self, ttl_s: int) -> bool:
        return ttl_s > 0 and self._harness.alive

    def _parked(self, state: ParkedState, ttl_s: int) -> e.HarnessParked:
        hosted = self._hosted
        return e.HarnessParked(
            seat_id=hosted.seat_id,
            owner=hosted.owner,
            state=state,
            turn_id=hosted.turn_id,
            config_fingerprint=hosted.parking.config_fingerprint,
            prior_was_sent=hosted.parking.prior_was_sent,
            ttl_s=ttl_s,
        )

    def _drain(self) -> Sequence[SessionEvent]:
        """Return what is to be recorded; what a harness that waits remembers ends with it."""
        events = self._unrecorded.drain()
        return (*events, *self._parked_waiting()) if self.paused else events

    def _parked_waiting(self) -> tuple[SessionEvent, ...]:
        ttl_s = self._hosted.parking.approval_ttl_s
        return (self._parked("awaiting_approval", ttl_s),) if self._parks(ttl_s) else ()

    def _end(self, how: Ended | BaseException | None) -> End:
        if self.stopped is not None:
            return ending.stopped(*self.stopped)
        return ending.ended(how) if isinstance(how, Ended) else ending.failed(how)

    def _may_retry(self, failure: HarnessFailed) -> bool:
        self.received |= failure.received
        touched = self.received or self.delivered or self.stopped is not None
        return self._hosted.may_retry and not touched

    async def _ended(self, end: End, *, clean: bool) -> Outcome:
        self.paused = False
        await self._below.end(end, went_on=bool(self._hosted.decided))
        ttl_s, turn_id = self._hosted.parking.idle_ttl_s, self._hosted.turn_id
        parks = end.clean and clean and self._parks(ttl_s)
        timings = self._timing.shape()

        def last() -> Sequence[SessionEvent]:
            events = (*self._unrecorded.drain(), ending.terminal(end, turn_id, timings))
            return (*events, self._parked("idle", ttl_s)) if parks else events

        try:
            await self._recording.record(last, release=True)
        except Gone as gone:
            return await self._refused(gone)
        return ending.finished(end, self._recording.head, timings, parked=parks)

    async def _refused(self, gone: Gone) -> Outcome:
        """End a turn of which something could not be recorded, if it is still this run's."""
        if gone.anothers:
            return Lost(reason=gone.reason)
        end, timings = ending.failed_by(ending.REFUSED), self._timing.shape()
        last = ending.terminal(end, self._hosted.turn_id, timings)
        try:
            await self._recording.end_refused((last,))
        except Gone as again:
            return Lost(reason=again.reason)
        return ending.finished(end, self._recording.head, timings, parked=False)

    async def _left_waiting(self) -> Outcome:
        """Let a turn wait whose harness went meanwhile: its gates outlive it."""
        self._unrecorded.end_message()
        if self._unrecorded.due is not None and not await self.flush():
            return await self.conclude(None)
        return replace(self._pausing(), parked=False)
