"""What follows from a turn that a server could not end, as its process was stopped or killed?

It is marked, so that it can be gone on with; and counted: a session that several servers in a row
did not outlive, with no turn completed in between, is suspended. Runners count their own.
"""

from typing import Final

from domain import events as e
from domain.decided import Decided, fact
from domain.state import Head, State, Status

RESTARTED: Final = "server-restarted"
"""Why a turn was interrupted whose server is known to be gone."""
OWNER_LOST: Final = "owner-lost"
"""Why a turn was interrupted whose owner was not heard of until its lease ended."""
SHUTDOWN: Final = "shutdown"
"""Why a turn was interrupted that took longer than a server waits when it is told to stop."""
UNCLEAN: Final = frozenset({RESTARTED, OWNER_LOST})
LIMIT: Final = 3
LOOP: Final = "restart-loop"
"""Why a session was suspended."""
COMPLETED: Final = "completed"
NOT_ADDRESSED: Final = "not-addressed"
"""Why a turn stopped in which nothing ran: what was said in it was said to others."""


def would_suspend(head: Head) -> bool:
    """Tell whether the session is suspended once its turn is found to be cut off."""
    return head.cut_off + 1 >= LIMIT


def after_interruption(state: State, turn_id: str, reason: str) -> tuple[Decided, ...]:
    """Return what follows if a turn that still runs is interrupted, and nobody asked for that."""
    turn = state.turns.get(turn_id)
    if turn is None or turn.producer_id is not None or reason not in {*UNCLEAN, SHUTDOWN}:
        return ()
    if reason in UNCLEAN and would_suspend(state.head):
        return (fact(e.SessionSuspended(reason=LOOP, count=state.head.cut_off + 1)),)
    return (fact(e.ResumeMarked(turn_id=turn_id, reason=reason)),)


def after_completion(head: Head, stop_reason: str | None = None) -> tuple[Decided, ...]:
    """Return what follows from a turn that ended well; nothing from one in which nothing ran."""
    if head.resume_turn is None or stop_reason == NOT_ADDRESSED:
        return ()
    return (fact(e.ResumeCleared(turn_id=head.resume_turn, reason=COMPLETED)),)


def status_of(head: Head) -> Status:
    """Return where a session stands that is not gone."""
    if head.put_away:
        return "archived"
    return "suspended" if head.suspended else "open"
