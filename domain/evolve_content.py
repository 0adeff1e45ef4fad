"""What is a session after something was said, called, answered or summarised?"""

from domain import events as e
from domain.draft import Draft
from domain.evolve_history import moved
from domain.fingerprints import EMPTY, chain, digest
from domain.messages import readable
from domain.paths import runs, runs_within, spot_of
from domain.pieces import call_source, pieces_of, summary_parts
from domain.place import join, open_tail, place
from domain.records import InState, message_with_id
from domain.state import Call, CallStatus, State


def message_recorded(draft: Draft, event: e.MessageRecorded) -> None:
    """Add a message, or to the one that the same participant is still at."""
    message = event.message
    pieces = pieces_of(event, draft.version)
    tail = open_tail(draft, event.turn_id, message.role)
    unnamed = message.message_id is None and message.role == "assistant"
    if tail is not None and (unnamed or message.message_id == tail.message_id):
        join(draft, tail, pieces)
    else:
        place(draft, event.turn_id, message.role, pieces, message.message_id)


def call_requested(draft: Draft, event: e.ToolCallRequested) -> None:
    """Add a call, or announce the one that a gate foretold."""
    key = (event.turn_id, event.tool_call_id)
    occurrences = draft.known.calls.get(key, ())
    foretold = next((c for c in occurrences if c.status == "open" and not c.announced), None)
    if foretold is not None:
        _announce(draft, event, foretold)
        return
    call = Call(
        turn_id=event.turn_id,
        tool_call_id=event.tool_call_id,
        occurrence=len(occurrences) + 1,
        name=event.name,
        requested_version=draft.version,
        gated=bool(draft.known.gates) and unattached_gates(draft.known, *key) > 0,
    )
    add_call(draft, call)


def _announce(draft: Draft, event: e.ToolCallRequested, foretold: Call) -> None:
    """Let the request take over the place of the call that a gate opened.

    If other records closed that place, what the gate said of the call stands.
    """
    tail = open_tail(draft, event.turn_id, "assistant")
    source = call_source(event.tool_call_id)
    call = foretold._replace(announced=True)
    if tail is not None and any(p.source == source and p.open for p in draft.known.tail.pieces):
        call = call._replace(name=event.name, requested_version=draft.version)
        join(draft, tail, pieces_of(event, draft.version))
    draft.calls.append(call)


def add_call(draft: Draft, call: Call) -> None:
    """Add a new call, and what the fact says of it, to the transcript."""
    draft.calls.append(call)
    if draft.turn is not None:
        draft.turn = draft.turn._replace(
            calls=draft.turn.calls + 1,
            open_calls=draft.turn.open_calls + 1,
            gated_calls=draft.turn.gated_calls + call.gated,
        )
    pieces = pieces_of(draft.fact.event, draft.version)
    tail = open_tail(draft, call.turn_id, "assistant")
    if tail is None:
        place(draft, call.turn_id, "assistant", pieces)
    else:
        join(draft, tail, pieces)


def unattached_gates(known: State, turn_id: str, tool_call_id: str) -> int:
    """Return how many open gates name this call beyond the open calls that already wait for one."""
    waiting = sum(
        gate.status == "open" and (gate.turn_id, gate.tool_call_id) == (turn_id, tool_call_id)
        for gate in known.gates.values()
    )
    return waiting - sum(call.gated for call in known.calls.get((turn_id, tool_call_id), ()))


def call_completed(draft: Draft, event: e.ToolCallCompleted) -> None:
    """Give the first open call of this id its result; after the turn's end, out of sight."""
    occurrences = draft.known.calls.get((event.turn_id, event.tool_call_id), ())
    call = next((c for c in occurrences if c.status == "open"), None) or Call(
        turn_id=event.turn_id,
        tool_call_id=event.tool_call_id,
        occurrence=len(occurrences) + 1,
        name=None,
    )
    turn = draft.turn
    late = turn is not None and turn.status != "running"
    draft.calls.append(
        call._replace(
            status="late" if late else _outcome(event),
            completed_version=draft.version,
            gated=False,
        )
    )
    if turn is not None and call.requested_version is not None:
        draft.turn = turn._replace(
            open_calls=turn.open_calls - 1,
            gated_calls=turn.gated_calls - call.gated,
        )
    if not late:
        place(draft, event.turn_id, "tool", pieces_of(event, draft.version))


def _outcome(event: e.ToolCallCompleted) -> CallStatus:
    if event.denied:
        return "denied"
    return "failed" if event.is_error else "completed"


def compacted(draft: Draft, event: e.HistoryCompacted) -> None:
    """Let a summary stand for the messages up to one, and chain the model's view anew.

    What follows a summary of everything begins a message of its own.
    """
    head, records = draft.head, InState(draft.known)
    message = message_with_id(records, event.through_message_id)
    here = spot_of(head)
    within = message and runs_within(records.branch, here, message.index, message.index + 1)
    if not within:
        draft.head = head._replace(unreadable=head.unreadable + 1)
        return
    archived = max(head.archived, within[0].depth + 1)
    base = model = chain(EMPTY, digest("user", readable(summary_parts(event))))
    for run in runs(records.branch, here, archived, head.messages):
        for kept in records.stretch(run.first, run.end):
            base = model
            model = model if kept.digest is None else chain(model, kept.digest)
    draft.head = head._replace(
        archived=archived,
        tail_open=head.tail_open and archived < head.messages,
        summary_version=draft.version,
        model_fingerprint=model,
        base_model_fingerprint=base,
    )
    moved(draft, "compacted")


def message_index(state: State, message_id: str) -> int | None:
    """Return the index of the message with this id, given or derived (`<turn_id>:<n>`)."""
    message = message_with_id(InState(state), message_id)
    return None if message is None else message.index
