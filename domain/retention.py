"""Which ended sessions are kept no longer?

Those that are archived, whose last fact is older than a time, and that nobody pinned. What waits or
runs in one keeps it; whatever else holds it, whoever asks has to know.
"""

from dataclasses import dataclass
from typing import Final

from domain.state import Head

DAY_US: Final = 24 * 60 * 60 * 1_000_000
RETENTION: Final = "retention"
"""Why a session was deleted that nobody asked to delete."""
AT_ONCE: Final = 50
MOST_AT_ONCE: Final = 200
"""So many sessions go by one request, if it does not say how many; and if it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long ended sessions are kept.

    Attributes:
        before: What was last written at this time or later is kept; microseconds since 1970.
        include_pinned: Whether being pinned keeps none.
    """

    before: int
    include_pinned: bool = False


def kept_for(days: int, now: int, *, include_pinned: bool = False) -> Retention:
    """Return what it means to keep ended sessions for so many days, from 1 on."""
    return Retention(before=now - days * DAY_US, include_pinned=include_pinned)


def may_go(head: Head, retention: Retention) -> bool:
    """Tell whether a session that stands so is kept no longer."""
    return (
        head.status == "archived"
        and head.updated_at < retention.before
        and (retention.include_pinned or not head.pinned)
        and head.turn_id is None
        and head.queued == 0
        and head.open_gates == 0
    )
