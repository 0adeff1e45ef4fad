"""The facts that a session's log can hold, in files by subject.

Past tense, frozen, without id or time: those are the envelope's. A field once stored keeps its
meaning for ever; a new meaning is a new event. A field of type `object` is opaque JSON, kept as
`domain.json_text.RawJson`, so that nothing in it changes on its way through the log.
"""

from typing import TypeAlias

from domain.events.dispatch import (
    ContinuationReady,
    DispatchRefused,
    InputDequeued,
    InputQueued,
    InputRecalled,
    InterruptRequested,
    SeatCloseRequested,
)
from domain.events.gate import (
    GateAnswerRefused,
    GateConsumed,
    GateDecided,
    GateExpired,
    GateOpened,
    GateWithdrawn,
)
from domain.events.harness import HarnessEvicted, HarnessParked, HarnessResumed, HarnessStarted
from domain.events.history import (
    ForkPoint,
    GapAccepted,
    HistoryAsserted,
    HistoryDiverged,
    HistoryRewound,
    RewindReverted,
    SessionForked,
)
from domain.events.message import HistoryCompacted, MessageRecorded
from domain.events.record import (
    DataRecorded,
    HistoryImported,
    LossHealed,
    Opaque,
    RecordsLost,
    UsageRecorded,
)
from domain.events.restart import (
    ResumeCleared,
    ResumeMarked,
    SessionSuspended,
    SessionUnsuspended,
)
from domain.events.session import (
    ApprovalModeSet,
    SessionArchived,
    SessionConfigured,
    SessionDeleted,
    SessionOpened,
    SessionPinned,
    SessionPurged,
    SessionRenamed,
    SessionRestored,
    SessionUnarchived,
)
from domain.events.tool_call import ToolCallCompleted, ToolCallRequested
from domain.events.turn import TurnCompleted, TurnError, TurnFailed, TurnInterrupted, TurnStarted

SessionLifecycleEvent: TypeAlias = (
    SessionOpened
    | SessionRenamed
    | SessionConfigured
    | ApprovalModeSet
    | SessionArchived
    | SessionUnarchived
    | SessionPinned
    | SessionDeleted
    | SessionRestored
)
TurnEvent: TypeAlias = TurnStarted | TurnCompleted | TurnFailed | TurnInterrupted
HistoryEvent: TypeAlias = HistoryRewound | RewindReverted | SessionForked
ContentEvent: TypeAlias = MessageRecorded | ToolCallRequested | ToolCallCompleted | HistoryCompacted
GateEvent: TypeAlias = GateOpened | GateDecided | GateExpired | GateWithdrawn | GateConsumed
SettlingEvent: TypeAlias = HistoryDiverged | HistoryAsserted | GapAccepted
HarnessEvent: TypeAlias = HarnessStarted | HarnessParked | HarnessResumed | HarnessEvicted
RequestEvent: TypeAlias = (
    DispatchRefused | InterruptRequested | ContinuationReady | SeatCloseRequested
)
QueueEvent: TypeAlias = InputQueued | InputDequeued | InputRecalled
RestartEvent: TypeAlias = ResumeMarked | ResumeCleared | SessionSuspended | SessionUnsuspended
RecordKeepingEvent: TypeAlias = (
    UsageRecorded | DataRecorded | RecordsLost | LossHealed | HistoryImported
)
SessionEvent: TypeAlias = (
    SessionLifecycleEvent
    | SessionPurged
    | TurnEvent
    | ContentEvent
    | HistoryEvent
    | SettlingEvent
    | GateEvent
    | GateAnswerRefused
    | HarnessEvent
    | RequestEvent
    | QueueEvent
    | RestartEvent
    | RecordKeepingEvent
)
Fact: TypeAlias = SessionEvent | Opaque

__all__ = [
    "ApprovalModeSet",
    "ContentEvent",
    "ContinuationReady",
    "DataRecorded",
    "DispatchRefused",
    "Fact",
    "ForkPoint",
    "GapAccepted",
    "GateAnswerRefused",
    "GateConsumed",
    "GateDecided",
    "GateEvent",
    "GateExpired",
    "GateOpened",
    "GateWithdrawn",
    "HarnessEvent",
    "HarnessEvicted",
    "HarnessParked",
    "HarnessResumed",
    "HarnessStarted",
    "HistoryAsserted",
    "HistoryCompacted",
    "HistoryDiverged",
    "HistoryEvent",
    "HistoryImported",
    "HistoryRewound",
    "InputDequeued",
    "InputQueued",
    "InputRecalled",
    "InterruptRequested",
    "LossHealed",
    "MessageRecorded",
    "Opaque",
    "QueueEvent",
    "RecordKeepingEvent",
    "RecordsLost",
    "RequestEvent",
    "RestartEvent",
    "ResumeCleared",
    "ResumeMarked",
    "RewindReverted",
    "SeatCloseRequested",
    "SessionArchived",
    "SessionConfigured",
    "SessionDeleted",
    "SessionEvent",
    "SessionForked",
    "SessionLifecycleEvent",
    "SessionOpened",
    "SessionPinned",
    "SessionPurged",
    "SessionRenamed",
    "SessionRestored",
    "SessionSuspended",
    "SessionUnarchived",
    "SessionUnsuspended",
    "SettlingEvent",
    "ToolCallCompleted",
    "ToolCallRequested",
    "TurnCompleted",
    "TurnError",
    "TurnEvent",
    "TurnFailed",
    "TurnInterrupted",
    "TurnStarted",
    "UsageRecorded",
]
