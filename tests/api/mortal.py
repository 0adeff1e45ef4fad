"""The demo agent without a process, which a test can kill as a process is killed: from outside."""

import asyncio
from collections.abc import Callable
from threading import Event

from infrastructure.harness.in_process import InProcessHarness, InProcessHarnesses
from infrastructure.harness.port import Start

PATIENCE_S = 10.0


class MortalHarnesses(InProcessHarnesses):
    """Knows the newest harness of each session, and the loop that it lives in.

    Attributes:
        never: The sessions whose harnesses never finish to start.
        waiting: Those of which one is being started for ever.
        given_up: Those of which one was given up.
    """

    def __init__(self, before_start: Callable[[Start], None] | None = None) -> None:
        """Take what may raise what a start fails with."""
        super().__init__(before_start=before_start)
        self.never: set[str] = set()
        self.waiting: list[str] = []
        self.given_up: list[str] = []
        self._newest: dict[str, tuple[asyncio.AbstractEventLoop, InProcessHarness]] = {}

    async def start(self, start: Start) -> InProcessHarness:
        """Return a conversation that knows the seed."""
        if start.session_id in self.never:
            self.waiting.append(start.session_id)
            try:
                await asyncio.Event().wait()
            finally:
                self.given_up.append(start.session_id)
        harness = await super().start(start)
        self._newest[start.session_id] = asyncio.get_running_loop(), harness
        return harness

    def kill(self, session_id: str) -> None:
        """Have a session's harness be gone at once."""
        loop, harness = self._newest[session_id]
        gone = Event()
        loop.call_soon_threadsafe(harness.kill)
        loop.call_soon_threadsafe(gone.set)
        assert gone.wait(PATIENCE_S)
