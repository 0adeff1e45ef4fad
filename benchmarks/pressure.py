"""What does it take to see that memory is short, and to let harnesses go for it?

The decision alone, over so many seats; what is asked of the machine and of the log before it; and
whole passes on a server of this process, over sessions on SQLite that had a turn each and whose
harnesses, which are no processes, wait: each lets 16 go, and that is on record when it is over.
`python benchmarks/pressure.py --help`.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

import httpx

sys.path.insert(0, str(Path(__file__).parent.parent))

from api.app import create_app
from api.asks import queued_ask
from domain.pressure import MIB, Candidate, plan
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.harness.in_process import InProcessHarnesses
from infrastructure.harness.memory import MachineMemory
from infrastructure.hosting.opening import hosting
from infrastructure.pool.pressure import Pressure
from infrastructure.reading.seats import on_record
from infrastructure.settings import load

SIZES: Final = (100, 1_000)
BATCH: Final = 16
AT_ONCE: Final = 20


@dataclass(slots=True)
class Said:
    """A machine of which so much is used."""

    size: int = 0

    def budget(self) -> int | None:
        """Return what the setting says better."""
        return None

    def used(self) -> int | None:
        """Return what was said."""
        return self.size


def ms(took: Sequence[float]) -> str:
    """Return a median of seconds, as milliseconds."""
    return f"{statistics.median(took) * 1_000:.3f}"


def timed(work: Callable[[], object], rounds: int) -> list[float]:
    """Return how long each round takes."""
    took: list[float] = []
    for _ in range(rounds):
        began = perf_counter()
        work()
        took.append(perf_counter() - began)
    return took


def decided(size: int, rounds: int) -> tuple[str, str]:
    """Return what the decision takes while memory suffices, and while it does not."""
    seats = [
        Candidate(seat_id=str(n), last_used=n * 7919 % size, busy=n % 10 == 0, durable=n % 3 > 0)
        for n in range(size)
    ]
    enough, short = (partial(plan, seats, used=used, budget=1) for used in (0, 2))
    return ms(timed(enough, rounds)), ms(timed(short, rounds))


@asynccontextmanager
async def parked(size: int, folder: str) -> AsyncGenerator[tuple[Turnlog, Pressure, Said, str]]:
    """Give a server that keeps so many harnesses, after a turn each."""
    settings = load(
        {
            "TURNLOG_DATABASE_URL": f"sqlite:///{folder}/turnlog-{size}.db",
            "TURNLOG_POOL_CAPACITY": str(2 * size),
            "TURNLOG_POOL_IDLE_TTL_S": "3600",
            "TURNLOG_POOL_MEMORY_BUDGET": "1",
            "TURNLOG_SEARCH": "off",
        }
    )
    with open_turnlog(settings) as log:
        memory = log.memory = Said()
        app = create_app(log)
        base = "http://127.0.0.1/v1/projects/default"
        async with (
            hosting(log, partial(queued_ask, log), InProcessHarnesses(), attends=False) as found,
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base) as client,
        ):
            app.state.hosting = found
            for first in range(0, size, AT_ONCE):
                names = [f"s{number}" for number in range(first, first + AT_ONCE)]
                await asyncio.gather(*(talk(client, name) for name in names))
            here = found.launching.here
            assert here.pool.counts().idle == size, here.pool.counts()
            yield log, here.pressure, memory, here.owner


async def talk(client: httpx.AsyncClient, name: str) -> None:
    """Have one turn in a new session."""
    (await client.post("/sessions", json={"session_id": name})).raise_for_status()
    body = {"messages": [{"role": "user", "content": "Hello."}]}
    (await client.post(f"/sessions/{name}/turns", json=body, timeout=60)).raise_for_status()


async def passes(size: int, rounds: int, folder: str) -> Sequence[str]:
    """Return what it takes to ask the log, to see that memory suffices, and whole passes."""
    async with parked(size, folder) as (log, pressure, memory, owner):
        asked: list[float] = []
        enough: list[float] = []
        short: list[float] = []
        for _ in range(rounds):
            began = perf_counter()
            known = await log.read(lambda connection: on_record(connection, owner))
            asked.append(perf_counter() - began)
            assert len(known) == size - len(short) * BATCH
            memory.size = 0
            began = perf_counter()
            assert await pressure.relieve() == 0
            enough.append(perf_counter() - began)
            memory.size = 2 * MIB
            began = perf_counter()
            assert await pressure.relieve() == BATCH
            short.append(perf_counter() - began)
        return ms(asked), ms(enough), ms(short)


def main() -> None:
    """Measure, and print what docs/performance.md has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="whole passes; at most 5")
    rounds = min(5, parser.parse_args().rounds)
    rows: list[Sequence[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            decisions = decided(size, 200)
            rows.append((*decisions, *asyncio.run(passes(size, rounds, folder))))
    names = (
        "the decision, enough memory",
        "the decision, too little",
        "the log is asked what is on record",
        "a whole pass, enough memory",
        f"a whole pass, too little: {BATCH} harnesses ended, {BATCH} events on record",
    )
    print(f"| ms at the median, seats | {SIZES[0]} | {SIZES[1]:,} | x |")
    print("|---|---|---|---|")
    for name, few, many in zip(names, *rows, strict=True):
        print(f"| {name} | {few} | {many} | {float(many) / max(float(few), 0.001):.1f} |")
    machine = MachineMemory()
    measured = ms(timed(lambda: (machine.used(), machine.budget()), 100))
    print(f"\nThe kernel is asked how much is used, and may be, in {measured} ms.")


if __name__ == "__main__":
    main()
