"""What is a session after a gate opened or closed?

A call waits (`gated`) while an open gate names it. Where more gates name a call id than it has
open occurrences, the last of them to close frees the call.
"""

from domain import events as e
from domain.draft import Draft, counted
from domain.evolve_content import add_call, unattached_gates
from domain.state import Call, Gate, GateStatus
from domain.times import microseconds


def gate_opened(draft: Draft, event: e.GateOpened) -> None:
    """Open a gate; the call that it names waits, and is made known if it was not."""
    known = draft.known.gates.get(event.gate_id)
    draft.gates.append(
        Gate(
            gate_id=event.gate_id,
            turn_id=event.turn_id,
            kind=event.kind,
            permission_id=event.permission_id,
            tool_call_id=event.tool_call_id,
            tool=event.tool,
            opened_version=draft.version,
            opened_at=draft.fact.envelope.recorded_at,
            expires_at=microseconds(event.expires_at),
        )
    )
    if known is None or known.status != "open":
        _count_gates(draft, 1)
    if event.tool_call_id is not None:
        _hold_call(draft, event, event.tool_call_id)


def gate_closed(
    draft: Draft, gate_id: str | None, status: GateStatus, decided: e.GateDecided | None = None
) -> None:
    """Close a gate that is open; its call no longer waits, unless another gate holds it."""
    gate = draft.known.gates.get(gate_id) if gate_id is not None else None
    if gate is None or gate.status != "open":
        return
    if draft.turn is None or draft.turn.turn_id != gate.turn_id:
        draft.turn = counted(draft, gate.turn_id)
    draft.gates.append(
        gate._replace(
            status=status,
            closed_version=draft.version,
            verdict=decided.verdict if decided else None,
            decided_by=decided.decided_by if decided else None,
        )
    )
    _count_gates(draft, -1)
    if gate.tool_call_id is not None:
        _free_call(draft, gate.turn_id, gate.tool_call_id)


def gate_consumed(draft: Draft, gate_id: str) -> None:
    """Note that a gate's decision was used; the first time counts."""
    gate = draft.known.gates.get(gate_id)
    if gate is not None and gate.consumed_version is None:
        draft.gates.append(gate._replace(consumed_version=draft.version))


def verdict_status(event: e.GateDecided) -> GateStatus:
    """Return what became of a gate that was decided so."""
    match event.decided_by, event.verdict:
        case "timeout", _:
            return "expired"
        case "cancelled", _:
            return "withdrawn"
        case _, "approved":
            return "allowed"
        case _, "answered":
            return "answered"
        case "policy", _:
            return "denied-by-policy"
        case _:
            return "denied"


def _count_gates(draft: Draft, by: int) -> None:
    draft.head = draft.head._replace(open_gates=draft.head.open_gates + by)
    if draft.turn is not None:
        draft.turn = draft.turn._replace(open_gates=draft.turn.open_gates + by)


def _hold_call(draft: Draft, event: e.GateOpened, tool_call_id: str) -> None:
    occurrences = draft.known.calls.get((event.turn_id, tool_call_id), ())
    waiting = [call for call in occurrences if call.status == "open"]
    free = next((call for call in waiting if not call.gated), None)
    if free is not None:
        _mark(draft, free, gated=True)
    elif not waiting and event.tool is not None:
        call = Call(
            turn_id=event.turn_id,
            tool_call_id=tool_call_id,
            occurrence=len(occurrences) + 1,
            name=event.tool,
            requested_version=draft.version,
            announced=False,
            gated=True,
        )
        add_call(draft, call)


def _free_call(draft: Draft, turn_id: str, tool_call_id: str) -> None:
    held = [call for call in draft.known.calls.get((turn_id, tool_call_id), ()) if call.gated]
    if held and unattached_gates(draft.known, turn_id, tool_call_id) <= 0:
        _mark(draft, held[0], gated=False)


def _mark(draft: Draft, call: Call, *, gated: bool) -> None:
    draft.calls.append(call._replace(gated=gated))
    if draft.turn is not None:
        by = 1 if gated else -1
        draft.turn = draft.turn._replace(gated_calls=draft.turn.gated_calls + by)
