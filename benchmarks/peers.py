"""What do other stores of agents' sessions take for the same turn and the same history?

Everybody in each round, at each length of history: medians of the rounds, and of their ratios to
turnlog. `pip install -e '.[test,peers]'` brings the others; who is not installed is left out.
`python benchmarks/peers.py --help`.

All are durable alike: none sets `synchronous`, which is FULL unless SQLite was built otherwise (the
head of the table says), and turnlog sets FULL. What differs is how often each commits in a turn.
LangGraph's rows run its graph, whose nodes do nothing but answer. The histories of OpenAI's and
LangGraph's stores are filled in one call, which favours them. Reading makes Python objects of every
item, as the others do, but in the row that says that it does not.
"""

import argparse
import asyncio
import platform
import sqlite3
import sys
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from math import ceil
from pathlib import Path
from statistics import median
from time import perf_counter

from peer_stores import ITEMS_A_TURN, STORES, Store, is_installed

OURS = "turnlog"
PACKAGES = ("openai-agents", "aiosqlite", "google-adk", "langgraph", "langgraph-checkpoint-sqlite")
MILLISECONDS = 1_000
FEW = 100
"""A history of so few items would not stay one: each round has a new session."""


@dataclass(slots=True)
class Measured:
    """What one store took at one length, in seconds, a median for each round."""

    name: str
    store: Store
    path: Path
    turns: int = 0
    appends: list[float] = field(default_factory=list[float])
    reads: list[float] = field(default_factory=list[float])
    bytes_a_turn: list[float] = field(default_factory=list[float])

    async def fill(self, session: str, items: int) -> None:
        """Begin a session of so many items, in whole turns."""
        self.turns = ceil(items / ITEMS_A_TURN)
        await self.store.open(session, self.turns)

    async def round(self, times: int) -> None:
        """Read and append a few times."""
        self.reads.append(median([await self._read() for _ in range(times)]))
        before = size(self.path)
        self.appends.append(median([await self._append() for _ in range(times)]))
        self.bytes_a_turn.append((size(self.path) - before) / times)

    async def _read(self) -> float:
        began = perf_counter()
        found = await self.store.read()
        took = perf_counter() - began
        assert found == self.turns * ITEMS_A_TURN, (self.name, found, self.turns)
        return took

    async def _append(self) -> float:
        self.turns += 1
        began = perf_counter()
        await self.store.append(self.turns)
        return perf_counter() - began


def size(path: Path) -> int:
    """Return what a database takes on disk, with nothing left in a write-ahead log."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


async def measure(items: int, rounds: int, times: int) -> list[Measured]:
    """Measure every store that is installed at one length of history."""
    with tempfile.TemporaryDirectory() as folder:
        stores = [
            Measured(name=name, path=path, store=make(path))
            for number, (name, (make, needed)) in enumerate(STORES.items())
            if is_installed(needed)
            for path in [Path(folder) / f"{number}.db"]
        ]
        for number in range(rounds):
            for store in stores:
                if number == 0 or items < FEW:
                    await store.fill(f"session-{number}", items)
            for store in stores:
                await store.round(times)
        for store in stores:
            await store.store.close()
    return stores


def report(items: int, stores: Sequence[Measured]) -> None:
    """Print a table."""
    print(f"\n### {items:,} items\n")
    print("| store | append, ms | x turnlog | whole history, ms | x turnlog | B a turn on disk |")
    print("|---|---|---|---|---|---|")
    ours = next(store for store in stores if store.name == OURS)
    for store in stores:
        append, read = (
            f"{median(took) * MILLISECONDS:,.2f} | {ratio(took, base):,.2f}"
            for took, base in ((store.appends, ours.appends), (store.reads, ours.reads))
        )
        # The mean: a file grows by whole pages.
        grown = sum(store.bytes_a_turn) / len(store.bytes_a_turn)
        print(f"| {store.name} | {append} | {read} | {grown:,.0f} |", flush=True)


def ratio(took: Sequence[float], base: Sequence[float]) -> float:
    """Return the median of the rounds' ratios."""
    return median(one / other for one, other in zip(took, base, strict=True))


def installed(package: str) -> str:
    """Return a package and its version, for people."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package}: not installed"


def main() -> None:
    """Measure at each length, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[10, 1_000, 5_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=3, help="appends and reads in a round")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # what others warn of is theirs
    with closing(sqlite3.connect(":memory:")) as plain:
        synchronous = plain.execute("PRAGMA synchronous").fetchone()[0]
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, ", end="")
    print(f"synchronous={synchronous} unless set, " + ", ".join(map(installed, PACKAGES)))
    for items in options.items:
        report(items, asyncio.run(measure(items, options.rounds, options.times)))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
