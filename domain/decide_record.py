"""May this event be recorded now? The rules for what producers and imports bring."""

from collections.abc import Iterable
from dataclasses import replace

from domain import events as e
from domain.commands import Proposal
from domain.decided import Decided, fact
from domain.events.turn import TurnCompleted, TurnFailed, TurnInterrupted
from domain.identifiers import NAME_LIMIT, is_id, is_name
from domain.raw_json import RawJson, with_member
from domain.messages import Message
from domain.refusals import (
    AmbiguousGate,
    CallCompleted,
    GateAlreadyDecided,
    GateGone,
    InvalidValue,
    MessageClosed,
    MessageExists,
    NoSuchGate,
    NoSuchLoss,
    NoSuchTurn,
    TooManyGates,
    TurnExists,
    TurnInProgress,
    TurnOver,
)
from domain.state import Gate, State, Turn, open_gates
from domain.times import microseconds

OPEN_GATES_LIMIT = 100
TOKENS_LIMIT = 2**53


def decide_record(state: State, proposal: Proposal, *, imported: bool) -> tuple[Decided, ...]:  # noqa: C901 - one arm an event
    """Return the proposed event, with those that follow from it before it.

    Raises:
        Refusal: the event contradicts the session, with its place inside the event's data.
    """
    decided = fact(
        proposal.event, body=proposal.body, occurred_at=proposal.occurred_at, proposed=True
    )
    match proposal.event:
        case e.TurnStarted() as event:
            _start(state, event, imported=imported)
        case e.MessageRecorded(turn_id=turn_id, message=message):
            _running(state, turn_id)
            _message(state, turn_id, message)
        case e.ToolCallRequested() as event:
            _running(state, event.turn_id)
            _name(event.tool_call_id, "tool_call_id")
            _name(event.name, "name")
            _arguments(event.arguments, "arguments")
        case e.ToolCallCompleted() as event:
            return (_result(state, event, decided),)
        case e.GateOpened() as event:
            _open_gate(state, event)
        case e.GateDecided() as event:
            return (_decide_gate(state, event, decided),)
        case e.UsageRecorded() as event:
            _running(state, event.turn_id)
            _usage(event)
        case e.DataRecorded(kind=kind, turn_id=turn_id):
            _name(kind, "kind")
            if turn_id is not None:
                _running(state, turn_id)
        case e.TurnCompleted() | e.TurnFailed() | e.TurnInterrupted() as event:
            return (*_end(state, event), decided)
        case e.RecordsLost() as event:
            _lost(state, event)
        case e.LossHealed(loss_version=version):
            loss = state.losses.get(version)
            if loss is None or loss.healed_version is not None:
                raise NoSuchLoss(version)
        case _:
            if not imported:
                detail = "this event type is not for producers"
                raise InvalidValue(detail)
    return (decided,)


def _start(state: State, event: e.TurnStarted, *, imported: bool) -> None:
    if not is_id(event.turn_id):
        detail = "a turn id matches ^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
        raise InvalidValue(detail, "turn_id")
    if event.turn_id in state.turns:
        raise TurnExists(event.turn_id)
    if state.head.turn_id is not None:
        raise TurnInProgress(state.head.turn_id)
    if not event.messages and not imported:
        detail = "a turn begins with at least one message"
        raise InvalidValue(detail, "messages")
    named: set[str] = set()
    for number, message in enumerate(event.messages):
        at = ("messages", number)
        if message.role not in {"user", "system", "developer"}:
            detail = "a turn begins with user input"
            raise InvalidValue(detail, *at, "role")
        if message.status == "partial":
            detail = "a turn's first input is whole"
            raise InvalidValue(detail, *at, "status")
        if message.message_id is None:
            continue
        if message.message_id in named or message.message_id in state.message_ids:
            raise MessageExists(message.message_id).inside(*at)
        _message_id(message.message_id, *at)
        named.add(message.message_id)


def _message(state: State, turn_id: str, message: Message) -> None:
    if message.role == "tool":
        detail = "a result is recorded by tool-call-completed"
        raise InvalidValue(detail, "message", "role")
    if message.message_id is None:
        if message.status == "partial":
            detail = "a partial message needs an id to be replaced by"
            raise InvalidValue(detail, "message", "message_id")
        return
    _message_id(message.message_id, "message")
    index = state.message_ids.get(message.message_id)
    if index is None:
        return
    known = state.messages[index]
    if not known.partial or known.turn_id != turn_id or message.role != known.role:
        raise MessageExists(message.message_id).inside("message")
    if index != state.head.messages - 1 or not state.head.tail_open:
        raise MessageClosed(message.message_id).inside("message")


def _message_id(message_id: str, *at: str | int) -> None:
    if not is_name(message_id):
        raise InvalidValue(_NAME_RULE, *at, "message_id")


def _running(state: State, turn_id: str) -> Turn:
    turn = state.turns.get(turn_id)
    if turn is None:
        raise NoSuchTurn(turn_id)
    if turn.status != "running":
        raise TurnOver(turn_id)
    return turn


_NAME_RULE = f"a name has 1 to {NAME_LIMIT} characters and no control characters"


def _name(text: str, *at: str) -> None:
    if not is_name(text):
        raise InvalidValue(_NAME_RULE, *at)


def _arguments(arguments: object, *at: str) -> None:
    if not (isinstance(arguments, RawJson) and arguments[:1] in {b"{", b'"'}):
        detail = "arguments are an object, or the text that the model wrote"
        raise InvalidValue(detail, *at)


def _result(state: State, event: e.ToolCallCompleted, decided: Decided) -> Decided:
    turn = state.turns.get(event.turn_id)
    if turn is None:
        raise NoSuchTurn(event.turn_id)
    _name(event.tool_call_id, "tool_call_id")
    occurrences = state.calls.get((event.turn_id, event.tool_call_id), ())
    if occurrences and all(call.status != "open" for call in occurrences):
        raise CallCompleted(event.tool_call_id)
    return decided if turn.status == "running" else replace(decided, affects="none")


def _open_gate(state: State, event: e.GateOpened) -> None:
    _running(state, event.turn_id)
    for text, at in (
        (event.permission_id, "permission_id"),
        (event.tool_call_id, "tool_call_id"),
        (event.tool, "tool"),
    ):
        if text is not None:
            _name(text, at)
    if event.arguments is not None:
        _arguments(event.arguments, "arguments")
    if event.expires_at is not None and microseconds(event.expires_at) is None:
        detail = "a time is RFC 3339 with an offset"
        raise InvalidValue(detail, "expires_at")
    if state.head.open_gates >= OPEN_GATES_LIMIT:
        raise TooManyGates(OPEN_GATES_LIMIT)


def _decide_gate(state: State, event: e.GateDecided, decided: Decided) -> Decided:
    gate = resolve_gate(state, event)
    if gate.status in {"expired", "withdrawn"}:
        raise GateGone(gate.gate_id, gate.status)
    if gate.status != "open":
        raise GateAlreadyDecided(gate.gate_id, gate.status)
    if (event.verdict == "answered") != (gate.kind == "input") and event.verdict != "denied":
        detail = "a permission is approved or denied; an input is answered or denied"
        raise InvalidValue(detail, "verdict")
    body = decided.body
    if event.gate_id is None and body is not None:
        body = with_member(body, "gate_id", gate.gate_id)
    return replace(
        decided, event=replace(event, gate_id=gate.gate_id), body=body, turn_id=gate.turn_id
    )


def resolve_gate(state: State, event: e.GateDecided) -> Gate:
    """Return the gate that a decision names, by its id or by an alias.

    Raises:
        NoSuchGate, AmbiguousGate: the name fits no gate, or more than one.
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
        detail = f"no gate of this session has this {at}"
        raise NoSuchGate(detail, at)
    return waiting[0] if waiting else newest(named)


def newest(gates: Iterable[Gate]) -> Gate:
    """Return the gate that opened last."""
    return max(gates, key=lambda gate: gate.opened_version)


def _usage(event: e.UsageRecorded) -> None:
    for count, at in (
        (event.input_tokens, "input_tokens"),
        (event.output_tokens, "output_tokens"),
        (event.cache_read_tokens, "cache_read_tokens"),
        (event.cache_write_tokens, "cache_write_tokens"),
    ):
        if count is not None and not 0 <= count < TOKENS_LIMIT:
            detail = "a token count is between 0 and 2^53"
            raise InvalidValue(detail, at)


def _end(
    state: State, event: TurnCompleted | TurnFailed | TurnInterrupted
) -> tuple[Decided, ...]:
    """A turn that ends takes its open gates with it: nothing waits for what is over."""
    turn = _running(state, event.turn_id)
    if event.record_count is not None and event.record_count < 0:
        detail = "a count is not negative"
        raise InvalidValue(detail, "record_count")
    reason = "turn-ended" if isinstance(event, TurnCompleted) else "cancelled"
    return tuple(
        fact(e.GateWithdrawn(gate_id=gate.gate_id, reason=reason), turn_id=turn.turn_id)
        for gate in open_gates(state.gates, turn.turn_id)
    )


def _lost(state: State, event: e.RecordsLost) -> None:
    if event.count is not None and event.count < 1:
        detail = "a count is positive, or null when unknown"
        raise InvalidValue(detail, "count")
    if event.turn_id is not None and event.turn_id not in state.turns:
        raise NoSuchTurn(event.turn_id)


