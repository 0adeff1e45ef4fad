"""Which fact is an event, as the REST interface shows it?

The log's own reading, of what everybody can be given: so a session is folded here exactly as it was
where it is stored, whether it lies in a database or behind a server.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from api.cli.failures import UNFIT, Failure
from domain.blobs import Blob
from domain.json_text import JsonValue, dump, parse, raw_members
from domain.offloading import Incomplete, cuts_of, inline
from domain.recorded import GENESIS, Envelope, ProducerStamp, Recorded
from domain.times import microseconds
from infrastructure.serialization import decode

FindBlob = Callable[[str], bytes | None]
_APART: Final = frozenset({"data", "data_base64"})


def fact_of(event: bytes, names: tuple[str, str], blob: FindBlob) -> Recorded:
    """Return the recorded fact that `event` shows; `names` are its project's and session's ids.

    `blob` finds what the event only names. Salt and previous hash are not shown, and no fold asks.

    Raises:
        Failure: it is not told as this build of turnlog tells events.
    """
    try:
        return _fact_of(event, names, blob)
    except (KeyError, ValueError) as error:
        sentence = "an event is told in a way that this turnlog does not know"
        raise Failure("not-turnlog", sentence, UNFIT) from error


def _fact_of(event: bytes, names: tuple[str, str], blob: FindBlob) -> Recorded:
    members = raw_members(event)
    told = _told(members)
    body = _body(members)
    envelope = Envelope(
        project_id=names[0],
        session_id=names[1],
        version=_number(told, "version"),
        event_id=str(told["id"]),
        type=str(told["type"]),
        schema=_number(told, "schema"),
        affects="history" if told["affects"] == "history" else "none",
        recorded_at=_time(told, "recorded_at") or 0,
        occurred_at=_time(told, "occurred_at"),
        body_digest=bytes.fromhex(str(told["body_digest"])),
        actor=_text(told, "actor"),
        producer=_producer(told.get("producer")),
        turn_id=_text(told, "turn_id"),
        trace_id=_text(told, "trace_id"),
    )
    blobs = () if body is None else tuple(_brought(body, blob))
    return Recorded(
        envelope=envelope,
        position=_number(told, "position"),
        previous=GENESIS,
        hash=bytes.fromhex(str(told["hash"])),
        salt=None,
        body=body,
        event=decode(envelope.type, envelope.schema, _whole(body, blobs)),
        blobs=blobs,
    )


def _told(members: Mapping[str, bytes]) -> dict[str, JsonValue]:
    """Return what an event says besides what was said."""
    pairs = (dump(name) + b":" + raw for name, raw in members.items() if name not in _APART)
    told = parse(b"{" + b",".join(pairs) + b"}")
    return told if isinstance(told, dict) else {}


def _body(members: Mapping[str, bytes]) -> bytes | None:
    """Return the stored bytes, or None once they are gone."""
    if "data_base64" in members:
        return b64decode(str(parse(members["data_base64"])))
    data = members.get("data", b"null")
    return None if data == b"null" else data


def _brought(body: bytes, blob: FindBlob) -> Iterator[Blob]:
    for digest in dict.fromkeys(cut.sha256 for cut in cuts_of(body)):
        content = blob(digest)
        if content is not None:
            yield Blob(sha256=digest, size=len(content), content=content)


def _whole(body: bytes | None, blobs: tuple[Blob, ...]) -> bytes | None:
    """Return all that was said, or None if some of it is not there."""
    if body is None:
        return None
    try:
        return inline(body, blobs)
    except Incomplete:
        return None


def _producer(told: JsonValue) -> ProducerStamp | None:
    if not isinstance(told, dict):
        return None
    return ProducerStamp(
        producer_id=str(told["id"]),
        epoch=_number(told, "epoch"),
        sequence=_number(told, "sequence"),
    )


def _number(told: Mapping[str, JsonValue], name: str) -> int:
    return int(str(told[name]))


def _text(told: Mapping[str, JsonValue], name: str) -> str | None:
    found = told.get(name)
    return None if found is None else str(found)


def _time(told: Mapping[str, JsonValue], name: str) -> int | None:
    return microseconds(_text(told, name))
