"""What does a dispatch decision depend on, and on nothing else?

Each input is one of a few words, so that all their combinations can be tried. `Told` holds what
only the explanation speaks of.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from domain.dispatch.kinds import Kind
from domain.readiness import Readiness

Standing: TypeAlias = Literal[
    "present",
    "absent",
    "deleted",
    "archived",
    "suspended",
    "workspace-missing",
    "shutting-down",
]
Claim: TypeAlias = Literal["none", "current", "behind-by-gates", "behind", "ahead", "mismatch"]
Answers: TypeAlias = Literal[
    "none", "open", "same-again", "unknown", "ambiguous", "decided-otherwise", "gone"
]
Run: TypeAlias = Literal["idle", "live-turn", "live-compaction", "expired-lease", "external-run"]
Prior: TypeAlias = Literal["absent", "agrees", "window", "diverges", "behind", "nothing-known"]
SeatState: TypeAlias = Literal["idle", "awaiting", "busy"]
Life: TypeAlias = Literal["alive", "died", "unnamed"]
Lacks: TypeAlias = Literal["nothing", "asides", "more"]
Config: TypeAlias = Literal["equal", "unstated", "differs"]
Credentials: TypeAlias = Literal["ok", "expired", "rotated", "expiring"]
OnBusy: TypeAlias = Literal["reject", "queue", "interrupt", "steer"]
OnGate: TypeAlias = Literal["reject", "queue", "withdraw"]
OnDivergence: TypeAlias = Literal["default", "adopt", "reject"]
ContinuedBy: TypeAlias = Literal["us", "runner"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """The harness that the pool has on record for the session.

    Attributes:
        ours: Whether the pool that would use it is the one that holds it.
        life: `unnamed` if the runner that asks does not say that it holds it.
        lacks: What of the log's history as it is now its memory does not have; decisions, expiry
            and consumption of its own gates do not count. `asides` is what was said to others since
            in turns in which nothing ran, all of which it can be told.
        config: Whether it applied the configuration that is asked for.
    """

    state: SeatState
    ours: bool = True
    life: Life = "alive"
    lacks: Lacks = "nothing"
    config: Config = "equal"
    credentials: Credentials = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """What the request, else the project, wants done about each obstacle."""

    on_busy: OnBusy = "reject"
    on_gate: OnGate = "reject"
    on_divergence: OnDivergence = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Values that only fill in an explanation; none of them is anything that was said.

    Attributes:
        turn_id: The turn that has not ended.
        gate: The gate that an answer names, or that is open.
        facets: Which parts of the configuration differ.
        difference: What the first difference of the prior is, and where.
        asides: How many messages a harness is told before what is new.
    """

    turn_id: str | None = None
    gate: str | None = None
    gate_status: str | None = None
    claimed_version: int | None = None
    history_version: int | None = None
    pinned_version: int | None = None
    facets: tuple[str, ...] = ()
    difference: str | None = None
    asides: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that a decision depends on, as it is before anything of the request is recorded.

    Attributes:
        claim: How the claimed head stands to the log's.
        answers: How the answers stand to the gates that they name; the worst of them; `open` is
            worse than `same-again`, and each refusal is worse than both.
        run: Who has the turn that has not ended. A turn that waits for gates alone is `idle`; one
            whose last gate was answered and whose continuation has not begun is `live-turn`.
            `external-run` is a producer's turn without a lease.
        gates_open: Whether a gate is open once the answers are taken.
        rewind: Whether the request asks for one; it is known to be possible. `prior` and
            `readiness` are then as they will be after it.
        prior: How the client's prior compares with what is in sight.
        continued_by: Who continues the turn that waits: `runner` is an external one that does not
            ask now, and is told by the log.
    """

    kind: Kind
    readiness: Readiness
    session: Standing = "present"
    claim: Claim = "none"
    answers: Answers = "none"
    run: Run = "idle"
    gates_open: bool = False
    rewind: bool = False
    prior: Prior = "absent"
    seat: Seat | None = None
    policies: Policies = field(default_factory=Policies)
    continued_by: ContinuedBy = "us"
    told: Told = field(default_factory=Told)
