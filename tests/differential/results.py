"""How are the journeys of a way walked once for all tests, also of several processes?

The first who needs a way walks it and writes down what is left; whoever comes meanwhile walks
another one, or waits.
"""

import fcntl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final

from tests.differential.journeys import Journey
from tests.differential.server import Starter
from tests.differential.walking import NewDatabase, Walked, walk
from tests.differential.ways import Way


def sqlite_in(folder: Path) -> str:
    """Return the URL of a new database in a folder."""
    return f"sqlite:///{folder / 'journeys.db'}"


class Results:
    """What is left of the journeys, by way."""

    def __init__(
        self,
        folder: Path,
        starter: Starter,
        journeys: Callable[[Way], Sequence[Journey]],
        ways: Sequence[Way],
        database: NewDatabase = sqlite_in,
    ) -> None:
        """Take which journeys are walked by which ways; `folder` is the processes' own."""
        folder.mkdir(exist_ok=True)
        self._folder: Final = folder
        self._starter: Final = starter
        self._journeys: Final = journeys
        self._ways: Final = ways
        self._database: Final = database
        self._known: Final[dict[str, dict[str, Walked]]] = {}

    def of(self, way: Way) -> dict[str, Walked]:
        """Return what is left of each journey by a way, by its name."""
        for each in (way, *self._ways):
            left = self._path(each)
            known = left.exists() or (each != way and left.with_suffix(".failed").exists())
            if not known and not self._path(way).exists():
                self._walk(each, wait=False)
        if not self._path(way).exists():
            self._walk(way, wait=True)
        if way.name not in self._known:
            lines = self._path(way).read_text().splitlines()
            names = [journey.name for journey in self._journeys(way)]
            read = map(Walked.read, lines)
            self._known[way.name] = dict(zip(names, read, strict=True))
        return self._known[way.name]

    def _walk(self, way: Way, *, wait: bool) -> None:
        failed = self._path(way).with_suffix(".failed")
        with self._path(way).with_suffix(".lock").open("w") as lock:
            if not _locked(lock, wait=wait) or self._path(way).exists():
                return
            assert not failed.exists(), failed.read_text()  # it would take as long to fail again
            try:
                written = self._walked(way)
            except BaseException as error:
                failed.write_text(f"{type(error).__name__}: {error}")
                raise
            beside = self._path(way).with_suffix(".new")
            beside.write_text(written)
            beside.replace(self._path(way))

    def _walked(self, way: Way) -> str:
        journeys = self._journeys(way)
        found = walk(journeys, way, self._starter, self._folder / _key(way), self._database)
        return "\n".join(found[journey.name].written() for journey in journeys)

    def _path(self, way: Way) -> Path:
        return self._folder / f"{_key(way)}.lines"


def _locked(lock: IO[str], *, wait: bool) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _key(way: Way) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in way.name)
