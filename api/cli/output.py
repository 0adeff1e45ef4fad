"""Where does a command write? Answers to standard output, everything else to standard error."""

import os
import shutil
import sys
from collections.abc import Iterable
from io import StringIO
from typing import Final

from rich.console import Console, RenderableType

from api.cli.failures import ReaderGone
from api.cli.terminal_text import one_line

WIDTH_ELSEWHERE: Final = 120


def write(data: bytes) -> None:
    """Write bytes to standard output.

    Raises:
        ReaderGone: nobody reads it.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - closed by the caller
        raise ReaderGone
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError as error:
        raise ReaderGone from error


def write_lines(lines: Iterable[bytes]) -> None:
    """Write each on a line of its own, as it comes."""
    for line in lines:
        write(line + b"\n")


def say(text: str) -> None:
    """Write a line of our own words to standard output."""
    write(f"{text}\n".encode(_encoding(), "backslashreplace"))


def complain(text: str) -> None:
    """Write one line to standard error, whatever `text` holds."""
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - closed by the caller
        return
    try:
        sys.stderr.write(f"{one_line(text)}\n")
        sys.stderr.flush()
    except (OSError, UnicodeEncodeError):
        return


def show(*things: RenderableType, width: int | None = None) -> None:
    """Write things laid out for the terminal, with its colours if it has any."""
    write(b"\n".join([*rendered(*things, width=width), b""]))


def rendered(*things: RenderableType, width: int | None = None) -> list[bytes]:
    """Return things laid out for the terminal, line by line, none wider than it."""
    buffer = StringIO()
    console = Console(
        file=buffer,
        width=width or terminal_width(),
        force_terminal=is_terminal(),
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    for thing in things:
        console.print(thing)
    lines = buffer.getvalue().split("\n")[:-1]
    return [line.rstrip().encode(_encoding(), "backslashreplace") for line in lines]


def is_terminal() -> bool:
    """Tell whether a person reads standard output."""
    return bool(sys.stdout and sys.stdout.isatty())


def terminal_width() -> int:
    """Return how many columns there are: the terminal's, or enough for a file."""
    if is_terminal() or "COLUMNS" in os.environ:
        return max(40, shutil.get_terminal_size().columns)
    return WIDTH_ELSEWHERE


def abandon() -> None:
    """Have the interpreter not complain, at its end, about an output that nobody reads."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)


def _encoding() -> str:
    return (sys.stdout.encoding if sys.stdout else None) or "utf-8"
