"""How many turns went which way in this process, what was turned down, and how long did it take?

Counts since the start, for an operator: the log itself says it of each turn. Told on the event
loop, read from anywhere.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from domain.state import TurnPath
from infrastructure.pool.pressure import Relieved

PHASES: Final = ("dispatch", "harness_start", "first_output", "total")
"""The timings that are counted, by their names."""
BOUNDS_MS: Final = (
    1,
    2,
    5,
    10,
    25,
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    30_000,
    60_000,
    300_000,
    1_800_000,
)
NO_REASON: Final = "none"
"""Why a turn was warm."""


class Durations(NamedTuple):
    """How often something took at most so long; the last count is of what took longer.

    Attributes:
        counts: One for each of `BOUNDS_MS`, and one more; none includes another.
    """

    counts: tuple[int, ...]
    sum_ms: float


class Counting:
    """The counts of one process.

    Attributes:
        relieved: What came of looking after its memory.
    """

    def __init__(self) -> None:
        self.relieved: Final = Relieved()
        self._turns: Final[Counter[tuple[str, str]]] = Counter()
        self._refused: Final[Counter[str]] = Counter()
        self._evicted: Final[Counter[str]] = Counter()
        self._held_back: Final[Counter[str]] = Counter()
        self._counts: Final = {phase: [0] * (len(BOUNDS_MS) + 1) for phase in PHASES}
        self._sums: Final = dict.fromkeys(PHASES, 0.0)

    def turn(self, path: TurnPath, reason: str | None, timings: Mapping[str, object]) -> None:
        """Count a turn that ended, and what of its timings is known, in milliseconds."""
        self._turns[path, reason or NO_REASON] += 1
        for phase in PHASES:
            took = timings.get(phase)
            if isinstance(took, int | float) and took >= 0:
                self._counts[phase][bisect_left(BOUNDS_MS, took)] += 1
                self._sums[phase] += took

    def refused(self, code: str) -> None:
        """Count a turn that was asked for and refused."""
        self._refused[code] += 1

    def evicted(self, label: str) -> None:
        """Count a seat that was let go."""
        self._evicted[label] += 1

    def held_back(self, reason: str) -> None:
        """Count something that was cut off in a lane's session and is not gone on with."""
        self._held_back[reason] += 1

    @property
    def turns(self) -> Mapping[tuple[str, str], int]:
        """Return how many turns there were, by path and reason."""
        return dict(self._turns)

    @property
    def refusals(self) -> Mapping[str, int]:
        """Return how many were refused, by code."""
        return dict(self._refused)

    @property
    def evictions(self) -> Mapping[str, int]:
        """Return how many seats were let go, by label."""
        return dict(self._evicted)

    @property
    def held(self) -> Mapping[str, int]:
        """Return how often what was cut off was not gone on with, by why."""
        return dict(self._held_back)

    @property
    def durations(self) -> Mapping[str, Durations]:
        """Return how long turns took, by phase."""
        return {phase: Durations(tuple(self._counts[phase]), self._sums[phase]) for phase in PHASES}
