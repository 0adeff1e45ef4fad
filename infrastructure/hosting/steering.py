"""Which inputs is a harness told in the midst of its turn, and how often is each offered to it?

An input is offered once to each run: where the harness stands between two of its steps, the one
that waits first in the log is told. What is never taken so waits on, for a turn of its own.
"""

import asyncio
from typing import Final

from infrastructure.harness.port import Give, Harness


class Steering:
    """The offers of one run to its harness."""

    def __init__(self, harness: Harness, give: Give) -> None:
        """Take what gives the input that waits first."""
        self._harness: Final = harness
        self._give: Final = give
        self._offered: Final[set[str]] = set()
        self._tasks: Final[set[asyncio.Task[bool]]] = set()
        self._prompted = False

    def offer(self, queue_id: str) -> None:
        """Offer an input, at once or when the harness was prompted; the first time counts."""
        if queue_id not in self._offered:
            self._offered.add(queue_id)
            if self._prompted:
                self._steer()

    def begin(self) -> None:
        """Offer what was to be offered: the harness is prompted now."""
        self._prompted = True
        for _ in self._offered:
            self._steer()

    def forget(self) -> None:
        """Take none for offered: whoever looks for them may offer them again."""
        self._offered.clear()

    def _steer(self) -> None:
        task = asyncio.create_task(self._harness.steer(self._give))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[bool]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # the harness's prompt says why
