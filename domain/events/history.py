"""Facts about going back: which part of the history is in sight, and who goes on from it."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from domain.events.session import TitleBy

Scope: TypeAlias = Literal["conversation"]


def _conversation() -> Scope:
    """Return what a rewind is about; made, not given, so that each fact says it in so many words.

    A default would not be written.
    """
    return "conversation"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRewound:
    """What was in sight of the facts since `from_version`, up to `through_version`, is so no more.

    Nothing but the conversation is rewound: no file, and nothing that a tool did.

    Attributes:
        turn_id: The first turn that was taken out; all those after it went with it.
        turns, messages: How many were in sight and are not any more.
        asked: What the batch asked for that it is part of, as JSON; None if it came alone.
    """

    turn_id: str
    from_version: int
    through_version: int
    turns: int
    messages: int
    scope: Scope = field(default_factory=_conversation)
    asked: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewindReverted:
    """What was in sight just before the rewind at `rewind_version` is in sight again.

    Attributes:
        turns, messages: How many came back.
    """

    rewind_version: int
    turns: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPoint:
    """Where a fork left its parent: the last event that both have, with its hash in hex."""

    session_id: str
    version: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionForked:
    """A session began with the history that another one had at a version.

    What came before stays the parent's own; this is the event after it.
    """

    parent: ForkPoint
    title: str | None = None
    title_by: TitleBy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryDiverged:
    """A client's history left ours, and was followed: what remains of it are the facts after this.

    Attributes:
        kind: How the first message that differs, differs.
        index: Ours, where it differs; None if we have none there.
        client_index: Where it stands in what the client sent.
        turns: Our turns that stayed.
        messages: The client's messages that were recorded in place of the rest.
    """

    kind: str
    turns: int
    messages: int
    index: int | None = None
    client_index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryAsserted:
    """A client sent its full history, and from here on the record is complete.

    Attributes:
        messages: How many of its messages were recorded after this; 0 if it is what we had.
        reasons: Why the record had not been complete; codes.
    """

    messages: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GapAccepted:
    """An administrator accepts that records are missing: the history counts as complete without.

    Attributes:
        reasons: Why the record is not complete; codes.
    """

    reasons: tuple[str, ...]
