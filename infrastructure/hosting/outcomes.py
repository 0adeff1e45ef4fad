"""How does the run of a turn leave its caller: with an end, with questions, or with nothing?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from domain.events import TurnError
from domain.state import Head
from infrastructure.harness.port import Asked

EndStatus: TypeAlias = Literal["completed", "failed", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A gate that is open, and what was asked."""

    gate_id: str
    asked: Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The turn is over, and recorded so.

    Attributes:
        head: As it is after everything; its history is what the harness remembers if `parked`.
        parked: Whether `harness-parked` is recorded: the harness may be kept for the next turn.
        stop_reason: Of a completed turn: `end_turn`, `refusal`, `max_tokens`, `max_turn_requests`.
        error: Of a failed turn.
        reason: Of an interrupted turn, with who asked for it.
        timings: Milliseconds by name.
    """

    status: EndStatus
    head: Head
    parked: bool
    timings: Mapping[str, int]
    stop_reason: str | None = None
    error: TurnError | None = None
    reason: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """The turn waits for answers and for nothing else; the lease is let go.

    Attributes:
        gates: All that are open, in the order in which they were asked.
        head: As of `Finished`.
        parked: Whether the harness may be kept for the answers; else it is to be closed.
    """

    gates: tuple[Waiting, ...]
    head: Head
    parked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Retriable:
    """The harness failed before anything came from it; nothing of it is recorded.

    The turn still runs: it can be prompted on another harness, or be ended.
    """

    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The turn is no longer this run's: nothing more is recorded, and its harness was cancelled.

    Attributes:
        reason: `store-away`, `broken`, or the name of the refusal.
    """

    reason: str


Outcome: TypeAlias = Finished | Paused | Retriable | Lost
