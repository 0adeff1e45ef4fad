"""How does a turn run on a harness, from its prompt to its end?

The run is its own task: whoever waits for it may go away. It outlives a pause, with the harness.
What is decided here is when something is recorded, and what has to be recorded before what: a
question before it can be answered, a decision's use before the harness learns of it.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from domain.messages import Part
from infrastructure.harness.port import (
    Answer,
    Asked,
    Ended,
    Harness,
    HarnessFailed,
    OfSubagent,
    Prompt,
    Update,
)
from infrastructure.hosting.account import Account, OpenGate
from infrastructure.hosting.below import Below
from infrastructure.hosting.binding import Carried, CarriedDecision
from infrastructure.hosting.by_mode import answer_by
from infrastructure.hosting.deltas import Delta
from infrastructure.hosting.hosted import Hosted, Parking, Surroundings
from infrastructure.hosting.journal_port import Journal
from infrastructure.hosting.keeping import Keeping
from infrastructure.hosting.next_outcome import NextOutcome
from infrastructure.hosting.outcomes import Outcome, Paused
from infrastructure.hosting.recording import Recording
from infrastructure.hosting.steering import Steering
from infrastructure.hosting.talking import talk
from infrastructure.hosting.timing import Timing

_log: Final = logging.getLogger(__name__)
QUIET_MS: Final = 2_000
"""A harness that asked something and then does nothing for so long waits, whatever it began."""


class TurnRun:
    """One hosted turn on one harness; the harness's listener."""

    def __init__(
        self, hosted: Hosted, harness: Harness, journal: Journal, surroundings: Surroundings
    ) -> None:
        """Take a turn whose start is recorded, and a harness that waits for its prompt."""
        clock, sleep = surroundings.clock, surroundings.sleep
        carried = Carried(hosted.turn_id, hosted.decided)
        self._harness: Final = harness
        self._surroundings: Final = surroundings
        self._account: Final = Account(
            hosted.turn_id, carried, surroundings.mint, clock, surroundings.expires
        )
        self._timing: Final = Timing(clock, hosted.timings, hosted.started_ms)
        recording = Recording(journal, self._timing, clock, sleep)
        self._below: Final = Below(
            surroundings.below, (surroundings.session_id, hosted.turn_id), surroundings.mint, clock
        )
        self._keeping: Final = Keeping(
            hosted, harness, self._account, recording, self._timing, self._below
        )
        self._steering: Final = Steering(harness, self._give)
        self._one: Final = asyncio.Lock()
        self._stirred: Final = asyncio.Event()
        self._stirred_at = clock()
        self._stop: Final = asyncio.Event()
        self._outcome: Final = NextOutcome()
        self._task: asyncio.Task[None] | None = None
        self._is_over = False

    @property
    def received(self) -> bool:
        """Tell whether anything came from the harness since it was prompted."""
        return self._keeping.received

    async def begin(self, prompt: Prompt) -> Outcome:
        """Say the prompt, and return when the turn ends or pauses; once.

        Whoever waits here may be cancelled: the run goes on, and `going_on` waits for it again.
        Decisions about the prompt's resumed calls are recorded as consumed before it is said.
        """
        self._start(prompt)
        return await self.going_on()

    async def going_on(self) -> Outcome:
        """Return the next end or pause; at once if the turn is over, or waits."""
        return await self._outcome.wait()

    async def answer(self, gate_id: str, answer: Answer, *, consumed: bool = False) -> bool:
        """Tell the harness what was decided; False if nothing waits for it any more.

        The decision is durable before, and where the turn was paused so is who has its lease now.
        That the harness is given it is recorded here, first, unless `consumed` says that it is.
        """
        async with self._one:
            gate = self._account.find_gate(gate_id)
            if gate is None or self._is_stopping or not self._harness.alive:
                return False
            self._account.close_gate(gate_id, answer)
            self._answered(gate, answer)
            if not consumed and answer.verdict != "cancelled":
                self._account.consume(gate_id)
            self._unpause()
            self._stir()
            self._keeping.delivered = True
            if not await self._flush():
                return False
        return await self._pass_on(gate.waiting.asked.permission_id, answer)

    def steer(self, queue_id: str) -> None:
        """Have the harness told an input that waits, between two of its steps, if it can be."""
        self._steering.offer(queue_id)

    async def _give(self) -> Sequence[Part] | None:
        """Record the input that waits first, and return what it says; None if none is told."""
        async with self._one:
            self._heard()
            found = None
            if self._keeping.paused:
                self._steering.forget()
            elif not self._is_stopping:
                found = await self._keeping.next_input(self._surroundings.next_input)
                self._stir()
                self._stop_if_gone()
        return None if found is None else found.parts

    async def cancel(self, reason: str, by: str | None = None) -> Outcome:
        """Stop the turn, and return how it ended; the first to ask says why.

        What was said is kept. A harness that does not stop in time is closed. A turn whose harness
        went while it was paused stays so.
        """
        async with self._one:
            if self._keeping.stopped is None and not self._is_over:
                self._keeping.stopped = self._below.stopped = (reason, by)
                self._unpause()
                withdrawn = self._account.withdraw()
                self._stir()
                if withdrawn:
                    await self._flush()
                self._stop.set()
        self._start(None)
        return await self.going_on()

    @property
    def is_over(self) -> bool:
        """Tell whether it has ended, and is not only paused."""
        return self._task is not None and self._task.done()

    async def ended(self) -> None:
        """Wait until it is over; whoever waits may be cancelled."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def updated(self, update: Update) -> None:
        """Take what the harness did."""
        async with self._one:
            self._heard()
            if self._is_gone or self._is_over:
                return
            delta = await self._hear(update)
            self._stir()
            if delta is not None:
                self._tell(delta)
            if self._account.all_wait and not self._keeping.paused:
                await self._pause()
            elif self._account.unrecorded.is_full:
                await self._flush()

    async def _hear(self, update: Update) -> Delta | None:
        if not isinstance(update, OfSubagent):
            delta = self._account.hear(update)
            await self._below.note(update)
            return delta
        if self._below.is_new(update.subagent) and not await self._flush():
            return None
        return await self._below.hear(update)

    def _answered(self, gate: OpenGate, answer: Answer) -> None:
        asked = gate.waiting.asked
        if asked.subagent is not None:
            denied = asked.kind == "permission" and answer.verdict == "denied"
            self._below.answered(asked.permission_id, denied=denied)

    async def asked(self, asked: Asked) -> None:
        """Take what the harness asks; answer it if that was decided before."""
        async with self._one:
            self._heard()
            answer = await self._decided(asked)
        if answer is not None:
            await self._pass_on(asked.permission_id, answer)

    async def _decided(self, asked: Asked) -> Answer | None:
        """Return what is answered at once; else the question is recorded, and waits."""
        if self._is_stopping:
            return Answer(verdict="cancelled")
        if asked.subagent is not None and self._below.is_new(asked.subagent):
            await self._flush()
        found = self._account.ask(*await self._below.asked(asked))
        self._stir()
        if isinstance(found, CarriedDecision):
            self._keeping.delivered = True
            return found.answer if await self._flush() else Answer(verdict="cancelled")
        return await self._put(found)

    async def _put(self, gate: OpenGate) -> Answer | None:
        """Record a question; return its answer if the session's approval mode has one."""
        try:
            became = await self._keeping.ask(gate.waiting, waits=self._account.all_wait)
        finally:
            self._stop_if_gone()
        if became is None:
            return None
        if isinstance(became, Paused):
            self._outcome.settle(became)
        answer = None if isinstance(became, Paused) else answer_by(became)
        if answer is None:
            self._tell(gate.delta)
        else:
            self._account.close_gate(gate.waiting.gate_id, answer)
            self._answered(gate, answer)
            self._stir()
            self._keeping.delivered = True
        return answer

    @property
    def _is_gone(self) -> bool:
        return self._keeping.gone

    @property
    def _is_stopping(self) -> bool:
        return self._is_over or self._is_gone or self._keeping.stopped is not None

    def _heard(self) -> None:
        self._keeping.received = True
        self._timing.heard()

    def _stir(self) -> None:
        """Note that something changed: what is due when, and what goes on."""
        self._stirred_at = self._surroundings.clock()
        self._stirred.set()
        self._timing.during("tools", lasts=self._account.calls.running > 0)
        self._timing.during("gate_wait", lasts=bool(self._account.gates))

    def _tell(self, delta: Delta) -> None:
        try:
            self._surroundings.fan_out(delta)
        except Exception as error:  # noqa: BLE001 - who watches must not end what is watched
            _log.warning("a watcher of a turn failed: %s", type(error).__name__)

    async def _pass_on(self, permission_id: str, answer: Answer) -> bool:
        try:
            return await self._harness.answer(permission_id, answer)
        except HarnessFailed:
            return False  # its prompt says why

    def _start(self, prompt: Prompt | None) -> None:
        """Begin, unless that was done; without a prompt only to end."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(prompt))
            self._task.add_done_callback(self._outcome.run_left)

    async def _run(self, prompt: Prompt | None) -> None:
        how: Ended | BaseException | None = None
        if prompt is not None and not self._stop.is_set():
            self._account.go_on(prompt.resumed_calls)
            self._keeping.delivered = bool(prompt.resumed_calls)
            self._stir()
            if await self._flush() and not self._stop.is_set():
                self._timing.prompted()
                how = await talk(
                    self._harness.prompt(prompt, self),
                    self._harness,
                    watch=self._watch(),
                    stop=self._stop,
                    sleep=self._surroundings.sleep,
                )
        async with self._one:
            self._is_over = True
            self._outcome.settle(await self._keeping.conclude(how))

    async def _watch(self) -> None:
        """See to it that nothing waits too long to be recorded, nor a pause to be seen."""
        clock = self._surroundings.clock
        self._steering.begin()
        while True:
            due = self._due()
            if due is None:
                self._stirred.clear()
                await self._stirred.wait()
            elif due > clock():
                await self._surroundings.sleep((due - clock()) / 1000)
            else:
                async with self._one:
                    await self._look()

    def _due(self) -> float | None:
        """Return when there is something to be done; None if nothing waits for a time."""
        if self._is_gone:
            return None
        dues = (self._account.unrecorded.due, self._below.due)
        due = min((each for each in dues if each is not None), default=None)
        if not self._account.gates or self._keeping.paused:
            return due
        quiet = self._stirred_at + QUIET_MS
        return quiet if due is None else min(due, quiet)

    async def _look(self) -> None:
        quiet = self._stirred_at + QUIET_MS <= self._surroundings.clock()
        if self._account.gates and not self._keeping.paused and quiet:
            self._account.unrecorded.end_message()
            await self._pause()
        else:
            await self._flush()

    async def _flush(self) -> bool:
        try:
            recorded = await self._keeping.flush()
            await self._below.flush()
            return recorded
        finally:
            self._stop_if_gone()

    async def _pause(self) -> None:
        """Let the lease go, and whoever waits for the turn; the harness stays if it may."""
        try:
            paused = await self._keeping.pause()
        finally:
            self._stop_if_gone()
        if paused is not None:
            self._outcome.settle(paused)

    def _stop_if_gone(self) -> None:
        if self._is_gone:
            self._stop.set()

    def _unpause(self) -> None:
        if self._keeping.paused:
            self._keeping.paused = False
            self._outcome.renew()


__all__ = ["Hosted", "Parking", "Surroundings", "TurnRun"]
