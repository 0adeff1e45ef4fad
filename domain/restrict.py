"""What does a look-up by keys give of a session that was folded whole?"""

from domain.cuts import waiting_at
from domain.keys import Keys
from domain.noted import noted
from domain.records import InState
from domain.state import Gate, State, Tail, open_calls


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
    if wanted.open_calls:
        calls |= {(call.turn_id, call.tool_call_id) for call in open_calls(state)}
    indexes = {state.message_ids[name] for name in wanted.message_ids if name in state.message_ids}
    tail = wanted.tail and head.tail_open
    if tail:
        indexes.add(head.tip)
    found = noted(InState(state), head, wanted)
    cut = [call for cut in found.cuts for call in waiting_at(state.calls, cut)]
    calls |= {(call.turn_id, call.tool_call_id) for call in cut}
    indexes |= found.messages.keys()
    messages = {index: state.messages[index] for index in sorted(indexes)}
    return State(
        head=head,
        turns={
            key: state.turns[key]
            for key in sorted(turns | found.turns.keys())
            if key in state.turns
        },
        calls={key: state.calls[key] for key in sorted(calls) if key in state.calls},
        gates=gates,
        messages=messages,
        message_ids={m.message_id: m.index for m in messages.values() if m.named},
        losses={key: state.losses[key] for key in sorted(wanted.losses) if key in state.losses},
        branches=found.branches,
        moves=found.moves,
        seats={key: state.seats[key] for key in sorted(wanted.seats) if key in state.seats},
        queue={key: state.queue[key] for key in sorted(wanted.queue) if key in state.queue},
        producers={
            key: state.producers[key] for key in sorted(wanted.producers) if key in state.producers
        },
        tail=state.tail if tail else Tail(),
    )


def _gates(state: State, wanted: Keys) -> dict[str, Gate]:
    found: list[Gate] = []
    closed_by_name: dict[tuple[str, str], Gate] = {}
    aliases: tuple[tuple[str, str | None, frozenset[str]], ...]
    for gate in state.gates.values():
        if gate.status == "open" or gate.gate_id in wanted.gate_ids:
            found.append(gate)
            continue
        aliases = (
            ("permission", gate.permission_id, wanted.permission_ids),
            ("call", gate.tool_call_id, wanted.gate_call_ids),
        )
        for kind, name, names in aliases:
            if name is not None and name in names:
                known = closed_by_name.get((kind, name))
                if known is None or known.opened_version < gate.opened_version:
                    closed_by_name[kind, name] = gate
    found.extend(closed_by_name.values())
    return {gate.gate_id: gate for gate in sorted(found, key=lambda g: g.opened_version)}
