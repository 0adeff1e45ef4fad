"""What does each file in `tests/golden/events` say? One event of every type, with all its fields.

A golden file is a stored body. It is never changed: whoever changes a type adds a schema, a lift
and a file of the new shape beside the old one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from domain import events as e
from domain.events.session import Parent
from domain.events.turn import TurnError
from domain.messages import Author, Message
from domain.raw_json import RawJson

DIRECTORY: Final = Path(__file__).parent.parent / "golden" / "events"

GOLDEN: Final[Mapping[str, e.SessionEvent]] = {
    "session-opened": e.SessionOpened(
        title="Grüße",
        config=RawJson(b'{"model":"sonnet","temperature":0.70}'),
        source=RawJson(b'{"kind":"cli"}'),
        approval_mode="always-ask",
        parent=Parent(session_id="parent-1", agent_id="agent-1", turn_id="t1", tool_call_id="c1"),
    ),
    "session-renamed": e.SessionRenamed(title="Another title", by="first-words"),
    "session-configured": e.SessionConfigured(config=RawJson(b'{"model": "opus"}')),
    "approval-mode-set": e.ApprovalModeSet(mode="read-only"),
    "session-archived": e.SessionArchived(reason="lane-reset"),
    "session-unarchived": e.SessionUnarchived(),
    "session-pinned": e.SessionPinned(pinned=True),
    "session-deleted": e.SessionDeleted(reason="retention"),
    "session-restored": e.SessionRestored(),
    "session-suspended": e.SessionSuspended(reason="restart-loop", count=3),
    "session-unsuspended": e.SessionUnsuspended(),
    "resume-marked": e.ResumeMarked(turn_id="t1", reason="server-restarted"),
    "resume-cleared": e.ResumeCleared(turn_id="t1", reason="completed"),
    "session-purged": e.SessionPurged(
        events=41,
        forked_from="chat-1",
        base_version=7,
        usage=RawJson(b'[{"day":20000,"model":"m","currency":"USD","input_tokens":10}]'),
    ),
    "history-rewound": e.HistoryRewound(
        turn_id="t2",
        from_version=7,
        through_version=12,
        turns=1,
        messages=2,
        asked=RawJson(b'{"turns":1}'),
    ),
    "rewind-reverted": e.RewindReverted(rewind_version=13, turns=1, messages=2),
    "session-forked": e.SessionForked(
        parent=e.ForkPoint(session_id="chat-1", version=7, hash="0b" * 32),
        title="Trip (2)",
        title_by="fork",
    ),
    "history-diverged": e.HistoryDiverged(
        kind="missing", turns=2, messages=3, index=4, client_index=5
    ),
    "history-asserted": e.HistoryAsserted(messages=3, reasons=("records-lost", "restored")),
    "gap-accepted": e.GapAccepted(reasons=("records-lost",)),
    "gate-consumed": e.GateConsumed(gate_id="g1", turn_id="t1", seat_id="seat-1"),
    "gate-answer-refused": e.GateAnswerRefused(
        named="permission_id", code="gate-gone", gate_id="g1"
    ),
    "harness-started": e.HarnessStarted(
        seat_id="seat-1",
        owner="runner-1",
        path="evicted",
        turn_id="t1",
        reason="config",
        detail=RawJson(b'{"facet":"model","before":"0a","after":"0b"}'),
        history_from="log",
    ),
    "harness-parked": e.HarnessParked(
        seat_id="seat-1",
        owner="runner-1",
        state="awaiting_approval",
        turn_id="t1",
        config_fingerprint="0b" * 32,
        prior_was_sent=False,
        ttl_s=600,
    ),
    "harness-resumed": e.HarnessResumed(seat_id="seat-1", owner="runner-1", turn_id="t1", asides=2),
    "harness-evicted": e.HarnessEvicted(
        seat_id="seat-1",
        owner="runner-1",
        reason="history",
        turn_id="t1",
        detail=RawJson(b'{"moved_by":7}'),
    ),
    "dispatch-refused": e.DispatchRefused(
        code="history-not-ready", request="minimal", reasons=("records-lost",), seat="seat-lost"
    ),
    "interrupt-requested": e.InterruptRequested(turn_id="t1", reason="cancelled", by="ann"),
    "continuation-ready": e.ContinuationReady(turn_id="t1", gate_ids=("g1", "g2")),
    "seat-close-requested": e.SeatCloseRequested(
        seat_id="seat-1", owner="runner-1", reason="history"
    ),
    "input-queued": e.InputQueued(
        queue_id="q1",
        request=RawJson(b'{"messages":[]}'),
        steers="t1",
        lane_id="0a" * 16,
        reply_to="1718000000.42",
    ),
    "input-dequeued": e.InputDequeued(queue_id="q1", turn_id="t2"),
    "input-recalled": e.InputRecalled(queue_id="q1", reason="recalled"),
    "turn-started": e.TurnStarted(
        turn_id="t1",
        messages=(
            Message(role="system", content="Be brief."),
            Message(
                role="user",
                content=(
                    {"type": "text", "text": "What is 1.50?"},
                    {"type": "attachment", "attachment_id": "a1", "media_type": "image/png"},
                    {"type": "data", "kind": "x-pos", "data": RawJson(b"[1.50, 1E5]")},
                ),
                message_id="m1",
                author=Author(subject_id="ann", display="Ann"),
            ),
        ),
        history_sent="minimal",
        lane_id="0a" * 16,
        reply_to="1718000000.42",
    ),
    "turn-completed": e.TurnCompleted(
        turn_id="t1", stop_reason="end_turn", record_count=4, timings=RawJson(b'{"total":12.50}')
    ),
    "turn-failed": e.TurnFailed(
        turn_id="t1",
        error=TurnError(code="overloaded", message="try later"),
        record_count=2,
        timings=RawJson(b"{}"),
    ),
    "turn-interrupted": e.TurnInterrupted(
        turn_id="t1", reason="cancelled", by="ann", record_count=3, timings=RawJson(b"null")
    ),
    "message-recorded": e.MessageRecorded(
        turn_id="t1",
        message=Message(
            role="assistant",
            content=(
                {"type": "reasoning", "text": "hm", "signature": "c2ln", "provider": "anthropic"},
                {"type": "text", "text": "It is 3/2."},
                {"type": "x-chart", "points": RawJson(b"[9007199254740993]")},
            ),
            message_id="m2",
            status="partial",
        ),
    ),
    "tool-call-requested": e.ToolCallRequested(
        turn_id="t1",
        tool_call_id="c1",
        name="bash",
        arguments=RawJson(b'{"command": "ls",  "timeout": 1.50}'),
    ),
    "tool-call-completed": e.ToolCallCompleted(
        turn_id="t1",
        tool_call_id="c1",
        output=RawJson(b'[{"type":"text","text":"a.txt"}]'),
        is_error=True,
        denied=True,
    ),
    "history-compacted": e.HistoryCompacted(
        summary="They counted.", through_message_id="t1:2", since_version=7, harness="demo"
    ),
    "gate-opened": e.GateOpened(
        gate_id="g1",
        turn_id="t1",
        kind="permission",
        permission_id="p1",
        tool_call_id="c1",
        tool="bash",
        arguments=RawJson(b'{"command":"rm x"}'),
        options=RawJson(b'[{"id":"once"}]'),
        answer_schema=RawJson(b'{"type":"string"}'),
        expires_at="2026-01-01T00:00:00Z",
        subagent_session_id="s1.a1",
    ),
    "gate-decided": e.GateDecided(
        gate_id="g1",
        verdict="approved",
        decided_by="person",
        via="out-of-band",
        permission_id="p1",
        tool_call_id="c1",
        option_id="once",
        arguments=RawJson(b'{"command":"rm y"}'),
        answer=RawJson(b'"yes"'),
        message="mind the y",
        on_behalf_of="ben",
    ),
    "gate-expired": e.GateExpired(gate_id="g1"),
    "gate-withdrawn": e.GateWithdrawn(gate_id="g1", reason="turn-ended"),
    "usage-recorded": e.UsageRecorded(
        turn_id="t1",
        model="sonnet",
        input_tokens=1200,
        output_tokens=34,
        cache_read_tokens=1000,
        cache_write_tokens=200,
        cost=RawJson(b'{"amount":0.0120,"currency":"EUR"}'),
    ),
    "data-recorded": e.DataRecorded(
        kind="trace", data=RawJson(b'{ "span" : [ 1.50, -0.0 ] }'), turn_id="t1"
    ),
    "records-lost": e.RecordsLost(count=3, reason="crash", turn_id="t1"),
    "loss-healed": e.LossHealed(loss_version=9),
    "history-imported": e.HistoryImported(
        format="claude-code",
        source_name="session.jsonl",
        lines=12,
        digest="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        from_version=2,
        losses=1,
        remaining=3,
        loss_version=9,
    ),
}
