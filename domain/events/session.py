"""Facts about a session as a whole: its beginning, name, settings and whereabouts."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ApprovalMode: TypeAlias = Literal["allow-all", "deny-all", "read-only", "always-ask"]
TitleBy: TypeAlias = Literal["person", "import", "first-words", "fork", "harness", "hook"]
ArchiveReason: TypeAlias = Literal[
    "lane-reset", "lane-switched", "lane-suspended", "agent-close", "orphan-reaped"
]
"""Why a session ended, where no person put it away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The session that a sub-agent's session belongs to.

    Attributes:
        turn_id, tool_call_id: The call that it was begun by, of that turn of the parent.
    """

    session_id: str
    agent_id: str | None = None
    turn_id: str | None = None
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOpened:
    """A session began."""

    title: str | None = None
    config: object = None
    source: object = None
    approval_mode: ApprovalMode | None = None
    parent: Parent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRenamed:
    """The session took another title, or lost it."""

    title: str | None
    by: TitleBy = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfigured:
    """The session's configuration became this one, whole."""

    config: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalModeSet:
    """Approvals are settled in this way from here on."""

    mode: ApprovalMode


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionArchived:
    """The session was put away; it takes no turns until it is unarchived.

    Attributes:
        reason: An `ArchiveReason`, or one of a later build; None: a person did it.
    """

    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUnarchived:
    """The session takes turns again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeleted:
    """The session was taken out of sight; it can be restored.

    Attributes:
        reason: None: it was asked for.
    """

    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPinned:
    """The session is kept from here on, however long ago it ended; or it is kept no more."""

    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPurged:
    """What was said in the session was destroyed; this is its last fact.

    Attributes:
        events: How many facts of its own came before; their envelopes stay.
        forked_from: The session that it shared its history with, up to `base_version`.
        usage: What its models used, as sums by day, model and currency; nothing that was said.
    """

    events: int
    forked_from: str | None = None
    base_version: int = 0
    usage: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRestored:
    """The session came back into sight."""
