"""Given a history, when a command arrives, then these events, or this refusal."""

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from domain import events as e
from domain.commands import Proposal, Record, SessionCommand
from domain.decide import decide
from domain.decided import fact
from domain.events.gate import GateKind
from domain.evolve import fold
from domain.messages import Author, Message, Role, readable
from domain.pieces import merge, pieces_of
from domain.raw_json import RawJson
from domain.recorded import (
    GENESIS,
    Envelope,
    ProducerStamp,
    Recorded,
    body_digest,
    chained_hash,
)
from domain.refusals import Refusal
from domain.registry import Affects
from domain.state import Gate, Piece, Placed, State, Turn

RUNNER = ProducerStamp(producer_id="runner", epoch=1, sequence=1)
OPENED = e.SessionOpened()


def recorded(
    *events: e.Fact,
    producer: ProducerStamp | None = None,
    after: Iterable[Recorded] = (),
    affects: Affects | None = None,
    turn_id: str | None = None,
) -> list[Recorded]:
    """Return `after` and `events` as a log holds them, without asking any rule."""
    facts = list(after)
    for event in events:
        previous = facts[-1].hash if facts else GENESIS
        version = len(facts) + 1
        opaque = isinstance(event, e.Opaque)
        known = None if isinstance(event, e.Opaque) else fact(event)
        body = b"{}"
        salt = version.to_bytes(16, "big")
        envelope = Envelope(
            project_id="default",
            session_id="chat",
            version=version,
            event_id=f"event-{version}",
            type="from-the-future" if known is None else known.type,
            schema=1,
            affects=affects or ("history" if known is None else known.affects),
            recorded_at=1_000_000 * version,
            producer=producer,
            turn_id=turn_id if known is None else known.turn_id or turn_id,
            body_digest=body_digest(salt, body),
        )
        facts.append(
            Recorded(
                envelope=envelope,
                position=version,
                previous=previous,
                hash=chained_hash(envelope, previous),
                salt=salt,
                body=None if opaque else body,
                event=event,
            )
        )
    return facts


def folded(*events: e.Fact, producer: ProducerStamp | None = None) -> State:
    """Return the session that `events` make."""
    return fold(recorded(*events, producer=producer))


def record(event: e.SessionEvent, *, imported: bool = False, body: bytes = b"{}") -> Record:
    """Return the wish to record `event`."""
    return Record(proposal=Proposal(event=event, body=body), imported=imported)


@dataclass(frozen=True)
class _Attempt:
    state: State
    command: SessionCommand

    def then(self, *events: e.SessionEvent) -> None:
        """Expect exactly these events."""
        assert tuple(decided.event for decided in decide(self.state, self.command)) == events

    def then_nothing(self) -> None:
        """Expect that nothing changes."""
        self.then()

    def then_refused(self, refusal: type[Refusal], *at: str | int) -> None:
        """Expect this refusal, about the place `at`."""
        with pytest.raises(refusal) as caught:
            decide(self.state, self.command)
        assert (type(caught.value), caught.value.at) == (refusal, at)


@dataclass(frozen=True)
class _History:
    state: State

    def when(self, command: SessionCommand | e.SessionEvent) -> _Attempt:
        """Try a command; a bare event is the wish to record it."""
        step = command if isinstance(command, SessionCommand) else record(command)
        return _Attempt(self.state, step)


def given(*history: e.Fact, producer: ProducerStamp | None = None) -> _History:
    """Return a session with this history."""
    return _History(folded(*history, producer=producer))


def message(
    text: str,
    role: Role = "user",
    message_id: str | None = None,
    *,
    partial: bool = False,
    author: Author | None = None,
) -> Message:
    """Return a message of one text."""
    return Message(
        role=role,
        content=text,
        message_id=message_id,
        status="partial" if partial else "complete",
        author=author,
    )


def started(turn_id: str = "t1", *messages: Message) -> e.TurnStarted:
    """Return a turn's beginning, with the input "hi" unless told otherwise."""
    return e.TurnStarted(turn_id=turn_id, messages=messages or (message("hi"),))


def said(
    text: str,
    role: Role = "assistant",
    message_id: str | None = None,
    *,
    turn_id: str = "t1",
    partial: bool = False,
) -> e.MessageRecorded:
    """Return what somebody said."""
    return e.MessageRecorded(
        turn_id=turn_id, message=message(text, role, message_id, partial=partial)
    )


def called(
    call_id: str = "c1", name: str = "read", arguments: bytes = b"{}", *, turn_id: str = "t1"
) -> e.ToolCallRequested:
    """Return a tool call."""
    return e.ToolCallRequested(
        turn_id=turn_id, tool_call_id=call_id, name=name, arguments=RawJson(arguments)
    )


def returned(
    call_id: str = "c1", output: bytes = b'"done"', *, turn_id: str = "t1"
) -> e.ToolCallCompleted:
    """Return a call's result."""
    return e.ToolCallCompleted(turn_id=turn_id, tool_call_id=call_id, output=RawJson(output))


def asked(
    gate_id: str = "g1",
    *,
    turn_id: str = "t1",
    kind: GateKind = "permission",
    call: str | None = None,
    tool: str | None = None,
    permission: str | None = None,
) -> e.GateOpened:
    """Return a gate's opening."""
    return e.GateOpened(
        gate_id=gate_id,
        turn_id=turn_id,
        kind=kind,
        tool_call_id=call,
        tool=tool,
        permission_id=permission,
        arguments=None if tool is None else RawJson(b"{}"),
    )


def approved(gate_id: str | None = "g1") -> e.GateDecided:
    """Return a person's yes."""
    return e.GateDecided(gate_id=gate_id, verdict="approved", decided_by="person", via="in-band")


def ended(turn_id: str = "t1", record_count: int | None = None) -> e.TurnCompleted:
    """Return a turn's end by itself."""
    return e.TurnCompleted(turn_id=turn_id, record_count=record_count)


def interrupted(turn_id: str = "t1") -> e.TurnInterrupted:
    """Return a turn's end from outside."""
    return e.TurnInterrupted(turn_id=turn_id, reason="cancelled")


def compacted(through: str, since: int | None = None) -> e.HistoryCompacted:
    """Return a summary of everything through a message."""
    return e.HistoryCompacted(summary="in short", through_message_id=through, since_version=since)


def parts(facts: list[Recorded], placed: Placed) -> list[dict[str, object]]:
    """Return what a message of the transcript says, read from the facts that it is made of."""
    pieces: tuple[Piece, ...] = ()
    for version in placed.versions:
        pieces = merge(pieces, pieces_of(facts[version - 1].event, version, placed.item))
    return [dict(part) for part in readable(piece.part for piece in pieces)]


def transcript(*events: e.Fact) -> list[tuple[str, list[object]]]:
    """Return each message's role, and of each part what a reader would look at first."""
    facts = recorded(*events)
    state = fold(facts)
    return [
        (placed.role, [_gist(part) for part in parts(facts, placed)])
        for _, placed in sorted(state.messages.items())
    ]


def _gist(part: dict[str, object]) -> object:
    match part:
        case {"type": "tool_call", "tool_call_id": call, "name": name, "arguments": arguments}:
            return (call, name, arguments)
        case {"type": "tool_result", "tool_call_id": call, "output": output}:
            return (call, output)
        case _:
            return part.get("text")


def turn(state: State, turn_id: str = "t1") -> Turn:
    """Return a turn that must be there."""
    return state.turns[turn_id]


def gate(state: State, gate_id: str = "g1") -> Gate:
    """Return a gate that must be there."""
    return state.gates[gate_id]
