"""Which records must be looked up before a command can be decided?

A look-up by these keys gives the rules what a fold of the whole session would: that is a law,
and tested as one. Whatever the length of the session, a command names a bounded set of keys.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from domain import commands as c
from domain import events as e
from domain.commands import SessionCommand
from domain.events import SessionEvent
from domain.fields import COUNT_LIMIT
from domain.identifiers import derived_from, is_id, is_name
from domain.state import CallKey

CONTENT = (e.MessageRecorded, e.ToolCallRequested, e.GateOpened)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """What to look up, besides the head, the open turn and the open gates (always loaded).

    Attributes:
        calls: (turn id, tool call id).
        tail: Whether the last message and its pieces are needed.
        kept_after: The messages after which compactions keep messages, in order; what the first
            keeps is needed, since a later one of a batch keeps less.
        grows: Whether a turn begins, which may begin a branch.
        open_calls: Whether all calls of the open turn that have no result are needed.
        rewind, redo: What a command wants taken out or brought back.
        rewound: Turns that facts say were taken out.
        moves: Versions of rewinds that facts say were reverted.
        seats, queue: Seats and queued inputs by their ids.
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
    kept_after: tuple[str, ...] = ()
    grows: bool = False
    open_calls: bool = False
    rewind: c.Rewind | None = None
    redo: c.Redo | None = None
    rewound: frozenset[str] = frozenset()
    moves: frozenset[int] = frozenset()
    seats: frozenset[str] = frozenset()
    queue: frozenset[str] = frozenset()


NO_KEYS = Keys()


def keys(events: Iterable[SessionEvent], producer_id: str | None = None) -> Keys:
    """Return what the rules and the fold need to know to record `events`.

    What can be no name is left out: nothing has it, and the rules refuse it by themselves.
    """
    found = _Collected()
    for event in events:
        found.take(event)
    return found.keys(producer_id)


def keys_of(steps: Iterable[SessionCommand]) -> Keys:
    """Return what the rules and the fold need to know to carry out `steps`."""
    found = _Collected()
    producer_id: str | None = None
    for step in steps:
        match step:
            case c.Record(proposal=proposal):
                found.take(proposal.event)
            case c.Note(event=event):
                found.take(event)
            case c.BeginBatch(batch=c.Batch(producer_id=named)):
                producer_id = named
            case c.InterruptTurn(turn_id=turn_id):
                found.turn(turn_id)
                found.open_calls = True
            case c.DeleteSession():
                found.open_calls = True
            case c.Rewind():
                found.rewind = step
                found.turn(step.to_turn)
            case c.Redo():
                found.redo = step
            case c.Compact(through_message_id=message_id):
                found.compaction(message_id)
            case _:
                pass
    return found.keys(producer_id)


class _Collected:
    """The keys found so far."""

    def __init__(self) -> None:
        self.turns: Final[set[str]] = set()
        self.calls: Final[set[CallKey]] = set()
        self.gate_ids: Final[set[str]] = set()
        self.permission_ids: Final[set[str]] = set()
        self.gate_call_ids: Final[set[str]] = set()
        self.message_ids: Final[set[str]] = set()
        self.losses: Final[set[int]] = set()
        self.tail = False
        self.kept_after: Final[list[str]] = []
        self.grows = self.open_calls = False
        self.rewind: c.Rewind | None = None
        self.redo: c.Redo | None = None
        self.rewound: Final[set[str]] = set()
        self.moves: Final[set[int]] = set()
        self.seats: Final[set[str]] = set()
        self.queue: Final[set[str]] = set()

    def keys(self, producer_id: str | None) -> Keys:
        return Keys(
            turns=frozenset(self.turns),
            calls=frozenset(self.calls),
            gate_ids=frozenset(self.gate_ids),
            permission_ids=frozenset(self.permission_ids),
            gate_call_ids=frozenset(self.gate_call_ids),
            message_ids=frozenset(self.message_ids),
            losses=frozenset(self.losses),
            producers=frozenset() if producer_id is None else frozenset({producer_id}),
            tail=self.tail,
            kept_after=tuple(self.kept_after),
            grows=self.grows,
            open_calls=self.open_calls,
            rewind=self.rewind,
            redo=self.redo,
            rewound=frozenset(self.rewound),
            moves=frozenset(self.moves),
            seats=frozenset(self.seats),
            queue=frozenset(self.queue),
        )

    def take(self, event: SessionEvent) -> None:
        self.turn(getattr(event, "turn_id", None))
        self.tail = self.tail or isinstance(event, CONTENT)
        match event:
            case e.TurnStarted(messages=messages):
                self.grows = True
                for message in messages:
                    self._message(message.message_id)
            case e.MessageRecorded(message=message):
                self._message(message.message_id)
            case e.ToolCallRequested() | e.ToolCallCompleted():
                self._call(event.turn_id, event.tool_call_id)
            case e.HistoryCompacted(through_message_id=message_id):
                self.compaction(message_id)
            case e.HistoryRewound(turn_id=turn_id) if is_id(turn_id):
                self.rewound.add(turn_id)
            case e.RewindReverted(rewind_version=version) if 0 < version < COUNT_LIMIT:
                self.moves.add(version)
            case e.LossHealed(loss_version=version) if 0 < version < COUNT_LIMIT:
                self.losses.add(version)
            case _:
                self._named(event)

    def turn(self, turn_id: str | None) -> None:
        if turn_id is not None and turn_id not in self.turns and is_id(turn_id):
            self.turns.add(turn_id)

    def compaction(self, message_id: str) -> None:
        if is_name(message_id):
            self.kept_after.append(message_id)
        self._message(message_id)

    def _named(self, event: SessionEvent) -> None:
        match event:
            case e.GateOpened(tool_call_id=str() as call_id):
                self._call(event.turn_id, call_id)
                _add(self.gate_ids, event.gate_id)
            case e.GateOpened(gate_id=gate_id):
                _add(self.gate_ids, gate_id)
            case e.GateDecided(gate_id=str() as gate_id) | e.GateConsumed(gate_id=gate_id):
                _add(self.gate_ids, gate_id)
            case e.GateDecided(permission_id=str() as permission_id):
                _add(self.permission_ids, permission_id)
            case e.GateDecided(tool_call_id=str() as call_id):
                _add(self.gate_call_ids, call_id)
            case e.HarnessStarted() | e.HarnessParked() | e.HarnessResumed() | e.HarnessEvicted():
                _add(self.seats, event.seat_id)
            case e.InputQueued() | e.InputDequeued() | e.InputRecalled():
                _add(self.queue, event.queue_id)
            case _:
                pass

    def _message(self, message_id: str | None) -> None:
        """Note a message, and the turn that would have given it this id."""
        if message_id is not None:
            _add(self.message_ids, message_id)
            derived = derived_from(message_id)
            self.turn(None if derived is None else derived[0])

    def _call(self, turn_id: str, tool_call_id: str) -> None:
        if turn_id in self.turns and is_name(tool_call_id):
            self.calls.add((turn_id, tool_call_id))


def _add(names: set[str], name: str) -> None:
    if is_name(name):
        names.add(name)
