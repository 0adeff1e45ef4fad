"""What is a session after one more fact?

The one fold: the rules, the transcript, the fingerprints and the gates all follow from it. It
holds no rule and never raises on a recorded fact, however odd the log is.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from domain import events as e
from domain.checkpoints import EVERY, checked
from domain.draft import Draft, begun
from domain.evolve_content import (
    call_completed,
    call_requested,
    compacted,
    message_index,
    message_recorded,
)
from domain.evolve_gate import gate_closed, gate_consumed, gate_opened, verdict_status
from domain.evolve_harness import harness_changed
from domain.evolve_history import forked, reverted, rewound, settled
from domain.evolve_queue import queue_changed
from domain.evolve_restart import restart_changed
from domain.evolve_turn import turn_ended, turn_started, used
from domain.pieces import merge, summary_parts
from domain.recorded import Recorded
from domain.restarts import status_of
from domain.state import Changes, Head, Loss, State


def fold(facts: Iterable[Recorded]) -> State:
    """Return the session that `facts`, in order, make."""
    state = State()
    for fact in facts:
        state.apply(evolve(state, fact))
    return state


def evolve(state: State, fact: Recorded) -> Changes:
    """Return what `fact` changes in `state`: the head, and each record that it touches."""
    draft = begun(state, fact)
    match fact.event:
        case (
            e.MessageRecorded()
            | e.ToolCallRequested()
            | e.ToolCallCompleted()
            | e.HistoryCompacted()
        ) as event:
            _content_changed(draft, event)
        case e.HistoryRewound() as event:
            rewound(draft, event)
        case e.RewindReverted() as event:
            reverted(draft, event)
        case e.SessionForked() as event:
            forked(draft, event)
        case (e.TurnStarted() | e.TurnCompleted() | e.TurnFailed() | e.TurnInterrupted()) as event:
            _turn_changed(draft, event)
        case (
            e.GateOpened()
            | e.GateDecided()
            | e.GateExpired()
            | e.GateWithdrawn()
            | e.GateConsumed()
        ) as event:
            _gate_changed(draft, event)
        case (
            e.SessionOpened()
            | e.SessionRenamed()
            | e.SessionConfigured()
            | e.ApprovalModeSet()
            | e.SessionArchived()
            | e.SessionUnarchived()
            | e.SessionPinned()
            | e.SessionDeleted()
            | e.SessionRestored()
        ) as event:
            _session_changed(draft, event)
        case e.SessionPurged() as event:
            return _purged(fact, event)
        case _ as event:
            _other_changed(draft, event)
    if draft.version - draft.head.checkpoint >= EVERY or draft.move is not None:
        checked(draft)
    return draft.changes()


def _purged(fact: Recorded, event: e.SessionPurged) -> Changes:
    """Return what is left of a session by its last fact alone: what was before cannot be read."""
    return Changes(
        head=Head(
            status="purged",
            version=fact.envelope.version,
            hash=fact.hash,
            updated_at=fact.envelope.recorded_at,
            forked_from=event.forked_from,
            base_version=event.base_version,
        )
    )


def _session_changed(draft: Draft, event: e.SessionLifecycleEvent) -> None:
    head = draft.head
    match event:
        case e.SessionOpened():
            head = _opened(draft, event)
        case e.SessionRenamed(title=title, by=by):
            head = head._replace(title=title, title_by=by if title else None)
        case e.SessionConfigured():
            head = head._replace(config_version=draft.version)
        case e.ApprovalModeSet(mode=mode):
            head = head._replace(approval_mode=mode)
        case e.SessionPinned(pinned=pinned):
            head = head._replace(pinned=pinned)
        case e.SessionArchived(reason=reason):
            head = head._replace(status="archived", put_away=True, archived_reason=reason)
        case e.SessionUnarchived():
            status = status_of(head._replace(put_away=False))
            head = head._replace(status=status, put_away=False, archived_reason=None)
        case e.SessionRestored():
            head = head._replace(status=status_of(head))
        case e.SessionDeleted():
            head = head._replace(status="deleted")
        case _:
            assert_never(event)
    draft.head = head


def _opened(draft: Draft, event: e.SessionOpened) -> Head:
    head = draft.head._replace(
        status="open",
        title=event.title,
        title_by="person" if event.title else None,
        config_version=None if event.config is None else draft.version,
        approval_mode=event.approval_mode,
        created_at=draft.fact.envelope.recorded_at,
        known_position=draft.fact.position,
    )
    if event.parent is None:
        return head
    return head._replace(
        parent_session_id=event.parent.session_id,
        parent_turn_id=event.parent.turn_id,
        parent_call_id=event.parent.tool_call_id,
        agent_id=event.parent.agent_id,
    )


def _turn_changed(draft: Draft, event: e.TurnEvent) -> None:
    match event:
        case e.TurnStarted():
            turn_started(draft, event)
        case e.TurnCompleted():
            turn_ended(draft, event, "completed")
        case e.TurnFailed():
            turn_ended(draft, event, "failed")
        case e.TurnInterrupted():
            turn_ended(draft, event, "interrupted")
        case _:
            assert_never(event)


def _content_changed(draft: Draft, event: e.ContentEvent) -> None:
    match event:
        case e.MessageRecorded():
            message_recorded(draft, event)
        case e.ToolCallRequested():
            call_requested(draft, event)
        case e.ToolCallCompleted():
            call_completed(draft, event)
        case e.HistoryCompacted():
            compacted(draft, event)
        case _:
            assert_never(event)


def _gate_changed(draft: Draft, event: e.GateEvent) -> None:
    match event:
        case e.GateOpened():
            gate_opened(draft, event)
        case e.GateDecided(gate_id=gate_id):
            gate_closed(draft, gate_id, verdict_status(event), event)
        case e.GateExpired(gate_id=gate_id):
            gate_closed(draft, gate_id, "expired")
        case e.GateWithdrawn(gate_id=gate_id):
            gate_closed(draft, gate_id, "withdrawn")
        case e.GateConsumed(gate_id=gate_id):
            gate_consumed(draft, gate_id)
        case _:
            assert_never(event)


def _other_changed(
    draft: Draft,
    event: e.HarnessEvent
    | e.QueueEvent
    | e.RestartEvent
    | e.SettlingEvent
    | e.RequestEvent
    | e.GateAnswerRefused
    | e.RecordKeepingEvent
    | e.Opaque,
) -> None:
    match event:
        case (
            e.HarnessStarted() | e.HarnessParked() | e.HarnessResumed() | e.HarnessEvicted()
        ) as event:
            harness_changed(draft, event)
        case e.InputQueued() | e.InputDequeued() | e.InputRecalled() as event:
            queue_changed(draft, event)
        case (
            e.ResumeMarked() | e.ResumeCleared() | e.SessionSuspended() | e.SessionUnsuspended()
        ) as event:
            restart_changed(draft, event)
        case e.HistoryAsserted() | e.GapAccepted():
            settled(draft)
        case (
            e.HistoryDiverged()
            | e.DispatchRefused()
            | e.InterruptRequested()
            | e.ContinuationReady()
            | e.SeatCloseRequested()
            | e.GateAnswerRefused()
        ):
            pass  # told, and changes nothing by itself
        case _ as event:
            _record_changed(draft, event)


def _record_changed(draft: Draft, event: e.RecordKeepingEvent | e.Opaque) -> None:
    head = draft.head
    match event:
        case e.UsageRecorded():
            used(draft, event)
        case e.DataRecorded():
            pass
        case e.RecordsLost(count=count, turn_id=turn_id):
            draft.head = head._replace(open_losses=head.open_losses + 1)
            draft.losses.append(Loss(version=draft.version, count=count, turn_id=turn_id))
        case e.LossHealed(loss_version=version):
            loss = draft.known.losses.get(version)
            if loss is not None and loss.healed_version is None:
                counts = version > head.complete_from
                draft.head = head._replace(
                    open_losses=head.open_losses - counts,
                    settled_losses=head.settled_losses - (not counts),
                )
                draft.losses.append(replace(loss, healed_version=draft.version))
        case e.HistoryImported():
            draft.head = head._replace(known_position=draft.fact.position)
        case e.Opaque():
            if draft.fact.envelope.affects == "history":
                draft.head = head._replace(unreadable=head.unreadable + 1, tail_open=False)
        case _:
            assert_never(event)


__all__ = ["evolve", "fold", "merge", "message_index", "summary_parts"]
