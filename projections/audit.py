"""Who did what, when, and with which effect?

A line about each fact, made of our own words, counts, ids and the names of tools; nothing that was
said, called or answered is in it, so an audit can be read by whoever may not read the conversation.
"""

from collections.abc import Mapping
from typing import Final

from domain import events as e
from domain.identifiers import is_id
from domain.recorded import Envelope
from domain.times import rfc3339

Shape = dict[str, object]

TELLING: Final = frozenset(
    {
        "approval-mode-set",
        "continuation-ready",
        "dispatch-refused",
        "gap-accepted",
        "gate-answer-refused",
        "gate-consumed",
        "harness-evicted",
        "harness-parked",
        "harness-resumed",
        "harness-started",
        "history-asserted",
        "history-compacted",
        "history-diverged",
        "input-dequeued",
        "input-recalled",
        "interrupt-requested",
        "seat-close-requested",
        "gate-decided",
        "gate-expired",
        "gate-opened",
        "gate-withdrawn",
        "history-imported",
        "history-rewound",
        "loss-healed",
        "message-recorded",
        "records-lost",
        "resume-cleared",
        "resume-marked",
        "rewind-reverted",
        "session-archived",
        "session-deleted",
        "session-forked",
        "session-pinned",
        "session-renamed",
        "session-suspended",
        "tool-call-completed",
        "tool-call-requested",
        "turn-failed",
        "turn-interrupted",
        "turn-started",
        "usage-recorded",
    }
)
"""The types whose bodies say more than their names do."""
_PLAIN: Final = {
    "session-opened": "the session was opened",
    "session-configured": "the session was configured",
    "session-unarchived": "the session was unarchived",
    "session-restored": "the session was restored",
    "session-purged": "what was said in the session was destroyed",
    "session-unsuspended": "the session takes turns again",
    "turn-completed": "the turn completed",
    "data-recorded": "data was recorded",
    "input-queued": "an input waits for its turn",
}
BEARS_ON: Final[Mapping[str, tuple[str, ...]]] = {
    "session-opened": ("session",),
    "session-forked": ("session", "transcript"),
    "session-renamed": ("session",),
    "session-configured": ("session",),
    "approval-mode-set": ("session",),
    "session-archived": ("session",),
    "session-unarchived": ("session",),
    "session-pinned": ("session",),
    "session-deleted": ("session",),
    "session-restored": ("session",),
    "session-purged": ("session",),
    "session-suspended": ("session",),
    "session-unsuspended": ("session",),
    "resume-marked": ("session",),
    "resume-cleared": ("session",),
    "turn-started": ("turn", "transcript"),
    "turn-completed": ("turn",),
    "turn-failed": ("turn",),
    "turn-interrupted": ("turn",),
    "message-recorded": ("transcript",),
    "tool-call-requested": ("transcript",),
    "tool-call-completed": ("transcript",),
    "history-compacted": ("model",),
    "history-rewound": ("transcript",),
    "rewind-reverted": ("transcript",),
    "gate-opened": ("gates",),
    "gate-decided": ("gates",),
    "gate-expired": ("gates",),
    "gate-withdrawn": ("gates",),
    "gate-consumed": ("gates",),
    "gate-answer-refused": (),
    "harness-started": ("pool", "turn"),
    "harness-parked": ("pool",),
    "harness-resumed": ("pool", "turn"),
    "harness-evicted": ("pool",),
    "dispatch-refused": (),
    "interrupt-requested": (),
    "continuation-ready": (),
    "seat-close-requested": (),
    "input-queued": ("queue",),
    "input-dequeued": ("queue",),
    "input-recalled": ("queue",),
    "history-diverged": ("transcript",),
    "history-asserted": ("readiness",),
    "gap-accepted": ("readiness",),
    "usage-recorded": ("usage",),
    "data-recorded": (),
    "records-lost": ("readiness",),
    "loss-healed": ("readiness",),
    "history-imported": (),
}
"""What of a session facts of a type bear on; of a type that is not named, nobody here knows."""


def audit_shape(
    envelope: Envelope,
    hash_: bytes,
    fact: e.Fact | None,
    tool: str | None = None,
    rewound_by: int | None = None,
) -> Shape:
    """Return one fact's line.

    Args:
        envelope: The fact's envelope.
        hash_: Its place in the chain.
        fact: What it says; needed for the types in `TELLING` only.
        tool: The name of the tool that it is about, where it does not say that itself.
        rewound_by: The version of the rewind by which its turn is out of sight.
    """
    producer = envelope.producer
    late = envelope.type == "tool-call-completed" and envelope.affects == "none"
    named = shown_tool(tool_in(fact) or tool)
    shape: Shape = {
        "version": envelope.version,
        "id": envelope.event_id,
        "at": rfc3339(envelope.recorded_at),
        "actor": envelope.actor,
        "producer": (
            None
            if producer is None
            else {
                "id": producer.producer_id,
                "epoch": producer.epoch,
                "sequence": producer.sequence,
            }
        ),
        "type": envelope.type,
        "turn_id": envelope.turn_id,
        "what": what(envelope.type, fact),
        "effect": envelope.affects,
        "bears_on": () if late else BEARS_ON.get(envelope.type),
    }
    if named is not None:
        shape["tool"] = named
    if late:
        shape["late"] = True
    if rewound_by is not None:
        shape["rewound_by"] = rewound_by
    return shape | {"hash": hash_.hex()}


def tool_in(fact: e.Fact | None) -> str | None:
    """Return the name of the tool that a fact is about, if it says it."""
    match fact:
        case e.ToolCallRequested(name=name) | e.GateOpened(tool=name):
            return name
        case _:
            return None


def shown_tool(name: str | None) -> str | None:
    """Return a tool's name if it is a plain one; words could be anything.

    >>> shown_tool("mcp__files__read"), shown_tool("read my diary")
    ('mcp__files__read', None)
    """
    return name if name is not None and is_id(name.lstrip("_")) else None


def what(type_: str, fact: e.Fact | None) -> str:
    """Return a short sentence about a fact."""
    if type_ in _PLAIN:
        return _PLAIN[type_]
    if type_ not in TELLING:
        return "an event of a type that this build does not know"
    told = None if fact is None else _telling(fact)
    return told or f"{type_} was recorded; what it said is not stored any more"


def _telling(fact: e.Fact) -> str | None:  # noqa: C901, PLR0911, PLR0912 - one arm an event
    match fact:
        case e.HistoryCompacted(harness=harness):
            made = "that was given" if harness is None else f"that harness {harness} made"
            return f"a summary {made} took the place of earlier messages"
        case e.ApprovalModeSet(mode=mode):
            return f"approvals are settled by {mode}"
        case e.SessionRenamed(title=title, by=by):
            return (
                f"the session lost its title ({by})"
                if title is None
                else f"the session was renamed ({by})"
            )
        case e.SessionArchived(reason=reason):
            return f"the session was archived{_named(reason or '')}"
        case e.SessionPinned(pinned=pinned):
            return f"the session is kept {'from here on' if pinned else 'no more'}"
        case e.SessionDeleted(reason=reason):
            return f"the session was deleted{_named(reason or '')}"
        case e.TurnStarted(messages=messages):
            return f"a turn began with {_count(len(messages), 'message')}"
        case e.TurnFailed(error=error):
            return f"the turn failed{_named(error.code)}"
        case e.TurnInterrupted(reason=reason):
            return f"the turn was interrupted{_named(reason)}"
        case e.MessageRecorded(message=message):
            return f"the {message.role} said something ({message.status})"
        case e.ToolCallRequested():
            return "the model asked for a tool"
        case e.ToolCallCompleted(is_error=is_error, denied=denied):
            outcome = "denied" if denied else "an error" if is_error else "a result"
            return f"a tool call came to its end: {outcome}"
        case e.HistoryRewound(turns=turns, messages=messages, from_version=version):
            gone = f"{_count(turns, 'turn')} and {_count(messages, 'message')}"
            return f"{gone} went out of sight, from version {version} on"
        case e.RewindReverted(turns=turns, messages=messages, rewind_version=version):
            back = f"{_count(turns, 'turn')} and {_count(messages, 'message')}"
            return f"{back} came back into sight, as before the rewind at version {version}"
        case e.SessionForked(parent=parent):
            return f"the session began as {parent.session_id} was at version {parent.version}"
        case e.GateOpened(gate_id=gate_id, kind=kind):
            return f"gate {gate_id} asks for {'a permission' if kind == 'permission' else 'input'}"
        case e.GateDecided(gate_id=gate_id, verdict=verdict, decided_by=by, via=via):
            return f"gate {gate_id} was {verdict} by {by}, {via}"
        case e.GateExpired(gate_id=gate_id):
            return f"gate {gate_id} expired before an answer came"
        case e.GateWithdrawn(gate_id=gate_id, reason=reason):
            return f"gate {gate_id} was withdrawn{_named(reason)}"
        case e.GateConsumed(gate_id=gate_id):
            return f"the decision of gate {gate_id} was given to a harness"
        case e.GateAnswerRefused(code=code, named=named):
            return f"an answer by {named} answered nothing{_named(code)}"
        case e.SessionSuspended(count=count, reason=reason):
            cut = f"{_count(count, 'turn')} in a row cut off"
            return f"the session takes no turns any more: {cut}{_named(reason)}"
        case e.ResumeMarked(turn_id=turn_id, reason=reason):
            return f"turn {turn_id} was cut off and could be gone on with{_named(reason)}"
        case e.ResumeCleared(turn_id=turn_id, reason=reason):
            return f"turn {turn_id} is not to be gone on with any more{_named(reason)}"
        case _ if (told := _told_of_seats(fact) or _told_of_requests(fact)) is not None:
            return told
        case e.UsageRecorded(input_tokens=read, output_tokens=written):
            return f"a model read {read} and wrote {written} tokens"
        case e.RecordsLost(count=count):
            lost = "an unknown number of records" if count is None else _count(count, "record")
            return f"{lost} went missing before this"
        case e.LossHealed(loss_version=version):
            return f"what was lost at version {version} is there after all"
        case e.HistoryImported(lines=lines, from_version=version):
            return (
                f"{_count(lines, 'line')} of a transcript became the facts from version {version}"
            )
        case _:
            return None


def _told_of_seats(fact: e.Fact) -> str | None:
    match fact:
        case e.HarnessStarted(seat_id=seat_id, path=path, reason=reason):
            return f"a harness was started in seat {seat_id} ({path}){_named(reason or '')}"
        case e.HarnessParked(seat_id=seat_id, state=state):
            return f"the harness in seat {seat_id} waits ({state})"
        case e.HarnessResumed(seat_id=seat_id, asides=asides):
            told = "" if asides is None else f", told {_count(asides, 'message')} said aside first"
            return f"the harness in seat {seat_id} went on{told}"
        case e.HarnessEvicted(seat_id=seat_id, reason=reason):
            return f"the harness in seat {seat_id} was let go{_named(reason)}"
        case e.SeatCloseRequested(seat_id=seat_id, reason=reason):
            return f"the owner of seat {seat_id} was asked to let it go{_named(reason)}"
        case _:
            return None


def _told_of_requests(fact: e.Fact) -> str | None:  # noqa: PLR0911 - one arm an event
    match fact:
        case e.DispatchRefused(code=code, request=request):
            return f"a request ({request}) was refused{_named(code)}"
        case e.InterruptRequested(reason=reason):
            return f"the turn was asked to stop{_named(reason)}"
        case e.ContinuationReady(gate_ids=gate_ids):
            return f"the turn can go on: {_count(len(gate_ids), 'gate')} decided"
        case e.InputDequeued(queue_id=queue_id):
            return f"queued input {queue_id} came into a turn"
        case e.InputRecalled(queue_id=queue_id, reason=reason):
            return f"queued input {queue_id} was taken back{_named(reason)}"
        case e.HistoryDiverged(kind=kind, turns=turns, messages=messages):
            kept = f"{_count(turns, 'turn')} stayed, {_count(messages, 'message')} came instead"
            return f"the client's history left ours ({kind}): {kept}"
        case e.HistoryAsserted(messages=messages):
            return f"a client sent its full history: {_count(messages, 'message')} of it recorded"
        case e.GapAccepted():
            return "records that are missing were accepted as missing"
        case _:
            return None


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _named(code: str) -> str:
    """Return a reason if it is a code; words could be anything."""
    return f": {code}" if is_id(code) else ""
