"""A terminal of a person's own, in which a command runs and keys are pressed."""

import fcntl
import os
import pty
import re
import signal
import struct
import termios
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from select import select
from time import monotonic

from tests.api.cli.command import PATIENCE_S, Turnlog, loaded
from tests.api.cli.prepared import Started

LOOK_S = 0.05
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r"\x1b\[H(.*?)\x1b\[K\x1b\[J", re.DOTALL)
_RAW = re.compile(r"\x1b\[\?1049h(.*)\x1b\[\?1049l", re.DOTALL)


@dataclass(slots=True)
class Terminal:
    """What a command wrote to a terminal, and a way to press keys there."""

    file: int
    process: Started
    written: bytearray = field(default_factory=bytearray)
    looked_at: int = 0

    def press(self, keys: str) -> None:
        """Press keys, one right after the other."""
        os.write(self.file, keys.encode())

    def sees(self, text: str) -> list[str]:
        """Wait for a screen drawn since the last one looked at that has a text; return its lines.

        The lines are without style; nothing else that steers a terminal may be in them.
        """
        while True:
            new = self.written[self.looked_at :].decode("utf-8", "ignore")
            for found in _FRAME.finditer(new):
                lines = [_STYLE.sub("", line) for line in found[1].split("\x1b[K\r\r\n")]
                if any(text in line for line in lines):
                    self.looked_at += len(new[: found.end()].encode())
                    return lines
            assert self._read(), f"it ended and never showed {text}: {new}"

    def asks(self, text: str) -> None:
        """Wait for a text, wherever it is written."""
        while text not in self.written[self.looked_at :].decode("utf-8", "ignore"):
            assert self._read(), f"it ended and never asked {text}: {self.written.decode()}"

    def resize(self, columns: int, lines: int) -> None:
        """Make the window larger or smaller."""
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, size)
        self.process.send_signal(signal.SIGWINCH)

    def ends(self) -> str:
        """Wait for the end; return what is on the terminal then, the screen left."""
        while self._read():
            pass
        assert self.process.wait(PATIENCE_S) is not None
        return _RAW.sub("", self.written.decode())

    def _read(self) -> bool:
        """Wait for more; tell whether there was any before the command ended."""
        deadline = monotonic() + PATIENCE_S
        while monotonic() < deadline:
            over = self.process.poll() is not None
            ready, _, _ = select([self.file], [], [], LOOK_S)
            if ready:
                self.written += os.read(self.file, 65_536)
                return True
            if over:
                return False
        raise AssertionError(f"nothing more came: {self.written.decode()[-2_000:]}")


@contextmanager
def in_terminal(
    turnlog: Turnlog, *arguments: str, columns: int = 80, lines: int = 24, term: str = "xterm"
) -> Generator[Terminal]:
    """Run a command in a terminal."""
    environment = {n: value for n, value in turnlog.environment.items() if n != "COLUMNS"}
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    before = termios.tcgetattr(slave)
    process = loaded().start_on(
        slave, turnlog.said(*arguments), environment | {"TERM": term}, turnlog.home
    )
    try:
        yield Terminal(master, process)
        assert termios.tcgetattr(slave)[3] == before[3], "the terminal is not as it was"
    finally:
        process.end()
        os.close(slave)
        os.close(master)
