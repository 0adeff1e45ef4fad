"""What did one event change?

A session is stepped through by its one fold: what the fold gives for a fact is compared with the
session before it, so that a step can tell nothing that the views do not show. What was said is not
in it, only ids, names, titles and counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from domain.recorded import Envelope, Recorded
from domain.state import Call, Changes, Gate, Head, Loss, State, Turn
from domain.times import rfc3339
from projections.audit_sentences import what

Shape: TypeAlias = dict[str, object]

HEAD_FIELDS: Final = (
    "history_version",
    "fingerprint",
    "model_fingerprint",
    "status",
    "archived_reason",
    "pinned",
    "title",
    "approval_mode",
    "config_version",
    "messages",
    "archived",
    "summary_version",
    "turns",
    "turn_id",
    "branch",
    "redo",
    "open_gates",
    "open_losses",
    "unverified_turns",
    "miscounted_turns",
    "unreadable",
)
"""What of a session's head a step tells; the rest is how the fold remembers."""
_SAID: Final = frozenset({"messages", "archived", "turns", "turn_id", "open_gates"})
"""What other words of a step say already."""
_SHORT: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One event of a session, and what is another since.

    Attributes:
        what: A sentence about the event.
        changed: By `messages`, `sight`, `turns`, `calls`, `gates`, `losses` and `head`; only what
            there is.
        words: The same for a person, a line each.
        head: Where the session stands after it.
    """

    envelope: Envelope
    what: str
    changed: Shape
    words: tuple[str, ...]
    head: Head

    def shape(self) -> Shape:
        """Return the step as the contract shows it."""
        envelope = self.envelope
        return {
            "version": envelope.version,
            "type": envelope.type,
            "recorded_at": rfc3339(envelope.recorded_at),
            "actor": envelope.actor,
            "turn_id": envelope.turn_id,
            "affects": envelope.affects,
            "what": self.what,
            "changed": self.changed,
            "words": self.words,
        }


def step(before: State, fact: Recorded, changes: Changes) -> Step:
    """Return what `fact` changes in the session `before`, given what the fold gives for it."""
    shapes: list[tuple[str, Shape, str]] = [
        *_messages(before, changes),
        *_turns(before, changes),
        *_calls(before, changes),
        *_gates(changes),
        *_losses(changes),
    ]
    changed: Shape = {}
    for name in ("messages", "turns", "calls", "gates", "losses"):
        found = [shape for kind, shape, _ in shapes if kind == name]
        if found:
            changed[name] = found
    sight = _sight(before, changes)
    if sight:
        changed["sight"] = sight
    head = _head(before.head, changes.head)
    if head:
        changed["head"] = head
    return Step(
        envelope=fact.envelope,
        what=what(fact.envelope.type, fact.event),
        changed=changed,
        words=(
            *(words for _, _, words in shapes),
            *(_SIGHT[name].format(count=count) for name, count in sight.items()),
            *_head_words(before.head, changes.head, head),
        ),
        head=changes.head,
    )


_SIGHT: Final = {
    "turns_taken_out": "turns taken out of sight: {count}",
    "turns_brought_back": "turns back in sight: {count}",
    "messages_taken_out": "messages taken out of sight: {count}",
    "messages_brought_back": "messages back in sight: {count}",
    "messages_archived": "messages archived by a summary: {count}",
    "messages_unarchived": "messages live again: {count}",
}


def _sight(before: State, changes: Changes) -> dict[str, int]:
    """Return how much came into sight or went out of it, what is new not counted."""
    was, now = before.head, changes.head
    turns = now.turns - was.turns - sum(t.turn_id not in before.turns for t in changes.turns)
    new = sum(message.index not in before.messages for message in changes.messages)
    messages = now.messages - was.messages - new
    kept = min(was.messages, now.messages)
    archived = min(now.archived, kept) - min(was.archived, kept)
    counts = {
        "turns_taken_out": -turns,
        "turns_brought_back": turns,
        "messages_taken_out": -messages,
        "messages_brought_back": messages,
        "messages_archived": archived,
        "messages_unarchived": -archived,
    }
    return {name: count for name, count in counts.items() if count > 0}


def _messages(before: State, changes: Changes) -> Iterator[tuple[str, Shape, str]]:
    for message in changes.messages:
        known = before.messages.get(message.index)
        change = "added" if known is None else "changed"
        shape: Shape = {
            "change": change,
            "index": message.index,
            "message_id": message.message_id,
            "turn_id": message.turn_id,
            "role": message.role,
            "records": len(message.versions),
        }
        about = f"message #{message.index} {message.message_id} ({message.role}) {change}"
        more = "" if known is None else f": {len(message.versions)} records"
        yield "messages", shape, about + more


def _turns(before: State, changes: Changes) -> Iterator[tuple[str, Shape, str]]:
    for turn in changes.turns:
        change = _turn_change(before.turns.get(turn.turn_id), turn)
        if change is None:
            continue
        shape: Shape = {
            "change": change,
            "turn_id": turn.turn_id,
            "number": turn.number,
            "status": "paused" if turn.paused else turn.status,
            "input_tokens": turn.input_tokens,
            "output_tokens": turn.output_tokens,
        }
        about = f"turn #{turn.number} {turn.turn_id} {change}"
        tokens = f": {turn.input_tokens} tokens in, {turn.output_tokens} out so far"
        yield "turns", shape, about + (tokens if change == "used" else "")


def _turn_change(known: Turn | None, turn: Turn) -> str | None:
    if known is None:
        return "started"
    if known.status != turn.status:
        return turn.status
    if known.paused != turn.paused:
        return "paused" if turn.paused else "resumed"
    return "used" if _tokens(known) != _tokens(turn) else None


def _tokens(turn: Turn) -> tuple[int, ...]:
    return (
        turn.input_tokens,
        turn.output_tokens,
        turn.cache_read_tokens,
        turn.cache_write_tokens,
    )


def _calls(before: State, changes: Changes) -> Iterator[tuple[str, Shape, str]]:
    for call in changes.calls:
        occurrences = before.calls.get((call.turn_id, call.tool_call_id), ())
        known = next((each for each in occurrences if each.occurrence == call.occurrence), None)
        change = _call_change(known, call)
        shape: Shape = {
            "change": change,
            "turn_id": call.turn_id,
            "tool_call_id": call.tool_call_id,
            "occurrence": call.occurrence,
            "name": call.name,
            "status": call.status,
            "waits": call.gated,
        }
        named = "" if call.name is None else f" ({call.name})"
        again = "" if call.occurrence == 1 else f" no. {call.occurrence}"
        yield "calls", shape, f"call {call.tool_call_id}{again}{named} {change}"


def _call_change(known: Call | None, call: Call) -> str:
    if known is None:
        return "requested" if call.status == "open" else call.status
    if known.status != call.status:
        return call.status
    if known.gated != call.gated:
        return "waits" if call.gated else "freed"
    return "announced"


def _gates(changes: Changes) -> Iterator[tuple[str, Shape, str]]:
    for gate in changes.gates:
        change = "opened" if gate.status == "open" else gate.status
        yield "gates", _gate(gate, change), f"gate {gate.gate_id} ({gate.kind}) {change}"


def _gate(gate: Gate, change: str) -> Shape:
    return {
        "change": change,
        "gate_id": gate.gate_id,
        "turn_id": gate.turn_id,
        "kind": gate.kind,
        "status": gate.status,
        "tool_call_id": gate.tool_call_id,
    }


def _losses(changes: Changes) -> Iterator[tuple[str, Shape, str]]:
    for loss in changes.losses:
        change = "declared" if loss.healed_version is None else "healed"
        shape: Shape = {
            "change": change,
            "version": loss.version,
            "count": loss.count,
            "turn_id": loss.turn_id,
        }
        yield "losses", shape, f"loss of version {loss.version} {change}{_lost(loss)}"


def _lost(loss: Loss) -> str:
    return "" if loss.count is None else f": {loss.count} records"


def _head(was: Head, now: Head) -> Shape:
    """Return each number of the head that is another, before and after."""
    pairs = ((name, _field(was, name), _field(now, name)) for name in HEAD_FIELDS)
    return {name: {"was": _plain(a), "is": _plain(b)} for name, a, b in pairs if a != b}


def _head_words(was: Head, now: Head, changed: Shape) -> Iterator[str]:
    one = was.fingerprint == was.model_fingerprint and now.fingerprint == now.model_fingerprint
    for name in changed:
        if name in _SAID or (one and name == "model_fingerprint"):
            continue
        about = name.replace("_", " ")
        yield f"{about} {_told(_field(was, name))} -> {_told(_field(now, name))}"


def _field(head: Head, name: str) -> object:
    """Return a field of a head; a title of words that were said is none here."""
    if name == "title" and head.title_by == "first-words":
        return None
    return getattr(head, name)


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


def _told(value: object) -> str:
    if value is None:
        return "none"
    return value.hex()[:_SHORT] if isinstance(value, bytes) else str(value)
