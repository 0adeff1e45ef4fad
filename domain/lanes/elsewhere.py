"""May a conversation go on at another place, and what is recorded of that place?"""

from domain.events import lane as e
from domain.lanes.state import Lane
from domain.refusals import LaneExists


def check_free(there: Lane | None) -> None:
    """Raise a refusal unless a place has no conversation, or none any more.

    Raises:
        LaneExists: it has one.
    """
    if there is not None and there.status == "open":
        raise LaneExists


def branched(opening: e.LaneOpened, session_id: str) -> tuple[e.LaneEvent, ...]:
    """Return what is recorded of the place where a branch of another lane's session goes on."""
    return (opening, e.LaneBound(session_id=session_id, reason="branched"))
