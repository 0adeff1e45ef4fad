"""Facts about harnesses: which are kept alive where, for whom, and why no longer."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ParkedState: TypeAlias = Literal["idle", "awaiting_approval"]
StartPath: TypeAlias = Literal["cold", "evicted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessStarted:
    """A harness was started in a seat, and given the history.

    Attributes:
        path: `evicted` if one was parked and could not be used, `cold` if none was.
        reason: Why no parked one was used; a label.
        detail: What differed: `facet`, `before`, `after` (digests, versions), or what moved the
            head, as JSON; never what was said.
        history_from: Where the history came from.
    """

    seat_id: str
    owner: str
    path: StartPath
    turn_id: str | None = None
    reason: str | None = None
    detail: object = None
    history_from: Literal["client", "log"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessParked:
    """A harness waits for the session's next turn, or for an answer to a gate of this one.

    What it remembers is the history as it was right before this fact.

    Attributes:
        config_fingerprint: Of the configuration that it applied.
        prior_was_sent: Whether the client had sent the history before its newest message.
        ttl_s: So long it waits, in seconds.
    """

    seat_id: str
    owner: str
    state: ParkedState
    turn_id: str | None = None
    config_fingerprint: str | None = None
    prior_was_sent: bool | None = None
    ttl_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessResumed:
    """A parked harness goes on, with the new input alone, or with the answer that it waits for.

    Attributes:
        asides: How many messages it is told before the new input, if any: they were said to others
            while it was parked.
    """

    seat_id: str
    owner: str
    turn_id: str | None = None
    asides: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessEvicted:
    """A seat is empty again; `reason` is a label, `detail` as of `HarnessStarted`."""

    seat_id: str
    owner: str
    reason: str
    turn_id: str | None = None
    detail: object = None
