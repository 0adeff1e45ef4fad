"""What is a seat: one harness that is kept for one session, what it does, and what it is warm for?

A `Seat` is how it was when somebody looked. `uses` says in which use: whoever holds a seat, or
decided something about it, has no say any more once it went to another turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from infrastructure.harness.port import Harness

SeatState: TypeAlias = Literal["busy", "idle", "awaiting_approval", "gone"]
Parked: TypeAlias = Literal["idle", "awaiting_approval"]


class SeatKey(NamedTuple):
    """Whose seat it is: there is one a session."""

    project_id: str
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The history that a parked harness remembers, as the log's head named it.

    Attributes:
        version: The session's version, by which what came since can be looked up.
    """

    history_version: int
    fingerprint: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmth:
    """What a parked harness is warm for.

    Attributes:
        config_fingerprint: Of the configuration that it applied, not of one that a request stated.
        credentials_epoch: A label that tells one set of credentials from the next, never a secret.
        prior_was_sent: Whether its client had sent the conversation before the newest message.
    """

    pin: Pin
    config_fingerprint: str | None
    credentials_epoch: str | None = None
    prior_was_sent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One harness's place in the pool.

    Attributes:
        harness: None until the one that it was reserved for is started.
        uses: How many turns it was given to, the one that has it included.
        warmth: As it was parked last; None before.
        run: What the turn side left with it: a prompt that waits for a decision.
        started_at: When it was reserved. Times are microseconds since 1970.
        last_used: When it was given to a turn, or parked, last.
        expires_at: When it is let go unless it is used; None while it is busy.
    """

    seat_id: str
    key: SeatKey
    state: SeatState
    started_at: int
    last_used: int
    uses: int = 1
    harness: Harness | None = None
    warmth: Warmth | None = None
    run: object | None = None
    expires_at: int | None = None

    @property
    def alive(self) -> bool:
        """Tell whether it has a harness that can still be prompted."""
        return self.harness is not None and self.harness.alive


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How full a pool is.

    Attributes:
        ending: Seats that are let go and whose harness has not ended; they take room until then.
        waiting: Turns that wait for room.
        gone: How many seats were let go since the start, by reason.
    """

    capacity: int
    busy: int
    idle: int
    awaiting_approval: int
    ending: int
    waiting: int
    gone: Mapping[str, int]


class SeatBusy(Exception):
    """A turn of this session has its seat, or is about to. It is not ended unasked."""

    def __init__(self, key: SeatKey) -> None:
        super().__init__("the session's seat is busy")
        self.key = key


class PoolFull(Exception):
    """No seat became free in time."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__("every seat is taken")
        self.retry_after_s = retry_after_s


class PoolClosed(Exception):
    """The process ends: no turn gets a seat any more."""
