"""What does a command ask for?"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from domain.json_text import JsonValue

NO_PARENT: Final = "-"
Status: TypeAlias = Literal["open", "suspended", "archived", "deleted", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions; `parent` is a session, or `NO_PARENT` for those without one.

    Attributes:
        subagents: Whether sub-agents' sessions are among them where no parent is named.
    """

    status: Status = "open"
    title: str | None = None
    parent: str | None = None
    subagents: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneWanted:
    """Which sessions or lanes are to go; without `older_than_days` as the settings say."""

    older_than_days: int | None = None
    include_pinned: bool = False
    limit: int
    dry_run: bool = False


LaneStatus: TypeAlias = Literal[
    "open", "suspended", "resume-pending", "moved", "pruned", "purged", "all"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneWanted:
    """Which lanes; `id_prefix` is how their ids begin."""

    status: LaneStatus = "open"
    id_prefix: str | None = None
    key: str | None = None
    platform: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveWanted:
    """Whose session is asked for: a source, and whether it is to be a new one."""

    source: JsonValue
    force_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which lines of an audit, as it stood at a version or time; moments are RFC 3339."""

    types: tuple[str, ...] = ()
    actor: str | None = None
    turn_id: str | None = None
    tool: str | None = None
    effect: Literal["history", "none"] | None = None
    since: str | None = None
    until: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFilter:
    """Which usage, and what it is summed up by. Days are `2026-01-31`, inclusive."""

    by: Literal["session", "model", "day"]
    session_id: str | None = None
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFilter:
    """Which errors; `since` is RFC 3339."""

    source: str | None = None
    code: str | None = None
    kind: str | None = None
    session_id: str | None = None
    since: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFilter:
    """Which texts; moments are RFC 3339."""

    query: str
    session_id: str | None = None
    role: Literal["user", "assistant", "system", "developer", "tool"] | None = None
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The history that a command was shown; `fingerprint` is hex."""

    history_version: int
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RewindWanted:
    """Which turns go out of sight: one of the four targets names them."""

    turns: int | None = None
    to_turn: str | None = None
    before_message: str | None = None
    to_version: int | None = None
    interrupt: bool = False
    dry_run: bool = False
    head: Claim | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RedoWanted:
    """Which turns come back: those of the newest rewind, or of the one at a version."""

    rewind_version: int | None = None
    interrupt: bool = False
    dry_run: bool = False
    head: Claim | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptWanted:
    """What is accepted as missing, by codes, and what the model is told of it."""

    reasons: tuple[str, ...] | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionWanted:
    """What is decided about a gate; `answer` is any JSON."""

    verdict: str
    answer: JsonValue = None
    message: str | None = None

    def members(self) -> dict[str, JsonValue]:
        """Return what is said of it."""
        said = {"verdict": self.verdict, "answer": self.answer, "message": self.message}
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkWanted:
    """Where a fork begins, and what it is called; where the session is, if nothing is said."""

    at_turn: str | None = None
    at: int | None = None
    session_id: str | None = None
    title: str | None = None
