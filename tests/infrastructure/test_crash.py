"""A killed process loses nothing that it acknowledged, and leaves nothing half there."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from threading import Event
from typing import Any

from sqlalchemy import Connection, Row, Table, select

from domain.evolve import fold
from domain.recorded import GENESIS, Recorded, body_digest, chained_hash
from domain.state import Call, CallKey, State, Tail
from infrastructure import tables as t
from infrastructure.checkpoint_rows import checkpoint_of
from infrastructure.mapper import recorded_of
from infrastructure.recorder import find_key, stream_facts
from infrastructure.view_rows import (
    call_of,
    gate_of,
    head_of,
    loss_of,
    message_of,
    queued_of,
    seat_of,
    turn_of,
)
from tests.infrastructure.appending_process import BATCH, SHARED, sessions_of
from tests.infrastructure.writing import note, opened

ROUNDS = 20
Promise = tuple[str, int, str]


class Appending:
    """Processes that append to one database, one after the other."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin
        self._output = process.stdout

    def run(self, round_: str, promises: int, longer_s: float) -> list[Promise]:
        """Kill a process some time after its first `promises`; return all that it made."""
        self._input.write(f"{round_}\n")
        self._input.flush()
        made: list[Promise] = []
        pid = 0
        while not pid or len(made) < promises:
            self._take(line := self._output.readline(), made)
            if line.startswith("born "):
                pid = int(line.split()[1])
        Event().wait(longer_s)
        os.kill(pid, signal.SIGKILL)
        while (line := self._output.readline()) != "dead\n":
            self._take(line, made)
        return made

    def _take(self, line: str, made: list[Promise]) -> None:
        assert line, "the process ended by itself"
        if not line.startswith("born "):
            session_id, version, hash_ = line.split()
            made.append((session_id, int(version), hash_))


@contextmanager
def appending_to(url: str) -> Generator[Appending]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.infrastructure.appending_process", url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Appending(process)


def read_facts(connection: Connection, key: int, session_id: str) -> list[Recorded]:
    found = stream_facts(connection, ("default", session_id, key))
    return [recorded_of(stored) for stored in found]


def viewed(connection: Connection, key: int) -> State:
    """Return the session as its views have it."""

    def rows(table: Table, *order: str) -> Sequence[Row[Any]]:
        statement = select(table).where(table.c.session_key == key)
        return connection.execute(statement.order_by(*(table.c[name] for name in order))).all()

    calls: dict[CallKey, tuple[Call, ...]] = {}
    for call in map(call_of, rows(t.calls, "turn_id", "tool_call_id", "occurrence")):
        of = (call.turn_id, call.tool_call_id)
        calls[of] = (*calls.get(of, ()), call)
    messages = [message_of(row) for row in rows(t.messages, "index")]
    (head,) = map(head_of, rows(t.heads))
    return State(
        head=head,
        turns={turn.turn_id: turn for turn in map(turn_of, rows(t.turns))},
        calls=calls,
        gates={gate.gate_id: gate for gate in map(gate_of, rows(t.gates))},
        messages={message.index: message for message in messages},
        message_ids={message.message_id: message.index for message in messages if message.named},
        losses={loss.version: loss for loss in map(loss_of, rows(t.losses))},
        checkpoints={each.version: each for each in map(checkpoint_of, rows(t.checkpoints))},
        seats={seat.seat_id: seat for seat in map(seat_of, rows(t.seats))},
        queue={each.queue_id: each for each in map(queued_of, rows(t.queue))},
    )


def check_session(connection: Connection, session_id: str, promises: list[Promise]) -> None:
    key = find_key(connection, "default", session_id)
    promised = [(version, hash_) for name, version, hash_ in promises if name == session_id]
    if key is None:
        assert promised == []
        return
    facts = read_facts(connection, key, session_id)
    hashes = {fact.version: fact.hash.hex() for fact in facts}
    assert [(version, hashes.get(version)) for version, _ in promised] == promised
    assert [fact.version for fact in facts] == list(range(1, len(facts) + 1))
    assert (len(facts) - 1) % BATCH == 0
    previous = GENESIS
    for fact in facts:
        assert fact.salt is not None
        assert fact.body is not None
        assert fact.envelope.body_digest == body_digest(fact.salt, fact.body)
        assert fact.hash == chained_hash(fact.envelope, previous)
        previous = fact.hash
    assert viewed(connection, key) == replace(fold(facts), tail=Tail(), producers={})


def count(connection: Connection, table: Table) -> int:
    return len(connection.execute(select(*table.primary_key)).all())


def test_killing_the_process_loses_no_promise_and_leaves_no_half(database_url: str) -> None:
    random = Random(20260101)  # noqa: S311 - instants, no secrets
    promises: list[Promise] = []
    with appending_to(database_url) as appending, opened(database_url) as store:
        for number in range(ROUNDS):
            round_ = str(number)
            promises += appending.run(round_, random.randrange(12), random.random() / 20)
            with store.database.read() as connection:
                for session_id in sessions_of(round_):
                    check_session(connection, session_id, promises)
                assert count(connection, t.events) == count(connection, t.bodies)
        with store.database.read() as connection:
            for _, session_id in store.sessions():
                check_session(connection, session_id, promises)
            assert count(connection, t.heads) == count(connection, t.streams)
        assert len(promises) > ROUNDS
        assert store.append([note(b"1")], SHARED).facts[-1].version % BATCH == 2
