"""How long did which part of a turn take?

`queued`, `dispatch`, `harness_start` and `replay` passed before the run and are handed in;
`first_output` is from the prompt to the first sign of life, `tools` while calls ran, `gate_wait`
while gates were open, `record` while the log was written to, `total` since the request came.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

Phase: TypeAlias = Literal["tools", "gate_wait"]
_PHASES: Final[tuple[Phase, ...]] = ("tools", "gate_wait")


class Timing:
    """The times of one turn, in milliseconds."""

    def __init__(
        self, clock: Callable[[], float], given: Mapping[str, int], started: float | None
    ) -> None:
        """Take what passed before, and when the request came; None for now."""
        self._clock: Final = clock
        self._given: Final = dict(given)
        self._started: Final = clock() if started is None else started
        self._prompted: float | None = None
        self._first: float | None = None
        self._sums: Final[dict[Phase, float]] = {}
        self._since: Final[dict[Phase, float]] = {}
        self._recorded = 0.0

    def prompted(self) -> None:
        """Note that the prompt is said now."""
        self._prompted = self._clock()

    def heard(self) -> None:
        """Note that something came from the harness; the first time counts."""
        if self._first is None:
            self._first = self._clock()

    def during(self, phase: Phase, *, lasts: bool) -> None:
        """Note whether something goes on, from now on."""
        if lasts:
            self._since.setdefault(phase, self._clock())
        elif phase in self._since:
            passed = self._clock() - self._since.pop(phase)
            self._sums[phase] = self._sums.get(phase, 0.0) + passed

    def recorded(self, since: float) -> None:
        """Note that something was recorded, and when that began."""
        self._recorded += self._clock() - since

    def shape(self) -> dict[str, int]:
        """Return the times until now, rounded; what did not happen is left out."""
        found = dict(self._given)
        if self._prompted is not None and self._first is not None:
            found["first_output"] = round(self._first - self._prompted)
        for phase in _PHASES:
            if phase in self._sums or phase in self._since:
                going_on = self._clock() - self._since.get(phase, self._clock())
                found[phase] = round(self._sums.get(phase, 0.0) + going_on)
        found["record"] = round(self._recorded)
        found["total"] = round(self._clock() - self._started)
        return found


def loop_ms() -> float:
    """Return the time by the event loop's clock, in milliseconds."""
    return asyncio.get_running_loop().time() * 1_000
