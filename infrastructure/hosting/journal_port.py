"""What does the run of a turn need of the log?

Facts go in by one call each time, all or none, in the order in which they happened. Whoever stands
behind it writes them as the turn's owner.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from domain.approval_modes import ModeVerdict
from domain.events import SessionEvent
from domain.state import Head, TurnStatus
from infrastructure.hosting.by_mode import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Stood:
    """Where the session stands after something was recorded.

    Attributes:
        first_version: Of the first event that was asked for.
        verdict: What the session's approval mode made of the question, if there was one.
        turn_status: What became of the run's turn.
    """

    head: Head
    turn_status: TurnStatus
    first_version: int
    verdict: ModeVerdict = "ask"


class StoreAway(Exception):
    """The log cannot be reached now, or takes nothing; it is not known what it took."""


class Journal(Protocol):
    """The log as one run of a turn may write to it."""

    async def record(
        self,
        events: Sequence[SessionEvent],
        *,
        release: bool = False,
        question: Question | None = None,
    ) -> Stood:
        """Append all in one commit, and keep the lease, or have nobody hold it.

        Opaque fields hold `RawJson`. Besides what producers bring, a run records `harness-parked`,
        `gate-consumed` and, before it cancels, `gate-withdrawn`. A gate that was withdrawn
        by then, and a consumption that is known, are passed over.

        Args:
            events: What happened; with `release` perhaps nothing. The very same object comes again
                after `StoreAway`, and is recorded once, whether or not the first attempt was.
            release: Whether the lease is let go: the turn waits, or is over.
            question: A gate that opens by the last of them. What the session's approval mode makes
                of it is recorded with it; where that is nothing, the turn may wait for a person.

        Raises:
            StoreAway: try again.
            Refusal: it never will be recorded: another owner has the turn, the turn is over, or
                the session is gone.
        """
        ...
