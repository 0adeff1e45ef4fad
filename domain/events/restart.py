"""Facts about what restarts of servers did to a session: cut off, to be resumed, held back."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeMarked:
    """A turn of a server was cut off by the server's end, and could be gone on with."""

    turn_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCleared:
    """There is nothing to go on with any more: a turn ended well since, or it is too long ago."""

    turn_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSuspended:
    """The session takes no turns until somebody says so.

    Attributes:
        count: So many of its turns in a row were cut off.
    """

    reason: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUnsuspended:
    """The session takes turns again."""
