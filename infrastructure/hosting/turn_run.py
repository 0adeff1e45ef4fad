"""How does a turn run on a harness, from its prompt to its end?

The run is its own task: whoever waits for it may go away. It outlives a pause, with the harness.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from domain.json_text import JsonValue
from infrastructure.harness.port import Answer, Harness, Prompt
from infrastructure.hosting.binding import CarriedDecision
from infrastructure.hosting.journal_port import Journal
from infrastructure.hosting.outcomes import Outcome

Delta: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parking:
    """Whether and how the harness is kept after the turn, or while it waits.

    Attributes:
        idle_ttl_s, approval_ttl_s: So long at most; 0 keeps none.
    """

    config_fingerprint: str | None = None
    prior_was_sent: bool = False
    idle_ttl_s: int = 0
    approval_ttl_s: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """Which turn runs, in which seat.

    Attributes:
        decided: Decisions that were taken while no harness ran, oldest first.
        timings: Milliseconds that passed before: `queued`, `dispatch`, `harness_start`, `replay`.
        started_ms: When the request came, by the surroundings' clock; None for now.
        may_retry: Whether a harness that fails before anything came from it leaves the turn
            running, for another attempt.
    """

    turn_id: str
    seat_id: str
    owner: str
    parking: Parking = field(default_factory=Parking)
    decided: tuple[CarriedDecision, ...] = ()
    timings: Mapping[str, int] = field(default_factory=dict[str, int])
    started_ms: float | None = None
    may_retry: bool = False


def _nobody(_: Delta) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a run takes from outside.

    Attributes:
        mint: Makes up an id that was never used: of gates, and of messages that are recorded
            before they are whole.
        clock: Milliseconds that only rise.
        fan_out: Takes each piece as it comes, for whoever watches; see `deltas`. Must not wait.
        sleep: Waits so many seconds.
    """

    mint: Callable[[], str]
    clock: Callable[[], float]
    fan_out: Callable[[Delta], None] = _nobody
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class TurnRun:
    """One hosted turn on one harness."""

    def __init__(
        self, hosted: Hosted, harness: Harness, journal: Journal, surroundings: Surroundings
    ) -> None:
        """Take a turn whose start is recorded, and a harness that waits for its prompt."""
        self._hosted: Final = hosted
        self._harness: Final = harness
        self._journal: Final = journal
        self._surroundings: Final = surroundings

    @property
    def received(self) -> bool:
        """Tell whether anything came from the harness since it was prompted."""
        raise NotImplementedError

    async def begin(self, prompt: Prompt) -> Outcome:
        """Say the prompt, and return when the turn ends or pauses; once.

        Whoever waits here may be cancelled: the run goes on, and `going_on` waits for it again.
        Decisions about the prompt's resumed calls are recorded as consumed before it is said.
        """
        raise NotImplementedError

    async def answer(self, gate_id: str, answer: Answer, *, consumed: bool = False) -> bool:
        """Tell the harness what was decided; False if nothing waits for it any more.

        The decision is durable before, and where the turn was paused so is who has its lease now.
        That the harness is given it is recorded here, first, unless `consumed` says that it is.
        """
        raise NotImplementedError

    async def going_on(self) -> Outcome:
        """Return the next end or pause; at once if the turn is over, or waits."""
        raise NotImplementedError

    async def cancel(self, reason: str, by: str | None = None) -> Outcome:
        """Stop the turn, and return how it ended; the first to ask says why.

        What was said is kept. A harness that does not stop in time is closed.
        """
        raise NotImplementedError
