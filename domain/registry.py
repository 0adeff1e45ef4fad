"""Which names has a stored event ever had, and what does each one change?

Names are permanent: never renamed, never reused. `affects` is `history` when the event can change
what the model sees or which gates are open; the log then moves `history_version`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from domain import events as e
from domain.events import lane

Affects: TypeAlias = Literal["history", "none"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One stored event type: its class, the newest schema number, and what it affects."""

    event: type[e.SessionEvent]
    schema: int
    affects: Affects


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "session-opened": Kind(e.SessionOpened, 1, "none"),
        "session-renamed": Kind(e.SessionRenamed, 1, "none"),
        "session-configured": Kind(e.SessionConfigured, 1, "none"),
        "approval-mode-set": Kind(e.ApprovalModeSet, 1, "none"),
        "session-archived": Kind(e.SessionArchived, 1, "none"),
        "session-unarchived": Kind(e.SessionUnarchived, 1, "none"),
        "session-pinned": Kind(e.SessionPinned, 1, "none"),
        "session-deleted": Kind(e.SessionDeleted, 1, "none"),
        "session-restored": Kind(e.SessionRestored, 1, "none"),
        "session-purged": Kind(e.SessionPurged, 1, "none"),
        "session-suspended": Kind(e.SessionSuspended, 1, "none"),
        "session-unsuspended": Kind(e.SessionUnsuspended, 1, "none"),
        "resume-marked": Kind(e.ResumeMarked, 1, "none"),
        "resume-cleared": Kind(e.ResumeCleared, 1, "none"),
        "turn-started": Kind(e.TurnStarted, 1, "history"),
        "turn-completed": Kind(e.TurnCompleted, 1, "none"),
        "turn-failed": Kind(e.TurnFailed, 1, "history"),
        "turn-interrupted": Kind(e.TurnInterrupted, 1, "history"),
        "message-recorded": Kind(e.MessageRecorded, 1, "history"),
        "tool-call-requested": Kind(e.ToolCallRequested, 1, "history"),
        "tool-call-completed": Kind(e.ToolCallCompleted, 1, "history"),
        "history-compacted": Kind(e.HistoryCompacted, 1, "history"),
        "history-rewound": Kind(e.HistoryRewound, 1, "history"),
        "rewind-reverted": Kind(e.RewindReverted, 1, "history"),
        "session-forked": Kind(e.SessionForked, 1, "none"),
        "gate-opened": Kind(e.GateOpened, 1, "history"),
        "gate-decided": Kind(e.GateDecided, 1, "history"),
        "gate-expired": Kind(e.GateExpired, 1, "history"),
        "gate-withdrawn": Kind(e.GateWithdrawn, 1, "history"),
        "gate-consumed": Kind(e.GateConsumed, 1, "none"),
        "gate-answer-refused": Kind(e.GateAnswerRefused, 1, "none"),
        "harness-started": Kind(e.HarnessStarted, 1, "none"),
        "harness-parked": Kind(e.HarnessParked, 1, "none"),
        "harness-resumed": Kind(e.HarnessResumed, 1, "none"),
        "harness-evicted": Kind(e.HarnessEvicted, 1, "none"),
        "dispatch-refused": Kind(e.DispatchRefused, 1, "none"),
        "interrupt-requested": Kind(e.InterruptRequested, 1, "none"),
        "continuation-ready": Kind(e.ContinuationReady, 1, "none"),
        "seat-close-requested": Kind(e.SeatCloseRequested, 1, "none"),
        "input-queued": Kind(e.InputQueued, 1, "none"),
        "input-dequeued": Kind(e.InputDequeued, 1, "none"),
        "input-recalled": Kind(e.InputRecalled, 1, "none"),
        "history-diverged": Kind(e.HistoryDiverged, 1, "none"),
        "history-asserted": Kind(e.HistoryAsserted, 1, "none"),
        "gap-accepted": Kind(e.GapAccepted, 1, "none"),
        "usage-recorded": Kind(e.UsageRecorded, 1, "none"),
        "data-recorded": Kind(e.DataRecorded, 1, "none"),
        "records-lost": Kind(e.RecordsLost, 1, "none"),
        "loss-healed": Kind(e.LossHealed, 1, "none"),
        "history-imported": Kind(e.HistoryImported, 1, "none"),
    }
)
NAMES: Final[Mapping[type[e.SessionEvent], str]] = MappingProxyType(
    {kind.event: name for name, kind in KINDS.items()}
)


@dataclass(frozen=True, slots=True)
class LaneKind:
    """One stored event type of lanes: its class, and the newest schema number."""

    event: type[lane.LaneEvent]
    schema: int


LANE_KINDS: Final[Mapping[str, LaneKind]] = MappingProxyType(
    {
        "lane-opened": LaneKind(lane.LaneOpened, 1),
        "lane-bound": LaneKind(lane.LaneBound, 1),
        "lane-reset": LaneKind(lane.LaneReset, 1),
        "lane-switched": LaneKind(lane.LaneSwitched, 1),
        "lane-suspended": LaneKind(lane.LaneSuspended, 1),
        "lane-resume-marked": LaneKind(lane.LaneResumeMarked, 1),
        "lane-resume-cleared": LaneKind(lane.LaneResumeCleared, 1),
        "lane-moved": LaneKind(lane.LaneMoved, 1),
        "lane-pinned": LaneKind(lane.LanePinned, 1),
        "lane-pruned": LaneKind(lane.LanePruned, 1),
        "lane-purged": LaneKind(lane.LanePurged, 1),
    }
)
"""The facts of lanes, whose streams are their own; they change no session's history."""
LANE_NAMES: Final[Mapping[type[lane.LaneEvent], str]] = MappingProxyType(
    {kind.event: name for name, kind in LANE_KINDS.items()}
)
PRODUCIBLE: Final = frozenset(
    {
        "turn-started",
        "message-recorded",
        "tool-call-requested",
        "tool-call-completed",
        "gate-opened",
        "gate-decided",
        "usage-recorded",
        "data-recorded",
        "turn-completed",
        "turn-failed",
        "turn-interrupted",
        "records-lost",
        "loss-healed",
        "history-compacted",
        "harness-started",
        "harness-parked",
        "harness-resumed",
        "harness-evicted",
    }
)
"""What a producer may append; turnlog itself appends the rest."""
