"""Is the log what was once written? Every hash is computed again, and nothing is believed.

A damaged session stays readable before and after the damage; this says where it begins. What was
said in a purged session is gone for good: of it the envelopes are verified. Streams by pages,
beside writers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection, select

from domain.attachments import named_blobs
from domain.offloading import cuts_of
from domain.recorded import GENESIS, body_digest, chained_hash
from infrastructure import tables as t
from infrastructure.ancestry import shared_streams
from infrastructure.blobs import kept_blob, references
from infrastructure.database import Readable
from infrastructure.mapper import StoredFact
from infrastructure.recorder import lane_purged_at, purged_at
from infrastructure.stored_stream import (
    LANE,
    Stream,
    find_stream,
    hash_at,
    lane_streams,
    last_version,
    stored_pages,
    streams,
)

Reason: TypeAlias = Literal[
    "missing-event",
    "missing-body",
    "body-mismatch",
    "missing-blob",
    "blob-mismatch",
    "unreferenced-blob",
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
    """Verify one session, of a fork with the history that it shares.

    Raises:
        NoSuchSession: the log does not know it.
    """
    with database.read() as connection:
        stream = find_stream(connection, project_id, session_id)
    return _verify(database, stream, receipt, whole=True)


def verify_all(database: Readable, project_id: str | None = None) -> Iterator[Verification]:
    """Verify each session and each lane of the store, or of a project; of a fork what is its own.

    A lane is called `lane:` and its id.
    """
    for stream in chain(streams(database, project_id), lane_streams(database, project_id)):
        yield _verify(database, stream, None, whole=False)


def _verify(
    database: Readable, stream: Stream, receipt: Receipt | None, *, whole: bool
) -> Verification:
    stream, head = _end(database, stream)
    with database.read() as connection:
        shared = shared_streams(connection, stream)
        links = _Chain(receipt) if whole or not shared else _linked(connection, shared[-1])
    for part in (*shared, stream) if whole else (stream,):
        beside = _Beside(database, part)
        with database.read() as connection:
            find = lane_purged_at if part.session_id.startswith(LANE) else purged_at
            purged = find(connection, part.key) or 0
        for fact in stored_pages(database, part, after=links.version):
            links.take(fact, may_be_gone=fact.envelope.version < purged)
            for reason in beside.faults(fact):
                links.report(fact.envelope.version, reason)
    links.end(head)
    return Verification(
        project_id=stream.project_id,
        session_id=stream.session_id,
        events=links.events,
        version=links.version,
        hash=links.hash,
        first_bad=links.first_bad,
        bad=links.bad,
    )


_Head: TypeAlias = tuple[int, bytes]


def _end(database: Readable, stream: Stream) -> tuple[Stream, _Head | None]:
    """Return the stream and its head as of one moment."""
    ends = t.lanes if stream.session_id.startswith(LANE) else t.heads
    statement = select(ends.c.version, ends.c.hash).where(ends.c.session_key == stream.key)
    with database.read() as connection:
        now = replace(stream, last=last_version(connection, stream.key))
        head = connection.execute(statement).one_or_none()
    return now, None if head is None else (head.version, bytes(head.hash))


def _linked(connection: Connection, parent: Stream) -> "_Chain":
    """Return the chain of a fork, which goes on where it left its parent."""
    chain = _Chain(None)
    chain.version = parent.last
    chain.link(hash_at(connection, parent.key, parent.last))
    return chain


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

    def link(self, before: bytes | None) -> None:
        """Go on after a fact that is verified elsewhere."""
        if before is None:
            self.report(self.version, "missing-event")
        self._previous, self.hash = before, before or GENESIS

    def take(self, fact: StoredFact, *, may_be_gone: bool) -> None:
        envelope = fact.envelope
        missing = envelope.version - self.version - 1
        if missing:
            self.report(self.version + 1, "missing-event", missing)
            self._previous = None
        if fact.gone:
            if not may_be_gone:
                self.report(envelope.version, "missing-body")
        elif body_digest(fact.salt or b"", fact.state) != envelope.body_digest:
            self.report(envelope.version, "body-mismatch")
        if self._previous is not None and chained_hash(envelope, self._previous) != fact.hash:
            self.report(envelope.version, "hash-mismatch")
        self.events += 1
        self.version, self.hash = envelope.version, fact.hash
        self._previous = fact.hash
        receipt = self._receipt
        if receipt is not None and receipt.version == self.version and receipt.hash != self.hash:
            self.report(self.version, "receipt-mismatch")

    def end(self, head: _Head | None) -> None:
        if head is None:
            self.report(self.version, "missing-head")
        elif head[0] > self.version:
            self.report(self.version + 1, "missing-event", head[0] - self.version)
        elif head != (self.version, self.hash):
            self.report(head[0], "head-mismatch")
        if self._receipt is not None and self._receipt.version > self.version:
            self.report(self._receipt.version, "receipt-ahead")

    def report(self, version: int, reason: Reason, count: int = 1) -> None:
        """Note that something is wrong."""
        self.first_bad = self.first_bad or Damage(version=version, reason=reason)
        self.bad += count


class _Beside:
    """The blobs of one session, each looked at once."""

    def __init__(self, database: Readable, stream: Stream) -> None:
        self._database: Final = database
        self._stream: Final = stream
        self._known: dict[str, tuple[Reason | None, int]] = {}

    def faults(self, fact: StoredFact) -> Iterator[Reason]:
        """Yield what is wrong with each blob that a fact needs."""
        named = named_blobs(fact.state)
        if not named:
            return
        cuts = {cut.sha256: cut.size for cut in cuts_of(fact.state)}
        with self._database.read() as connection:
            known = references(connection, self._stream.key, fact.envelope.version)
            for blob in named:
                reason, size = self._look(connection, blob.sha256)
                if reason == "missing-blob" and blob.sha256 not in cuts:
                    reason = reason if known.get(blob.sha256, True) else None
                if reason is None and cuts.get(blob.sha256, size) != size:
                    reason = "blob-mismatch"
                if reason is None and blob.sha256 not in known:
                    reason = "unreferenced-blob"
                if reason is not None:
                    yield reason

    def _look(self, connection: Connection, digest: str) -> tuple[Reason | None, int]:
        if digest not in self._known:
            kept = kept_blob(connection, self._stream.project_id, digest)
            content = b"" if kept is None else kept.content or b""
            fault: Reason | None = "missing-blob" if kept is None else None
            if kept is not None and (sha256(content).hexdigest(), len(content)) != (
                digest,
                kept.size,
            ):
                fault = "blob-mismatch"
            self._known[digest] = (fault, len(content))
        return self._known[digest]
