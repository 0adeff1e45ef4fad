"""How is a turn run on a harness, parked after it, or let go; and who runs now?

Each turn has a task of its own; how it left is recorded before anybody is told.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar
from uuid import uuid4

from sqlalchemy import Connection

from domain import commands as c
from domain import events as e
from domain.dispatch.decision import dispatch
from domain.dispatch.outcomes import Begin
from domain.events.turn import TurnError
from domain.json_text import JsonValue
from domain.keys import keys
from domain.messages import parts_of, readable
from domain.raw_json import RawJson, dumped
from domain.refusals import Refusal
from infrastructure import runs
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Answer, Harness, Harnesses, HarnessFailed, Prompt, Start
from infrastructure.hosting.became import Dispatched
from infrastructure.hosting.carrying import LOST
from infrastructure.hosting.configured import Configuration, Configurations
from infrastructure.hosting.journal import UNREACHABLE, LogJournal
from infrastructure.hosting.live import Live
from infrastructure.hosting.outcomes import Finished, Lost, Outcome, Paused, Retriable
from infrastructure.hosting.seeds import carried, resumed, seed_of, short_of
from infrastructure.hosting.turn_run import Hosted, Parking, Surroundings, TurnRun
from infrastructure.pool.pool import Pool
from infrastructure.pool.seats import (
    Pin,
    PoolClosed,
    PoolFull,
    Seat,
    SeatBusy,
    SeatKey,
    Warmth,
)
from infrastructure.reading.files import with_files_of
from infrastructure.reading.sessions import session_head
from infrastructure.runner import Attempt

BROKEN: Final = "broken"
PATIENCE_S: Final = 20.0
"""So long a turn that begins waits for the log."""
AGAIN_S: Final = 0.25
SHUTDOWN: Final = "shutdown"
RETRIED: Final = "continuation-failed"
_LOGGER: Final = logging.getLogger("turnlog")
Told = Mapping[str, JsonValue]
Answered = TypeVar("Answered")


class Launching:
    """The harnesses of this server, and the turns that they run."""

    def __init__(
        self,
        log: Turnlog,
        harnesses: Harnesses,
        configurations: Configurations,
        fan_out: Callable[[Target, str, Told], None],
        owner: str,
    ) -> None:
        """Take what starts harnesses, who is told of each piece that they say, and our name."""
        self._log: Final = log
        self._harnesses: Final = harnesses
        self._configurations: Final = configurations
        self._limits: Final = log.settings.pool
        self._fan_out: Final = fan_out
        self._live: Final[dict[SeatKey, Live]] = {}
        self._facets: Final[dict[str, Mapping[str, str]]] = {}
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._watches: Final[set[asyncio.Task[None]]] = set()
        self.closing = False
        self.counting: Final = log.counting
        self.owner: Final = owner
        self.promote: Callable[[Target], Awaitable[None]] = _nothing_waits
        self.pool: Final = Pool(
            self._limits,
            now=log.now,
            timers=asyncio.get_running_loop(),
            mint=self.mint,
            on_gone=self._gone,
        )

    def mint(self) -> str:
        """Return an id that was never used."""
        return uuid4().hex

    def live(self, key: SeatKey) -> Live | None:
        """Return the turn that runs here for a session; one that is paused does not."""
        return self._live.get(key)

    @property
    def lease_s(self) -> int:
        """Return how long the lease of a turn lasts that runs here."""
        return self._log.settings.harness_lease_s

    def busy(self) -> int:
        """Return how many turns run here."""
        return len(self._live)

    def running(self) -> Sequence[Live]:
        """Return the turns that run here; of those that pause, none."""
        return tuple(self._live.values())

    def facets_of(self, seat_id: str) -> Mapping[str, str]:
        """Return the facets of the configuration that a seat's harness applied."""
        return self._facets.get(seat_id, {})

    def park_again(self, parked: Seat, seat: Seat) -> None:
        """Give back a seat that was looked at and not used."""
        if isinstance(parked.run, Live) and parked.run.is_over:
            self._spawn(self._dropped(parked.run, seat))
        elif not self.pool.put_back(seat, parked):
            self._spawn(self.pool.release(seat, "process-died"))

    def warm(
        self, target: Target, done: Dispatched, seat: Seat, parked: Seat, caller: Caller
    ) -> Live:
        """Have a parked harness take the turn that was begun."""
        live = self._entered(target, done, seat, caller)
        warmth = parked.warmth
        live.config_fingerprint = warmth.config_fingerprint if warmth else None
        live.prior_was_sent = bool(done.ask.shape.prior)
        harness = seat.harness
        assert harness is not None  # noqa: S101 - what is parked has one
        self._spawn(self._guarded(live, self._run(live, done, harness, may_retry=True)))
        return live

    def cold(self, target: Target, done: Dispatched, seat: Seat, caller: Caller) -> Live:
        """Have a harness started for the turn that was begun."""
        live = self._entered(target, done, seat, caller)
        wanted = done.found.wanted
        live.path = "cold" if done.evicted is None else "evicted"
        live.reason = done.evicted or "no-seat"
        live.config_fingerprint = wanted.fingerprint
        live.prior_was_sent = bool(done.ask.shape.prior)
        self._facets[seat.seat_id] = wanted.facets
        self._spawn(self._guarded(live, self._start(live, done)))
        return live

    def go_on(
        self, live: Live, answers: Sequence[tuple[str, Answer]], *, consumed: bool = False
    ) -> None:
        """Have a paused turn go on with what its gates were answered."""
        self._live[SeatKey(*_names(live.target))] = live
        live.go_on()
        self._spawn(self._guarded(live, self._going_on(live, answers, consumed=consumed)))

    async def stop(self, live: Live, reason: str, by: str | None) -> None:
        """Stop a turn that runs here, and wait for its end."""
        live.cancelled = (reason, by)
        if live.run is not None:
            await live.run.cancel(reason, by)
        elif live.starting is not None:
            live.starting.cancel()
        await live.wait()

    async def renew(self) -> None:
        """Renew the leases of the turns that run here, however long their harnesses are silent.

        One whose lease is another's by now is stopped: whatever it does is nobody's.
        """
        lives = self.running()

        def write(attempt: Attempt) -> list[Live]:
            return [live for live in lives if not self._is_renewed(attempt, live)]

        for live in await self._log.write(write):
            self._spawn(self.stop(live, LOST, None))

    def _is_renewed(self, attempt: Attempt, live: Live) -> bool:
        """Tell whether a turn is still ours, and then for how long from now on."""
        target, fence = live.target, live.journal.fence
        run = runs.find_named(attempt.connection, target.project_id, target.session_id)
        if run is None or run.fence != fence or not run.is_of(live.turn_id):
            return False
        if run.lease_until:
            runs.renew_unasked(attempt.connection, run.session_key, fence, self._log.now())
        return True

    async def drain(self) -> None:
        """Begin no turn any more, and let those that run end; interrupt those that take longer."""
        self.closing = True
        settled = [live.settled for live in self.running()]
        if settled:
            await asyncio.wait(settled, timeout=self._limits.shutdown_s)
        stops = [asyncio.ensure_future(self.stop(live, SHUTDOWN, None)) for live in self.running()]
        if stops:
            await asyncio.wait(stops)

    async def close(self) -> None:
        """Let all harnesses go; what runs is interrupted."""
        self.closing = True
        for live in self.running():
            self._spawn(self.stop(live, SHUTDOWN, None))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._limits.shutdown_s)
        await self.pool.close()
        await self._harnesses.close()
        for task in (*self._tasks, *self._watches):
            task.cancel()

    def _entered(self, target: Target, done: Dispatched, seat: Seat, caller: Caller) -> Live:
        assert done.turn_id is not None  # noqa: S101 - it was given the lease
        assert done.fence is not None  # noqa: S101
        journal = LogJournal(self._log, target, done.turn_id, done.fence, caller)
        came = done.ask.came_ms
        live = Live(
            target=target,
            turn_id=done.turn_id,
            journal=journal,
            seat=seat,
            begun=done,
            came_ms=came,
            dispatch_ms=0 if came is None else round(_ms() - came),
        )
        self._live[SeatKey(*_names(target))] = live
        return live

    async def _guarded(self, live: Live, work: Coroutine[object, object, None]) -> None:
        """Do what a turn needs; whatever it breaks by, nobody waits for it for ever."""
        try:
            await work
        except (Exception, asyncio.CancelledError) as error:
            _LOGGER.error("a hosted turn was given up: %s", type(error).__qualname__)  # noqa: TRY400
            if self._live.get(SeatKey(*_names(live.target))) is live:
                await self._left(live, Lost(reason=BROKEN))
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _start(self, live: Live, done: Dispatched) -> None:
        """Start a harness that knows the history, and run the turn on it."""
        began = _ms()
        live.starting = asyncio.current_task()
        try:
            _check_wanted(live)
            fresh = done.turn_id if isinstance(done.decision, Begin) else None
            seed, config = await self._patiently(
                lambda connection: (
                    seed_of(connection, live.target, fresh),
                    self._configuration(connection, live.target),
                )
            )
            replay = _ms() - began
            live.config_fingerprint = config.wanted.fingerprint
            self._facets[live.seat.seat_id] = config.facets
            harness = await self._harnesses.start(
                Start(
                    project_id=live.target.project_id,
                    session_id=live.target.session_id,
                    harness=config.harness,
                    config=config.config,
                    workspace=config.workspace,
                    seed=seed if seed.messages else None,
                )
            )
        except HarnessFailed as failed:
            await self._failed(live, failed.code, failed.detail)
            return
        except asyncio.CancelledError:
            reason, by = live.cancelled or (SHUTDOWN, None)
            await self._ended(
                live, e.TurnInterrupted(turn_id=live.turn_id, reason=reason, by=by), "interrupted"
            )
            return
        except (Refusal, *UNREACHABLE) as error:
            _LOGGER.warning("a turn was given up: %s", type(error).__qualname__)
            await self._left(live, Lost(reason=type(error).__name__))
            return
        finally:
            live.starting = None
        if not self.pool.seat_harness(live.seat, harness):
            await self._failed(live, "shutdown", "the server is stopping")
            return
        timings = {"harness_start": round(_ms() - began - replay), "replay": round(replay)}
        await self._run(live, done, harness, timings=timings)

    async def _run(
        self,
        live: Live,
        done: Dispatched,
        harness: Harness,
        *,
        timings: Mapping[str, int] | None = None,
        may_retry: bool = False,
    ) -> None:
        decided = []
        continues = not isinstance(done.decision, Begin)
        if continues and done.found.key is not None:
            key, turn_ids = done.found.key, _turn_ids(done)
            decided = await self._patiently(lambda connection: carried(connection, key, turn_ids))
        parts = [] if continues else await self._input(live.target, done)
        live.run = TurnRun(
            Hosted(
                turn_id=live.turn_id,
                seat_id=live.seat.seat_id,
                owner=self.owner,
                parking=Parking(
                    config_fingerprint=live.config_fingerprint,
                    prior_was_sent=live.prior_was_sent,
                    idle_ttl_s=self._limits.idle_ttl_s if self._limits.enabled else 0,
                    approval_ttl_s=self._limits.approval_ttl_s if self._limits.enabled else 0,
                ),
                decided=tuple(decided),
                timings={"dispatch": live.dispatch_ms, **(timings or {})},
                started_ms=live.came_ms,
                may_retry=may_retry,
            ),
            harness,
            live.journal,
            Surroundings(
                mint=self.mint,
                clock=_ms,
                fan_out=lambda delta: self._tell(live, delta),
            ),
        )
        if live.cancelled is not None:
            await self._left(live, await live.run.cancel(*live.cancelled))
            return
        prompt = Prompt(parts=parts, resumed_calls=resumed(decided))
        await self._left(live, await live.run.begin(prompt))

    async def _input(self, target: Target, done: Dispatched) -> list[dict[str, JsonValue]]:
        """Return what is said to the harness: the newest message, its files in it."""
        start = None if done.ask.start is None else done.ask.start.event
        if not isinstance(start, e.TurnStarted) or not start.messages:
            return []
        parts = readable(parts_of(start.messages[-1]))
        if not any(part.get("type") == "attachment" for part in parts):
            return parts
        return await self._patiently(
            lambda connection: with_files_of(connection, target.project_id, parts)
        )

    async def _going_on(
        self, live: Live, answers: Sequence[tuple[str, Answer]], *, consumed: bool
    ) -> None:
        assert live.run is not None  # noqa: S101 - what is paused has a run
        told = [
            await live.run.answer(gate_id, answer, consumed=consumed) for gate_id, answer in answers
        ]
        if not any(told):
            await self._let_wait(live)
        await self._left(live, await live.run.going_on())

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

    async def _dropped(self, live: Live, seat: Seat) -> None:
        """See to a harness that ended its prompt while it was waited for an answer."""
        assert live.run is not None  # noqa: S101 - what is paused has a run
        live.seat = seat
        await self._left(live, await live.run.going_on())

    async def _watched(self, live: Live, seat: Seat) -> None:
        """Wait for the end of a run that pauses; if nobody goes on with it, see to its seat."""
        assert live.run is not None  # noqa: S101 - what is paused has a run
        await live.run.ended()
        parked = self.pool.find(seat.key)
        if parked is None or parked.run is not live or not live.is_over:
            return
        taken = self.pool.checkout(parked.seat_id, seat.key)
        if taken is not None:
            await self._dropped(live, taken)

    async def _patiently(self, look: Callable[[Connection], Answered]) -> Answered:
        """Return what is read once the log can be, within reason."""
        deadline = _ms() + PATIENCE_S * 1_000
        while True:
            try:
                return await self._log.read(look, long=True)
            except UNREACHABLE:
                if _ms() >= deadline:
                    raise
            await asyncio.sleep(AGAIN_S)

    async def _left(self, live: Live, outcome: Outcome) -> None:
        """Park the seat or let it go, then tell whoever waits; the next input comes after that."""
        key = SeatKey(*_names(live.target))
        match outcome:
            case Finished():
                self.counting.turn(live.path, live.reason, outcome.timings)
                if not self._parked(live, outcome, "idle"):
                    await self.pool.release(live.seat, "no-park", outcome.status)
                self._forget(key, live)
                live.settle(outcome)
                if outcome.head.queued and not self.closing:
                    await self._promoted(live.target)
            case Paused():
                if self._parked(live, outcome, "awaiting_approval"):
                    self._watch(live, live.seat)
                else:
                    await self.pool.release(live.seat, "no-park", "paused")
                self._forget(key, live)
                live.settle(outcome)
            case Retriable(code=code):
                await self._retry(live, code)
            case Lost(reason=reason):
                await self.pool.release(live.seat, "continuation-failed", reason)
                self._forget(key, live)
                live.settle(outcome)

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
        return outcome.parked and self.pool.park(
            live.seat,
            "idle" if state == "idle" else "awaiting_approval",
            warmth,
            run=live if state == "awaiting_approval" else None,
        )

    async def _retry(self, live: Live, code: str) -> None:
        """Run once more, cold, what a parked harness failed at before anything came from it.

        Only on a history that the log can tell; else the turn fails as the harness did.
        """
        key, detail = SeatKey(*_names(live.target)), dumped({"failure": code})
        reasons = await self._log.read(
            lambda connection: short_of(self._log, connection, live.target)
        )
        if reasons or live.begun is None or not _may_be_cold(live.begun):
            await self._failed(live, code, "the harness failed before anything came from it")
            return
        try:
            seat = await self.pool.reserve(
                key, replacing=live.seat, reason=RETRIED, detail=detail.decode()
            )
        except (PoolFull, SeatBusy, PoolClosed):
            await self._failed(live, code, "the harness failed, and no other could be started")
            return
        live.seat, live.run = seat, None
        live.path, live.reason = "evicted", RETRIED
        self._facets[seat.seat_id] = live.begun.found.wanted.facets
        started = e.HarnessStarted(
            seat_id=seat.seat_id,
            owner=self.owner,
            path="evicted",
            turn_id=live.turn_id,
            reason=RETRIED,
            detail=RawJson(detail),
            history_from="log",
        )
        try:
            await live.journal.record([started])
        except (Refusal, *UNREACHABLE) as error:
            await self._left(live, Lost(reason=type(error).__name__))
            return
        await self._start(live, live.begun)

    async def _promoted(self, target: Target) -> None:
        try:
            await self.promote(target)
        except (Refusal, *UNREACHABLE) as error:  # it is looked for again soon
            _LOGGER.info("an input has to wait: %s", type(error).__qualname__)

    async def _failed(self, live: Live, code: str, detail: str) -> None:
        error = TurnError(code=code, message=detail)
        await self._ended(live, e.TurnFailed(turn_id=live.turn_id, error=error), "failed", error)

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
        except (Refusal, *UNREACHABLE) as why:
            await self._left(live, Lost(reason=type(why).__name__))
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
        await self._left(live, outcome)

    async def _gone(self, seat: Seat, reason: str, detail: str | None) -> None:
        """Record that a seat was let go."""
        self._facets.pop(seat.seat_id, None)
        self.counting.evicted(reason)
        target = Target(project_id=seat.key.project_id, session_id=seat.key.session_id)
        evicted = e.HarnessEvicted(
            seat_id=seat.seat_id,
            owner=self.owner,
            reason=reason,
            detail=None if detail is None else _json(detail),
        )

        def write(attempt: Attempt) -> None:
            self._log.handler.carry_out(
                attempt, target, [c.Note(event=evicted)], keys([evicted]), caller=Caller()
            )

        try:
            await self._log.write(write)
        except (Refusal, *UNREACHABLE) as error:
            _LOGGER.warning("an eviction is not on record: %s", type(error).__qualname__)

    def _forget(self, key: SeatKey, live: Live) -> None:
        if self._live.get(key) is live:
            del self._live[key]

    def _tell(self, live: Live, delta: Told) -> None:
        live.tell(delta)
        self._fan_out(live.target, live.turn_id, delta)

    def _configuration(self, connection: Connection, target: Target) -> Configuration:
        key, head, _ = session_head(connection, target)
        return self._configurations.of(connection, key, head)

    def _spawn(self, work: Coroutine[object, object, object]) -> None:
        async def done() -> None:
            await work

        task = asyncio.get_running_loop().create_task(done())
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _watch(self, live: Live, seat: Seat) -> None:
        """Watch a run that pauses; the end of the server does not wait for it."""
        task = asyncio.get_running_loop().create_task(self._watched(live, seat))
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOGGER.error("a hosted turn broke", exc_info=error)


def _may_be_cold(done: Dispatched) -> bool:
    """Tell whether the request would have had a harness started, were there none."""
    return isinstance(dispatch(replace(done.found.situation, seat=None)), Begin)


def _check_wanted(live: Live) -> None:
    if live.cancelled is not None:
        raise asyncio.CancelledError


async def _nothing_waits(_: Target) -> None:
    """Nothing waits."""


def _ms() -> float:
    return asyncio.get_running_loop().time() * 1_000


def _names(target: Target) -> tuple[str, str]:
    return target.project_id, target.session_id


def _turn_ids(done: Dispatched) -> list[str]:
    """Return the turn that goes on, and the lost one that it goes on with."""
    asked = [each.gate.turn_id for each in done.found.answered if each.gate is not None]
    return list(dict.fromkeys([*asked, *([] if done.turn_id is None else [done.turn_id])]))


def _json(detail: str) -> RawJson:
    """Return a detail as JSON: what is JSON already, else a text."""
    raw = detail.encode()
    return RawJson(raw if raw[:1] == b"{" else dumped({"detail": detail}))
