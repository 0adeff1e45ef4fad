"""How do our recorded facts pass through the eventsourcing library?

By explicit permanent names instead of class paths, with the envelope beside the state, and read
tolerantly: the library's own mapper would resolve a topic to a class and run what it names.
"""

from dataclasses import dataclass

from eventsourcing.persistence import Mapper, StoredEvent

from domain.blobs import Blob
from domain.offloading import Incomplete, inline
from domain.recorded import Envelope, Recorded
from infrastructure.serialization import decode


@dataclass(frozen=True, slots=True)
class StreamFact:
    """A recorded fact as the library wants to see an event."""

    originator_id: str
    originator_version: int
    recorded: Recorded


@dataclass(frozen=True)
class StoredFact(StoredEvent):
    """A stored event with its envelope; `state` is the body, empty once it is gone.

    Attributes:
        blobs: What was taken out of the body, as far as it was read; see `infrastructure.blobs`.
        lane_id, reply_to: Where its turn's answer goes, if that was looked up.
    """

    envelope: Envelope
    position: int
    previous: bytes
    hash: bytes
    salt: bytes | None
    gone: bool = False
    blobs: tuple[Blob, ...] = ()
    lane_id: str | None = None
    reply_to: str | None = None


def originator(project_id: str, session_id: str) -> str:
    """Return a stream's name for the library; neither part can hold the slash."""
    return f"{project_id}/{session_id}"


class FactMapper(Mapper[str]):
    """Maps between recorded facts and stored events; nothing is ever imported by name."""

    def __init__(self) -> None:
        """Take none of the library's transcoding."""

    def to_stored_event(self, domain_event: StreamFact) -> StoredFact:  # type: ignore[override]
        """Return the stored form of a fact."""
        fact = domain_event.recorded
        return StoredFact(
            originator_id=domain_event.originator_id,
            originator_version=domain_event.originator_version,
            topic=fact.envelope.type,
            state=fact.body or b"",
            envelope=fact.envelope,
            position=fact.position,
            previous=fact.previous,
            hash=fact.hash,
            salt=fact.salt,
            gone=fact.body is None,
        )

    def to_domain_event(self, stored_event: StoredEvent) -> StreamFact:
        """Return the fact that was stored, lifted to its newest shape."""
        assert isinstance(stored_event, StoredFact)  # noqa: S101 - only our recorder feeds us
        return StreamFact(
            str(stored_event.originator_id),
            stored_event.originator_version,
            recorded_of(stored_event),
        )


def recorded_of(stored: StoredFact) -> Recorded:
    """Return the recorded fact in a stored event; of one whose blobs are not there, no meaning."""
    envelope = stored.envelope
    body = None if stored.gone else stored.state
    return Recorded(
        envelope=envelope,
        position=stored.position,
        previous=stored.previous,
        hash=stored.hash,
        salt=stored.salt,
        body=body,
        event=decode(envelope.type, envelope.schema, whole_body(stored)),
        blobs=stored.blobs,
    )


def whole_body(stored: StoredFact) -> bytes | None:
    """Return all that was said, or None if some of it is not there."""
    if stored.gone:
        return None
    try:
        return inline(stored.state, stored.blobs)
    except Incomplete:
        return None
