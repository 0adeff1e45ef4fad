"""What does an audit say of a fact, in words of our own?"""

from collections.abc import Callable
from typing import Final

from domain import events as e
from domain.identifiers import is_id

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


def what(type_: str, fact: e.Fact | None) -> str:
    """Return a short sentence about a fact."""
    if type_ in _PLAIN:
        return _PLAIN[type_]
    if type_ not in TELLING:
        return "an event of a type that this build does not know"
    told = None if fact is None else _telling(fact)
    return told or f"{type_} was recorded; what it said is not stored any more"


def _telling(fact: e.Fact) -> str | None:
    return next((told for told_of in _BY_SUBJECT if (told := told_of(fact)) is not None), None)


def _of_sessions(fact: e.Fact) -> str | None:
    match fact:
        case e.SessionForked(parent=parent):
            return f"the session began as {parent.session_id} was at version {parent.version}"
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
        case _:
            return None


def _of_what_may_run(fact: e.Fact) -> str | None:
    match fact:
        case e.SessionSuspended(count=count, reason=reason):
            cut = f"{_count(count, 'turn')} in a row cut off"
            return f"the session takes no turns any more: {cut}{_named(reason)}"
        case e.ResumeMarked(turn_id=turn_id, reason=reason):
            return f"turn {turn_id} was cut off and could be gone on with{_named(reason)}"
        case e.ResumeCleared(turn_id=turn_id, reason=reason):
            return f"turn {turn_id} is not to be gone on with any more{_named(reason)}"
        case e.ApprovalModeSet(mode=mode):
            return f"approvals are settled by {mode}"
        case _:
            return None


def _of_turns(fact: e.Fact) -> str | None:
    match fact:
        case e.TurnStarted(messages=messages):
            return f"a turn began with {_count(len(messages), 'message')}"
        case e.TurnFailed(error=error):
            return f"the turn failed{_named(error.code)}"
        case e.TurnInterrupted(reason=reason):
            return f"the turn was interrupted{_named(reason)}"
        case e.ContinuationReady(gate_ids=gate_ids):
            return f"the turn can go on: {_count(len(gate_ids), 'gate')} decided"
        case e.UsageRecorded(input_tokens=read, output_tokens=written):
            return f"a model read {read} and wrote {written} tokens"
        case _:
            return None


def _of_what_was_said(fact: e.Fact) -> str | None:
    match fact:
        case e.MessageRecorded(message=message):
            return f"the {message.role} said something ({message.status})"
        case e.ToolCallRequested():
            return "the model asked for a tool"
        case e.ToolCallCompleted(is_error=is_error, denied=denied):
            outcome = "denied" if denied else "an error" if is_error else "a result"
            return f"a tool call came to its end: {outcome}"
        case _:
            return None


def _of_sight(fact: e.Fact) -> str | None:
    match fact:
        case e.HistoryCompacted(harness=harness):
            made = "that was given" if harness is None else f"that harness {harness} made"
            return f"a summary {made} took the place of earlier messages"
        case e.HistoryRewound(turns=turns, messages=messages, from_version=version):
            gone = f"{_count(turns, 'turn')} and {_count(messages, 'message')}"
            return f"{gone} went out of sight, from version {version} on"
        case e.RewindReverted(turns=turns, messages=messages, rewind_version=version):
            back = f"{_count(turns, 'turn')} and {_count(messages, 'message')}"
            return f"{back} came back into sight, as before the rewind at version {version}"
        case _:
            return None


def _of_gates(fact: e.Fact) -> str | None:
    match fact:
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
        case _:
            return None


def _of_seats(fact: e.Fact) -> str | None:
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


def _of_requests(fact: e.Fact) -> str | None:
    match fact:
        case e.DispatchRefused(code=code, request=request):
            return f"a request ({request}) was refused{_named(code)}"
        case e.GateAnswerRefused(code=code, named=named):
            return f"an answer by {named} answered nothing{_named(code)}"
        case e.InterruptRequested(reason=reason):
            return f"the turn was asked to stop{_named(reason)}"
        case e.InputDequeued(queue_id=queue_id):
            return f"queued input {queue_id} came into a turn"
        case e.InputRecalled(queue_id=queue_id, reason=reason):
            return f"queued input {queue_id} was taken back{_named(reason)}"
        case _:
            return None


def _of_told_histories(fact: e.Fact) -> str | None:
    match fact:
        case e.HistoryDiverged(kind=kind, turns=turns, messages=messages):
            kept = f"{_count(turns, 'turn')} stayed, {_count(messages, 'message')} came instead"
            return f"the client's history left ours ({kind}): {kept}"
        case e.HistoryAsserted(messages=messages):
            return f"a client sent its full history: {_count(messages, 'message')} of it recorded"
        case e.HistoryImported(lines=lines, from_version=version):
            return (
                f"{_count(lines, 'line')} of a transcript became the facts from version {version}"
            )
        case _:
            return None


def _of_losses(fact: e.Fact) -> str | None:
    match fact:
        case e.RecordsLost(count=count):
            lost = "an unknown number of records" if count is None else _count(count, "record")
            return f"{lost} went missing before this"
        case e.LossHealed(loss_version=version):
            return f"what was lost at version {version} is there after all"
        case e.GapAccepted():
            return "records that are missing were accepted as missing"
        case _:
            return None


_BY_SUBJECT: Final[tuple[Callable[[e.Fact], str | None], ...]] = (
    _of_sessions,
    _of_what_may_run,
    _of_turns,
    _of_what_was_said,
    _of_sight,
    _of_gates,
    _of_seats,
    _of_requests,
    _of_told_histories,
    _of_losses,
)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _named(code: str) -> str:
    """Return a reason if it is a code; words could be anything."""
    return f": {code}" if is_id(code) else ""
