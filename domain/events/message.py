"""Facts about what was said, and about what a summary stands in for."""

from dataclasses import dataclass

from domain.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRecorded:
    """Somebody said something inside a turn."""

    turn_id: str
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCompacted:
    """A summary took the place of every message up to and with `through_message_id`.

    Attributes:
        since_version: The watermark: the version that the summariser had read up to.
        harness: Which harness of turnlog's made it; None of one that was given.
    """

    summary: str
    through_message_id: str
    since_version: int | None = None
    harness: str | None = None
