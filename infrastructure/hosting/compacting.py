"""How is a session's history summed up here, from its lease to its record, or to its end before?

Each compaction has a task of its own, whoever waits for it. It changes nothing until its summary is
recorded, in one commit with the end of its lease: so it can be given up at any time.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from domain.commands import HeadClaim
from domain.json_text import JsonValue, parse
from domain.raw_json import dumped
from domain.refusals import (
    Compacting as CompactingNow,
)
from domain.refusals import (
    CompactionFailed,
    CompactionInterrupted,
    InvalidValue,
    Refusal,
)
from infrastructure import compaction_runs
from infrastructure.command_handler import Caller, Target
from infrastructure.commit import Contended
from infrastructure.compaction_runs import MOVED, Compacted, Wanted
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Harness, Harnesses, HarnessFailed, Start, Used
from infrastructure.hosting import compacting_summary
from infrastructure.hosting.compacting_plan import Planned, planned
from infrastructure.hosting.compacting_summary import Stopped, summary_of
from infrastructure.hosting.configured import Configurations
from infrastructure.hosting.ending import words_of
from infrastructure.hosting.here import Here
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.hosting.live import Locks
from infrastructure.hosting.patience import AGAIN_S, PATIENCE_S
from infrastructure.hosting.timing import loop_ms
from infrastructure.idempotency import IdempotencyKey, Kept, claim, keep, unclaim
from infrastructure.pool.seats import SeatKey
from infrastructure.runner import Attempt

SHUTDOWN: Final = "shutdown"
ACCEPTED: Final = 202
PLANS: Final = 5
"""So often it is planned anew if the history moves between plan and lease."""
Told = Mapping[str, JsonValue]
_LOGGER: Final = logging.getLogger("turnlog")


class ShuttingDown(Exception):
    """The server begins nothing any more."""


class TooMany(Exception):
    """As many histories are summed up here as may be at once."""


class Before(Exception):
    """The request came before: what it was answered, or which compaction it began."""

    def __init__(self, kept: Kept) -> None:
        """Take what was kept of it."""
        super().__init__()
        self.answer: Final = None if kept.status == ACCEPTED else kept.result
        self.compaction_id: Final = _compaction_of(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """What became of a compaction that went well, and what is answered to whoever asked for it."""

    compacted: Compacted
    answer: bytes


@dataclass(slots=True, kw_only=True, eq=False)
class Compaction:
    """A compaction that runs here.

    Attributes:
        fence: Of its lease.
        stopped: Why it was stopped, and by whom.
        settled: What became of it, or why nothing did.
    """

    wanted: Wanted
    planned: Planned
    words: str
    answer: Callable[[Compacted, Used | None], bytes]
    once: IdempotencyKey | None
    fence: int = 0
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: tuple[str, str | None] | None = None
    settled: "asyncio.Future[Summed | Exception]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def key(self) -> SeatKey:
        """Return what its session goes by."""
        return _key(self.wanted.target)

    async def wait(self) -> Summed:
        """Return what became of it; whoever waits may be cancelled.

        Raises:
            Refusal: nothing did, and nothing was changed.
        """
        outcome = await asyncio.shield(self.settled)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A compaction that somebody asks for.

    Attributes:
        keep_turns: So many of the newest turns stay as they are.
        instructions: What the summary should mind besides.
        answer: Says as JSON what became of it, and what the model used, if that is told.
    """

    target: Target
    caller: Caller
    answer: Callable[[Compacted, Used | None], bytes]
    keep_turns: int = 1
    instructions: str | None = None
    claim: HeadClaim | None = None
    expected_version: int | None = None
    once: IdempotencyKey | None = None


class Compacting:
    """The compactions of this server."""

    def __init__(
        self,
        log: Turnlog,
        here: Here,
        harnesses: Harnesses,
        configurations: Configurations,
        fan_out: Callable[[Target, str, Told], None],
    ) -> None:
        """Take what starts harnesses, and who is told of each piece that they say."""
        self._log: Final = log
        self._here: Final = here
        self._harnesses: Final = harnesses
        self._configurations: Final = configurations
        self._fan_out: Final = fan_out
        self._running: Final[dict[SeatKey, Compaction]] = {}
        self._locks: Final = Locks()

    def running(self) -> tuple[Compaction, ...]:
        """Return those that run here."""
        return tuple(self._running.values())

    def of(self, target: Target) -> Compaction | None:
        """Return the one that runs here for a session."""
        return self._running.get(_key(target))

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
                async with self._locks.of(_key(request.target)):
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
        async with self._locks.of(_key(target)):
            one = self.of(target)
        if one is None:
            return False
        one.stopped = one.stopped or (reason, by)
        one.stop.set()
        return isinstance(await asyncio.shield(one.settled), Exception)

    async def stop_anywhere(self, target: Target, reason: str, by: str | None = None) -> bool:
        """Stop the one that runs for a session, here or elsewhere; tell whether that was done."""
        now = self._log.now()
        async with self._locks.of(_key(target)):  # so that none begins here meanwhile
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
        self._here.deletions.check(_key(request.target))
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
        return run is not None and run.turn_id == _compaction_of(kept)

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
                keep(attempt.connection, once, _accepted(wanted.compaction_id))
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
            outcome = await self._summed(one)
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

    async def _summed(self, one: Compaction) -> Summed:
        harness = await self._started(one)
        try:
            text, used = await summary_of(
                harness, one.words, one.stop, lambda told: self._tell(one, told)
            )
        finally:
            await harness.close()
        return await self._recorded(one, text, used)

    async def _started(self, one: Compaction) -> Harness:
        """Return a harness that knows what is to be summed up."""
        configuration, target = one.planned.configuration, one.wanted.target
        starting = asyncio.ensure_future(
            self._harnesses.start(
                Start(
                    project_id=target.project_id,
                    session_id=target.session_id,
                    harness=configuration.harness,
                    config=configuration.config,
                    workspace=configuration.workspace,
                    seed=one.planned.seed,
                )
            )
        )
        stopping = asyncio.ensure_future(one.stop.wait())
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not starting.done():
            starting.cancel()
        await asyncio.wait({starting})
        if starting.cancelled():
            raise Stopped
        harness = starting.result()
        if one.stop.is_set():
            await harness.close()
            raise Stopped
        return harness

    async def _recorded(self, one: Compaction, text: str, used: Used | None) -> Summed:
        """Record the summary, once, as soon as the log can be reached."""
        configuration = one.planned.configuration
        harness = configuration.harness or self._log.settings.default_harness
        wanted, plan = one.wanted, one.planned.plan

        def write(attempt: Attempt) -> Summed:
            handler = self._log.handler
            done = compaction_runs.record(
                handler, attempt, wanted, one.fence, plan, (text, harness)
            )
            answer = one.answer(done, used)
            if one.once is not None:
                keep(attempt.connection, one.once, _answered(done, answer))
            return Summed(compacted=done, answer=answer)

        deadline = loop_ms() + PATIENCE_S * 1_000
        while True:
            try:
                return await self._log.write(write)
            except InvalidValue:  # what it stands for went out of sight
                raise CompactionInterrupted(MOVED) from None
            except UNREACHABLE:
                if loop_ms() >= deadline or one.stop.is_set():
                    raise
            await asyncio.sleep(AGAIN_S)

    async def _over(self, one: Compaction, outcome: Summed | Exception) -> None:
        """Let go of what it held, tell whoever waits, and have the next input come."""
        if isinstance(outcome, Summed):
            await self._let_seat_go(one, outcome)
        else:
            await self._let_lease_go(one)
            if isinstance(outcome, CompactionFailed | CompactionInterrupted):
                self._tell(one, {"kind": "compaction", "type": "given-up", "code": _code(outcome)})
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

    def _tell(self, one: Compaction, told: Told) -> None:
        try:
            self._fan_out(one.wanted.target, one.wanted.compaction_id, told)
        except Exception as error:  # noqa: BLE001 - who watches must not end what is watched
            _LOGGER.warning("a watcher of a compaction failed: %s", type(error).__name__)

    def _nudge(self, one: Compaction) -> None:
        """Have whoever follows the session look at how it stands."""
        target = one.wanted.target
        self._log.arrivals.announce([(target.project_id, target.session_id)])


def _key(target: Target) -> SeatKey:
    return SeatKey(target.project_id, target.session_id)


def _compaction_of(kept: Kept) -> str | None:
    """Return the compaction that a request began."""
    said = parse(kept.result)
    found = said.get("compaction_id") if isinstance(said, dict) else None
    return found if isinstance(found, str) else None


def _accepted(compaction_id: str) -> Kept:
    return Kept(
        status=ACCEPTED,
        first_version=None,
        last_version=None,
        result=dumped({"compaction_id": compaction_id}),
    )


def _answered(done: Compacted, answer: bytes) -> Kept:
    return Kept(status=200, first_version=done.version, last_version=done.version, result=answer)


def _code(outcome: CompactionFailed | CompactionInterrupted) -> str:
    return outcome.code if isinstance(outcome, CompactionFailed) else outcome.reason
