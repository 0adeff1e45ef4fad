"""What is a request for a turn carried out with, and what became of it?

Both are of one write transaction: what is told of here stands in its commit, or nothing does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.dispatch.explaining import explain
from domain.dispatch.outcomes import Cold, Decision, Label, Live, Resume
from infrastructure.command_handler import Appended, Caller, CommandHandler, Target
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.carrying import NewSeat
from infrastructure.hosting.situating import Found
from infrastructure.runner import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What whoever asks could run a turn with.

    Attributes:
        facets: Of the configuration that its seat's harness applied.
        new: The seat that it would start a harness in.
        only_warm: Whether it cannot start one in this transaction: a decision for a new harness is
            then told, and nothing is recorded.
        request: What was asked, as JSON, should it have to wait.
        queue_id: Under which id.
        consumes: Whether the answers are given to the harness by the one who asks, who then does
            not tell of it by itself.
    """

    new: NewSeat
    facets: Mapping[str, str] = field(default_factory=dict[str, str])
    only_warm: bool = False
    request: bytes = b"null"
    queue_id: str = ""
    consumes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of which session, by whom, within which transaction."""

    handler: CommandHandler
    attempt: Attempt
    target: Target
    ask: Ask
    means: Means
    caller: Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    """What became of it.

    Attributes:
        appended: What was recorded; None if nothing was.
        turn_id: The turn that runs, or goes on, by it.
        fence: Of the lease that was given for it.
        new: The seat that a harness would be started in.
        label: Why the seat that there is has to go, if it has to.
        again: Whether these very answers came before, and their turn went on with them.
        deferred: Whether the decision is for a harness that has to be started first.
    """

    found: Found
    decision: Decision
    ask: Ask
    new: NewSeat
    label: Label | None = None
    appended: Appended | None = None
    turn_id: str | None = None
    fence: int | None = None
    deferred: bool = False
    again: bool = False

    @property
    def leased(self) -> tuple[int, int]:
        """Return the fence of a turn that runs by it, and the version at which it was given."""
        assert self.fence is not None  # noqa: S101 - it was given with what was recorded
        assert self.appended is not None  # noqa: S101
        return self.fence, self.appended.head.version

    @property
    def explain(self) -> str:
        """Return for a person why it goes on so."""
        return explain(self.decision, self.found.situation)

    @property
    def evicted(self) -> str | None:
        """Return why a harness that was parked had to go for this turn's."""
        return self.label or self.new.evicted


def label_of(outcome: Live | Resume | Cold | None) -> Label | None:
    """Return why the seat that there is has to go, if it has to."""
    return outcome.evict if isinstance(outcome, Cold) else None
