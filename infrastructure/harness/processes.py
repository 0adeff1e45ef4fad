"""How is a harness's process started, written to, listened to, and ended with all its children?

It leads a session of its own. It ends by losing its standard input first, then by TERM, then by
KILL to everything in that session, also if it had ended by itself and left children behind.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, cast

from infrastructure.harness.lines import LONGEST, Lines, Pipe
from infrastructure.harness.process_table import running

PATIENCE_S: Final = 2.0
_LAST_WORDS_S: Final = 0.3
_POLL_S: Final = 0.02
_TAIL: Final = 16 * 1024


class Process:
    """One process and whatever it starts.

    Attributes:
        lines: What it writes to its standard output.
    """

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: "_Pipes") -> None:
        self._transport = transport
        self._pipes = pipes
        self._ending: asyncio.Task[None] | None = None
        self._watching = asyncio.create_task(self._watch())
        self.pid = transport.get_pid()
        self.lines = pipes.lines

    @property
    def alive(self) -> bool:
        """Tell whether it runs, listens and speaks."""
        return not (
            self._pipes.exited.is_set()
            or self._pipes.input_lost
            or self.lines.over.is_set()
            or self._ending is not None
        )

    def last_errors(self) -> bytes:
        """Return the end of what it wrote to its standard error; never for a log."""
        return bytes(self._pipes.errors)

    async def write(self, data: bytes) -> None:
        """Write to its standard input, and wait while it does not read.

        Raises:
            ConnectionError: it does not listen any more.
        """
        pipe = self._transport.get_pipe_transport(0)
        if self._pipes.input_lost or self._ending is not None or pipe is None:
            raise ConnectionError("the process does not listen any more")
        cast("asyncio.WriteTransport", pipe).write(data)
        await self._pipes.writable.wait()
        if self._pipes.input_lost:
            raise ConnectionError("the process does not listen any more")

    async def end(self) -> None:
        """End it and its children, however it stands; returns when they are gone."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        await asyncio.shield(self._ending)

    async def _watch(self) -> None:
        """See to the children of a process that ends by itself."""
        await self._pipes.exited.wait()
        while not self.lines.over.is_set():
            # A child may hold the pipe open for ever; what was written before is let through.
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_S):
                    await self.lines.over.wait()
            if not self.lines.paused:
                self.lines.end()
        await self.end()

    async def _end(self) -> None:
        pipe = self._transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()
        if not await self._gone():
            self._signal(signal.SIGTERM)
            if not await self._gone():
                self._signal(signal.SIGKILL)
                await self._gone()
        self.lines.end()
        self._transport.close()

    async def _gone(self) -> bool:
        """Wait until nothing of it is left; False if that takes too long."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._pipes.exited.wait()
                while _groups(self.pid):  # noqa: ASYNC110 - nobody tells of a grandchild's end
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        for group in {self.pid, *_groups(self.pid)}:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)


async def spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: str,
    *,
    longest_line: int = LONGEST,
) -> Process:
    """Start a process that works in `folder`, with exactly this environment and `PWD`.

    Raises:
        OSError: it cannot be started.
    """
    loop = asyncio.get_running_loop()
    transport, pipes = await loop.subprocess_exec(
        lambda: _Pipes(Lines(longest_line)),
        *command,
        env={**environment, "PWD": folder},
        cwd=folder,
        start_new_session=True,
    )
    out = transport.get_pipe_transport(1)
    pipes.lines.read_from(cast("Pipe", out))
    return Process(transport, pipes)


def _groups(session: int) -> frozenset[int]:
    """Return the process groups of a session in which something still runs."""
    found = frozenset(each.group for each in running() if each.session == session)
    if found or next(running(), None) is not None:
        return found
    try:  # no process can be seen here: all that is known is whether the first group is there
        os.killpg(session, 0)
    except (ProcessLookupError, PermissionError):
        return frozenset()
    return frozenset({session})


class _Pipes(asyncio.SubprocessProtocol):
    """What the event loop tells of a process.

    `exited` is told as soon as the process itself is gone, whoever may hold its pipes open.
    """

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.errors = bytearray()
        self.exited = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()
        self.input_lost = False

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.lines.feed(data)
        else:
            self.errors += data
            del self.errors[:-_TAIL]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc  # a pipe that breaks is a pipe that is closed
        if fd == 0:
            self.input_lost = True
            self.writable.set()
        elif fd == 1:
            self.lines.end()

    def process_exited(self) -> None:
        self.exited.set()

    def pause_writing(self) -> None:
        if not self.input_lost:
            self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()
