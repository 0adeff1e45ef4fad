"""How far has a long piece of work come? A bar on standard error, if a person sees it."""

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

Item = TypeVar("Item")


class Bar:
    """A bar that is told what is done."""

    def __init__(self, progress: Progress, task: TaskID, what: str) -> None:
        self._what: Final = what
        self._progress: Final = progress
        self._task: Final = task

    def advance(self) -> None:
        """One more is done."""
        self._progress.advance(self._task)

    def heard(self, lines: int, events: int) -> None:
        """Show how far the one that is being done has come."""
        said = f"{self._what}, {lines} lines, {events} events" if lines else self._what
        self._progress.update(self._task, description=said)

    def done(self, count: int) -> None:
        """So many are done."""
        self._progress.update(self._task, completed=count)


@contextmanager
def bar(what: str, total: int | None = None) -> Generator[Bar]:
    """Give a bar; nobody sees it unless standard error is a terminal."""
    seen = bool(sys.stderr and sys.stderr.isatty())
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not seen,
        transient=True,
    ) as progress:
        yield Bar(progress, progress.add_task(what, total=total), what)


def counted(items: Iterable[Item], what: str) -> Iterator[Item]:
    """Yield the items, and show how many there were."""
    with bar(what) as shown:
        for item in items:
            yield item
            shown.advance()
