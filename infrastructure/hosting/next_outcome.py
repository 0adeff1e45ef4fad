"""What does whoever waits for a run wait for?"""

import asyncio
import logging
from typing import Final

from infrastructure.hosting.outcomes import Outcome

_log: Final = logging.getLogger(__name__)


class NextOutcome:
    """The next end or pause of a run; whoever waits may go away, and others may come."""

    def __init__(self) -> None:
        self._next: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    async def wait(self) -> Outcome:
        """Return it once it is there."""
        return await asyncio.shield(self._next)

    def settle(self, outcome: Outcome) -> None:
        """Tell it; a later one takes its place."""
        self.renew()
        self._next.set_result(outcome)

    def renew(self) -> None:
        """Have whoever waits from now on wait for another than was told."""
        if self._next.done():
            self._next = self._next.get_loop().create_future()

    def run_left(self, task: asyncio.Task[None]) -> None:
        """Let nobody wait for a run that broke off, nor what it broke off by be lost."""
        if task.cancelled():
            self.renew()
            self._next.cancel()
        elif (error := task.exception()) is not None:
            _log.error("a turn's run broke off: %s", type(error).__name__)
            self.renew()
            self._next.set_exception(error)
            self._next.exception()  # it was logged, should nobody wait
