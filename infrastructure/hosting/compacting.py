"""How is a session's history summed up here, from its lease to its record, or to its end before?

Each compaction has a task of its own, whoever waits for it. It changes nothing until its summary is
recorded, in one commit with the end of its lease: so it can be given up at any time.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from domain.refusals import (
    Compacting as CompactingNow,
)
from domain.refusals import (
    CompactionFailed,
    CompactionInterrupted,
    Refusal,
)
from domain.restarts import SHUTDOWN
from infrastructure import compaction_runs
from infrastructure.command_handler import Target
from infrastructure.commit import Contended
from infrastructure.compaction_runs import MOVED, Wanted
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Harnesses, HarnessFailed
from infrastructure.hosting import compacting_summary
from infrastructure.hosting.compacting_plan import Planned, planned
from infrastructure.hosting.compacting_steps import Summing
from infrastructure.hosting.compacting_summary import Stopped
from infrastructure.hosting.compaction import (
    ACCEPTED,
    Before,
    Compaction,
    Request,
    ShuttingDown,
    Summed,
    TooMany,
    accepted,
    compaction_of,
    key_of,
)
from infrastructure.hosting.configured import Configurations
from infrastructure.hosting.deltas import Delta
from infrastructure.hosting.ending import words_of
from infrastructure.hosting.here import Here
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.hosting.live import Locks
from infrastructure.idempotency import Kept, claim, keep, unclaim
from infrastructure.pool.seats import SeatKey
from infrastructure.runner import Attempt

PLANS: Final = 5
"""So often it is planned anew if the history moves between plan and lease."""
_LOGGER: Final = logging.getLogger("turnlog")


class Compacting:
    """The compactions of this server."""

    def __init__(
        self,
        log: Turnlog,
        here: Here,
        harnesses: Harnesses,
        configurations: Configurations,
        fan_out: Callable[[Target, str, Delta], None],
    ) -> None:
        """Take what starts harnesses, and who is told of each piece that they say."""
        self._log: Final = log
        self._here: Final = here
        self._configurations: Final = configurations
        self._summing: Final = Summing(log, harnesses, fan_out)
        self._running: Final = dict[SeatKey, Compaction]()
        self._locks: Final = Locks()

    def running(self) -> tuple[Compaction, ...]:
        """Return those that run here."""
        return tuple(self._running.values())

    def of(self, target: Target) -> Compaction | None:
        """Return the one that runs here for a session."""
        return self._running.get(key_of(target))

    async def begin(self, request: Request) -> Compaction:
        """Have a session's history be summed up from now on.

        Raises:
            ShuttingDown, TooMany: this server begins none now.
            Before: the same request came before, and came to something.
            WorkspaceMissing: no harness could be started.
            Refusal: there is nothing to sum up, or something else runs.
        """
        for _ in range(PLANS):
            try:
                found = await self._planned(request)
                async with self._locks.of(key_of(request.target)):
                    begun = await self._begun(request, found)
                    if begun is not None:
                        self._running[begun.key] = begun
            except CompactingNow:
                await self._check_key(request)  # perhaps it is this very one
                raise
            if begun is not None:
                self._nudge(begun)
                self._here.spawn(self._run(begun))
                return begun
        raise Contended

    async def stop(self, target: Target, reason: str, by: str | None = None) -> bool:
        """Stop the one that runs here, and wait for its end; tell whether it was stopped by it.

        One whose summary is recorded at this moment is done.
        """
        async with self._locks.of(key_of(target)):
            one = self.of(target)
        if one is None:
            return False
        one.stopped = one.stopped or (reason, by)
        one.stop.set()
        return isinstance(await asyncio.shield(one.settled), Exception)

    async def stop_anywhere(self, target: Target, reason: str, by: str | None = None) -> bool:
        """Stop the one that runs for a session, here or elsewhere; tell whether that was done."""
        now = self._log.now()
        async with self._locks.of(key_of(target)):  # so that none begins here meanwhile
            if self.of(target) is None:
                run = await self._log.read(lambda c: compaction_runs.runs_now(c, target, now))
                return run is not None and await self._log.write(
                    lambda attempt: compaction_runs.stop(attempt, target, self._log.now())
                )
        return await self.stop(target, reason, by)

    async def stop_all(self, reason: str = SHUTDOWN) -> None:
        """Stop every one, and wait for their ends."""
        stops = [self.stop(one.wanted.target, reason) for one in self.running()]
        await asyncio.gather(*stops)

    async def renew(self) -> None:
        """Renew the leases of those that run here; stop those whose lease is another's by now."""
        held = [(one.wanted.target, one.fence) for one in self.running()]
        if not held:
            return
        lost = await self._log.write(
            lambda attempt: compaction_runs.renewed(attempt, held, self._log.now())
        )
        for target, fence in lost:
            one = self.of(target)
            if one is not None and one.fence == fence:
                self._here.spawn(self.stop(target, MOVED))

    async def _planned(self, request: Request) -> Planned:
        await self._check_key(request)
        if self._here.closing:
            raise ShuttingDown
        self._here.deletions.check(key_of(request.target))
        found = await self._log.read(
            lambda connection: planned(
                connection,
                self._configurations,
                request.target,
                request.keep_turns,
                self._log.now(),
            ),
            long=True,
        )
        if len(self._running) >= self._log.settings.pool.capacity:
            raise TooMany
        return found

    async def _check_key(self, request: Request) -> None:
        """Answer a request that came before, whatever forbids it now."""
        once = request.once
        if once is None:
            return

        def look(attempt: Attempt) -> Kept | None:
            kept = claim(attempt.connection, once, self._log.now())
            if kept is None:
                unclaim(attempt.connection, once)
            return kept

        kept = await self._log.write(look)
        if kept is not None and (kept.status != ACCEPTED or await self._lives(request, kept)):
            raise Before(kept)

    async def _lives(self, request: Request, kept: Kept) -> bool:
        """Tell whether the compaction still runs that a request began."""
        now = self._log.now()
        run = await self._log.read(lambda c: compaction_runs.runs_now(c, request.target, now))
        return run is not None and run.turn_id == compaction_of(kept)

    async def _begun(self, request: Request, found: Planned) -> Compaction | None:
        wanted = Wanted(
            target=request.target,
            compaction_id=self._here.mint(),
            owner=self._here.owner,
            lease_s=self._log.settings.harness_lease_s,
            caller=request.caller,
            claim=request.claim,
            expected_version=request.expected_version,
        )
        once = request.once
        one = Compaction(
            wanted=wanted,
            planned=found,
            words=self._words(request),
            answer=request.answer,
            once=once,
        )

        def write(attempt: Attempt) -> int | None:
            self._here.deletions.check(one.key)
            if once is not None:
                claim(attempt.connection, once, self._log.now())
            fence = compaction_runs.begin(self._log.handler, attempt, wanted, found.plan)
            if once is not None and fence is not None:
                keep(attempt.connection, once, accepted(wanted.compaction_id))
            return fence

        fence = await self._log.write(write)
        if fence is None:
            return None
        one.fence = fence
        return one

    def _words(self, request: Request) -> str:
        words = self._log.settings.compaction_prompt or compacting_summary.ASKED
        return words if not request.instructions else f"{words}\n\n{request.instructions}"

    async def _run(self, one: Compaction) -> None:
        """Do it, and tell what became of it; whatever breaks, nobody waits for ever."""
        outcome: Summed | Exception
        try:
            outcome = await self._summing.summed(one)
        except Stopped:
            outcome = CompactionInterrupted(*(one.stopped or (MOVED, None)))
        except HarnessFailed as failed:
            outcome = CompactionFailed(failed.code, words_of(failed.code))
        except (Refusal, *UNREACHABLE) as error:
            outcome = error
        except BaseException as error:
            _LOGGER.error("a compaction broke: %s", type(error).__qualname__)  # noqa: TRY400
            await self._over(one, CompactionFailed("internal-error", words_of("internal-error")))
            raise
        await self._over(one, outcome)

    async def _over(self, one: Compaction, outcome: Summed | Exception) -> None:
        """Let go of what it held, tell whoever waits, and have the next input come."""
        if isinstance(outcome, Summed):
            await self._let_seat_go(one, outcome)
        else:
            await self._let_lease_go(one)
            if isinstance(outcome, CompactionFailed | CompactionInterrupted):
                self._summing.tell(
                    one, {"kind": "compaction", "type": "given-up", "code": _code(outcome)}
                )
        if self._running.get(one.key) is one:
            del self._running[one.key]
        self._nudge(one)
        one.settled.set_result(outcome)
        if not self._here.closing:
            try:
                await self._here.promote(one.wanted.target)
            except (Refusal, *UNREACHABLE) as error:  # it is looked for again soon
                _LOGGER.info("an input has to wait: %s", type(error).__qualname__)

    async def _let_lease_go(self, one: Compaction) -> None:
        def write(attempt: Attempt) -> None:
            compaction_runs.let_go(attempt, one.wanted.target, one.fence)
            if one.once is not None:
                unclaim(attempt.connection, one.once)

        try:
            await self._log.write(write)
        except UNREACHABLE as error:  # it ends by itself
            _LOGGER.warning("a lease is not let go: %s", type(error).__qualname__)

    async def _let_seat_go(self, one: Compaction, summed: Summed) -> None:
        """Let a parked harness go that remembers what is summed up now."""
        parked = self._here.pool.find(one.key)
        if parked is None or parked.state != "idle" or parked.warmth is None:
            return
        if parked.warmth.pin.history_version < summed.compacted.head.history_version:
            await self._here.pool.evict(parked, "history")

    def _nudge(self, one: Compaction) -> None:
        """Have whoever follows the session look at how it stands."""
        target = one.wanted.target
        self._log.arrivals.announce([(target.project_id, target.session_id)])


def _code(outcome: CompactionFailed | CompactionInterrupted) -> str:
    return outcome.code if isinstance(outcome, CompactionFailed) else outcome.reason
