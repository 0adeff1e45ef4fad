"""What came of a prompt that runs, what is still to be dealt with, and what does it wait for?"""

import asyncio
from collections import deque
from typing import Final, Literal, TypeAlias

from infrastructure.harness.acp.asking import Question
from infrastructure.harness.acp.patience import Patience
from infrastructure.harness.acp.wire import Message
from infrastructure.harness.offers import Offers
from infrastructure.harness.port import HarnessFailed, Listener

Over: TypeAlias = Literal["over"]
_BACKLOG: Final = 8 * 1024 * 1024
"""How many bytes may wait to be dealt with before the agent has to wait."""


class Running:
    """A prompt that runs: what came of it and was not dealt with, and what it asks."""

    def __init__(self, listener: Listener, patience: Patience) -> None:
        self.listener = listener
        self.patience = patience
        self.asked = dict[str, Question]()
        self.offers = Offers()
        self.cancelled = False
        self.stopped = False
        self.abandoned = False
        self._inbox: deque[tuple[Message | Over, int]] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._backlog = 0

    def put(self, message: Message | Over, size: int = 0) -> None:
        """Add what came."""
        self._inbox.append((message, size))
        self._backlog += size
        self._news.set()

    async def room(self) -> None:
        """Wait while too much was not dealt with."""
        while self._backlog > _BACKLOG and not self.stopped:
            self._room.clear()
            await self._room.wait()

    async def next(self) -> Message | Over:
        """Return what came next.

        Raises:
            HarnessFailed: nothing came for too long.
        """
        while not self._inbox and not self.abandoned:
            self._news.clear()
            limit = self.patience.limit()
            try:
                async with asyncio.timeout_at(None if limit is None else limit[0]):
                    await self._news.wait()
            except TimeoutError:
                code = "idle-timeout" if limit is None else limit[1]
                raise HarnessFailed(
                    code, "the agent took too long", received=self.patience.heard
                ) from None
        if self.abandoned:
            return "over"
        message, size = self._inbox.popleft()
        self._backlog -= size
        self._room.set()
        return message

    def wake(self) -> None:
        """Look at the clock again."""
        self._news.set()

    def take_asked(self) -> list[Question]:
        """Return what is asked, for which no answer is taken any more."""
        asked = list(self.asked.values())
        self.asked.clear()
        return asked

    def abandon(self) -> None:
        """Come to an end at once, whatever was not dealt with."""
        self.abandoned = True
        self._news.set()

    def stop(self) -> list[Message]:
        """Take nothing any more; return what was not dealt with."""
        self.stopped = True
        self._room.set()
        return [message for message, _ in self._inbox if message != "over"]
