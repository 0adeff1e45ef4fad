"""Who asks for something, and of which session?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, and under which trace."""

    actor: str | None = None
    trace_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The session that a command is for."""

    project_id: str
    session_id: str
