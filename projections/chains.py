"""Which history was it at a version? Both chains, followed again where they have moved on since.

None where it cannot be told any more, because what a link was made of is gone.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from domain import events as e
from domain.canonical import canonical
from domain.fingerprints import EMPTY, as_reference_messages, chain, digest, history_v1, is_empty
from domain.json_text import JsonValue
from domain.messages import readable
from domain.pieces import summary_parts
from domain.raw_json import without_raw
from domain.state import Piece, Placed
from projections.transcript import TranscriptMessage


class Gone(Exception):
    """A message's digest cannot be told: what it was made of is gone."""


def digest_at(message: Placed, pieces: Sequence[Piece], *, leading: bool) -> bytes | None:
    """Return the digest of a message that had these pieces; None if it said nothing yet.

    `leading` tells whether only system and developer messages had been said, it included.

    Raises:
        Gone: a piece is missing.
    """
    parts = readable(piece.part for piece in pieces)
    if any(part.get("type") == "missing" for part in parts):
        raise Gone
    return None if leading or is_empty(parts) else digest(message.role, parts)


def followed(base: bytes, digests: Iterable[bytes | None]) -> bytes:
    """Return the chain after messages with these digests; silent ones leave it as it is."""
    for said in digests:
        base = base if said is None else chain(base, said)
    return base


def summary_base(summary: e.Fact | None) -> bytes:
    """Return where the model's chain begins after a compaction.

    Raises:
        Gone: the summary is missing.
    """
    if not isinstance(summary, e.HistoryCompacted):
        raise Gone
    return chain(EMPTY, digest("user", readable(summary_parts(summary))))


def config_fingerprint(config: object) -> str | None:
    """Return SHA-256, in hex, of the canonical JSON of a configuration, if there is one."""
    value = without_raw(config)
    return None if value is None else sha256(canonical(value)).hexdigest()


def reference_fingerprint(live: Iterable[TranscriptMessage]) -> str:
    """Return the reference's fingerprint, in hex, of the messages that the model sees."""
    return history_v1(as_reference_messages([_read(message) for message in live]))


def _read(message: TranscriptMessage) -> dict[str, JsonValue]:
    return {"role": message.role, "parts": [*readable(message.parts)]}
