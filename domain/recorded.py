"""What does the log keep about a fact besides the fact, and how are facts chained?

The hash covers the whole envelope but the position, and the body by a salted digest: the chain
still verifies when a body has been erased, and a digest alone lets nobody guess what was said.
"""

from dataclasses import dataclass
from hashlib import sha256
from json.encoder import encode_basestring as _quoted
from typing import NamedTuple

from domain.blobs import Blob
from domain.events import Fact
from domain.registry import Affects

FORMAT = "turnlog-1"
GENESIS = b"\x00" * 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerStamp:
    """Which batch of which producer an event came in."""

    producer_id: str
    epoch: int
    sequence: int


class Envelope(NamedTuple):
    """A fact's place and circumstances. Times are microseconds since 1970, UTC.

    A named tuple, as `Recorded` is, since a batch makes many.

    Attributes:
        version: Place in the session's stream; 1, 2, 3, without gaps. It orders.
        occurred_at: When the producer says that it happened; informative only.
        batch: On the first event of a producer's batch, how many events came with it.
    """

    project_id: str
    session_id: str
    version: int
    event_id: str
    type: str
    schema: int
    affects: Affects
    recorded_at: int
    body_digest: bytes
    occurred_at: int | None = None
    actor: str | None = None
    producer: ProducerStamp | None = None
    batch: int | None = None
    turn_id: str | None = None
    trace_id: str | None = None


class Recorded(NamedTuple):
    """A fact as the log holds it. `body` is its stored JSON, or None once erased or lost.

    Attributes:
        blobs: What its body only names: to be kept with it, or as it was read.
    """

    envelope: Envelope
    position: int
    previous: bytes
    hash: bytes
    salt: bytes | None
    body: bytes | None
    event: Fact
    blobs: tuple[Blob, ...] = ()

    @property
    def version(self) -> int:
        """Return the place in the session's stream."""
        return self.envelope.version


def body_digest(salt: bytes, body: bytes) -> bytes:
    """Return what the envelope says of a body: SHA-256 of salt and stored bytes."""
    return sha256(salt + body).digest()


def chained_hash(envelope: Envelope, previous: bytes) -> bytes:
    """Return the event's hash: SHA-256 of a compact JSON array of the envelope's fields.

    The array is `[format, project, session, version, id, type, schema, affects, recorded_at,
    occurred_at, actor, [producer, epoch, sequence] or null, batch, turn_id, trace_id,
    body_digest, previous]`, UTF-8, digests in hex.
    """
    producer = envelope.producer
    batch_of = (
        "null"
        if producer is None
        else f"[{_quoted(producer.producer_id)},{producer.epoch},{producer.sequence}]"
    )
    text = (
        f'["{FORMAT}",{_quoted(envelope.project_id)},{_quoted(envelope.session_id)},'
        f"{envelope.version},{_quoted(envelope.event_id)},{_quoted(envelope.type)},"
        f"{envelope.schema},{_quoted(envelope.affects)},{envelope.recorded_at},"
        f"{_number(envelope.occurred_at)},{_text(envelope.actor)},{batch_of},"
        f"{_number(envelope.batch)},{_text(envelope.turn_id)},{_text(envelope.trace_id)},"
        f'"{envelope.body_digest.hex()}","{previous.hex()}"]'
    )
    return sha256(text.encode()).digest()


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


def _text(value: str | None) -> str:
    return "null" if value is None else _quoted(value)
