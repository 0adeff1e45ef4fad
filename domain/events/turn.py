"""Facts about turns: where one begins, and the one way in which it ends."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from domain.messages import Message

HistorySent: TypeAlias = Literal["full", "minimal", "resume", "answer", "answer+text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """A turn began, usually with one fresh user message.

    Attributes:
        lane_id: The lane that it came by, and that its answer goes back to.
        reply_to: The platform's id of the message that it answers there.
    """

    turn_id: str
    messages: tuple[Message, ...] = ()
    history_sent: HistorySent | None = None
    lane_id: str | None = None
    reply_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompleted:
    """A turn ended by itself.

    `record_count` is how many events of the turn its producer sent before this one, from
    `turn-started` on; `timings` are milliseconds by name.
    """

    turn_id: str
    stop_reason: str | None = None
    record_count: int | None = None
    timings: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnError:
    """Why a turn failed: a short code, and words for a person."""

    code: str
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed:
    """A turn ended by an error."""

    turn_id: str
    error: TurnError
    record_count: int | None = None
    timings: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInterrupted:
    """A turn was stopped from outside, or its owner was lost."""

    turn_id: str
    reason: str
    by: str | None = None
    record_count: int | None = None
    timings: object = None
