"""How does a compaction that holds its lease come to a recorded summary?

A harness of its own is told what is to be summed up, and ends with it. The summary is recorded
under the lease, once, also where the first answer was lost.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from domain.refusals import CompactionInterrupted, InvalidValue
from infrastructure import compaction_runs
from infrastructure.command_handler import Target
from infrastructure.compaction_runs import MOVED
from infrastructure.composition import Turnlog
from infrastructure.harness.port import Harness, Harnesses, Start, Used
from infrastructure.hosting.compacting_summary import Stopped, summary_of
from infrastructure.hosting.compaction import Compaction, Summed, answered
from infrastructure.hosting.deltas import Delta
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.hosting.patience import AGAIN_S, PATIENCE_S
from infrastructure.hosting.timing import loop_ms
from infrastructure.idempotency import keep
from infrastructure.runner import Attempt

_LOGGER: Final = logging.getLogger("turnlog")


class Summing:
    """What makes and records summaries."""

    def __init__(
        self,
        log: Turnlog,
        harnesses: Harnesses,
        fan_out: Callable[[Target, str, Delta], None],
    ) -> None:
        """Take what starts harnesses, and who is told of each piece that they say."""
        self._log: Final = log
        self._harnesses: Final = harnesses
        self._fan_out: Final = fan_out

    async def summed(self, one: Compaction) -> Summed:
        """Return the summary once it is recorded.

        Raises:
            Stopped: it was stopped before.
            HarnessFailed: there is none.
            Refusal: the history moved, or the lease is another's.
        """
        harness = await self._started(one)
        try:
            text, used = await summary_of(
                harness, one.words, one.stop, lambda told: self.tell(one, told)
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
                    beside=True,
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
                keep(attempt.connection, one.once, answered(done, answer))
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

    def tell(self, one: Compaction, told: Delta) -> None:
        """Pass on what is to be seen of it; nobody who watches can end it."""
        try:
            self._fan_out(one.wanted.target, one.wanted.compaction_id, told)
        except Exception as error:  # noqa: BLE001 - who watches must not end what is watched
            _LOGGER.warning("a watcher of a compaction failed: %s", type(error).__name__)
