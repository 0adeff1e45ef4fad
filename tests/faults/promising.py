"""What do writers under attack write, and how is it checked that every promise was kept?

A promise is made when an append returns: the session, the producer and its sequence number, the
session's version and hash after it. What a producer sends as a number follows from the number, so
whoever was never answered can be asked for again.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from infrastructure import tables as t
from infrastructure.appending import BatchAnswer, BatchRequest
from infrastructure.mapper import StoredFact
from infrastructure.reading.events import facts
from infrastructure.recorder import find_key
from infrastructure.verification import verify
from tests.infrastructure.writing import Store, batch, note, turn

BATCH = 5
PADDING = b'"' + b"x" * 2000 + b'"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """An append that was answered."""

    session_id: str
    producer_id: str
    sequence: int
    version: int
    hash: str

    def line(self) -> str:
        """Return it as one line."""
        return f"{self.session_id} {self.producer_id} {self.sequence} {self.version} {self.hash}"


def promise(line: str) -> Promise:
    """Return the promise that a line tells."""
    session_id, producer_id, sequence, version, hash_ = line.split()
    return Promise(
        session_id=session_id,
        producer_id=producer_id,
        sequence=int(sequence),
        version=int(version),
        hash=hash_,
    )


def request(producer_id: str, sequence: int) -> BatchRequest:
    """Return what a producer sends under a number: a whole turn and a note, `BATCH` facts."""
    proposals = [*turn(f"{producer_id}-{sequence}"), note(PADDING)]
    return batch(proposals, producer_id, sequence)


def promised(session_id: str, sent: BatchRequest, answer: BatchAnswer) -> Promise:
    """Return the promise that an answer makes."""
    last = answer.appended.facts[-1]
    return Promise(
        session_id=session_id,
        producer_id=sent.producer.producer_id,
        sequence=sent.producer.sequence,
        version=last.version,
        hash=last.hash.hex(),
    )


def say(line: str) -> None:
    """Print a line by one write, so that none is ever cut or mixed with another."""
    os.write(1, f"{line}\n".encode())


def assert_kept(store: Store, session_id: str, promises: Iterable[Promise]) -> None:
    """Assert that a session has all that was promised, nothing half, and is what was written."""
    mine = [each for each in promises if each.session_id == session_id]
    with store.database.read() as connection:
        key = find_key(connection, "default", session_id)
        if key is None:
            assert mine == []
            return
        found = _all_facts(connection, session_id, key)
    hashes = {fact.envelope.version: fact.hash.hex() for fact in found}
    assert [(each.version, hashes.get(each.version)) for each in mine] == [
        (each.version, each.hash) for each in mine
    ]
    assert [fact.envelope.version for fact in found] == list(range(1, len(found) + 1))
    assert (len(found) - 1) % BATCH == 0
    assert verify(store.database, "default", session_id).ok


def assert_once(store: Store, session_id: str, producer_id: str, through: int) -> None:
    """Ask again for the number after the last promise; assert that each number counts once."""
    sent = request(producer_id, through + 1)
    store.send(sent, session_id)
    assert store.send(sent, session_id).replayed
    with store.database.read() as connection:
        key = find_key(connection, "default", session_id)
        assert key is not None
        e = t.events.c
        statement = (
            select(e.producer_sequence, func.count())
            .where(e.session_key == key, e.producer_id == producer_id, e.type == "data-recorded")
            .group_by(e.producer_sequence)
            .order_by(e.producer_sequence)
        )
        found = [(row[0], row[1]) for row in connection.execute(statement)]
    assert found == [(sequence, 1) for sequence in range(1, through + 2)]


def _all_facts(connection: Connection, session_id: str, key: int) -> list[StoredFact]:
    return facts(connection, ("default", session_id, key), limit=1_000_000)
