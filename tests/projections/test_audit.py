"""What an audit tells of a fact, and what it never tells."""

import pytest

from domain import events as e
from domain.events.history import ForkPoint
from domain.events.turn import TurnError
from domain.messages import Author, Message
from domain.raw_json import RawJson, dumped
from domain.registry import KINDS, NAMES
from domain.times import rfc3339
from projections.audit import BEARS_ON, audit_shape
from projections.audit_sentences import TELLING, what
from tests.scenario import RUNNER, called, recorded, returned, started

SECRET = "SECRET words"
HIDDEN = RawJson(b'"SECRET words"')
FACTS: list[tuple[e.SessionEvent, str]] = [
    (e.SessionOpened(title=SECRET, config=HIDDEN), "the session was opened"),
    (
        e.SessionForked(parent=ForkPoint(session_id="s1", version=7, hash=""), title=SECRET),
        "the session began as s1 was at version 7",
    ),
    (e.SessionRenamed(title=SECRET), "the session was renamed (person)"),
    (e.SessionRenamed(title=None), "the session lost its title (person)"),
    (e.SessionConfigured(config=HIDDEN), "the session was configured"),
    (e.ApprovalModeSet(mode="read-only"), "approvals are settled by read-only"),
    (e.SessionArchived(), "the session was archived"),
    (e.SessionArchived(reason="lane-reset"), "the session was archived: lane-reset"),
    (e.SessionArchived(reason=SECRET), "the session was archived"),
    (e.SessionUnarchived(), "the session was unarchived"),
    (e.SessionPinned(pinned=True), "the session is kept from here on"),
    (e.SessionPinned(pinned=False), "the session is kept no more"),
    (e.SessionDeleted(), "the session was deleted"),
    (e.SessionDeleted(reason="retention"), "the session was deleted: retention"),
    (e.SessionRestored(), "the session was restored"),
    (e.SessionPurged(events=3), "what was said in the session was destroyed"),
    (
        e.SessionSuspended(reason="restart-loop", count=3),
        "the session takes no turns any more: 3 turns in a row cut off: restart-loop",
    ),
    (e.SessionUnsuspended(), "the session takes turns again"),
    (
        e.ResumeMarked(turn_id="t1", reason="server-restarted"),
        "turn t1 was cut off and could be gone on with: server-restarted",
    ),
    (
        e.ResumeCleared(turn_id="t1", reason="stale"),
        "turn t1 is not to be gone on with any more: stale",
    ),
    (
        e.TurnStarted(
            turn_id="t1",
            messages=(
                Message(role="user", content=SECRET, author=Author(subject_id=SECRET)),
                Message(role="user", content=SECRET, message_id=SECRET),
            ),
        ),
        "a turn began with 2 messages",
    ),
    (started(), "a turn began with 1 message"),
    (e.TurnCompleted(turn_id="t1", stop_reason=SECRET), "the turn completed"),
    (
        e.TurnFailed(turn_id="t1", error=TurnError(code="overloaded", message=SECRET)),
        "the turn failed: overloaded",
    ),
    (e.TurnFailed(turn_id="t1", error=TurnError(code=SECRET)), "the turn failed"),
    (e.TurnInterrupted(turn_id="t1", reason="owner-lost"), "the turn was interrupted: owner-lost"),
    (e.TurnInterrupted(turn_id="t1", reason=SECRET, by=SECRET), "the turn was interrupted"),
    (
        e.MessageRecorded(turn_id="t1", message=Message(role="assistant", content=SECRET)),
        "the assistant said something (complete)",
    ),
    (
        e.ToolCallRequested(turn_id="t1", tool_call_id=SECRET, name=SECRET, arguments=HIDDEN),
        "the model asked for a tool",
    ),
    (
        e.ToolCallCompleted(turn_id="t1", tool_call_id=SECRET, output=HIDDEN),
        "a tool call came to its end: a result",
    ),
    (
        e.ToolCallCompleted(turn_id="t1", tool_call_id=SECRET, output=HIDDEN, is_error=True),
        "a tool call came to its end: an error",
    ),
    (
        e.ToolCallCompleted(turn_id="t1", tool_call_id=SECRET, output=HIDDEN, denied=True),
        "a tool call came to its end: denied",
    ),
    (
        e.HistoryCompacted(summary=SECRET, through_message_id=SECRET),
        "a summary that was given took the place of earlier messages",
    ),
    (
        e.HistoryCompacted(summary=SECRET, through_message_id=SECRET, harness="demo"),
        "a summary that harness demo made took the place of earlier messages",
    ),
    (e.GateConsumed(gate_id="g1", turn_id="t1"), "the decision of gate g1 was given to a harness"),
    (
        e.GateAnswerRefused(named="gate_id", code="gate-gone"),
        "an answer by gate_id answered nothing: gate-gone",
    ),
    (
        e.HarnessStarted(seat_id="s1", owner="o", path="cold", detail=HIDDEN),
        "a harness was started in seat s1 (cold)",
    ),
    (
        e.HarnessStarted(seat_id="s1", owner="o", path="evicted", reason="history"),
        "a harness was started in seat s1 (evicted): history",
    ),
    (
        e.HarnessParked(seat_id="s1", owner="o", state="idle"),
        "the harness in seat s1 waits (idle)",
    ),
    (e.HarnessResumed(seat_id="s1", owner="o"), "the harness in seat s1 went on"),
    (
        e.HarnessResumed(seat_id="s1", owner="o", asides=2),
        "the harness in seat s1 went on, told 2 messages said aside first",
    ),
    (
        e.HarnessEvicted(seat_id="s1", owner="o", reason="lru"),
        "the harness in seat s1 was let go: lru",
    ),
    (
        e.SeatCloseRequested(seat_id="s1", owner="o", reason="history"),
        "the owner of seat s1 was asked to let it go: history",
    ),
    (
        e.DispatchRefused(code="history-not-ready", request="minimal"),
        "a request (minimal) was refused: history-not-ready",
    ),
    (
        e.InterruptRequested(turn_id="t1", reason="cancelled"),
        "the turn was asked to stop: cancelled",
    ),
    (
        e.ContinuationReady(turn_id="t1", gate_ids=("g1", "g2")),
        "the turn can go on: 2 gates decided",
    ),
    (e.InputQueued(queue_id="q1", request=HIDDEN), "an input waits for its turn"),
    (e.InputDequeued(queue_id="q1", turn_id="t2"), "queued input q1 came into a turn"),
    (
        e.InputRecalled(queue_id="q1", reason="recalled"),
        "queued input q1 was taken back: recalled",
    ),
    (
        e.HistoryDiverged(kind="text", turns=1, messages=2),
        "the client's history left ours (text): 1 turn stayed, 2 messages came instead",
    ),
    (
        e.HistoryAsserted(messages=3),
        "a client sent its full history: 3 messages of it recorded",
    ),
    (e.GapAccepted(reasons=("records-lost",)), "records that are missing were accepted as missing"),
    (
        e.HistoryRewound(turn_id="t1", from_version=2, through_version=9, turns=1, messages=3),
        "1 turn and 3 messages went out of sight, from version 2 on",
    ),
    (
        e.RewindReverted(rewind_version=10, turns=2, messages=1),
        "2 turns and 1 message came back into sight, as before the rewind at version 10",
    ),
    (
        e.GateOpened(gate_id="g1", turn_id="t1", kind="permission", tool=SECRET, arguments=HIDDEN),
        "gate g1 asks for a permission",
    ),
    (e.GateOpened(gate_id="g1", turn_id="t1", kind="input"), "gate g1 asks for input"),
    (
        e.GateDecided(
            gate_id="g1",
            verdict="denied",
            decided_by="policy",
            via="in-band",
            message=SECRET,
            answer=HIDDEN,
        ),
        "gate g1 was denied by policy, in-band",
    ),
    (e.GateExpired(gate_id="g1"), "gate g1 expired before an answer came"),
    (e.GateWithdrawn(gate_id="g1", reason="turn-ended"), "gate g1 was withdrawn: turn-ended"),
    (
        e.UsageRecorded(turn_id="t1", model=SECRET, input_tokens=3, output_tokens=4),
        "a model read 3 and wrote 4 tokens",
    ),
    (e.DataRecorded(kind=SECRET, data=HIDDEN), "data was recorded"),
    (
        e.RecordsLost(count=None, reason=SECRET),
        "an unknown number of records went missing before this",
    ),
    (e.RecordsLost(count=1, reason=SECRET), "1 record went missing before this"),
    (e.LossHealed(loss_version=4), "what was lost at version 4 is there after all"),
    (
        e.HistoryImported(
            format="claude-code", source_name=SECRET, lines=9, digest="", from_version=2
        ),
        "9 lines of a transcript became the facts from version 2",
    ),
]


@pytest.mark.parametrize(
    ("fact", "sentence"), FACTS, ids=[type(fact).__name__ for fact, _ in FACTS]
)
def test_a_fact_is_told_in_our_words_and_never_in_theirs(
    fact: e.SessionEvent, sentence: str
) -> None:
    (entry,) = recorded(fact)
    line = audit_shape(entry.envelope, entry.hash, fact)

    assert line["what"] == sentence
    assert b"SECRET" not in dumped(line)


def test_every_type_has_its_sentence() -> None:
    assert {NAMES[type(fact)] for fact, _ in FACTS} == set(KINDS)
    assert set(BEARS_ON) == set(KINDS)
    for name in KINDS:
        assert "does not know" not in what(name, None)


def test_a_fact_whose_body_is_gone_is_still_told() -> None:
    for name in TELLING:
        sentence = f"{name} was recorded; what it said is not stored any more"
        assert what(name, e.Opaque(reason="missing-body")) == sentence
        assert what(name, None) == sentence


def test_a_type_from_the_future_is_told_as_such() -> None:
    assert what("from-the-future", None) == "an event of a type that this build does not know"
    (entry,) = recorded(e.Opaque(reason="unknown-type"))
    assert audit_shape(entry.envelope, entry.hash, None)["bears_on"] is None


def test_a_line_says_who_when_and_with_which_effect() -> None:
    (entry,) = recorded(started(), producer=RUNNER)

    assert audit_shape(entry.envelope, entry.hash, entry.event) == {
        "version": 1,
        "id": "event-1",
        "at": rfc3339(1_000_000),
        "actor": None,
        "producer": {"id": "runner", "epoch": 1, "sequence": 1},
        "type": "turn-started",
        "turn_id": "t1",
        "what": "a turn began with 1 message",
        "effect": "history",
        "bears_on": ("turn", "transcript"),
        "hash": entry.hash.hex(),
    }


def test_a_late_result_is_marked() -> None:
    (late,) = recorded(returned(), affects="none")
    (timely,) = recorded(returned())

    told = audit_shape(late.envelope, late.hash, late.event)
    assert (told["late"], told["bears_on"]) == (True, ())
    told = audit_shape(timely.envelope, timely.hash, timely.event)
    assert ("late" in told, told["bears_on"]) == (False, ("transcript",))


def test_a_line_of_a_turn_that_was_rewound_says_by_which_rewind() -> None:
    (entry,) = recorded(started())

    assert "rewound_by" not in audit_shape(entry.envelope, entry.hash, entry.event)
    told = audit_shape(entry.envelope, entry.hash, entry.event, rewound_by=9)
    assert told["rewound_by"] == 9


@pytest.mark.parametrize(
    ("fact", "found", "shown"),
    [
        (called(name="read_file"), None, "read_file"),
        (e.GateOpened(gate_id="g", turn_id="t1", kind="permission", tool="rm"), "ls", "rm"),
        (e.GateOpened(gate_id="g", turn_id="t1", kind="permission"), "ls", "ls"),
        (returned(), "_private.tool-1", "_private.tool-1"),
        (returned(), SECRET, None),
        (returned(), "", None),
        (returned(), None, None),
        (None, "ls", "ls"),
    ],
)
def test_a_tool_is_named_if_its_name_is_a_plain_one(
    fact: e.Fact | None, found: str | None, shown: str | None
) -> None:
    (entry,) = recorded(returned())
    line = audit_shape(entry.envelope, entry.hash, fact, found)

    assert line.get("tool") == shown
    assert ("tool" in line) == (shown is not None)
