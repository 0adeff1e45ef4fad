"""What does the run of a turn have to know before it begins?"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from domain.messages import Message, Part
from infrastructure.hosting.below_port import BelowLog, NothingBelow
from infrastructure.hosting.binding import CarriedDecision
from infrastructure.hosting.deltas import Delta


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """An input that is told to a harness in the midst of its turn.

    Attributes:
        message: As it is recorded.
        parts: As it is said to the harness, its files in it.
    """

    queue_id: str
    message: Message
    parts: Sequence[Part]


async def _nothing_waits(_: set[str]) -> Steered | None:
    """Nothing waits."""
    return None


def _never() -> None:
    """Nothing ends by itself."""


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
        next_input: Returns the input that waits first to be told to the turn while it runs, if it
            is none of these.
        below: Takes what sub-agents do.
        session_id: The session whose turn it is.
        expires: Says when a gate ends that is opened now, if nobody answers it; None: never.
    """

    mint: Callable[[], str]
    clock: Callable[[], float]
    fan_out: Callable[[Delta], None] = _nobody
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    next_input: Callable[[set[str]], Awaitable[Steered | None]] = _nothing_waits
    below: BelowLog = field(default_factory=NothingBelow)
    session_id: str = ""
    expires: Callable[[], str | None] = _never
