"""Facts about requests: what was turned down, asked of a runner, or has to wait."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchRefused:
    """A turn was asked for and refused.

    Attributes:
        code: The problem's code.
        request: What the request carried: `minimal`, `full`, `resume`, `answer`, `answer+text`.
        reasons: What readiness lacked.
        seat: Why the seat could not be used; a label.
    """

    code: str
    request: str
    reasons: tuple[str, ...] = ()
    seat: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptRequested:
    """Whoever runs the turn is asked to stop it."""

    turn_id: str
    reason: str
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuationReady:
    """A paused turn can go on: these gates are decided, and not consumed yet."""

    turn_id: str
    gate_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatCloseRequested:
    """Whoever owns the seat is asked to let its harness go."""

    seat_id: str
    owner: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputQueued:
    """An input waits for its turn; `request` is what was asked for, as JSON.

    Attributes:
        steers: The turn that it is to be told to while it runs; its own is the next best.
        lane_id, reply_to: Where its answer goes, as of a `turn-started`.
    """

    queue_id: str
    request: object
    steers: str | None = None
    lane_id: str | None = None
    reply_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputDequeued:
    """A queued input became a turn, or was told to the turn that ran."""

    queue_id: str
    turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRecalled:
    """A queued input was taken back before it became a turn, or could not become one."""

    queue_id: str
    reason: str
