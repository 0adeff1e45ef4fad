"""What becomes of a lane's own mark when a turn that came by the lane ends well?

It is taken away in the transaction that records the turn's end, so that nobody can see one without
the other. A turn that failed, or was stopped, leaves it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from domain.events import TurnCompleted
from domain.events.lane import LaneResumeCleared
from domain.recorded import Recorded
from domain.restarts import COMPLETED, NOT_ADDRESSED
from domain.state import Turn
from infrastructure.callers import Caller, Target
from infrastructure.lanes.facts import folded, stamped, stream_name
from infrastructure.lanes.lookup import followed
from infrastructure.lanes.writing import LaneWriting
from infrastructure.runner import Attempt

CLEARED: Final = LaneResumeCleared(reason=COMPLETED)


def lanes_served(facts: Sequence[Recorded], turns: Mapping[str, Turn]) -> Iterator[str]:
    """Yield the lanes by which the turns came that `facts` say ended well."""
    for fact in facts:
        event = fact.event
        if isinstance(event, TurnCompleted) and event.stop_reason != NOT_ADDRESSED:
            turn = turns.get(event.turn_id or "")
            if turn is not None and turn.lane_id is not None:
                yield turn.lane_id


def clearing(
    attempt: Attempt,
    target: Target,
    lane_id: str,
    mint: Callable[[], tuple[str, bytes]],
    now: int,
    caller: Caller,
) -> LaneWriting | None:
    """Return what takes the mark of a lane away, if it has one and still has this session."""
    found = followed(attempt.connection, target.project_id, lane_id)
    if found is None or found.lane.status != "open" or found.lane.resume_reason is None:
        return None
    if found.lane.session_id != target.session_id:
        return None
    place = (target.project_id, found.lane_id)
    fact = stamped(place, found.lane, CLEARED, now=now, mint=mint, caller=caller)
    after = folded(found.lane, [fact])
    return LaneWriting(
        commit=attempt.commit,
        session_key=found.key,
        project_id=target.project_id,
        session_id=stream_name(found.lane_id),
        seen=found.lane.version,
        facts=[fact.recorded],
        lane=after.lane,
        bound=after.bound,
    )
