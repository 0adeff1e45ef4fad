"""What does the database know of a session, as far as a command needs it?

The same as `domain.keys.restrict` gives of a session folded whole; a law, and tested as one. Each
look-up is by an index, so its cost does not grow with the session.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, bindparam, or_, select, text

from domain.cuts import Cut
from domain.evolve import merge
from domain.keys import Keys
from domain.noted import noted
from domain.pieces import pieces_of
from domain.recorded import ProducerStamp
from domain.state import CallKey, Gate, Piece, Placed, State, Tail
from infrastructure import tables as t
from infrastructure.fork_records import records_of
from infrastructure.inherited import Inherited
from infrastructure.prepared import Prepared, Sent, is_pipelined
from infrastructure.reading.facts import content
from infrastructure.remembered import Remembered
from infrastructure.stored_records import CALLS, LOSS, MESSAGE, NAMED, QUEUED, SEAT, TURN
from infrastructure.view_rows import (
    FIND_HEAD,
    call_of,
    gate_of,
    head_of,
    loss_of,
    message_of,
    queued_of,
    seat_of,
    turn_of,
)

Record = TypeVar("Record")
Name = TypeVar("Name", str, int)


_WAITING_AT: Final = Prepared(
    lambda _: select(t.calls.c.turn_id, t.calls.c.tool_call_id).where(
        t.calls.c.session_key == bindparam("session_key"),
        t.calls.c.turn_id == bindparam("turn_id"),
        t.calls.c.requested_version <= bindparam("version"),
        or_(
            t.calls.c.completed_version.is_(None),
            t.calls.c.completed_version > bindparam("version"),
        ),
    )
)
_OPEN_CALLS: Final = Prepared(
    lambda _: select(t.calls.c.tool_call_id).where(
        t.calls.c.session_key == bindparam("session_key"),
        t.calls.c.turn_id == bindparam("turn_id"),
        text("calls.status = 'open'"),
    )
)
_GATE: Final = Prepared(
    lambda _: select(t.gates).where(
        t.gates.c.session_key == bindparam("session_key"),
        t.gates.c.gate_id == bindparam("gate_id"),
    )
)
_OPEN_GATES: Final = Prepared(
    lambda _: (
        select(t.gates)
        .join(t.heads, t.heads.c.session_key == t.gates.c.session_key)
        .where(
            t.gates.c.session_key == bindparam("session_key"),
            t.gates.c.turn_id == t.heads.c.turn_id,
            text("gates.status = 'open'"),  # a literal, so that the index of waiting gates serves
        )
    )
)


def _newest_closed(column: str) -> Prepared:
    return Prepared(
        lambda _: (
            select(t.gates)
            .where(
                t.gates.c.session_key == bindparam("session_key"),
                t.gates.c[column] == bindparam("name"),
                t.gates.c.status != "open",
            )
            .order_by(t.gates.c.opened_version.desc())
            .limit(1)
        )
    )


_CLOSED_BY_PERMISSION: Final = _newest_closed("permission_id")
_CLOSED_BY_CALL: Final = _newest_closed("tool_call_id")
_LAST_BATCH: Final = Prepared(
    lambda _: (
        select(t.events.c.producer_epoch, t.events.c.producer_sequence)
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.producer_id == bindparam("producer_id"),
            t.events.c.batch.is_not(None),
        )
        .order_by(t.events.c.producer_epoch.desc(), t.events.c.producer_sequence.desc())
        .limit(1)
    )
)


def find_head(connection: Connection, project_id: str, session_id: str) -> tuple[int | None, State]:
    """Return the session's key in the tables (None: no such session) and its head."""
    row = FIND_HEAD.run(connection, {"project_id": project_id, "session_id": session_id}).first()
    if row is None:
        return None, State()
    if row.version is None:
        return int(row.stream_key), State()
    return int(row.stream_key), State(head=head_of(row))


def look_up(
    connection: Connection,
    session_key: int,
    state: State,
    wanted: Keys,
    known: Remembered | None = None,
) -> State:
    """Fill `state`, which has its head, with what `wanted` names, and is not `known` anyway."""
    find = _Finder(connection, session_key, state, known)
    head = state.head
    if is_pipelined(connection):
        find.ask(wanted)
    find.turns({*wanted.turns, *(() if head.turn_id is None else (head.turn_id,))})
    find.gates(wanted)
    find.calls(wanted)
    find.messages(wanted)
    find.history(wanted)
    find.losses(wanted)
    find.hosted(wanted)
    for producer_id in sorted(wanted.producers):
        if known is not None and producer_id in known.producers:
            state.producers[producer_id] = known.producers[producer_id]
            continue
        for row in find.rows(_LAST_BATCH, producer_id=producer_id):
            state.producers[producer_id] = ProducerStamp(
                producer_id=producer_id,
                epoch=row.producer_epoch,
                sequence=row.producer_sequence,
            )
    return state


class _Finder:
    """Look-ups in one session."""

    def __init__(
        self, connection: Connection, session_key: int, state: State, known: Remembered | None
    ) -> None:
        self._connection = connection
        self._key = session_key
        self._state = state
        self._sent: dict[tuple[object, ...], Sent] = {}
        self._known = known or Remembered(session_key, state.head)
        is_fork = state.head.base_version > 0
        self._inherited = Inherited(connection, session_key) if is_fork else None

    def rows(self, statement: Prepared, **params: object) -> list[Any]:
        sent = self._sent.pop((statement, *params.values()), None)
        if sent is not None:
            return sent.rows()
        return statement.run(self._connection, {"session_key": self._key, **params})

    def ask(self, wanted: Keys) -> None:
        """Send at once what `wanted` names; each answer is read where it is needed."""
        known, head = self._known, self._state.head
        open_turn = None if known.turn is None else known.turn.turn_id
        for turn_id in {*wanted.turns, head.turn_id} - {None, open_turn}:
            self._send(TURN, turn_id=turn_id)
        for turn_id, call_id in wanted.calls:
            self._send(CALLS, turn_id=turn_id, tool_call_id=call_id)
        for message_id in wanted.message_ids:
            self._send(NAMED, message_id=message_id)
        for producer_id in wanted.producers - known.producers.keys():
            self._send(_LAST_BATCH, producer_id=producer_id)
        if head.open_gates:
            self._send(_OPEN_GATES)
        for seat_id in wanted.seats:
            self._send(SEAT, seat_id=seat_id)
        for queue_id in wanted.queue:
            self._send(QUEUED, queue_id=queue_id)

    def _send(self, statement: Prepared, **params: object) -> None:
        self._sent[statement, *params.values()] = statement.send(
            self._connection, {"session_key": self._key, **params}
        )

    def turns(self, turn_ids: set[str]) -> None:
        open_turn = self._known.turn
        for turn_id in sorted(turn_ids):
            if open_turn is not None and open_turn.turn_id == turn_id:
                self._state.turns[turn_id] = open_turn
                continue
            found = [turn_of(row) for row in self.rows(TURN, turn_id=turn_id)]
            for turn in self._or_shared(found, Inherited.turn, turn_id):
                self._state.turns[turn_id] = turn

    def gates(self, wanted: Keys) -> None:
        gates: list[Gate] = []
        if self._state.head.open_gates:
            gates += map(gate_of, self.rows(_OPEN_GATES))
        for gate_id in wanted.gate_ids:
            own = [gate_of(row) for row in self.rows(_GATE, gate_id=gate_id)]
            gates += self._or_shared(own, Inherited.gate, gate_id)
        for name in wanted.permission_ids:
            gates += self._closed(_CLOSED_BY_PERMISSION, Inherited.closed_by_permission, name)
        for name in wanted.gate_call_ids:
            gates += self._closed(_CLOSED_BY_CALL, Inherited.closed_by_call, name)
        found = {gate.gate_id: gate for gate in gates}
        self._state.gates = {
            gate.gate_id: gate for gate in sorted(found.values(), key=lambda g: g.opened_version)
        }

    def _closed(
        self, statement: Prepared, find: Callable[[Inherited, str], Gate | None], name: str
    ) -> list[Gate]:
        """Return the newest closed gate of a name; if a fork changed it, what the fork says."""
        own = [gate_of(row) for row in self.rows(statement, name=name)]
        shared = self._or_shared([], find, name)
        return sorted([*shared, *own], key=lambda gate: gate.opened_version)[-1:]

    def calls(self, wanted: Keys) -> None:
        named = {
            (gate.turn_id, gate.tool_call_id)
            for gate in self._state.gates.values()
            if gate.status == "open" and gate.tool_call_id is not None
        }
        self._calls({*wanted.calls, *named})
        turn_id = self._state.head.turn_id
        if wanted.open_calls and turn_id is not None:
            rows = self.rows(_OPEN_CALLS, turn_id=turn_id)
            self._calls({(turn_id, row.tool_call_id) for row in rows} - self._state.calls.keys())

    def _calls(self, keys: set[CallKey]) -> None:
        for turn_id, call_id in sorted(keys):
            rows = self.rows(CALLS, turn_id=turn_id, tool_call_id=call_id)
            calls = tuple(map(call_of, rows))
            if self._inherited is not None and not self._is_own(turn_id):
                shared = self._inherited.calls(turn_id, call_id)
                known = {call.occurrence: call for call in (*shared, *calls)}
                calls = tuple(known[occurrence] for occurrence in sorted(known))
            if calls:
                self._state.calls[turn_id, call_id] = calls

    def messages(self, wanted: Keys) -> None:
        state = self._state
        found: dict[int, Placed] = {}
        for message_id in wanted.message_ids:
            named = [message_of(row) for row in self.rows(NAMED, message_id=message_id)]
            for message in self._or_shared(named, Inherited.named, message_id):
                found[message.index] = message
        if wanted.tail and self._known.message is not None and self._known.tail is not None:
            found[self._known.message.index] = self._known.message
            state.tail = self._known.tail
        elif wanted.tail and state.head.tail_open:
            for row in self.rows(MESSAGE, index=state.head.tip):
                tail = found[row.index] = message_of(row)
                state.tail = self._tail(tail)
        self._take(found)

    def history(self, wanted: Keys) -> None:
        """Find what the rules come by on their way through the history."""
        state = self._state
        grows = wanted.grows and state.head.turn_tip != state.head.started
        moves = wanted.rewind or wanted.redo or wanted.rewound or wanted.moves
        if not (grows or moves or wanted.kept_after):
            return
        found = noted(records_of(self._connection, self._key, state.head), state.head, wanted)
        state.turns |= found.turns
        state.branches, state.moves = found.branches, found.moves
        self.cut(found.cuts)
        self._take(state.messages | found.messages)

    def cut(self, cuts: set[Cut]) -> None:
        """Find the calls that waited for their results at these places, with all of their ids."""
        names = {
            (row.turn_id, row.tool_call_id)
            for cut in cuts
            for row in self.rows(_WAITING_AT, turn_id=cut.turn_id, version=cut.version)
        }
        if self._inherited is not None:
            for cut in cuts:
                names |= self._inherited.waiting(cut.turn_id, cut.version)
        self._calls(names - self._state.calls.keys())

    def losses(self, wanted: Keys) -> None:
        for version in sorted(wanted.losses):
            own = [loss_of(row) for row in self.rows(LOSS, version=version)]
            for loss in self._or_shared(own, Inherited.loss, version):
                self._state.losses[version] = loss

    def hosted(self, wanted: Keys) -> None:
        """Find seats and queued inputs; a fork shares none."""
        for seat_id in sorted(wanted.seats):
            for row in self.rows(SEAT, seat_id=seat_id):
                self._state.seats[seat_id] = seat_of(row)
        for queue_id in sorted(wanted.queue):
            for row in self.rows(QUEUED, queue_id=queue_id):
                self._state.queue[queue_id] = queued_of(row)

    def _is_own(self, turn_id: str) -> bool:
        turn = self._state.turns.get(turn_id)
        return turn is not None and turn.started_version > self._state.head.base_version

    def _or_shared(
        self, own: list[Record], find: Callable[[Inherited, Name], Record | None], name: Name
    ) -> list[Record]:
        """Return what a session has of its own, or else what it shares."""
        if own or self._inherited is None:
            return own
        found = find(self._inherited, name)
        return [] if found is None else [found]

    def _take(self, found: dict[int, Placed]) -> None:
        self._state.messages = {index: found[index] for index in sorted(found)}
        self._state.message_ids = {
            message.message_id: message.index
            for message in self._state.messages.values()
            if message.named
        }

    def _tail(self, tail: Placed) -> Tail:
        facts = content(self._connection, self._key, tail.versions[0], tail.versions[-1])
        pieces: tuple[Piece, ...] = ()
        for version in tail.versions:
            if version in facts:
                pieces = merge(pieces, pieces_of(facts[version], version, tail.item))
        return Tail(pieces=pieces)
