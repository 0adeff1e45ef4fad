"""What can come of a request? A closed union; nothing here has happened yet."""

from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, TypeAlias

Code: TypeAlias = Literal[
    "no-such-session",
    "session-archived",
    "session-suspended",
    "workspace-missing",
    "shutting-down",
    "head-ahead-of-log",
    "head-mismatch",
    "head-behind",
    "no-such-gate",
    "ambiguous-gate",
    "gate-already-decided",
    "gate-gone",
    "turn-in-progress",
    "compacting",
    "gate-open",
    "history-diverged",
    "history-behind",
    "history-not-ready",
]
Action: TypeAlias = Literal[
    "send-full-history", "refresh", "retry", "answer-gate", "attach", "give-up"
]
Blocked: TypeAlias = Literal[
    "compacting", "history-diverged", "history-behind", "history-not-ready"
]
Label: TypeAlias = Literal[
    "not-parked",
    "other-owner",
    "seat-lost",
    "process-died",
    "history",
    "config",
    "credentials-expired",
    "credentials-rotated",
    "credentials-expiring",
    "tail",
]
Source: TypeAlias = Literal["log", "client"]
HistoryFrom: TypeAlias = Literal["harness", "client", "log"]
Path: TypeAlias = Literal["warm", "cold", "evicted"]
Continuation: TypeAlias = Literal["started", "pending", "external", "blocked"]


class Step(Enum):
    """What is recorded, or done, before the outcome; in this order."""

    TAKE_ANSWERS = "take-answers"
    """The gates that the answers name are decided."""
    STOP_COMPACTION = "stop-compaction"
    """The compaction that runs is given up; it changed nothing."""
    INTERRUPT_RUNNING = "interrupt-running"
    """The turn that runs is interrupted, and its gates are withdrawn: the request asks for it."""
    INTERRUPT_LOST = "interrupt-lost"
    """The turn is interrupted whose owner let its lease expire: `owner-lost`."""
    WITHDRAW_GATES = "withdraw-gates"
    """The open gates are withdrawn, and the turn that waits for them is interrupted."""
    REWIND = "rewind"
    """The rewind that the request asks for; a turn that waits is interrupted first."""
    FINISH_TURN = "finish-turn"
    """The turn that waited goes on with its answers to its end, before the new text is said."""
    ADOPT_PRIOR = "adopt-prior"
    """A rewind to the last turn boundary in the common prefix, then the rest of the prior."""
    ASSERT_PRIOR = "assert-prior"
    """The client's prior is the history from here on."""
    SETTLE_REASONS = "settle-reasons"
    """The client's prior is ours, so what the log may lack is nothing."""


MOVING: Final = frozenset(
    {
        Step.INTERRUPT_RUNNING,
        Step.INTERRUPT_LOST,
        Step.WITHDRAW_GATES,
        Step.REWIND,
        Step.ADOPT_PRIOR,
        Step.ASSERT_PRIOR,
    }
)
"""Steps after which no seat's memory is the history any more."""
ENDING: Final = frozenset(
    {
        Step.INTERRUPT_RUNNING,
        Step.INTERRUPT_LOST,
        Step.WITHDRAW_GATES,
        Step.REWIND,
    }
)
"""Steps that end the turn that had not ended, and its gates."""

Steps: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The harness is in the middle of the turn; the answer is told to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """The parked harness goes on, with the new text or the answer alone.

    Attributes:
        asides: Whether it is told first what was said to others since it was parked.
    """

    asides: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cold:
    """A new harness is started and told the history.

    Attributes:
        source: Whose history it is told.
        evict: Why the seat that there is has to go; None if there is none.
    """

    source: Source
    evict: Label | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Nothing of the request is applied; a seat stays parked as it was.

    Attributes:
        seat: Why the seat that there is could not be used, if that was asked.
        reasons: Why the log could not stand in, by their codes.
    """

    code: Code
    detail: str
    seat: Label | None = None
    reasons: tuple[str, ...] = ()

    @property
    def action(self) -> Action:
        """Return what the client should do."""
        return ACTIONS[self.code]

    @property
    def retry_after_s(self) -> int | None:
        """Return after how many seconds it is worth trying again, if waiting helps."""
        return _RETRY_AFTER_S.get(self.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The input waits, with the rewind that it asks for, until nothing is in its way."""

    behind: Literal["turn", "compaction", "gate"]
    before: Steps = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer:
    """The text is told to the harness that runs, as part of its turn."""

    before: Steps = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """An answer without text was taken; this is how its turn goes on.

    Attributes:
        outcome: How the harness learns of it; None if none does now.
        blocked_by: Why nothing can continue the turn now; recovery tries again.
    """

    continuation: Continuation
    before: Steps = ()
    outcome: Live | Resume | Cold | None = None
    blocked_by: Blocked | None = None
    seat: Label | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """A turn begins."""

    outcome: Resume | Cold
    before: Steps = ()


Decision: TypeAlias = Refuse | Queue | Steer | Deliver | Begin


def path_of(outcome: Live | Resume | Cold) -> Path:
    """Return the word for how a turn was run."""
    if isinstance(outcome, Cold):
        return "cold" if outcome.evict is None else "evicted"
    return "warm"


def reason_of(outcome: Live | Resume | Cold) -> Label | Literal["no-seat"] | None:
    """Return why a harness has to be told the history; None if it knows."""
    return (outcome.evict or "no-seat") if isinstance(outcome, Cold) else None


def history_from(outcome: Live | Resume | Cold) -> HistoryFrom:
    """Return whose history the harness goes by."""
    return outcome.source if isinstance(outcome, Cold) else "harness"


ACTIONS: Final[dict[Code, Action]] = {
    "no-such-session": "give-up",
    "session-archived": "refresh",
    "session-suspended": "give-up",
    "workspace-missing": "give-up",
    "shutting-down": "retry",
    "head-ahead-of-log": "send-full-history",
    "head-mismatch": "send-full-history",
    "head-behind": "refresh",
    "no-such-gate": "refresh",
    "ambiguous-gate": "refresh",
    "gate-already-decided": "refresh",
    "gate-gone": "refresh",
    "turn-in-progress": "attach",
    "compacting": "retry",
    "gate-open": "answer-gate",
    "history-diverged": "refresh",
    "history-behind": "refresh",
    "history-not-ready": "send-full-history",
}
_RETRY_AFTER_S: Final[dict[Code, int]] = {"shutting-down": 2, "compacting": 5}
