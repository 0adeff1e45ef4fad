"""Which whole lines has a process written, without ever holding more than is allowed?

Bytes come in as they are read; whoever takes lines out slowly has the pipe paused. A line that is
longer than allowed ends everything: there is no way to know where it would stop.
"""

import asyncio
from collections import deque
from typing import Final, Protocol

LONGEST: Final = 64 * 1024 * 1024
_AHEAD: Final = 1024 * 1024


class Pipe(Protocol):
    """What a reader can do about a pipe that delivers too fast."""

    def pause_reading(self) -> None:
        """Take nothing more for now."""
        ...

    def resume_reading(self) -> None:
        """Go on."""
        ...


class Lines:
    """The lines of one pipe, taken by one reader.

    Attributes:
        too_long: Whether a line was longer than allowed, which is why there are no more.
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self.too_long = False
        self.over = asyncio.Event()
        self._longest = longest
        self._pipe: Pipe | None = None
        self._paused = False
        self._lines: deque[bytes] = deque()
        self._held = 0
        self._begun: list[bytes] = []
        self._begun_size = 0
        self._news = asyncio.Event()

    @property
    def paused(self) -> bool:
        """Tell whether more may wait in the pipe, because nobody takes lines out."""
        return self._paused

    def read_from(self, pipe: Pipe) -> None:
        """Pause this pipe when lines are not taken out."""
        self._pipe = pipe

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        if self.over.is_set():
            return
        first, *others = data.split(b"\n")
        self._begun.append(first)
        self._begun_size += len(first)
        for part in others:
            self._finish()
            self._begun = [part]
            self._begun_size = len(part)
        if self._begun_size > self._longest:
            self._give_up()
        self._hold_back()

    def end(self) -> None:
        """There is no more to come."""
        if self.over.is_set():
            return
        if self._begun_size:
            self._finish()
        self.over.set()
        self._news.set()

    async def next(self) -> bytes | None:
        """Return the next line, without its end; None if there are no more."""
        while not self._lines:
            if self.over.is_set():
                return None
            self._news.clear()
            await self._news.wait()
        line = self._lines.popleft()
        self._held -= len(line)
        if self._paused and self._held <= _AHEAD and self._pipe is not None:
            self._paused = False
            self._pipe.resume_reading()
        return line

    def _finish(self) -> None:
        if self._begun_size > self._longest:
            self._give_up()
            return
        line = b"".join(self._begun)
        self._begun = []
        self._begun_size = 0
        if line and not self.too_long:
            self._lines.append(line)
            self._held += len(line)
            self._news.set()

    def _give_up(self) -> None:
        self.too_long = True
        self._begun = []
        self._begun_size = 0
        self.over.set()
        self._news.set()

    def _hold_back(self) -> None:
        if self._held > _AHEAD and not self._paused and self._pipe is not None:
            self._paused = True
            self._pipe.pause_reading()
