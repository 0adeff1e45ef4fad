"""Is what killed servers left behind on this machine taken up, so that turns can begin here?

Their processes are ended and their turns are interrupted, beside whatever is read meanwhile; who
wants a turn waits for that.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from infrastructure.commit import Contended
from infrastructure.composition import Turnlog
from infrastructure.connecting import UnfitDatabase
from infrastructure.recovering import recover_from

AWAY: Final = (SQLAlchemyError, UnfitDatabase, Contended)
_AGAIN_S: Final = 0.5
_LOOK_S: Final = 0.2
_LOGGER: Final = logging.getLogger("turnlog")


async def nothing() -> None:
    """End nothing: nothing was left running."""


class Recovery:
    """The taking up of what servers left that are known to be gone, once."""

    def __init__(
        self,
        log: Turnlog,
        lost: Sequence[str] = (),
        reap: Callable[[], Awaitable[object]] = nothing,
    ) -> None:
        """Take the names of those servers, and what ends the processes that they left."""
        self._log: Final = log
        self._lost: Final = list(lost)
        self._reap: Final = reap
        self._done: Final = asyncio.Event()
        if not lost and reap is nothing:
            self._done.set()

    @property
    def runs(self) -> bool:
        """Tell whether something is still to be taken up."""
        return not self._done.is_set()

    async def run(self) -> None:
        """End what was left running, then interrupt the turns, as often as it takes."""
        try:
            await self._reap()
        except OSError as error:
            _LOGGER.warning("processes may be left: %s", type(error).__qualname__)
        while self._lost:
            for owner in tuple(self._lost):
                if await self._is_recovered(owner):
                    self._lost.remove(owner)
            if self._lost:
                await asyncio.sleep(_AGAIN_S)
        self._done.set()

    async def over(self, within_s: float) -> bool:
        """Wait until all is taken up; False if that takes longer, or the server stops meanwhile."""
        deadline = monotonic() + within_s
        while self.runs:
            left = deadline - monotonic()
            if left <= 0 or self._log.stopping.is_set():
                return False
            try:
                await asyncio.wait_for(self._done.wait(), min(left, _LOOK_S))
            except TimeoutError:
                continue
        return True

    async def _is_recovered(self, owner: str) -> bool:
        try:
            return await recover_from(self._log, owner)
        except AWAY as error:
            _LOGGER.info("recovery has to wait: %s", type(error).__qualname__)
            return False
        except Exception as error:  # noqa: BLE001 - then its turns end with their leases
            _LOGGER.error("recovery broke off: %s", type(error).__qualname__)  # noqa: TRY400
            return True
