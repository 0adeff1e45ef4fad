"""May what was cut off in a lane's session be gone on with now, unasked, and if not, why not?

One pure rule: whatever is not known stands in the way. Nothing is gone on with in a session that
its lane has left, nor for somebody who may not speak any more, nor where nobody could be told.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Literal, NamedTuple, TypeAlias

from domain.lanes.keys import KeyPolicy, ids_of
from domain.lanes.source import recorded_source
from domain.lanes.state import Lane
from domain.project_settings import ProjectSettings
from domain.restarts import OWNER_LOST, RESTARTED, SHUTDOWN
from domain.state import Status

HeldBack: TypeAlias = Literal[
    "suspended",
    "left",
    "several-lanes",
    "ended",
    "unreadable",
    "unknown-reason",
    "stale",
    "not-allowed",
    "not-connected",
    "not-hosted",
    "running",
    "input-waits",
    "went-on",
]
"""Why nothing is gone on with by itself."""
KNOWN_REASONS: Final = frozenset(
    {
        RESTARTED,
        OWNER_LOST,
        SHUTDOWN,
        "restart-timeout",
        "shutdown-timeout",
        "restart-interrupted",
    }
)
"""Why a turn was cut off by nobody's wish: by servers here, and by gateways."""
WITHOUT_GATEWAY: Final = frozenset({"api", "local", "web"})
"""Platforms whose answers are fetched: nothing has to be connected for that."""
_SECOND: Final = 1_000_000


class Pending(NamedTuple):
    """What was cut off in a session, and how the session stands. Times are microseconds.

    Attributes:
        lane_id: The lane by which the turn came that was cut off; None if by none.
        reason, marked_at: Of its mark: the session's, or else the lane's own.
        waits: Whether an input waits in it, which comes instead.
        is_newest: Whether nothing began in it since it was cut off.
        is_hosted: Whether a server ran that turn; runners see to their own.
    """

    session_id: str
    lane_id: str | None
    reason: str
    marked_at: int
    status: Status
    is_suspended: bool
    is_running: bool
    waits: bool
    is_newest: bool
    is_hosted: bool


class Outside(NamedTuple):
    """What has to be known besides.

    Attributes:
        policy: Whom the ids of a source name; None if that cannot be told.
        connected: The platforms whose gateways are there.
    """

    settings: ProjectSettings
    policy: KeyPolicy | None
    connected: AbstractSet[str]
    now: int


def lane_to_resume(
    lanes: Sequence[tuple[str, Lane]], pending: Pending
) -> tuple[str, Lane] | HeldBack:
    """Return the lane that what was cut off belongs to, of all that ever had the session.

    It is the one by which the turn came; else the only one that has the session now.
    """
    alive = [each for each in lanes if each[1].status == "open"]
    mine = [each for each in alive if each[0] == pending.lane_id]
    having = [each for each in alive if each[1].session_id == pending.session_id]
    chosen = mine or having
    if not chosen:
        return "left"
    return chosen[0] if len(chosen) == 1 else "several-lanes"


def held_back(lane: Lane, pending: Pending, outside: Outside) -> HeldBack | None:
    """Return what stands in the way of going on with it; None if nothing does."""
    return next((word for word, is_so in _RULES if is_so(lane, pending, outside)), None)


def is_fresh(marked_at: int, window_s: int, now: int) -> bool:
    """Tell whether a mark is young enough; with a window of 0 every one is."""
    return not window_s or now - marked_at < window_s * _SECOND


def _is_allowed(lane: Lane, outside: Outside) -> bool:
    """Tell whether the lane's person may still speak; not if that cannot be told."""
    if outside.policy is None:
        return False
    ids = ids_of(recorded_source(lane.source), outside.policy)
    return outside.settings.allows(lane.platform, *ids)


def _is_connected(lane: Lane, outside: Outside) -> bool:
    return lane.platform in WITHOUT_GATEWAY or lane.platform in outside.connected


def _is_old(lane: Lane, pending: Pending, outside: Outside) -> bool:
    del lane
    window = outside.settings.lanes.resume_fresh_s
    return not is_fresh(pending.marked_at, window, outside.now)


_RULES: Final[Sequence[tuple[HeldBack, Callable[[Lane, Pending, Outside], bool]]]] = (
    ("suspended", lambda lane, pending, _: bool(lane.suspended_reason) or pending.is_suspended),
    ("left", lambda lane, pending, _: lane.session_id != pending.session_id),
    ("ended", lambda _, pending, __: pending.status != "open"),
    ("unreadable", lambda lane, _, __: bool(lane.unreadable) or not lane.platform),
    ("unknown-reason", lambda _, pending, __: pending.reason not in KNOWN_REASONS),
    ("stale", _is_old),
    ("not-allowed", lambda lane, _, outside: not _is_allowed(lane, outside)),
    ("not-connected", lambda lane, _, outside: not _is_connected(lane, outside)),
    ("not-hosted", lambda _, pending, __: not pending.is_hosted),
    ("running", lambda _, pending, __: pending.is_running),
    ("input-waits", lambda _, pending, __: pending.waits),
    ("went-on", lambda _, pending, __: not pending.is_newest),
)
"""What stands in the way, the first one told."""
