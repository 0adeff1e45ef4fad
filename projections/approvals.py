"""What waits for an answer, who answered, and what was asked?"""

from domain import events as e
from domain.state import Gate
from domain.times import rfc3339
from projections.calls import gate_status

Shape = dict[str, object]


def approval_shape(
    session_id: str,
    gate: Gate,
    opened: e.Fact | None,
    closed: e.Fact | None,
    closed_at: int | None,
    at: int,
) -> Shape:
    """Return a gate as it stood at version `at`.

    `opened` and `closed` are the facts that opened and closed it; what they alone say is null once
    their bodies are gone. `closed_at` is when it closed.
    """
    status = gate_status(gate, at)
    asked = opened if isinstance(opened, e.GateOpened) else None
    below = None if asked is None else asked.subagent_session_id
    return {
        "gate_id": gate.gate_id,
        "session_id": session_id,
        "turn_id": gate.turn_id,
        "kind": gate.kind,
        "status": status,
        "permission_id": gate.permission_id,
        "tool_call_id": gate.tool_call_id,
        "tool": gate.tool,
        **({} if below is None else {"subagent_session_id": below}),
        "arguments": asked and asked.arguments,
        "options": asked and asked.options,
        "answer_schema": asked and asked.answer_schema,
        "opened_at": rfc3339(gate.opened_at),
        "opened_version": gate.opened_version,
        "expires_at": None if gate.expires_at is None else rfc3339(gate.expires_at),
        "decision": None if status == "open" else _decision(gate, closed, closed_at),
        "through_version": at,
    }


def _decision(gate: Gate, closed: e.Fact | None, closed_at: int | None) -> Shape | None:
    """Return the answer; a gate that closed without one has none."""
    if gate.verdict is None:
        return None
    said = closed if isinstance(closed, e.GateDecided) else None
    return {
        "verdict": gate.verdict,
        "decided_by": gate.decided_by,
        "via": said and said.via,
        "option_id": said and said.option_id,
        "arguments": said and said.arguments,
        "answer": said and said.answer,
        "message": said and said.message,
        "on_behalf_of": said and said.on_behalf_of,
        "at": None if closed_at is None else rfc3339(closed_at),
        "version": gate.closed_version,
    }
