"""How is a session written in a file that any turnlog can take back?

JSON Lines, UTF-8, each line one JSON object that ends with a newline:

1. the manifest: format, project, session, how many events follow, and the head after them; of a
   fork also its `base`, the event of its parent that it goes on from;
2. one line an event, by version from 1, of a fork from after its base: every field that the hash
   chain covers, the salt, the hash, and last the stored body, byte for byte;
   before the first event that names a blob of the store, one line with the blob: `blob` is its
   SHA-256, `size` its bytes, `data_base64` what it holds;
3. the end: how many events there were, and the SHA-256 of every line before it, newlines
   included; a file that was cut off has none.

Hashes and salts are hex. A body that is no single line of JSON stands in `data_base64` instead of
`data`; one that is gone is `"data":null` with `"salt":null`. Nothing says which database it was:
the same session gives the same bytes from any. A line has one right form, and no other is read.
"""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar, cast
from uuid import UUID

from domain.blobs import Blob, blob_of
from domain.decide import SESSION_LIMIT
from domain.events import ForkPoint
from domain.identifiers import ID_RULE, NAME_RULE, is_id, is_name
from domain.json_text import DEEPEST, JsonValue, NotJson, dump, parse
from domain.recorded import Envelope, ProducerStamp, body_digest, chained_hash
from domain.times import microseconds, rfc3339
from infrastructure.mapper import StoredFact, originator
from projections.producers import producer_shape

Read = TypeVar("Read")
FORMAT: Final = "turnlog-export-1"
_MEMBERS: Final = 16
_BLOB: Final = b'{"blob":"'
_BLOB_LINE: Final = re.compile(
    rb'\{"blob":"[0-9a-f]{64}","size":[0-9]+,"data_base64":"([^"]*)"\}\n'
)
_LARGEST: Final = 2**63 - 1
_SMALL: Final = 2**15 - 1
_INTEGER: Final = 2**31 - 1


class BadExport(Exception):
    """The lines are no export that can be taken; `line` counts from 1, and no text is repeated."""

    def __init__(self, line: int, code: str, detail: str) -> None:
        super().__init__(f"line {line}: {detail}")
        self.line: Final = line
        self.code: Final = code
        self.detail: Final = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a file says it holds.

    Attributes:
        events: How many events follow.
        base: What a fork shares with its parent, up to there.
        fingerprint: Of the history, as the exporting build folded it; informative.
    """

    project_id: str
    session_id: str
    events: int
    history_version: int
    hash: bytes
    fingerprint: bytes
    base: ForkPoint | None = None

    @property
    def shared(self) -> int:
        """Return the version that the events follow: 0 but for a fork."""
        return 0 if self.base is None else self.base.version

    def line(self) -> bytes:
        """Return the file's first line."""
        head: JsonValue = {
            "version": self.shared + self.events,
            "history_version": self.history_version,
            "hash": self.hash.hex(),
            "fingerprint": self.fingerprint.hex(),
        }
        base: JsonValue = None
        if self.base is not None:
            base = {
                "session_id": self.base.session_id,
                "version": self.base.version,
                "hash": self.base.hash,
            }
        return _line(
            {
                "format": FORMAT,
                "project_id": self.project_id,
                "session_id": self.session_id,
                **({} if base is None else {"base": base}),
                "events": self.events,
                "head": head,
            }
        )


def end_line(events: int, sha256: str) -> bytes:
    """Return the file's last line."""
    return _line({"end": FORMAT, "events": events, "sha256": sha256})


def event_line(fact: StoredFact) -> bytes:
    """Return an event's line."""
    around = _around(fact.envelope, fact.salt, fact.hash)
    if fact.gone:
        return around + b',"data":null}\n'
    if _stands_in_a_line(fact.state):
        return around + b',"data":' + fact.state + b"}\n"
    return around + b',"data_base64":"' + base64.b64encode(fact.state) + b'"}\n'


def blob_line(blob: Blob) -> bytes:
    """Return a blob's line."""
    content = base64.b64encode(blob.content or b"")
    return b'{"blob":"%s","size":%d,"data_base64":"%s"}\n' % (
        blob.sha256.encode(),
        len(blob.content or b""),
        content,
    )


def is_blob(line: bytes) -> bool:
    """Tell whether a line holds a blob and no event."""
    return line.startswith(_BLOB)


def read_blob(line: bytes, number: int) -> Blob:
    """Return the blob of a line, whose digest fits it.

    Raises:
        BadExport: it does not, or the line has another form than it was written in.
    """
    found = _BLOB_LINE.fullmatch(line)
    try:
        blob = None if found is None else blob_of(base64.b64decode(found[1], validate=True))
    except ValueError as error:
        raise _odd(number) from error
    if blob is None:
        raise _odd(number)
    if not line.startswith(_BLOB + blob.sha256.encode()):
        raise BadExport(number, "blob-mismatch", "the blob is not the one that the line names")
    if blob_line(blob) != line:
        raise _odd(number)
    return blob


def _around(envelope: Envelope, salt: bytes | None, chained: bytes) -> bytes:
    """Return a line up to its data."""
    line = dump(
        {
            "version": envelope.version,
            "id": envelope.event_id,
            "type": envelope.type,
            "schema": envelope.schema,
            "affects": envelope.affects,
            "recorded_at": rfc3339(envelope.recorded_at),
            "occurred_at": None if envelope.occurred_at is None else rfc3339(envelope.occurred_at),
            "actor": envelope.actor,
            "producer": producer_shape(envelope.producer),
            "batch": envelope.batch,
            "turn_id": envelope.turn_id,
            "trace_id": envelope.trace_id,
            "salt": None if salt is None else salt.hex(),
            "body_digest": envelope.body_digest.hex(),
            "hash": chained.hex(),
        }
    )
    return line[:-1]


def read_manifest(line: bytes) -> Manifest:
    """Return what the first line says.

    Raises:
        BadExport: it is no manifest of this format.
    """
    members = _members(line, 1)
    if members.get("format") != FORMAT:
        raise BadExport(1, "format", f"the file does not begin with a {FORMAT} manifest")
    try:
        head = cast("dict[str, str]", members["head"])
        manifest = Manifest(
            project_id=_id(members["project_id"]),
            session_id=_id(members["session_id"]),
            events=_whole(members["events"], _INTEGER),
            history_version=_whole(head["history_version"], _INTEGER),
            hash=_bytes(head["hash"], 32),
            fingerprint=_bytes(head["fingerprint"], 32),
            base=_optional(members.get("base"), _base),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _odd(1) from error
    if manifest.line() != line:
        raise _odd(1)
    return manifest


def read_event(
    line: bytes, number: int, version: int, manifest: Manifest, previous: bytes
) -> StoredFact:
    """Return the event of a line, whose hash and digest fit it and what came before.

    Raises:
        BadExport: they do not, or the line has another form than it was written in.
    """
    members = _members(line, number)
    try:
        fact = _fact(members, line, manifest, previous)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _odd(number) from error
    envelope = fact.envelope
    if envelope.version != version:
        raise BadExport(number, "version-gap", f"version {version} should stand here")
    if not fact.gone and body_digest(fact.salt or b"", fact.state) != envelope.body_digest:
        raise BadExport(number, "body-mismatch", "the data are not those that the event names")
    if chained_hash(envelope, previous) != fact.hash:
        raise BadExport(number, "hash-mismatch", "the hash does not fit the event")
    return fact


def _fact(
    members: dict[str, JsonValue], line: bytes, manifest: Manifest, previous: bytes
) -> StoredFact:
    envelope = _envelope(members, manifest)
    chained = _bytes(members["hash"], 32)
    salt = None if members["salt"] is None else _bytes(members["salt"], 16)
    body = _body(members, line, _around(envelope, salt, chained), gone=salt is None)
    return StoredFact(
        originator_id=originator(manifest.project_id, manifest.session_id),
        originator_version=envelope.version,
        topic=envelope.type,
        state=body or b"",
        envelope=envelope,
        position=0,
        previous=previous,
        hash=chained,
        salt=salt,
        gone=body is None,
    )


def _envelope(members: dict[str, JsonValue], manifest: Manifest) -> Envelope:
    return Envelope(
        project_id=manifest.project_id,
        session_id=manifest.session_id,
        version=_whole(members["version"], _INTEGER),
        event_id=_event_id(members["id"]),
        type=_name(members["type"]),
        schema=_whole(members["schema"], _SMALL),
        affects="history" if members["affects"] == "history" else "none",
        recorded_at=_moment(members["recorded_at"]),
        occurred_at=_optional(members["occurred_at"], _moment),
        actor=_optional(members["actor"], _name),
        producer=_optional(members["producer"], _producer),
        batch=_optional(members["batch"], lambda value: _whole(value, _INTEGER)),
        turn_id=_optional(members["turn_id"], _id),
        trace_id=_optional(members["trace_id"], _name),
        body_digest=_bytes(members["body_digest"], 32),
    )


def _body(members: dict[str, JsonValue], line: bytes, around: bytes, *, gone: bool) -> bytes | None:
    """Return the body in a line, which raises `ValueError` if it is not as we would write it."""
    body: bytes | None
    if gone:
        body, fits = None, line == around + b',"data":null}\n'
    elif "data_base64" in members:
        body = base64.b64decode(_text(members["data_base64"]), validate=True)
        encoded = base64.b64encode(body)
        fits = line == around + b',"data_base64":"' + encoded + b'"}\n'
        fits = fits and not _stands_in_a_line(body)
    else:
        body = line[len(around) + len(b',"data":') : -2]
        fits = line == around + b',"data":' + body + b"}\n" and _is_one_line(body)
        fits = fits and len(members) == _MEMBERS
    if not fits:
        raise ValueError
    return body


def _stands_in_a_line(body: bytes) -> bool:
    """Tell whether `body` is one JSON value, and no more, without a line break."""
    if not _is_one_line(body):
        return False
    try:
        parse(body, max_depth=DEEPEST - 1)
    except NotJson:
        return False
    return True


def _is_one_line(body: bytes) -> bool:
    return b"\n" not in body and b"\r" not in body and body.strip() == body


def _line(members: dict[str, JsonValue]) -> bytes:
    return dump(members) + b"\n"


def _members(line: bytes, number: int) -> dict[str, JsonValue]:
    try:
        found = parse(line, max_depth=DEEPEST)
    except NotJson as error:
        raise BadExport(number, "not-json", error.detail) from None
    if not isinstance(found, dict):
        raise _odd(number)
    return found


def _odd(number: int) -> BadExport:
    return BadExport(number, "not-canonical", "the line is not as a turnlog export writes it")


def _optional(value: JsonValue, read: Callable[[JsonValue], Read]) -> Read | None:
    return None if value is None else read(value)


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _id(value: JsonValue) -> str:
    if not is_id(text := _text(value)):
        raise ValueError(ID_RULE)
    return text


def _name(value: JsonValue) -> str:
    if not is_name(text := _text(value)):
        raise ValueError(NAME_RULE)
    return text


def _event_id(value: JsonValue) -> str:
    return str(UUID(_text(value)))


def _whole(value: JsonValue, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(most)
    return value


def _bytes(value: JsonValue, length: int) -> bytes:
    found = bytes.fromhex(_text(value))
    if len(found) != length:
        raise ValueError(length)
    return found


def _moment(value: JsonValue) -> int:
    found = microseconds(_text(value))
    if found is None:
        raise ValueError
    return found


def _base(value: JsonValue) -> ForkPoint:
    members = cast("dict[str, JsonValue]", value)
    return ForkPoint(
        session_id=_id(members["session_id"]),
        version=_whole(members["version"], _INTEGER - SESSION_LIMIT),
        hash=_bytes(members["hash"], 32).hex(),
    )


def _producer(value: JsonValue) -> ProducerStamp:
    members = cast("dict[str, JsonValue]", value)
    return ProducerStamp(
        producer_id=_id(members["id"]),
        epoch=_whole(members["epoch"], _INTEGER),
        sequence=_whole(members["sequence"], _LARGEST),
    )
