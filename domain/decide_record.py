"""May this event be recorded now? The rules for what producers and imports bring."""

from typing import assert_never

from domain import events as e
from domain.commands import Proposal
from domain.decide_content import check_compaction, check_message_recorded, check_turn_started
from domain.decide_gate import decide_gate, imported_end, open_gate, withdrawn
from domain.decide_note import check_harness
from domain.decided import Decided, fact
from domain.events import SessionEvent
from domain.fields import check_arguments, check_count, check_name, check_title
from domain.refusals import CallCompleted, InvalidValue, NoSuchLoss
from domain.restarts import after_completion, after_interruption
from domain.standing import known_turn, running_turn
from domain.state import State


def decide_record(state: State, proposal: Proposal, *, imported: bool) -> tuple[Decided, ...]:
    """Return the proposed event, with those that follow from it before it.

    What is imported is no producer's, whoever brings it.

    Raises:
        Refusal: the event contradicts the session, with its place inside the event's data.
    """
    decided = fact(
        proposal.event,
        body=proposal.body,
        occurred_at=proposal.occurred_at,
        proposed=not imported,
    )
    if proposal.blobs or proposal.offloaded:
        decided = decided._replace(blobs=proposal.blobs, offloaded=proposal.offloaded)
    match proposal.event:
        case e.TurnStarted() | e.MessageRecorded() | e.ToolCallRequested() as event:
            _check_said(state, event, imported=imported)
        case e.HistoryCompacted() as event:
            check_compaction(state, event, imported=imported)
        case e.ToolCallCompleted() as event:
            return (_result(state, event, decided),)
        case e.GateOpened() as event:
            open_gate(state, event)
        case e.GateDecided() as event:
            return (decide_gate(state, event, decided),)
        case e.TurnCompleted() | e.TurnFailed() | e.TurnInterrupted() as event:
            return (*_end(state, event), decided, *_after(state, event, imported=imported))
        case (
            e.UsageRecorded()
            | e.DataRecorded()
            | e.RecordsLost()
            | e.LossHealed()
            | e.HarnessStarted()
            | e.HarnessParked()
            | e.HarnessResumed()
            | e.HarnessEvicted()
        ) as event:
            _check_kept(state, event)
        case event if imported:
            return (_imported(state, event, decided),)
        case _:
            raise InvalidValue("this event type is not for producers")
    return (decided,)


def _check_said(
    state: State,
    event: e.TurnStarted | e.MessageRecorded | e.ToolCallRequested,
    *,
    imported: bool,
) -> None:
    match event:
        case e.TurnStarted():
            check_turn_started(state, event, imported=imported)
        case e.MessageRecorded():
            check_message_recorded(state, event)
        case e.ToolCallRequested():
            running_turn(state, event.turn_id)
            check_name(event.tool_call_id, "tool_call_id")
            check_name(event.name, "name")
            check_arguments(event.arguments, "arguments")
        case _:
            assert_never(event)


def _result(state: State, event: e.ToolCallCompleted, decided: Decided) -> Decided:
    """A late result is stored, changes no history, and is late only once."""
    turn = known_turn(state, event.turn_id)
    check_name(event.tool_call_id, "tool_call_id")
    occurrences = state.calls.get((event.turn_id, event.tool_call_id), ())
    if occurrences and all(call.status != "open" for call in occurrences):
        raise CallCompleted(event.tool_call_id)
    return decided if turn.status == "running" else decided._replace(affects="none")


def _end(state: State, event: e.TurnCompleted | e.TurnFailed | e.TurnInterrupted) -> list[Decided]:
    """A turn that ends takes its open gates with it: nothing waits for what is over."""
    running_turn(state, event.turn_id)
    check_count(event.record_count, "record_count")
    match event:
        case e.TurnCompleted(stop_reason=stop_reason):
            check_name(stop_reason, "stop_reason")
        case e.TurnFailed(error=error):
            check_name(error.code, "error", "code")
        case e.TurnInterrupted(reason=reason, by=by):
            check_name(reason, "reason")
            check_name(by, "by")
        case _:
            assert_never(event)
    reason = "turn-ended" if isinstance(event, e.TurnCompleted) else "cancelled"
    return withdrawn(state, event.turn_id, reason)


def _after(
    state: State, event: e.TurnCompleted | e.TurnFailed | e.TurnInterrupted, *, imported: bool
) -> tuple[Decided, ...]:
    """What is imported brings what followed with it."""
    match event:
        case e.TurnCompleted(stop_reason=stop_reason) if not imported:
            return after_completion(state.head, stop_reason)
        case e.TurnInterrupted(turn_id=turn_id, reason=reason, by=None) if not imported:
            return after_interruption(state, turn_id, reason)
        case _:
            return ()


def _check_kept(
    state: State,
    event: e.UsageRecorded | e.DataRecorded | e.RecordsLost | e.LossHealed | e.HarnessEvent,
) -> None:
    match event:
        case e.HarnessStarted() | e.HarnessParked() | e.HarnessResumed() | e.HarnessEvicted():
            check_harness(state, event)
        case e.UsageRecorded(turn_id=turn_id):
            if turn_id is not None:
                running_turn(state, turn_id)
            _check_usage(event)
        case e.DataRecorded(kind=kind, turn_id=turn_id):
            check_name(kind, "kind")
            if turn_id is not None:
                running_turn(state, turn_id)
        case e.RecordsLost(count=count, reason=reason, turn_id=turn_id):
            check_count(count, "count", least=1)
            check_name(reason, "reason")
            if turn_id is not None:
                known_turn(state, turn_id)
        case e.LossHealed(loss_version=version):
            check_count(version, "loss_version", least=1)
            loss = state.losses.get(version)
            if loss is None or loss.healed_version is not None:
                raise NoSuchLoss(version)
        case _:
            assert_never(event)


def _check_usage(event: e.UsageRecorded) -> None:
    check_name(event.model, "model")
    check_count(event.input_tokens, "input_tokens")
    check_count(event.output_tokens, "output_tokens")
    check_count(event.cache_read_tokens, "cache_read_tokens")
    check_count(event.cache_write_tokens, "cache_write_tokens")


def _imported(state: State, event: SessionEvent, decided: Decided) -> Decided:
    """What an import brings beyond what producers may: names, settings, ends of gates."""
    match event:
        case e.SessionRenamed(title=title):
            check_title(title, "title")
        case e.SessionConfigured() | e.ApprovalModeSet() | e.HistoryImported():
            pass
        case e.GateExpired() | e.GateWithdrawn():
            return imported_end(state, event, decided)
        case _:
            raise InvalidValue("this event type is not for imports")
    return decided
