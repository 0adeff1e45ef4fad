"""The demo agent without a process, which a test can kill as a process is killed: from outside."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Event

from infrastructure.harness.in_process import InProcessHarness, InProcessHarnesses
from infrastructure.harness.port import Start

PATIENCE_S = 60.0


class MortalHarnesses(InProcessHarnesses):
    """Knows the newest harness of each session, and the loop that it lives in.

    Attributes:
        never: The sessions whose harnesses never finish to start.
        waiting: Those of which one waits: to start, or to end.
        given_up: Those of which one was given up.
        stubborn: Those whose harnesses start when they are released, however often they are told
            to stop.
        lingering: Those whose harnesses end when they are released, and who is told to end one
            waits for it.
        told: Where each conversation happens, as its harness was told, by session.
    """

    def __init__(self, before_start: Callable[[Start], None] | None = None) -> None:
        """Take what may raise what a start fails with."""
        super().__init__(before_start=before_start)
        self.never: set[str] = set()
        self.waiting: list[str] = []
        self.given_up: list[str] = []
        self.stubborn: set[str] = set()
        self.lingering: set[str] = set()
        self.told: list[tuple[str, str | None]] = []
        self._held: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Event]] = {}
        self._newest: dict[str, tuple[asyncio.AbstractEventLoop, InProcessHarness]] = {}

    async def start(self, start: Start) -> InProcessHarness:
        """Return a conversation that knows the seed."""
        self.told.append((start.session_id, start.context))
        if start.session_id in self.never:
            self.waiting.append(start.session_id)
            try:
                await asyncio.Event().wait()
            finally:
                self.given_up.append(start.session_id)
        if start.session_id in self.stubborn:
            await self._hold(start.session_id)
        if start.session_id in self.lingering:
            harness = self._lingering(start)
        else:
            harness = await super().start(start)
        self._newest[start.session_id] = asyncio.get_running_loop(), harness
        return harness

    def release(self, session_id: str) -> None:
        """Have a stubborn harness start, or a lingering one end."""
        loop, event = self._held[session_id]
        loop.call_soon_threadsafe(event.set)

    def _lingering(self, start: Start) -> InProcessHarness:
        event = asyncio.Event()
        self._held[start.session_id] = asyncio.get_running_loop(), event

        async def may_end() -> None:
            self.waiting.append(start.session_id)
            await event.wait()

        harness = _Lingering(self, start, may_end)
        self.running.append(harness)
        return harness

    async def _hold(self, session_id: str) -> None:
        event = asyncio.Event()
        self._held[session_id] = asyncio.get_running_loop(), event
        self.waiting.append(session_id)
        while not event.is_set():
            with suppress(asyncio.CancelledError):
                await event.wait()

    def lives(self, session_id: str) -> bool:
        """Tell whether a session's newest harness lives."""
        return self._newest[session_id][1].alive

    def kill(self, session_id: str) -> None:
        """Have a session's harness be gone at once."""
        loop, harness = self._newest[session_id]
        gone = Event()
        loop.call_soon_threadsafe(harness.kill)
        loop.call_soon_threadsafe(gone.set)
        assert gone.wait(PATIENCE_S)


class _Lingering(InProcessHarness):
    """Ends when it may."""

    def __init__(
        self, harnesses: InProcessHarnesses, start: Start, may_end: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(harnesses, start)
        self._may_end = may_end

    async def close(self) -> None:
        await self._may_end()
        await super().close()
