"""How is one turn run on a harness: started, told what is said, gone on with, or tried once more?

Each turn has a task of its own; how it left is recorded before anybody is told.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from sqlalchemy import Connection

from domain import events as e
from domain.dispatch.decision import dispatch
from domain.dispatch.outcomes import Begin
from domain.json_text import JsonValue
from domain.raw_json import RawJson, dumped
from domain.refusals import Refusal
from domain.restarts import SHUTDOWN
from domain.times import rfc3339
from infrastructure import runs
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Answer, Harness, Harnesses, HarnessFailed, Start
from infrastructure.hosting.became import Dispatched
from infrastructure.hosting.below_log import SessionsBelow
from infrastructure.hosting.configured import Configuration, Configurations
from infrastructure.hosting.cut_off import told_of_cut_off
from infrastructure.hosting.here import Here
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.hosting.journal_port import StoreAway
from infrastructure.hosting.leaving import Leaving
from infrastructure.hosting.live import Live
from infrastructure.hosting.outcomes import Lost
from infrastructure.hosting.patience import patiently
from infrastructure.hosting.prompting import decisions_for, prompt_for
from infrastructure.hosting.seeds import seed_of, short_of
from infrastructure.hosting.timing import loop_ms
from infrastructure.hosting.turn_run import Hosted, Parking, Surroundings, TurnRun
from infrastructure.lanes.context import told_at_start
from infrastructure.pool.seats import PoolClosed, PoolFull, SeatBusy
from infrastructure.reading.sessions import session_head
from infrastructure.run_rows import SECOND
from infrastructure.runner import Attempt

BROKEN: Final = "broken"
RETRIED: Final = "continuation-failed"
_LOGGER: Final = logging.getLogger("turnlog")
Told = Mapping[str, JsonValue]


class Running:
    """The lives of the turns of this server, on their harnesses."""

    def __init__(
        self,
        log: Turnlog,
        here: Here,
        harnesses: Harnesses,
        configurations: Configurations,
        fan_out: Callable[[Target, str, Told], None],
    ) -> None:
        """Take what runs here, what starts harnesses, and who is told of each piece they say."""
        self._log: Final = log
        self._here: Final = here
        self._harnesses: Final = harnesses
        self._configurations: Final = configurations
        self._limits: Final = log.settings.pool
        self._fan_out: Final = fan_out
        self.leaving: Final = Leaving(here, self._retry)

    async def guarded(self, live: Live, work: Coroutine[object, object, None]) -> None:
        """Do what a turn needs; whatever it breaks by, nobody waits for it for ever."""
        try:
            await work
        except (Exception, asyncio.CancelledError) as error:
            _LOGGER.error("a hosted turn was given up: %s", type(error).__qualname__)  # noqa: TRY400
            if self._here.has(live):
                await self.leaving.left(live, Lost(reason=BROKEN))
            if isinstance(error, asyncio.CancelledError):
                raise

    async def start(self, live: Live, done: Dispatched) -> None:
        """Start a harness that knows the history, and run the turn on it."""
        began = loop_ms()
        live.starting = asyncio.current_task()
        try:
            harness, replay = await self._start_harness(live, done)
        except HarnessFailed as failed:
            await self.leaving.failed(live, failed.code, failed.detail)
            return
        except asyncio.CancelledError:
            reason, by = live.cancelled or (SHUTDOWN, None)
            await self.leaving.interrupted(live, reason, by)
            return
        except (Refusal, *UNREACHABLE) as error:
            _LOGGER.warning("a turn was given up: %s", type(error).__qualname__)
            await self.leaving.left(live, Lost(reason=type(error).__name__))
            return
        finally:
            live.starting = None
        if not self._here.pool.seat_harness(live.seat, harness):
            await self.leaving.failed(live, "shutdown", "the server is stopping")
            return
        self._here.pressure.stir()
        timings = {"harness_start": round(loop_ms() - began - replay), "replay": round(replay)}
        await self.run(live, done, harness, timings=timings)

    async def _start_harness(self, live: Live, done: Dispatched) -> tuple[Harness, float]:
        """Return a harness that was told the history, and how many milliseconds it took to read."""
        began = loop_ms()
        _check_wanted(live)
        fresh = done.turn_id if isinstance(done.decision, Begin) else None
        seed, config, context = await patiently(
            self._log,
            lambda connection: (
                seed_of(connection, live.target, fresh),
                self._configuration(connection, live.target),
                _told_at_start(connection, live.target, done),
            ),
        )
        replay = loop_ms() - began
        live.config_fingerprint = config.wanted.fingerprint
        self._here.apply(live.seat.seat_id, config.facets)
        start = Start(
            project_id=live.target.project_id,
            session_id=live.target.session_id,
            harness=config.harness,
            config=config.config,
            workspace=config.workspace,
            seed=seed if seed.messages else None,
            context=context,
        )
        return await self._harnesses.start(start), replay

    async def run(
        self,
        live: Live,
        done: Dispatched,
        harness: Harness,
        *,
        timings: Mapping[str, int] | None = None,
        parked: bool = False,
    ) -> None:
        """Run the turn on a harness that is there, from what is said to how it leaves.

        One that was `parked` is told what was said aside meanwhile; if it fails before anything
        came from it, another is tried.
        """
        decided = await decisions_for(self._log, done)
        prompt = await prompt_for(self._log, live.target, done, decided, with_asides=parked)
        run = live.run = TurnRun(
            Hosted(
                turn_id=live.turn_id,
                seat_id=live.seat.seat_id,
                owner=self._here.owner,
                parking=self._parking(live),
                decided=tuple(decided),
                timings={"dispatch": live.dispatch_ms, **(timings or {})},
                started_ms=live.came_ms,
                may_retry=parked,
            ),
            harness,
            live.journal,
            self._surroundings(live),
        )
        for queue_id in live.steers:
            run.steer(queue_id)
        if live.cancelled is not None:
            await self.leaving.left(live, await run.cancel(*live.cancelled))
        else:
            await self.leaving.left(live, await run.begin(prompt))

    async def going_on(
        self, live: Live, answers: Sequence[tuple[str, Answer]], *, consumed: bool
    ) -> None:
        """Have a harness that waits go on with what its gates were answered."""
        assert live.run is not None  # noqa: S101 - what is paused has a run
        told = [
            await live.run.answer(gate_id, answer, consumed=consumed) for gate_id, answer in answers
        ]
        if not any(told):
            await self._let_wait(live)
        await self.leaving.left(live, await live.run.going_on())

    def _parking(self, live: Live) -> Parking:
        limits = self._limits
        return Parking(
            config_fingerprint=live.config_fingerprint,
            prior_was_sent=live.prior_was_sent,
            idle_ttl_s=limits.idle_ttl_s if limits.enabled else 0,
            approval_ttl_s=limits.approval_ttl_s if limits.enabled else 0,
        )

    def _surroundings(self, live: Live) -> Surroundings:
        return Surroundings(
            mint=self._here.mint,
            clock=loop_ms,
            fan_out=lambda delta: self._tell(live, delta),
            next_input=lambda passed: self._here.next_input(live, passed),
            below=SessionsBelow(self._log, live.target, live.journal.caller),
            session_id=live.target.session_id,
            expires=self._expires,
        )

    async def _let_wait(self, live: Live) -> None:
        """Let the lease of a turn go whose harness was told nothing: it is gone.

        So whoever looks for decisions that nobody goes on with finds these.
        """
        fence, target = live.journal.fence, live.target

        def write(attempt: Attempt) -> None:
            run = runs.find_named(attempt.connection, target.project_id, target.session_id)
            if run is not None and run.fence == fence and run.is_of(live.turn_id):
                runs.release(attempt.connection, run.session_key, fence)

        with suppress(*UNREACHABLE):
            await self._log.write(write)

    async def _retry(self, live: Live, code: str) -> None:
        """Run once more, cold, what a parked harness failed at before anything came from it.

        Only on a history that the log can tell; else the turn fails as the harness did.
        """
        detail = dumped({"failure": code})
        reasons = await self._log.read(
            lambda connection: short_of(self._log, connection, live.target)
        )
        if reasons or live.begun is None or not _may_be_cold(live.begun):
            await self.leaving.failed(live, code, "the harness failed before anything came from it")
            return
        try:
            seat = await self._here.pool.reserve(
                live.key, replacing=live.seat, reason=RETRIED, detail=detail.decode()
            )
        except (PoolFull, SeatBusy, PoolClosed):
            await self.leaving.failed(
                live, code, "the harness failed, and no other could be started"
            )
            return
        live.seat, live.run = seat, None
        live.path, live.reason = "evicted", RETRIED
        self._here.apply(seat.seat_id, live.begun.found.wanted.facets)
        started = e.HarnessStarted(
            seat_id=seat.seat_id,
            owner=self._here.owner,
            path="evicted",
            turn_id=live.turn_id,
            reason=RETRIED,
            detail=RawJson(detail),
            history_from="log",
        )
        try:
            await live.journal.record([started])
        except (Refusal, StoreAway) as error:
            await self.leaving.left(live, Lost(reason=type(error).__name__))
            return
        await self.start(live, live.begun)

    def _expires(self) -> str | None:
        after_s = self._log.settings.gate_ttl_s
        return rfc3339(self._log.now() + after_s * SECOND) if after_s else None

    def _tell(self, live: Live, delta: Told) -> None:
        live.tell(delta)
        self._fan_out(live.target, live.turn_id, delta)

    def _configuration(self, connection: Connection, target: Target) -> Configuration:
        key, head, _ = session_head(connection, target)
        return self._configurations.of(connection, key, head)


def _may_be_cold(done: Dispatched) -> bool:
    """Tell whether the request would have had a harness started, were there none."""
    return isinstance(dispatch(replace(done.found.situation, seat=None)), Begin)


def _told_at_start(connection: Connection, target: Target, done: Dispatched) -> str | None:
    """Return what a harness is told of its place, and of what was cut off before its first turn."""
    place = told_at_start(connection, target, done.ask.lane_id)
    told = [each for each in (place, told_of_cut_off(connection, target, done)) if each]
    return "\n\n".join(told) or None


def _check_wanted(live: Live) -> None:
    if live.cancelled is not None:
        raise asyncio.CancelledError
