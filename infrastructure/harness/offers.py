"""What waits to be said to an agent between two steps of a prompt that runs?

Each offer is taken where the agent stands between its steps, or withdrawn when there is no such
place any more; whoever made it is told which.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from domain.messages import Part
from infrastructure.harness.port import Give


class Offers:
    """The offers to one agent, oldest first."""

    def __init__(self) -> None:
        """Begin with none."""
        self._waiting: Final[deque[tuple[Give, asyncio.Future[bool]]]] = deque()

    def add(self, give: Give) -> "asyncio.Future[bool]":
        """Offer what `give` gives; return what will tell whether it was called."""
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((give, taken))
        return taken

    async def take(self) -> Sequence[Part] | None:
        """Return what is said first of all that is offered; None if nothing is any more."""
        while self._waiting:
            give, taken = self._waiting.popleft()
            if taken.done():
                continue
            try:
                said = await give()
            finally:
                _tell(taken, called=True)
            if said is not None:
                return said
        return None

    def withdraw(self) -> None:
        """Offer nothing any more."""
        while self._waiting:
            _, taken = self._waiting.popleft()
            _tell(taken, called=False)


def _tell(taken: "asyncio.Future[bool]", *, called: bool) -> None:
    if not taken.done():
        taken.set_result(called)
