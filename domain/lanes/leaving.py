"""What becomes of the session that a lane leaves, and of what is under way there?

Who asks for another conversation means that this one is over: what runs is interrupted, what waits
is taken back, and the session is put away. What others have in it stays as it is.
"""

from typing import NamedTuple

from domain.lanes.resolving import Standing
from domain.refusals import TurnInProgress
from domain.state import Turn


class Leaving(NamedTuple):
    """What is done about a session.

    Attributes:
        stops: The turn that is interrupted.
        ends: Whether the session is put away.
        names: The lanes whose inputs are taken back; None: whoever's.
    """

    stops: str | None = None
    ends: bool = False
    names: frozenset[str] | None = frozenset()

    def recalls(self, lane_id: str | None) -> bool:
        """Tell whether an input is taken back that came by this lane, or by none."""
        return self.names is None or lane_id in self.names


def leaving(
    standing: Standing, turn: Turn | None, names: frozenset[str], *, interrupt: bool
) -> Leaving:
    """Return what becomes of the session; `turn` has not ended, `names` are those of the lane.

    A turn that waits for an answer goes without being asked for: nobody is to answer it any more.

    Raises:
        TurnInProgress: a turn runs, and is not to be interrupted.
    """
    if standing.status not in {"open", "suspended"}:
        return Leaving()
    ours = not standing.is_shared
    stops = None
    if turn is not None and (ours or turn.lane_id in names):
        if not (interrupt or turn.paused):
            raise TurnInProgress(turn.turn_id)
        stops = turn.turn_id
    return Leaving(stops, ends=ours, names=None if ours else names)
