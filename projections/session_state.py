"""What did the rules know of a session at a version, in words that stay?"""

from collections.abc import Sequence

from domain.state import Call, Gate, Head, State, Turn
from domain.times import rfc3339
from projections.turns import turn_shape

Shape = dict[str, object]


def state_shape(state: State) -> Shape:
    """Return a session as its rules knew it: bounded, whatever the session's length."""
    head = state.head
    turn = open_turn(state)
    return {
        "status": head.status,
        "archived_reason": head.archived_reason,
        "pinned": head.pinned,
        "title": head.title,
        "title_by": head.title_by,
        "approval_mode": head.approval_mode,
        "config_version": head.config_version,
        "parent_session_id": head.parent_session_id,
        "created_at": rfc3339(head.created_at),
        "updated_at": rfc3339(head.updated_at),
        "messages": {"in_sight": head.messages, "archived": head.archived, "ever": head.placed},
        "turns": {"in_sight": head.turns, "ever": head.started},
        "summary_version": head.summary_version,
        "branch": head.branch,
        "redo_version": head.redo,
        "model_fingerprint": head.model_fingerprint.hex(),
        "turn": None if turn is None else turn_shape(turn),
        "open_calls": [call_shape(call) for call in open_calls(state)],
        "open_gates": [gate_shape(gate) for gate in open_gates(state)],
        "losses": _losses(head),
    }


def open_turn(state: State) -> Turn | None:
    """Return the turn that has not ended."""
    return None if state.head.turn_id is None else state.turns.get(state.head.turn_id)


def open_calls(state: State) -> Sequence[Call]:
    """Return the calls of that turn that have no result, in the order of their requests."""
    mine = (
        call
        for (turn_id, _), calls in state.calls.items()
        for call in calls
        if turn_id == state.head.turn_id and call.status == "open"
    )
    return sorted(mine, key=_requested)


def open_gates(state: State) -> Sequence[Gate]:
    """Return the gates that wait for an answer, in the order in which they opened."""
    return sorted((g for g in state.gates.values() if g.status == "open"), key=_opened)


def call_shape(call: Call) -> Shape:
    """Return a call; what it was asked with is in the transcript."""
    return {
        "turn_id": call.turn_id,
        "tool_call_id": call.tool_call_id,
        "name": call.name,
        "requested_version": call.requested_version,
        "waits": call.gated,
    }


def gate_shape(gate: Gate) -> Shape:
    """Return a gate; what it asks is told where approvals are read."""
    return {
        "gate_id": gate.gate_id,
        "turn_id": gate.turn_id,
        "kind": gate.kind,
        "permission_id": gate.permission_id,
        "tool_call_id": gate.tool_call_id,
        "tool": gate.tool,
        "opened_version": gate.opened_version,
        "opened_at": rfc3339(gate.opened_at),
        "expires_at": None if gate.expires_at is None else rfc3339(gate.expires_at),
    }


def _losses(head: Head) -> Shape:
    return {
        "open": head.open_losses,
        "unverified_turns": head.unverified_turns,
        "miscounted_turns": head.miscounted_turns,
        "unreadable": head.unreadable,
    }


def _requested(call: Call) -> int:
    return call.requested_version or 0


def _opened(gate: Gate) -> int:
    return gate.opened_version
