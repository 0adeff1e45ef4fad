"""Which records must be looked up before a command can be decided?

A look-up by these keys gives the rules what a fold of the whole session would: that is a law,
and tested as one. Whatever the length of the session, a command names a bounded set of keys.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from domain import events as e
from domain.events import SessionEvent
from domain.state import CallKey, Gate, State, Tail

CONTENT = (e.MessageRecorded, e.ToolCallRequested, e.GateOpened)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """What to look up, besides the head, the open turn and the open gates (always loaded).

    Attributes:
        calls: (turn id, tool call id).
        tail: Whether the last message and its pieces are needed.
        kept_after: The message after which a compaction keeps messages; all those are needed.
    """

    turns: frozenset[str] = frozenset()
    calls: frozenset[CallKey] = frozenset()
    gate_ids: frozenset[str] = frozenset()
    permission_ids: frozenset[str] = frozenset()
    gate_call_ids: frozenset[str] = frozenset()
    message_ids: frozenset[str] = frozenset()
    losses: frozenset[int] = frozenset()
    producers: frozenset[str] = frozenset()
    tail: bool = False
    kept_after: str | None = None


NO_KEYS = Keys()


def keys(events: Iterable[SessionEvent], producer_id: str | None = None) -> Keys:
    """Return what the rules and the fold need to know to record `events`."""
    turns: set[str] = set()
    calls: set[CallKey] = set()
    gate_ids: set[str] = set()
    permission_ids: set[str] = set()
    gate_call_ids: set[str] = set()
    message_ids: set[str] = set()
    losses: set[int] = set()
    tail = False
    kept_after: str | None = None
    for event in events:
        turn_id: str | None = getattr(event, "turn_id", None)
        if turn_id is not None:
            turns.add(turn_id)
        tail = tail or isinstance(event, CONTENT)
        match event:
            case e.TurnStarted(messages=messages):
                message_ids.update(m.message_id for m in messages if m.message_id is not None)
            case e.MessageRecorded(message=message):
                if message.message_id is not None:
                    message_ids.add(message.message_id)
            case e.ToolCallRequested() | e.ToolCallCompleted():
                calls.add((event.turn_id, event.tool_call_id))
            case e.GateOpened(tool_call_id=call_id):
                if call_id is not None:
                    calls.add((event.turn_id, call_id))
            case e.GateDecided(gate_id=str() as gate_id):
                gate_ids.add(gate_id)
            case e.GateDecided(permission_id=str() as permission_id):
                permission_ids.add(permission_id)
            case e.GateDecided(tool_call_id=str() as call_id):
                gate_call_ids.add(call_id)
            case e.LossHealed(loss_version=version):
                losses.add(version)
            case e.HistoryCompacted(through_message_id=message_id):
                kept_after = message_id
                turns.add(message_id.rpartition(":")[0])
                message_ids.add(message_id)
            case _:
                pass
    return Keys(
        turns=frozenset(turns),
        calls=frozenset(calls),
        gate_ids=frozenset(gate_ids),
        permission_ids=frozenset(permission_ids),
        gate_call_ids=frozenset(gate_call_ids),
        message_ids=frozenset(message_ids),
        losses=frozenset(losses),
        producers=frozenset() if producer_id is None else frozenset({producer_id}),
        tail=tail,
        kept_after=kept_after,
    )


def restrict(state: State, wanted: Keys) -> State:
    """Return what a look-up by `wanted` gives of a session folded whole."""
    head = state.head
    turns = wanted.turns if head.turn_id is None else wanted.turns | {head.turn_id}
    gates = _gates(state, wanted)
    calls = wanted.calls | {
        (gate.turn_id, gate.tool_call_id)
        for gate in gates.values()
        if gate.status == "open" and gate.tool_call_id is not None
    }
    indexes = {state.message_ids[name] for name in wanted.message_ids if name in state.message_ids}
    tail = wanted.tail and head.tail_open
    if tail:
        indexes.add(head.messages - 1)
    if wanted.kept_after is not None:
        indexes |= set(_kept(state, wanted.kept_after))
    messages = {index: state.messages[index] for index in sorted(indexes)}
    return State(
        head=head,
        turns={key: state.turns[key] for key in sorted(turns) if key in state.turns},
        calls={key: state.calls[key] for key in sorted(calls) if key in state.calls},
        gates=gates,
        messages=messages,
        message_ids={m.message_id: m.index for m in messages.values() if m.named},
        losses={key: state.losses[key] for key in sorted(wanted.losses) if key in state.losses},
        producers={
            key: state.producers[key] for key in sorted(wanted.producers) if key in state.producers
        },
        tail=state.tail if tail else Tail(),
    )


def _kept(state: State, message_id: str) -> range:
    from domain.evolve import message_index  # noqa: PLC0415 - evolve does not need keys

    index = message_index(state, message_id)
    return range(0) if index is None else range(index, state.head.messages)


def _gates(state: State, wanted: Keys) -> dict[str, Gate]:
    found: list[Gate] = []
    closed_by_name: dict[tuple[str, str], Gate] = {}
    for gate in state.gates.values():
        if gate.status == "open" or gate.gate_id in wanted.gate_ids:
            found.append(gate)
            continue
        for kind, name, names in (
            ("permission", gate.permission_id, wanted.permission_ids),
            ("call", gate.tool_call_id, wanted.gate_call_ids),
        ):
            if name in names and name is not None:
                known = closed_by_name.get((kind, name))
                if known is None or known.opened_version < gate.opened_version:
                    closed_by_name[kind, name] = gate
    found.extend(closed_by_name.values())
    return {gate.gate_id: gate for gate in sorted(found, key=lambda g: g.opened_version)}
