"""Is the log what was once written? Every hash is computed again, and nothing is believed.

A damaged session stays readable before and after the damage; this says where it begins. Streams
by pages, beside writers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from sqlalchemy import select

from domain.recorded import GENESIS, body_digest, chained_hash
from infrastructure import tables as t
from infrastructure.database import Readable
from infrastructure.mapper import StoredFact
from infrastructure.stored_stream import (
    Stream,
    find_stream,
    last_version,
    stored_pages,
    streams,
)

Reason: TypeAlias = Literal[
    "missing-event",
    "missing-body",
    "body-mismatch",
    "hash-mismatch",
    "missing-head",
    "head-mismatch",
    "receipt-mismatch",
    "receipt-ahead",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What somebody was once told of a session's chain, and kept."""

    version: int
    hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Something at `version` is not as it was written."""

    version: int
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was found.

    Attributes:
        events: Stored events, which were all looked at.
        version, hash: Where the stored chain ends; a receipt for later.
        first_bad: The first thing that is wrong.
        bad: How many things are.
    """

    project_id: str
    session_id: str
    events: int
    version: int
    hash: bytes
    first_bad: Damage | None
    bad: int

    @property
    def ok(self) -> bool:
        """Tell whether nothing is wrong."""
        return self.first_bad is None


def verify(
    database: Readable, project_id: str, session_id: str, receipt: Receipt | None = None
) -> Verification:
    """Verify one session.

    Raises:
        NoSuchSession: the log does not know it.
    """
    with database.read() as connection:
        stream = find_stream(connection, project_id, session_id)
    return _verify(database, stream, receipt)


def verify_all(database: Readable, project_id: str | None = None) -> Iterator[Verification]:
    """Verify each session of the store, or of a project."""
    for stream in streams(database, project_id):
        yield _verify(database, stream, None)


def _verify(database: Readable, stream: Stream, receipt: Receipt | None) -> Verification:
    stream, head = _end(database, stream)
    chain = _Chain(receipt)
    for fact in stored_pages(database, stream):
        chain.take(fact)
    chain.end(head)
    return Verification(
        project_id=stream.project_id,
        session_id=stream.session_id,
        events=chain.events,
        version=chain.version,
        hash=chain.hash,
        first_bad=chain.first_bad,
        bad=chain.bad,
    )


_Head: TypeAlias = tuple[int, bytes]


def _end(database: Readable, stream: Stream) -> tuple[Stream, _Head | None]:
    """Return the stream and its head as of one moment."""
    statement = select(t.heads.c.version, t.heads.c.hash).where(t.heads.c.session_key == stream.key)
    with database.read() as connection:
        now = replace(stream, last=last_version(connection, stream.key))
        head = connection.execute(statement).one_or_none()
    return now, None if head is None else (head.version, bytes(head.hash))


class _Chain:
    """The chain so far."""

    def __init__(self, receipt: Receipt | None) -> None:
        self._receipt: Final = receipt
        self._previous: bytes | None = GENESIS
        self.events = 0
        self.version = 0
        self.hash = GENESIS
        self.first_bad: Damage | None = None
        self.bad = 0

    def take(self, fact: StoredFact) -> None:
        envelope = fact.envelope
        missing = envelope.version - self.version - 1
        if missing:
            self._report(self.version + 1, "missing-event", missing)
            self._previous = None
        if fact.gone:
            self._report(envelope.version, "missing-body")
        elif body_digest(fact.salt or b"", fact.state) != envelope.body_digest:
            self._report(envelope.version, "body-mismatch")
        if self._previous is not None and chained_hash(envelope, self._previous) != fact.hash:
            self._report(envelope.version, "hash-mismatch")
        self.events += 1
        self.version, self.hash = envelope.version, fact.hash
        self._previous = fact.hash
        receipt = self._receipt
        if receipt is not None and receipt.version == self.version and receipt.hash != self.hash:
            self._report(self.version, "receipt-mismatch")

    def end(self, head: _Head | None) -> None:
        if head is None:
            self._report(self.version, "missing-head")
        elif head[0] > self.version:
            self._report(self.version + 1, "missing-event", head[0] - self.version)
        elif head != (self.version, self.hash):
            self._report(head[0], "head-mismatch")
        if self._receipt is not None and self._receipt.version > self.version:
            self._report(self._receipt.version, "receipt-ahead")

    def _report(self, version: int, reason: Reason, count: int = 1) -> None:
        self.first_bad = self.first_bad or Damage(version=version, reason=reason)
        self.bad += count
