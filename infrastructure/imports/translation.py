"""What does the translation of a foreign transcript hand over?

Events as a producer may append them, each with the line that it came from, and a
report in which nothing is left out silently. No payload text appears in a report.
"""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedEvent:
    """One event that the source's lines say took place.

    Attributes:
        type: Permanent name of the event, as a producer writes it.
        data: One JSON object, compact UTF-8.
        occurred_at: Aware UTC, or None if the source does not say.
        line: The source line that it came from, counted from 1.
    """

    type: str
    data: bytes
    occurred_at: datetime | None
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedSession:
    """One session found in the source; a sub-agent's names its parent.

    Attributes:
        lines: How many source lines belong to it.
    """

    session_id: str
    title: str | None
    parent: str | None
    agent_id: str | None
    events: tuple[TranslatedEvent, ...]
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Something of the source that no view of a session will show as it was.

    Attributes:
        line: Source line, or None if it concerns the whole file.
        code: Why, as a short permanent name.
        detail: Names and counts; never what was said.
    """

    line: int | None
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was read, what became of it, and what was lost.

    Attributes:
        messages: User messages and assistant messages; a result is not counted.
        kept_as_data: Events that keep a line, or a part of one, as opaque data.
        repeats_dropped: Structured results that only repeated the result's text.
    """

    files: int = 0
    lines: int = 0
    sessions: int = 0
    turns: int = 0
    messages: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    events: int = 0
    kept_as_data: int = 0
    repeats_dropped: int = 0
    losses: tuple[Loss, ...] = field(default=())

    def plus(self, other: "Report") -> "Report":
        """Return the report over both."""
        return Report(
            files=self.files + other.files,
            lines=self.lines + other.lines,
            sessions=self.sessions + other.sessions,
            turns=self.turns + other.turns,
            messages=self.messages + other.messages,
            tool_calls=self.tool_calls + other.tool_calls,
            tool_results=self.tool_results + other.tool_results,
            events=self.events + other.events,
            kept_as_data=self.kept_as_data + other.kept_as_data,
            repeats_dropped=self.repeats_dropped + other.repeats_dropped,
            losses=self.losses + other.losses,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """All sessions of one source, and its report.

    Attributes:
        diverged_at: First line, translated before the last flush, whose place in the
            conversation later lines have changed; None if the source only grew.
    """

    sessions: tuple[TranslatedSession, ...]
    report: Report
    diverged_at: int | None
