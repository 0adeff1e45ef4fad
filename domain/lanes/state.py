"""What is known of a lane: which session is its current one, and what stands in its way?"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

LaneStatus: TypeAlias = Literal["open", "moved", "pruned", "purged"]


class Lane(NamedTuple):
    """A lane, folded from its facts. Times are microseconds since 1970, UTC.

    Attributes:
        session_id: Its current session; empty only of a lane whose facts cannot be read, or that
            was purged: of such a one nothing is known.
        suspended_reason: Why its current session is not gone on with; None if it is.
        resume_reason: Why there is something to go on with; None if there is nothing.
        reset_reason, reset_at, had_activity: Of the newest reset since it was opened.
        moved_to: Where its conversation went, even if another one began here since.
        follows: Whether what still comes here belongs there.
        unreadable: So many of its facts this build cannot read.
    """

    version: int = 0
    hash: bytes = b"\x00" * 32
    status: LaneStatus = "open"
    lane_key: str = ""
    platform: str = ""
    chat_type: str = ""
    owner: str = ""
    shared: bool = False
    source: Mapping[str, object] = {}
    policy: Mapping[str, object] = {}
    session_id: str = ""
    previous_session_id: str | None = None
    bound_at: int = 0
    suspended_reason: str | None = None
    resume_reason: str | None = None
    resume_at: int = 0
    reset_reason: str | None = None
    reset_at: int = 0
    had_activity: bool = False
    moved_to: str | None = None
    follows: bool = False
    moved_from: str | None = None
    pinned: bool = False
    unreadable: int = 0
    created_at: int = 0
    updated_at: int = 0


NO_LANE = Lane()


class Bound(NamedTuple):
    """A session that a lane has or had: when it became the current one, last, and why."""

    session_id: str
    bound_version: int
    bound_at: int
    reason: str
