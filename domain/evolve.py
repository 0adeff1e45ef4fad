"""What is a session after one more fact?

The one fold: the rules, the transcript, the fingerprints and the gates all follow from it. It
holds no rule and never raises on a recorded fact, however odd the log is.
"""

from collections.abc import Iterable
from dataclasses import replace

from domain import events as e
from domain.fingerprints import EMPTY, chain, digest, is_empty
from domain.messages import Part, Role, parts_of, readable
from domain.recorded import Recorded
from domain.state import (
    Call,
    Changes,
    Gate,
    GateStatus,
    Head,
    Loss,
    Piece,
    Placed,
    State,
    Tail,
    Turn,
    TurnStatus,
)
from domain.times import microseconds


def fold(facts: Iterable[Recorded]) -> State:
    """Return the session that `facts`, in order, make."""
    state = State()
    for fact in facts:
        state.apply(evolve(state, fact))
    return state


def evolve(state: State, fact: Recorded) -> Changes:
    """Return what `fact` changes in `state`: the head, and each record that it touches."""
    envelope = fact.envelope
    head = replace(
        state.head,
        version=envelope.version,
        hash=fact.hash,
        updated_at=envelope.recorded_at,
        history_version=(
            envelope.version if envelope.affects == "history" else state.head.history_version
        ),
    )
    changes = _changed(state, head, fact)
    return changes if envelope.producer is None else replace(changes, producer=envelope.producer)


def _changed(state: State, head: Head, fact: Recorded) -> Changes:  # noqa: C901, PLR0911, PLR0912 - one arm an event
    match fact.event:
        case e.SessionOpened() as event:
            return Changes(head=_opened(head, fact, event))
        case e.SessionRenamed(title=title, by=by):
            return Changes(head=replace(head, title=title, title_by=by if title else None))
        case e.SessionConfigured():
            return Changes(head=replace(head, config_version=fact.version))
        case e.ApprovalModeSet(mode=mode):
            return Changes(head=replace(head, approval_mode=mode))
        case e.SessionArchived():
            return Changes(head=replace(head, status="archived"))
        case e.SessionUnarchived() | e.SessionRestored():
            return Changes(head=replace(head, status="open"))
        case e.SessionDeleted():
            return Changes(head=replace(head, status="deleted"))
        case e.TurnStarted() as event:
            return _turn_started(head, fact, event)
        case e.TurnCompleted(turn_id=turn_id, record_count=count):
            return _turn_ended(state, head, fact, turn_id, "completed", count)
        case e.TurnFailed(turn_id=turn_id, record_count=count):
            return _turn_ended(state, head, fact, turn_id, "failed", count)
        case e.TurnInterrupted(turn_id=turn_id, record_count=count):
            return _turn_ended(state, head, fact, turn_id, "interrupted", count)
        case e.MessageRecorded() as event:
            return _message_recorded(state, head, fact, event)
        case e.ToolCallRequested() as event:
            return _call_requested(state, head, fact, event)
        case e.ToolCallCompleted() as event:
            return _call_completed(state, head, fact, event)
        case e.HistoryCompacted() as event:
            return _compacted(state, head, fact, event)
        case e.GateOpened() as event:
            return _gate_opened(state, head, fact, event)
        case e.GateDecided(gate_id=gate_id) as event:
            return _gate_closed(state, head, fact, gate_id, _verdict(event), event)
        case e.GateExpired(gate_id=gate_id):
            return _gate_closed(state, head, fact, gate_id, "expired")
        case e.GateWithdrawn(gate_id=gate_id):
            return _gate_closed(state, head, fact, gate_id, "withdrawn")
        case e.UsageRecorded() as event:
            return _used(state, head, fact, event)
        case e.DataRecorded(turn_id=turn_id):
            return Changes(head=head, turns=_counted(state, fact, turn_id))
        case e.RecordsLost(count=count, turn_id=turn_id):
            loss = Loss(version=fact.version, count=count, turn_id=turn_id)
            return Changes(
                head=replace(head, open_losses=head.open_losses + 1),
                losses=(loss,),
                turns=_counted(state, fact, turn_id),
            )
        case e.LossHealed(loss_version=version):
            return _healed(state, head, fact, version)
        case e.HistoryImported():
            return Changes(head=replace(head, known_position=fact.position))
        case _:
            unreadable = head.unreadable + (fact.envelope.affects == "history")
            return Changes(head=replace(head, unreadable=unreadable, tail_open=False))


def _opened(head: Head, fact: Recorded, event: e.SessionOpened) -> Head:
    return replace(
        head,
        status="open",
        title=event.title,
        title_by="person" if event.title else None,
        config_version=None if event.config is None else fact.version,
        approval_mode=event.approval_mode,
        parent_session_id=event.parent.session_id if event.parent else None,
        created_at=fact.envelope.recorded_at,
        known_position=fact.position,
    )


def _turn_started(head: Head, fact: Recorded, event: e.TurnStarted) -> Changes:
    producer = fact.envelope.producer
    turn = Turn(
        turn_id=event.turn_id,
        number=head.turns + 1,
        started_version=fact.version,
        first_message=head.messages,
        started_at=fact.envelope.recorded_at,
        records=1 if producer else 0,
        producer_id=producer.producer_id if producer else None,
        producer_epoch=producer.epoch if producer else None,
        producer_sequence=producer.sequence if producer else None,
        history_sent=event.history_sent,
    )
    changes = Changes(
        head=replace(head, turns=turn.number, turn_id=turn.turn_id, tail_open=False)
    )
    for item, message in enumerate(event.messages):
        pieces = tuple(
            Piece(version=fact.version, source=message.message_id, open=False, part=part)
            for part in parts_of(message)
        )
        changes, turn = _placed(
            changes, turn, turn.turn_id, fact, message.role, message.message_id, pieces, item
        )
    return replace(changes, turns=(turn,))


def _turn_ended(  # noqa: PLR0913 - the three ends differ in nothing but these
    state: State,
    head: Head,
    fact: Recorded,
    turn_id: str,
    status: TurnStatus,
    count: int | None,
) -> Changes:
    turn = state.turns.get(turn_id)
    head = replace(head, tail_open=False, turn_id=None if head.turn_id == turn_id else head.turn_id)
    if turn is None or turn.status != "running":
        return Changes(head=head)
    counted = fact.envelope.producer is not None
    if count is not None and count != turn.records:
        head = replace(head, miscounted_turns=head.miscounted_turns + 1)
    elif count is None and counted:
        head = replace(head, unverified_turns=head.unverified_turns + 1)
    ended = replace(
        turn,
        status=status,
        ended_version=fact.version,
        ended_at=fact.envelope.recorded_at,
        declared_records=count,
    )
    return Changes(head=head, turns=(ended,))


def _message_recorded(
    state: State, head: Head, fact: Recorded, event: e.MessageRecorded
) -> Changes:
    message = event.message
    partial = message.status == "partial"
    pieces = tuple(
        Piece(version=fact.version, source=message.message_id, open=partial, part=part)
        for part in parts_of(message)
    )
    turn = _counted_turn(state, fact, event.turn_id)
    tail = _tail_of(state, head, event.turn_id) if message.role == "assistant" else None
    if tail is not None and message.message_id in {None, tail.message_id}:
        changes = _joined(state, head, fact, tail, pieces, partial=partial)
    else:
        changes, turn = _placed(
            Changes(head=head),
            turn,
            event.turn_id,
            fact,
            message.role,
            message.message_id,
            pieces,
            partial=partial,
        )
    return replace(changes, turns=(turn,) if turn else ())


def _call_requested(
    state: State, head: Head, fact: Recorded, event: e.ToolCallRequested
) -> Changes:
    turn = _counted_turn(state, fact, event.turn_id)
    part = _call_part(event.tool_call_id, event.name, event.arguments)
    occurrences = state.calls.get((event.turn_id, event.tool_call_id), ())
    foretold = next((c for c in occurrences if c.status == "open" and not c.announced), None)
    if foretold is not None:
        return _announced(state, head, fact, event, part, foretold, turn)
    call = Call(
        turn_id=event.turn_id,
        tool_call_id=event.tool_call_id,
        occurrence=len(occurrences) + 1,
        name=event.name,
        requested_version=fact.version,
    )
    changes, turn = _call_placed(state, head, fact, call, part, turn)
    return replace(changes, turns=(turn,) if turn else (), calls=(call,))


def _announced(  # noqa: PLR0913 - the pieces of one decision
    state: State,
    head: Head,
    fact: Recorded,
    event: e.ToolCallRequested,
    part: Part,
    foretold: Call,
    turn: Turn | None,
) -> Changes:
    """A gate opened this call before it was announced; the request takes over its place."""
    turns = (turn,) if turn else ()
    tail = _tail_of(state, head, event.turn_id)
    source = _call_source(event.tool_call_id)
    if tail is None or not any(p.source == source and p.open for p in state.tail.pieces):
        return Changes(head=head, turns=turns, calls=(replace(foretold, announced=True),))
    piece = Piece(version=fact.version, source=source, open=False, part=part)
    call = replace(
        foretold, announced=True, name=event.name, requested_version=fact.version
    )
    changes = _joined(state, head, fact, tail, (piece,), partial=tail.partial)
    return replace(changes, turns=turns, calls=(call,))


def _call_placed(  # noqa: PLR0913
    state: State, head: Head, fact: Recorded, call: Call, part: Part, turn: Turn | None
) -> tuple[Changes, Turn | None]:
    piece = Piece(
        version=fact.version,
        source=_call_source(call.tool_call_id),
        open=not call.announced,
        part=part,
    )
    if turn is not None:
        turn = replace(turn, open_calls=turn.open_calls + 1, calls=turn.calls + 1)
    tail = _tail_of(state, head, call.turn_id)
    if tail is not None:
        return _joined(state, head, fact, tail, (piece,), partial=tail.partial), turn
    return _placed(Changes(head=head), turn, call.turn_id, fact, "assistant", None, (piece,))


def _call_completed(
    state: State, head: Head, fact: Recorded, event: e.ToolCallCompleted
) -> Changes:
    turn = _counted_turn(state, fact, event.turn_id)
    occurrences = state.calls.get((event.turn_id, event.tool_call_id), ())
    call = next((c for c in occurrences if c.status == "open"), None) or Call(
        turn_id=event.turn_id,
        tool_call_id=event.tool_call_id,
        occurrence=len(occurrences) + 1,
        name=None,
    )
    late = turn is not None and turn.status != "running"
    done = replace(
        call,
        status="late"
        if late
        else "denied"
        if event.denied
        else "failed"
        if event.is_error
        else "completed",
        completed_version=fact.version,
        gated=False,
    )
    if late:
        return Changes(head=head, calls=(done,))
    if turn is not None and call.requested_version is not None:
        turn = replace(
            turn,
            open_calls=turn.open_calls - 1,
            gated_calls=turn.gated_calls - call.gated,
        )
    part: Part = {
        "type": "tool_result",
        "tool_call_id": event.tool_call_id,
        "output": event.output,
        "is_error": event.is_error,
        "denied": event.denied,
    }
    piece = Piece(version=fact.version, source=None, open=False, part=part)
    changes, turn = _placed(
        Changes(head=head), turn, event.turn_id, fact, "tool", None, (piece,)
    )
    return replace(changes, turns=(turn,) if turn else (), calls=(done,))


def _compacted(state: State, head: Head, fact: Recorded, event: e.HistoryCompacted) -> Changes:
    index = message_index(state, event.through_message_id)
    if index is None:
        return Changes(head=replace(head, unreadable=head.unreadable + 1))
    model = chain(EMPTY, digest("user", summary_parts(event)))
    base = model
    kept: list[Placed] = []
    for number in range(index + 1, head.messages):
        message = state.messages.get(number)
        if message is None:
            continue
        base = model
        model = model if message.digest is None else chain(model, message.digest)
        kept.append(replace(message, model_fingerprint=model))
    head = replace(
        head,
        archived=max(head.archived, index + 1),
        summary_version=fact.version,
        model_fingerprint=model,
        base_model_fingerprint=base,
    )
    return Changes(head=head, messages=tuple(kept))


def summary_parts(event: e.HistoryCompacted) -> tuple[Part, ...]:
    """Return a compaction's summary as the parts of the message that the model sees."""
    return ({"type": "text", "text": event.summary},)


def _gate_opened(state: State, head: Head, fact: Recorded, event: e.GateOpened) -> Changes:
    turn = _counted_turn(state, fact, event.turn_id)
    gate = Gate(
        gate_id=event.gate_id,
        turn_id=event.turn_id,
        kind=event.kind,
        permission_id=event.permission_id,
        tool_call_id=event.tool_call_id,
        tool=event.tool,
        opened_version=fact.version,
        opened_at=fact.envelope.recorded_at,
        expires_at=microseconds(event.expires_at),
    )
    changes = Changes(head=replace(head, open_gates=head.open_gates + 1), gates=(gate,))
    if turn is not None:
        turn = replace(turn, open_gates=turn.open_gates + 1)
    if event.tool_call_id is not None:
        occurrences = state.calls.get((event.turn_id, event.tool_call_id), ())
        call = next((c for c in occurrences if c.status == "open" and not c.gated), None)
        if call is None and event.tool is not None:
            call = Call(
                turn_id=event.turn_id,
                tool_call_id=event.tool_call_id,
                occurrence=len(occurrences) + 1,
                name=event.tool,
                requested_version=fact.version,
                announced=False,
            )
            part = _call_part(event.tool_call_id, event.tool, event.arguments)
            placed, turn = _call_placed(state, changes.head, fact, call, part, turn)
            changes = replace(placed, gates=(gate,))
        if call is not None:
            changes = replace(changes, calls=(replace(call, gated=True),))
            turn = replace(turn, gated_calls=turn.gated_calls + 1) if turn else None
    return replace(changes, turns=(turn,) if turn else ())


def _gate_closed(  # noqa: PLR0913
    state: State,
    head: Head,
    fact: Recorded,
    gate_id: str | None,
    status: GateStatus,
    decided: e.GateDecided | None = None,
) -> Changes:
    gate = state.gates.get(gate_id) if gate_id is not None else None
    if gate is None or gate.status != "open":
        return Changes(head=head)
    closed = replace(
        gate,
        status=status,
        closed_version=fact.version,
        verdict=decided.verdict if decided else None,
        decided_by=decided.decided_by if decided else None,
    )
    turn = _counted_turn(state, fact, gate.turn_id)
    calls: tuple[Call, ...] = ()
    if gate.tool_call_id is not None:
        occurrences = state.calls.get((gate.turn_id, gate.tool_call_id), ())
        calls = tuple(replace(c, gated=False) for c in occurrences if c.gated)[:1]
    if turn is not None:
        turn = replace(
            turn,
            open_gates=turn.open_gates - 1,
            gated_calls=turn.gated_calls - len(calls),
        )
    return Changes(
        head=replace(head, open_gates=head.open_gates - 1),
        gates=(closed,),
        turns=(turn,) if turn else (),
        calls=calls,
    )


def _verdict(event: e.GateDecided) -> GateStatus:
    if event.decided_by == "timeout":
        return "expired"
    if event.decided_by == "cancelled":
        return "withdrawn"
    if event.verdict == "approved":
        return "allowed"
    if event.verdict == "answered":
        return "answered"
    return "denied-by-policy" if event.decided_by == "policy" else "denied"


def _used(state: State, head: Head, fact: Recorded, event: e.UsageRecorded) -> Changes:
    turn = _counted_turn(state, fact, event.turn_id)
    if turn is None:
        return Changes(head=head)
    turn = replace(
        turn,
        input_tokens=turn.input_tokens + event.input_tokens,
        output_tokens=turn.output_tokens + event.output_tokens,
        cache_read_tokens=turn.cache_read_tokens + (event.cache_read_tokens or 0),
        cache_write_tokens=turn.cache_write_tokens + (event.cache_write_tokens or 0),
    )
    return Changes(head=head, turns=(turn,))


def _healed(state: State, head: Head, fact: Recorded, version: int) -> Changes:
    loss = state.losses.get(version)
    if loss is None or loss.healed_version is not None:
        return Changes(head=head)
    return Changes(
        head=replace(head, open_losses=head.open_losses - 1),
        losses=(replace(loss, healed_version=fact.version),),
    )


def message_index(state: State, message_id: str) -> int | None:
    """Return the index of the message with this id, given or derived (`<turn_id>:<n>`)."""
    if (index := state.message_ids.get(message_id)) is not None:
        return index
    turn_id, _, ordinal = message_id.rpartition(":")
    turn = state.turns.get(turn_id)
    if turn is None or not (ordinal.isascii() and ordinal.isdigit()):
        return None
    index = turn.first_message + int(ordinal[:9]) - 1
    known = state.messages.get(index)
    return index if known is not None and known.message_id == message_id else None


def _placed(  # noqa: PLR0913 - what a message is made of
    changes: Changes,
    turn: Turn | None,
    turn_id: str,
    fact: Recorded,
    role: Role,
    message_id: str | None,
    pieces: tuple[Piece, ...],
    item: int = 0,
    *,
    partial: bool = False,
) -> tuple[Changes, Turn | None]:
    """Add a message after the last one."""
    head = changes.head
    ordinal = turn.messages + 1 if turn else fact.version
    leading = head.leading and role in {"system", "developer"}
    parts = readable(piece.part for piece in pieces)
    said = None if leading or is_empty(parts) else digest(role, parts)
    message = Placed(
        index=head.messages,
        message_id=message_id or f"{turn_id}:{ordinal}",
        named=message_id is not None,
        turn_id=turn_id,
        role=role,
        item=item,
        versions=(fact.version,),
        partial=partial,
        digest=said,
        fingerprint=head.fingerprint if said is None else chain(head.fingerprint, said),
        model_fingerprint=(
            head.model_fingerprint if said is None else chain(head.model_fingerprint, said)
        ),
    )
    head = replace(
        head,
        messages=head.messages + 1,
        leading=leading,
        tail_open=role == "assistant",
        base_fingerprint=head.fingerprint,
        base_model_fingerprint=head.model_fingerprint,
        fingerprint=message.fingerprint,
        model_fingerprint=message.model_fingerprint,
    )
    changes = replace(
        changes,
        head=head,
        messages=(*changes.messages, message),
        tail=Tail(pieces=pieces if head.tail_open else ()),
    )
    return changes, replace(turn, messages=turn.messages + 1) if turn else None


def _joined(  # noqa: PLR0913
    state: State,
    head: Head,
    fact: Recorded,
    tail: Placed,
    pieces: tuple[Piece, ...],
    *,
    partial: bool,
) -> Changes:
    """Add to the last message, in place of what the same source brought while it was open."""
    merged = merge(state.tail.pieces, pieces)
    parts = readable(piece.part for piece in merged)
    said = None if is_empty(parts) else digest(tail.role, parts)
    message = replace(
        tail,
        versions=(*tail.versions, fact.version),
        partial=partial,
        digest=said,
        fingerprint=head.base_fingerprint if said is None else chain(head.base_fingerprint, said),
        model_fingerprint=(
            head.base_model_fingerprint
            if said is None
            else chain(head.base_model_fingerprint, said)
        ),
    )
    head = replace(
        head,
        fingerprint=message.fingerprint,
        model_fingerprint=message.model_fingerprint,
    )
    return Changes(head=head, messages=(message,), tail=Tail(pieces=merged))


def merge(known: tuple[Piece, ...], new: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Return a message's pieces with `new` in the place of what they replace, else at the end."""
    source = new[0].source if new else None
    place = next((n for n, p in enumerate(known) if p.open and p.source == source), None)
    if place is None or source is None:
        return (*known, *new)
    rest = tuple(p for p in known[place:] if not (p.open and p.source == source))
    return (*known[:place], *new, *rest)


def _tail_of(state: State, head: Head, turn_id: str) -> Placed | None:
    """Return the last message if an assistant's record of this turn joins it."""
    tail = state.messages.get(head.messages - 1) if head.tail_open else None
    return tail if tail is not None and tail.turn_id == turn_id else None


def _counted_turn(state: State, fact: Recorded, turn_id: str | None) -> Turn | None:
    turn = state.turns.get(turn_id) if turn_id is not None else None
    producer = fact.envelope.producer
    if turn is None or producer is None or turn.status != "running":
        return turn
    if turn.producer_id != producer.producer_id:
        return replace(turn, records=turn.records + 1)
    return replace(
        turn,
        records=turn.records + 1,
        producer_epoch=producer.epoch,
        producer_sequence=producer.sequence,
    )


def _counted(state: State, fact: Recorded, turn_id: str | None) -> tuple[Turn, ...]:
    turn = _counted_turn(state, fact, turn_id)
    return (turn,) if turn else ()


def _call_source(tool_call_id: str) -> str:
    return f"call:{tool_call_id}"


def _call_part(tool_call_id: str, name: str, arguments: object) -> Part:
    return {
        "type": "tool_call",
        "tool_call_id": tool_call_id,
        "name": name,
        "arguments": arguments,
    }
