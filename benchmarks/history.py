"""What does going back cost as a session grows, and what a look at its past?

Rewind, redo and fork of a session of 10,000 events beside those of one of 100, committed; and
views of the middle of a session of 100,000 events beside those of one of 1,000, over HTTP, by the
application alone, without a socket. The versions that are looked at are spread over the way from
one checkpoint to the next, the same way in both. One run, both sizes in each round in turn, medians
of the rounds and of their ratios. `python benchmarks/history.py --help`.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, Final, TypeAlias

from log import EVENTS_A_TURN, turn
from reads import answered
from sqlalchemy import make_url

sys.path.insert(0, str(Path(__file__).parent.parent))

from api.app import create_app
from api.going_back import Move, move
from domain.checkpoints import EVERY
from domain.commands import OpenSession, Proposal, Redo, Rewind
from domain.recorded import ProducerStamp
from infrastructure.appending import BatchRequest, append_batch
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.database import create_schema
from infrastructure.forking import ForkRequest, fork
from infrastructure.runner import Attempt
from infrastructure.serialization import event_of, members_of
from infrastructure.settings import Settings

MILLISECONDS: Final = 1_000
TURNS_A_BATCH: Final = 250
MOVED_LIMIT: Final = 1.5
LOOKED_LIMIT: Final = 3.0
BASE: Final = "/v1/projects/default/sessions"
STRIDE: Final = 37
"""Steps of so many versions come by every place between two checkpoints."""
LOOKS: Final[Mapping[str, tuple[str, str]]] = {
    "transcript, a page of 50": ("transcript", "limit=50&at={v}"),
    "state": ("state", "at={v}"),
    "readiness": ("readiness", "at={v}"),
    "fingerprint": ("fingerprint", "at={v}"),
    "turns, a page of 50": ("turns", "at={v}"),
    "diff, a step": ("diff", "from={v}&to={w}"),
}
Pairs: TypeAlias = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many events the small and the large session have."""

    small: int
    large: int

    def named(self) -> Sequence[tuple[str, int]]:
        """Return each with its session's id."""
        return (("small", self.small), ("large", self.large))


def fill(log: Turnlog, session_id: str, events: int) -> None:
    """Record turns of four events each, many in a batch."""
    turns = events // EVENTS_A_TURN
    for number, first in enumerate(range(1, turns + 1, TURNS_A_BATCH), start=1):
        said = [
            each for n in range(first, min(first + TURNS_A_BATCH, turns + 1)) for each in turn(n)
        ]
        request = BatchRequest(
            producer=ProducerStamp(producer_id=session_id, epoch=1, sequence=number),
            proposals=[
                Proposal(event=event_of(type_, members_of(type_, body)), body=body)
                for type_, body in said
            ],
            open=OpenSession(),
        )
        log.runner.run(partial(_append, log, session_id, request))


def _append(log: Turnlog, session_id: str, request: BatchRequest, attempt: Attempt) -> None:
    target = Target(project_id="default", session_id=session_id)
    append_batch(log.handler, attempt, target, request, Caller())


def timed(work: Callable[[], object]) -> float:
    """Return how many milliseconds it took."""
    began = perf_counter()
    work()
    return (perf_counter() - began) * MILLISECONDS


class Mover:
    """Goes back and forth in a session, and forks it."""

    def __init__(self, log: Turnlog, session_id: str) -> None:
        self._log: Final = log
        self._target: Final = Target(project_id="default", session_id=session_id)
        self._forks: Final = count(1)

    def go(self, command: Move) -> None:
        """Take out of sight, or bring back."""
        self._log.runner.run(
            lambda attempt: move(self._log, attempt, self._target, command, Caller())
        )

    def fork(self) -> None:
        """Fork it where it stands."""
        name = f"{self._target.session_id}-{next(self._forks)}"
        request = ForkRequest(session_id=name)

        def forked(attempt: Attempt) -> bool:
            return fork(self._log.handler, attempt, self._target, request, Caller())

        self._log.runner.run(forked)


def ways(mover: Mover) -> Mapping[str, Callable[[], None]]:
    """Return what is done to a session, each step after the one before it."""
    return {
        "rewind one turn": partial(mover.go, Rewind(turns=1)),
        "redo it": partial(mover.go, Redo()),
        "rewind all turns": partial(mover.go, Rewind(turns=1_000_000)),
        "redo them": partial(mover.go, Redo()),
        "fork": mover.fork,
    }


def moves(movers: Sequence[Mover], times: int) -> list[dict[str, float]]:
    """Return for each session the median milliseconds of each way to go, gone in turn."""
    took: list[dict[str, list[float]]] = [{} for _ in movers]
    for _ in range(times):
        for name in ways(movers[0]):
            for mover, found in zip(movers, took, strict=True):
                found.setdefault(name, []).append(timed(ways(mover)[name]))
    return [{name: statistics.median(each) for name, each in found.items()} for found in took]


async def looks(app: Any, sizes: Sizes, times: int) -> list[dict[str, float]]:  # noqa: ANN401 - the application's own
    """Return for each session the median milliseconds of each view, at versions in its middle."""
    took: list[dict[str, list[float]]] = [{}, {}]
    for name, (view, query) in LOOKS.items():
        for number in range(times):
            for (session, events), found in zip(sizes.named(), took, strict=True):
                version = (events - EVERY) // 2 + number * STRIDE % EVERY
                asked = query.format(v=version, w=version + 1)
                began = perf_counter()
                await answered(app, f"{BASE}/{session}/{view}", asked)
                found.setdefault(name, []).append((perf_counter() - began) * MILLISECONDS)
    return [{name: statistics.median(each) for name, each in found.items()} for found in took]


def together(rounds: Sequence[tuple[Mapping[str, float], Mapping[str, float]]]) -> Pairs:
    """Return the small session's figure and the large one's, by what was done."""
    pairs: Pairs = {}
    for small, large in rounds:
        for name, took in small.items():
            pairs.setdefault(name, []).append((took, large[name]))
    return pairs


def measure_moves(log: Turnlog, sizes: Sizes, options: argparse.Namespace) -> Pairs:
    """Go back and forth in both sessions in turn."""
    movers: list[Mover] = []
    for name, events in sizes.named():
        fill(log, f"moved-{name}", events)
        movers.append(Mover(log, f"moved-{name}"))
    moves(movers, 3)
    rounds = (moves(movers, 10) for _ in range(options.rounds))
    return together([(small, large) for small, large in rounds])


def measure_looks(log: Turnlog, sizes: Sizes, options: argparse.Namespace) -> Pairs:
    """Look at the middle of both sessions in turn."""
    for name, events in sizes.named():
        fill(log, name, events)
    app = create_app(log)

    async def looked() -> Pairs:
        rounds = [await looks(app, sizes, 20) for _ in range(options.rounds + 1)]
        return together([(small, large) for small, large in rounds[1:]])  # the first warms up

    return asyncio.run(looked())


def report(what: str, pairs: Pairs, sizes: Sizes, limit: float) -> bool:
    """Print a table; tell whether all is within its limit."""
    print(f"\n| {what}, ms | {sizes.small:,} events | {sizes.large:,} | x | limit |")
    print("|---|---|---|---|---|")
    good = True
    for name, each in pairs.items():
        small, large = (statistics.median(times) for times in zip(*each, strict=True))
        ratio = statistics.median(large / small for small, large in each)
        good = good and ratio <= limit
        print(f"| {name} | {small:.2f} | {large:.2f} | {ratio:.2f} | {limit:g} |")
    return good


def run(url: str, options: argparse.Namespace) -> bool:
    """Measure one database."""
    create_schema(url)
    settings = Settings(
        database_url=make_url(url), allow_unverified_turns=True, allow_unsafe_durability=True
    )
    moved, looked = (Sizes(small=a, large=b) for a, b in (options.moved, options.looked))
    with open_turnlog(settings) as log:
        going = report("going back", measure_moves(log, moved, options), moved, MOVED_LIMIT)
        past = report("the middle", measure_looks(log, looked, options), looked, LOOKED_LIMIT)
    return going and past


def main() -> int:
    """Measure and print; return how many databases were over a limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--moved", type=int, nargs=2, default=[100, 10_000])
    parser.add_argument("--looked", type=int, nargs=2, default=[1_000, 100_000])
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    options = parser.parse_args()
    over = 0
    with ExitStack() as stack:
        if options.database != "postgresql":
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            print("### SQLite")
            over += not run(f"sqlite:///{folder}/turnlog.db", options)
        if options.database != "sqlite":
            from postgres import empty_database  # noqa: PLC0415 - needs the test extra

            print("\n### PostgreSQL")
            over += not run(empty_database(stack), options)
    return over


if __name__ == "__main__":
    sys.exit(main())
