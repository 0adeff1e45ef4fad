"""What is asked of this server's harnesses, and what became of it?"""

from dataclasses import dataclass

from domain.dispatch.outcomes import Begin, Decision, Step
from infrastructure.command_handler import Caller, Target
from infrastructure.hosting.asking import Ask
from infrastructure.hosting.became import Dispatched, Means
from infrastructure.hosting.live import Live
from infrastructure.idempotency import IdempotencyKey
from infrastructure.pool.seats import SeatKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What became of a request.

    Attributes:
        live: The turn that runs by it; None if none does here.
        full: No harness could be started now: after so many seconds it is worth trying again.
        queue_id: The input waits under this id.
        steers: It waits to be told to this turn, which runs.
        recalled: It waits no more: it was taken back.
        again: The turn that this request began when it came before.
        replayed: Whether it came before, and nothing comes of it now.
        session_id: The session in which it came before, if the request's key tells.
    """

    dispatched: Dispatched | None
    live: Live | None = None
    full: int | None = None
    queue_id: str | None = None
    steers: str | None = None
    recalled: bool = False
    again: str | None = None
    replayed: bool = False
    session_id: str | None = None

    @property
    def decision(self) -> Decision | None:
        """Return what was decided; None of a request that came before."""
        return None if self.dispatched is None else self.dispatched.decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it is decided and recorded."""

    target: Target
    key: SeatKey
    ask: Ask
    means: Means
    caller: Caller
    once: IdempotencyKey | None = None


def finishes_first(done: Dispatched) -> bool:
    """Tell whether the turn that waits ends with its answers before the new text is said."""
    return isinstance(done.decision, Begin) and Step.FINISH_TURN in done.decision.before
