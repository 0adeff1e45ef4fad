"""What may a caller ask of a session? Commands are imperative."""

from dataclasses import dataclass
from typing import TypeAlias

from domain.blobs import Blob
from domain.events import (
    ForkPoint,
    GateAnswerRefused,
    GateConsumed,
    GateWithdrawn,
    HarnessEvent,
    QueueEvent,
    RequestEvent,
    ResumeCleared,
    SessionEvent,
    SettlingEvent,
)
from domain.events.session import ApprovalMode, ArchiveReason, Parent, TitleBy
from domain.offloading import Offloaded
from domain.raw_json import RawJson


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """Begin the session."""

    title: str | None = None
    title_by: TitleBy = "person"
    config: object = None
    source: object = None
    approval_mode: ApprovalMode | None = None
    parent: Parent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameSession:
    """Give the session this title; None takes it away.

    One that no person chose is passed over where somebody else's stands.
    """

    title: str | None
    by: TitleBy = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureSession:
    """Make this the session's configuration, whole."""

    config: object


@dataclass(frozen=True, slots=True, kw_only=True)
class SetApprovalMode:
    """Settle approvals in this way."""

    mode: ApprovalMode


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSession:
    """Put the session away.

    One that ended by an accident can be put away on purpose, and then did not end by an accident.

    Attributes:
        reason: None: a person does it.
    """

    reason: ArchiveReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnarchiveSession:
    """Take the session out again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinSession:
    """Keep the session, however long ago it ended; or keep it no more."""

    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsuspendSession:
    """Have the session take turns again that restarts cut off again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSession:
    """Take the session out of sight; what runs is interrupted.

    Attributes:
        reason: None: it was asked for.
    """

    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSession:
    """Bring a deleted session back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeSession:
    """Destroy what was said in a deleted session, for ever; `usage` is what is kept of it."""

    usage: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptTurn:
    """End the turn from outside, if it has not ended."""

    turn_id: str
    reason: str
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadClaim:
    """The history that the caller believes to be the newest. `fingerprint` is hex."""

    history_version: int
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewind:
    """Take the last turns out of sight: one of the four targets names which.

    Attributes:
        turns: So many, or all there are.
        to_turn: This one and all after it.
        before_message: The turn that begins with this message, and all after it.
        to_version: All that started after this version.
        interrupt: Whether a turn that runs is interrupted for it.
        asked: All of this as JSON, in a batch: a batch that comes again asks for the same.
    """

    turns: int | None = None
    to_turn: str | None = None
    before_message: str | None = None
    to_version: int | None = None
    interrupt: bool = False
    claim: HeadClaim | None = None
    asked: RawJson | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redo:
    """Bring back what a rewind took out: the newest, or the one at `rewind_version`.

    Attributes:
        interrupt: Whether a turn that runs is interrupted for it.
    """

    rewind_version: int | None = None
    interrupt: bool = False
    claim: HeadClaim | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Let a summary stand for the messages up to one, between turns.

    Attributes:
        since_version: The version that the summary was made of; what came later is kept.
        harness: Which harness of turnlog's made it; None of one that was given.
    """

    summary: str
    through_message_id: str
    since_version: int | None = None
    harness: str | None = None
    claim: HeadClaim | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkSession:
    """Begin the session with the history of another, as `domain.forking.beginning` gives it.

    Attributes:
        depth: How many sessions it shares history with.
    """

    parent: ForkPoint
    depth: int = 1
    title: str | None = None
    title_by: TitleBy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A producer's place for a batch: one sequence number each, from 1 in each epoch.

    Attributes:
        current: The epoch that the producer's newest mint made current.
        previous: The last (epoch, sequence) that the producer wrote to this session.
    """

    producer_id: str
    epoch: int
    sequence: int
    current: int
    previous: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An event that a caller wants recorded, with its JSON as it was sent.

    Attributes:
        body: The event's data; what is stored, but for names that the log resolves.
        occurred_at: Microseconds since 1970, if the caller says.
        blobs: The files that the data names.
        offloaded: `body` as it is stored, if it is so long that something may leave it. It is
            known beforehand, so that nobody waits while it is made.
    """

    event: SessionEvent
    body: bytes
    occurred_at: int | None = None
    blobs: tuple[Blob, ...] = ()
    offloaded: Offloaded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginBatch:
    """Check everything that a batch names besides its events."""

    batch: Batch | None = None
    expected_version: int | None = None
    claim: HeadClaim | None = None
    open: OpenSession | None = None
    events: int
    opens_with_loss: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Record one event: of a batch, or of an import (which may bring what batches may not)."""

    proposal: Proposal
    imported: bool = False


Own: TypeAlias = (
    HarnessEvent
    | RequestEvent
    | QueueEvent
    | SettlingEvent
    | ResumeCleared
    | GateConsumed
    | GateWithdrawn
    | GateAnswerRefused
)
"""What turnlog sees and does itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Record what turnlog itself saw or did.

    Attributes:
        proposed: Whether a producer's batch asked for it, so that it is a fact of the batch.
    """

    event: Own
    proposed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireGates:
    """End the gates whose time ran out by `now`, in microseconds since 1970."""

    now: int


SessionCommand: TypeAlias = (
    OpenSession
    | ForkSession
    | RenameSession
    | ConfigureSession
    | SetApprovalMode
    | ArchiveSession
    | UnarchiveSession
    | PinSession
    | UnsuspendSession
    | DeleteSession
    | RestoreSession
    | PurgeSession
    | InterruptTurn
    | Rewind
    | Redo
    | Compact
    | BeginBatch
    | Record
    | Note
    | ExpireGates
)
