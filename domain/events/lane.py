"""Facts about a lane: a place where conversations happen, and which of them is its current one.

They are a stream of their own in the log, beside those of the sessions.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

BoundBecause: TypeAlias = Literal["created", "session-ended", "recovered", "moved", "branched"]
ResetBecause: TypeAlias = Literal["requested", "suspended", "forced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneOpened:
    """A place was seen for the first time, or again after it was pruned or moved away.

    Attributes:
        lane_key: Its name as people read it.
        source: Where its first message came from, as `domain.lanes.source` writes it.
        owner: Whose lane it is; lanes of one owner may take up each other's sessions.
        shared: Whether several people talk in one session.
        policy: The settings that its key follows from.
        moved_from: The lane whose conversation goes on here.
    """

    lane_key: str
    source: object
    owner: str
    shared: bool
    policy: object = None
    moved_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneBound:
    """The session became the lane's current one."""

    session_id: str
    reason: BoundBecause
    previous_session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneReset:
    """A new session took the current one's place.

    Attributes:
        had_activity: Whether anything had been said in the one before.
    """

    session_id: str
    previous_session_id: str
    reason: ResetBecause
    had_activity: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSwitched:
    """An earlier session became the lane's current one again."""

    session_id: str
    previous_session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSuspended:
    """The lane's current session is not gone on with: whoever comes next gets a new one."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneResumeMarked:
    """A turn of the lane's session was cut off, and could be gone on with."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneResumeCleared:
    """There is nothing to go on with any more."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneMoved:
    """The conversation goes on in another lane.

    Attributes:
        follow: Whether what still comes here belongs there.
    """

    to_lane_id: str
    follow: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePinned:
    """The lane is kept from being pruned, or not any more."""

    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePruned:
    """The lane was given up, as nothing came for long; its sessions stay as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePurged:
    """Where the lane was, who spoke there and what became of it was destroyed.

    What comes from there later begins the lane anew, after this fact.

    Attributes:
        events: How many facts came before; their envelopes stay.
    """

    events: int


LaneEvent: TypeAlias = (
    LaneOpened
    | LaneBound
    | LaneReset
    | LaneSwitched
    | LaneSuspended
    | LaneResumeMarked
    | LaneResumeCleared
    | LaneMoved
    | LanePinned
    | LanePruned
    | LanePurged
)
