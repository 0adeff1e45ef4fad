"""Who did what, when, and with which effect?

A sentence about each fact, made of our own words, counts and ids; nothing that was said, called or
answered is in it, so an audit can be read by whoever may not read the conversation.
"""

from typing import Final

from domain import events as e
from domain.identifiers import is_id
from domain.recorded import Envelope
from domain.times import rfc3339

Shape = dict[str, object]

TELLING: Final = frozenset(
    {
        "approval-mode-set",
        "gate-decided",
        "gate-opened",
        "gate-withdrawn",
        "history-imported",
        "loss-healed",
        "message-recorded",
        "records-lost",
        "session-renamed",
        "tool-call-completed",
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
    "session-archived": "the session was archived",
    "session-unarchived": "the session was unarchived",
    "session-deleted": "the session was deleted",
    "session-restored": "the session was restored",
    "turn-completed": "the turn completed",
    "tool-call-requested": "the model asked for a tool",
    "history-compacted": "a summary took the place of earlier messages",
    "gate-expired": "a gate expired before an answer came",
    "data-recorded": "data was recorded",
}


def audit_shape(envelope: Envelope, hash_: bytes, fact: e.Fact | None) -> Shape:
    """Return one fact's line; `fact` is needed for the types in `TELLING` only."""
    producer = envelope.producer
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
    }
    if envelope.type == "tool-call-completed" and envelope.affects == "none":
        shape["late"] = True
    return shape | {"hash": hash_.hex()}


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
        case e.ApprovalModeSet(mode=mode):
            return f"approvals are settled by {mode}"
        case e.SessionRenamed(title=title, by=by):
            return (
                f"the session lost its title ({by})"
                if title is None
                else f"the session was renamed ({by})"
            )
        case e.TurnStarted(messages=messages):
            return f"a turn began with {_count(len(messages), 'message')}"
        case e.TurnFailed(error=error):
            return f"the turn failed{_named(error.code)}"
        case e.TurnInterrupted(reason=reason):
            return f"the turn was interrupted{_named(reason)}"
        case e.MessageRecorded(message=message):
            return f"the {message.role} said something ({message.status})"
        case e.ToolCallCompleted(is_error=is_error, denied=denied):
            outcome = "denied" if denied else "an error" if is_error else "a result"
            return f"a tool call came to its end: {outcome}"
        case e.GateOpened(gate_id=gate_id, kind=kind):
            return f"gate {gate_id} asks for {'a permission' if kind == 'permission' else 'input'}"
        case e.GateDecided(gate_id=gate_id, verdict=verdict, decided_by=by, via=via):
            return f"gate {gate_id} was {verdict} by {by}, {via}"
        case e.GateWithdrawn(gate_id=gate_id, reason=reason):
            return f"gate {gate_id} was withdrawn{_named(reason)}"
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


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _named(code: str) -> str:
    """Return a reason if it is a code; words could be anything."""
    return f": {code}" if is_id(code) else ""
