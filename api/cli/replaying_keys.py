"""Which key was pressed?

The terminal gives each key as it is pressed while a keyboard is open, and is as it was afterwards.
"""

import os
import sys
import termios
import tty
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from select import select
from typing import Final

ESCAPE_S: Final = 0.05
"""So soon after the escape sign come the others of a key that sends several."""
CLOSED: Final = "closed"
_NAMES: Final = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\x1b[7~": "home",
    "\x1b[8~": "end",
    "\x1b[5~": "page-up",
    "\x1b[6~": "page-down",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x04": CLOSED,
}
_INTRODUCERS: Final = ("\x1b[", "\x1bO")


class Keyboard:
    """The keys of a terminal, in the order in which they were pressed."""

    def __init__(self, file: int) -> None:
        self._file: Final = file
        self._decoder: Final = getincrementaldecoder("utf-8")("replace")
        self._signs: Final[deque[str]] = deque()
        self._closed = False

    def key(self) -> str:
        """Return the next key: a sign, or a name of more letters; waits for it.

        Names are those of the arrows, `home`, `end`, `page-up`, `page-down`, `enter`, `backspace`,
        `escape`, and `closed` once there is nobody any more. A key of another name is empty.
        """
        while not self._signs:
            if not self._read():
                return CLOSED
        sign = self._signs.popleft()
        if sign != "\x1b":
            return _NAMES.get(sign, sign if sign.isprintable() else "")
        return self._sequence()

    def more(self) -> bool:
        """Tell whether the next key has been pressed already."""
        return bool(self._signs) or bool(select([self._file], [], [], 0)[0])

    def hold(self) -> None:
        """Have the terminal give single keys again, after another program had it."""
        tty.setcbreak(self._file)

    def _sequence(self) -> str:
        """Return the key that sends what follows an escape sign."""
        if not self._signs and not self._more():
            return "escape"
        found = "\x1b" + self._signs.popleft()
        if found not in _INTRODUCERS:
            return ""
        while self._signs or self._more():
            sign = self._signs.popleft()
            found += sign
            if sign.isalpha() or sign == "~":
                break
        return _NAMES.get(found.replace("\x1bO", "\x1b["), "")

    def _more(self) -> bool:
        ready, _, _ = select([self._file], [], [], ESCAPE_S)
        return bool(ready) and self._read() and bool(self._signs)

    def _read(self) -> bool:
        try:
            read = os.read(self._file, 1024)
        except OSError:
            read = b""  # the terminal is gone
        self._signs.extend(self._decoder.decode(read))
        return bool(read)


@contextmanager
def keyboard() -> Generator[Keyboard]:
    """Give the keys of standard input, a terminal."""
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    try:
        tty.setcbreak(file)
        yield Keyboard(file)
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)
