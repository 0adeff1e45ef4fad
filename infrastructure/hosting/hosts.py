"""What else can be done with the turns of this server: stop one, have the next input become one?

Each is done under the session's lock, as a request is taken: one at a time.
"""

import re
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Final

from domain import commands as c
from domain import events as e
from domain.dispatch.outcomes import Refuse
from domain.keys import Keys, keys
from domain.raw_json import RawJson
from domain.refusals import (
    InputStarted,
    NoSuchSession,
    Refusal,
    SessionDeleting,
    TurnInProgress,
)
from domain.state import GONE, Turn
from infrastructure import runs
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.deleting import DELETED
from infrastructure.harness.port import Answer
from infrastructure.hosting.asking import NOWHERE, Address, Ask
from infrastructure.hosting.before import CameBefore
from infrastructure.hosting.configured import Configurations
from infrastructure.hosting.hosted import Steered
from infrastructure.hosting.launching import Launching
from infrastructure.hosting.live import Live
from infrastructure.hosting.overhearing import Overhearing
from infrastructure.hosting.queueing import PASSING, Waiting, next_input
from infrastructure.hosting.recovery import Recovery
from infrastructure.hosting.seeds import UNANSWERED, json_of
from infrastructure.hosting.steered import Read, next_steered
from infrastructure.hosting.taking import Taking
from infrastructure.hosting.took import Took
from infrastructure.idempotency import IdempotencyKey
from infrastructure.pool.seats import SeatKey
from infrastructure.runner import Attempt

_HUMP: Final = re.compile("(?<!^)(?=[A-Z])")


class Hosting:
    """The turns that this server runs on its own harnesses.

    Attributes:
        recovery: What takes up what killed servers left.
    """

    def __init__(
        self,
        log: Turnlog,
        launching: Launching,
        configurations: Configurations,
        read: Read,
    ) -> None:
        """Take the log, what runs turns, what knows configurations, and what reads requests."""
        self._read: Final = read
        self._log: Final = log
        self._launching: Final = launching
        self._configurations: Final = configurations
        self._taking: Final = Taking(log, launching, configurations)
        self.take: Final = self._taking.take
        self.before: Final = self._taking.before
        self._overhearing: Final = Overhearing(log)
        self.owner: Final = launching.here.owner
        launching.here.promote = self.promote
        launching.here.next_input = self.next_input
        self.recovery = Recovery(log)
        self._connected: set[tuple[str, str]] = set()

    @property
    def launching(self) -> Launching:
        """Return what runs the turns."""
        return self._launching

    def check(self, config: RawJson, *at: str) -> None:
        """See to it that a session of this configuration could run here.

        Raises:
            NoSuchHarness: it names a harness that is not defined here.
        """
        found = self._configurations.reading(json_of(config))
        self._configurations.known(found, *at, "harness")

    def runs(self, target: Target, turn_id: str) -> Live | None:
        """Return a turn that runs here, by its id."""
        return self._launching.here.runs(target, turn_id)

    def platform_connected(self, project_id: str, platform: str) -> None:
        """Have it looked at soon what could not go on without the platform's gateway."""
        self._connected.add((project_id, platform))

    def connected_now(self) -> set[tuple[str, str]]:
        """Return the platforms that connected since this was asked last, each in its project."""
        found, self._connected = self._connected, set()
        return found

    def is_busy(self, key: SeatKey) -> bool:
        """Tell whether something runs here for a session."""
        target = Target(project_id=key.project_id, session_id=key.session_id)
        summed_up = self._launching.compacting.of(target) is not None
        return summed_up or self._launching.here.live(key) is not None

    def lock(self, key: SeatKey) -> AbstractAsyncContextManager[None]:
        """Return what keeps requests of a session waiting while it is held."""
        return self._taking.locks.of(key)

    async def interrupt(self, target: Target, reason: str, caller: Caller) -> bool | None:
        """Stop whatever runs in the session, or waits; None if nothing does, or it stops already.

        False if another program runs it, which is asked to stop.

        Raises:
            NoSuchSession: there is no such session.
        """
        key = SeatKey(target.project_id, target.session_id)
        live = self._launching.here.live(key)
        if live is not None:
            return await self._launching.stop(live, reason, caller.actor) or None
        if await self._launching.compacting.stop_anywhere(target, reason, caller.actor):
            return True

        def write(attempt: Attempt) -> bool | None:
            session_key, state = self._log.handler.state(attempt, target, Keys(open_calls=True))
            turn_id = state.head.turn_id
            if session_key is None or state.head.status in GONE:
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

        async with self._taking.locks.of(key):
            live = self._launching.here.live(key)
            if live is not None:  # it was just beginning, or what waited follows what just ended
                return await self._launching.stop(live, reason, caller.actor) or None
            stopped = await self._log.write(write)
            if stopped and (held := self._launching.here.checked_out(key)) is not None:
                why = reason if reason == DELETED else "history"
                await self._launching.pool.release(held.seat, why)
            return stopped

    async def begin(self, target: Target, request: bytes, address: Address = NOWHERE) -> Took:
        """Begin a turn that turnlog itself asks for, and whose answer goes there.

        Raises:
            Refusal: a rule of the log forbids it; nothing is recorded.
        """
        ask = await self._read(target, request, address)
        return await self.take(target, replace(ask, owner=self.owner), Caller())

    async def overhear(
        self, target: Target, ask: Ask, caller: Caller, request: bytes, once: IdempotencyKey | None
    ) -> Took:
        """Record words that are for others: the model sees them, and nothing runs by them.

        Raises:
            Refusal: a rule of the log forbids it; nothing is recorded.
        """
        key = SeatKey(target.project_id, target.session_id)
        self._launching.here.deletions.check(key)
        try:
            return await self._overhearing.take(target, ask, caller, request, once)
        except CameBefore as before:
            return await self.before(target, before)

    async def next_input(self, live: Live, passed: set[str]) -> Steered | None:
        """Return the input that is told to a turn here next, if it is none of these."""
        return await next_steered(self._log, self._read, live.target, live.turn_id, passed)

    def steer(self, key: SeatKey, queue_id: str) -> None:
        """Have the turn that runs here told an input that waits for it."""
        live = self._launching.here.live(key)
        if live is not None:
            live.steer(queue_id)

    async def promote(self, target: Target) -> None:
        """Have the input that waits longest become a turn, if nothing is in its way.

        One that can become none is taken back, and says why, so that the next can.
        """
        key = SeatKey(target.project_id, target.session_id)
        while (
            not self._launching.here.deletions.covers(key)
            and (queued := await self._log.read(lambda c: next_input(c, target))) is not None
        ):
            try:
                word = await self._not_begun(target, queued)
                if word is None:
                    return
                if word:
                    await self.recall(target, queued.queue_id, word, Caller())
            except (InputStarted, NoSuchSession, SessionDeleting):
                return  # somebody else was faster

    async def _not_begun(self, target: Target, queued: Waiting) -> str | None:
        """Have an input become a turn; return why it can become none, by a word.

        None if it runs, or goes on waiting; no word at all if it is over, and the next can come.

        Raises:
            InputStarted, NoSuchSession, SessionDeleting: it waits no more.
        """
        try:
            read = await self._read(target, queued.request, queued.address)
            ask = replace(_waited(read), owner=self.owner, queue_id=queued.queue_id)
            take = self.take if ask.runs else self._overhearing.take
            took = await take(target, ask, Caller())
        except (InputStarted, NoSuchSession, SessionDeleting):
            raise
        except TurnInProgress:
            return None  # it goes on waiting
        except Refusal as refusal:
            return _word(refusal)
        if took.again is not None:  # or its very message became a turn in another way
            return "" if not ask.runs and not took.replayed else "said-before"
        refused = took.decision if isinstance(took.decision, Refuse) else None
        return None if refused is None or refused.code in PASSING else refused.code

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
        async with self._taking.locks.of(key):
            held = self._launching.here.checked_out(key)
            if held is None:
                return
            waiting, leased = held.parked.run, None
            try:
                if isinstance(waiting, Live):
                    waiting.seat = held.seat
                    leased = await self._log.write(
                        lambda attempt: self._resumed(attempt, target, waiting)
                    )
            finally:
                if leased is None:
                    self._launching.park_again(held.parked, held.seat)
            if isinstance(waiting, Live) and leased is not None:
                waiting.journal.lease(*leased)
                self._launching.go_on(waiting, nobody, consumed=True)

    def _resumed(self, attempt: Attempt, target: Target, live: Live) -> tuple[int, int] | None:
        """Record that a parked harness goes on; return its lease's fence, and since which version.

        None if its turn is over, or was taken over meanwhile: then it does not go on.
        """
        turn_id, handler = live.turn_id, self._log.handler
        resumed = e.HarnessResumed(seat_id=live.seat.seat_id, owner=self.owner, turn_id=turn_id)
        key, state = handler.state(attempt, target, keys([resumed]))
        run = None if key is None else runs.find(attempt.connection, key)
        if run is None or run.fence != live.journal.fence or state.head.turn_id != turn_id:
            return None
        steps = [c.Note(event=resumed)]
        done = handler.carry_out(attempt, target, steps, caller=Caller(), known=(key, state))
        lease_s, now = self._launching.lease_s, handler.now()
        fence = runs.take_over(attempt.connection, run, turn_id, self.owner, lease_s, now)
        return fence, done.head.version


def _word(refusal: Refusal) -> str:
    """Return the name of a refusal as a word of the log.

    >>> _word(NoSuchSession())
    'no-such-session'
    """
    return _HUMP.sub("-", type(refusal).__name__).lower()


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
