"""May this question be asked, and may it still be answered?"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from domain import events as e
from domain.decided import Decided, fact
from domain.fields import check_arguments, check_name, check_time
from domain.raw_json import with_member
from domain.refusals import (
    AmbiguousGate,
    GateAlreadyDecided,
    GateGone,
    InvalidValue,
    NoSuchGate,
    TooManyGates,
)
from domain.standing import running_turn
from domain.state import Gate, State, open_gates

OPEN_GATES_LIMIT: Final = 100


def open_gate(state: State, event: e.GateOpened) -> None:
    """Raise a refusal unless this gate can open now."""
    running_turn(state, event.turn_id)
    check_name(event.gate_id, "gate_id")
    if event.gate_id in state.gates:
        raise InvalidValue("a gate of this id was opened before", "gate_id")
    check_name(event.permission_id, "permission_id")
    check_name(event.tool_call_id, "tool_call_id")
    check_name(event.tool, "tool")
    if event.arguments is not None:
        check_arguments(event.arguments, "arguments")
    check_time(event.expires_at, "expires_at")
    if state.head.open_gates >= OPEN_GATES_LIMIT:
        raise TooManyGates(OPEN_GATES_LIMIT)


def decide_gate(state: State, event: e.GateDecided, decided: Decided) -> Decided:
    """Return the decision with the id of the gate that it is about.

    Raises:
        NoSuchGate, AmbiguousGate: as `resolve_gate`.
        GateGone, GateAlreadyDecided: it is not open any more.
        InvalidValue: the verdict does not answer the question.
    """
    gate = resolve_gate(state, event)
    if gate.status in {"expired", "withdrawn"}:
        raise GateGone(gate.gate_id, gate.status)
    if gate.status != "open":
        raise GateAlreadyDecided(gate.gate_id, gate.status)
    if event.verdict != "denied" and (event.verdict == "answered") != (gate.kind == "input"):
        detail = "a permission is approved or denied; an input is answered or denied"
        raise InvalidValue(detail, "verdict")
    check_name(event.option_id, "option_id")
    check_name(event.on_behalf_of, "on_behalf_of")
    if event.arguments is not None:
        check_arguments(event.arguments, "arguments")
    body = decided.body
    if event.gate_id is None and body is not None:
        body = with_member(body, "gate_id", gate.gate_id)
        decided = decided._replace(offloaded=None)
    return decided._replace(
        event=replace(event, gate_id=gate.gate_id), body=body, turn_id=gate.turn_id
    )


def imported_end(state: State, event: e.GateExpired | e.GateWithdrawn, decided: Decided) -> Decided:
    """Return the end of a gate that another program recorded.

    Raises:
        NoSuchGate: no open gate has this id.
    """
    gate = state.gates.get(event.gate_id)
    if gate is None or gate.status != "open":
        raise NoSuchGate("no open gate has this gate_id", "gate_id")
    if isinstance(event, e.GateWithdrawn):
        check_name(event.reason, "reason")
    return decided._replace(turn_id=gate.turn_id)


def withdrawn(state: State, turn_id: str, reason: str) -> list[Decided]:
    """Return the end of each gate that a turn still has open."""
    return [
        fact(e.GateWithdrawn(gate_id=gate.gate_id, reason=reason), turn_id=turn_id)
        for gate in open_gates(state.gates, turn_id)
    ]


def expired(state: State, now: int) -> tuple[Decided, ...]:
    """Return the end of each open gate whose time has run out."""
    turn_id = state.head.turn_id
    gates = () if turn_id is None else open_gates(state.gates, turn_id)
    return tuple(
        fact(e.GateExpired(gate_id=gate.gate_id), turn_id=gate.turn_id)
        for gate in gates
        if gate.expires_at is not None and gate.expires_at <= now
    )


def resolve_gate(state: State, event: e.GateDecided) -> Gate:
    """Return the gate that a decision names, by its id or by an alias.

    Of an alias that was used more than once, the gate that is open; else the newest.

    Raises:
        NoSuchGate, AmbiguousGate: the name fits no gate, or more than one.
        InvalidValue: nothing is named.
    """
    if event.gate_id is not None:
        gate = state.gates.get(event.gate_id)
        if gate is None:
            detail = "no gate has this gate_id (the id that gate-opened was answered with)"
            raise NoSuchGate(detail, "gate_id")
        return gate
    if event.permission_id is not None:
        name, at = event.permission_id, "permission_id"
        named = [gate for gate in state.gates.values() if gate.permission_id == name]
    elif event.tool_call_id is not None:
        name, at = event.tool_call_id, "tool_call_id"
        named = [gate for gate in state.gates.values() if gate.tool_call_id == name]
    else:
        detail = "name the gate: gate_id, permission_id or tool_call_id"
        raise InvalidValue(detail, "gate_id")
    waiting = [gate for gate in named if gate.status == "open"]
    if len(waiting) > 1:
        raise AmbiguousGate(at)
    if not named:
        raise NoSuchGate(f"no gate of this session has this {at}", at)
    return waiting[0] if waiting else newest(named)


def newest(gates: Iterable[Gate]) -> Gate:
    """Return the gate that opened last."""
    return max(gates, key=lambda gate: gate.opened_version)
