"""Which history, and which configuration, was it at a version?"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, select, text

from domain.events import SessionConfigured, SessionOpened
from domain.fingerprints import EMPTY
from domain.messages import CONFIGURATION
from domain.state import Placed
from infrastructure import tables as t
from infrastructure.lineages import parts
from infrastructure.prepared import Prepared
from infrastructure.reading.facts import content, fact_at
from infrastructure.reading.moment import Moment
from infrastructure.reading.places import Span, spans_in_sight
from infrastructure.reading.transcript import live_view
from infrastructure.stored_records import placed_in
from projections.chains import (
    Gone,
    config_fingerprint,
    digest_at,
    followed,
    reference_fingerprint,
    summary_base,
)
from projections.transcript import pieces_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprints:
    """The fingerprints of a moment, in hex; None where what they were made of is gone."""

    history: str | None
    model_history: str | None
    history_v1: str | None
    config: str | None


def fingerprints(connection: Connection, moment: Moment, *, v1: bool) -> Fingerprints:
    """Return the session's fingerprints at the moment; the reference's only if asked."""
    history, model = _chains(connection, moment)
    return Fingerprints(
        history=None if history is None else history.hex(),
        model_history=None if model is None else model.hex(),
        history_v1=(reference_fingerprint(live_view(connection, moment).messages) if v1 else None),
        config=_config(connection, moment),
    )


def _chains(connection: Connection, moment: Moment) -> tuple[bytes | None, bytes | None]:
    if moment.is_now:
        return moment.head.fingerprint, moment.head.model_fingerprint
    if not moment.messages:
        return EMPTY, EMPTY
    last, before = _newest(connection, moment)
    return (None, None) if last is None else _chains_then(connection, moment, last, before)


def _newest(connection: Connection, moment: Moment) -> tuple[Placed | None, Placed | None]:
    """Return the last two messages in sight, the last one first."""
    messages = moment.messages
    spans = spans_in_sight(connection, moment, max(messages - 2, 0), messages)
    placed = [message for span in spans for message in _placed(connection, moment, span)]
    tip = moment.sight.spot.message
    last = next((message for message in placed if message.index == tip), None)
    return last, next((message for message in placed if message.index != tip), None)


def _placed(connection: Connection, moment: Moment, span: Span) -> list[Placed]:
    """Return the messages of a span; of what a fork has of its own, that."""
    holders = [moment.key, *(each.key for each in moment.lineage)]
    nearest_last = holders[: holders.index(span.key) + 1][::-1]
    found = {
        message.index: message
        for key in nearest_last
        for message in placed_in(connection, key, span.first, span.end)
    }
    return [found[index] for index in sorted(found)]


def _chains_then(
    connection: Connection, moment: Moment, last: Placed, before: Placed | None
) -> tuple[bytes | None, bytes | None]:
    move = moment.sight.move
    if move is not None and move.after.tip == last.index:
        since = (version for version in last.versions if version > move.version)
        if next(since, moment.through + 1) > moment.through:
            return move.after.fingerprint, move.after.model_fingerprint
    if last.versions[-1] <= moment.through:
        return last.fingerprint, last.model_fingerprint
    base = EMPTY if before is None else before.fingerprint
    try:
        said = [_digest_then(connection, moment, last, base)]
    except Gone:
        return None, None
    model = _model_base(connection, moment, last, before)
    return followed(base, said), None if model is None else followed(model, said)


def _digest_then(
    connection: Connection, moment: Moment, message: Placed, base: bytes
) -> bytes | None:
    """Return the digest of a message that has grown since."""
    key = moment.key_at(message.versions[0])
    through = moment.through_of(key)
    pieces = pieces_at(message, content(connection, key, message.versions[0], through), through)
    return digest_at(message, pieces, leading=message.role in CONFIGURATION and base == EMPTY)


def _model_base(
    connection: Connection, moment: Moment, last: Placed, before: Placed | None
) -> bytes | None:
    """Return the model's chain before the last message; None if the summary is gone."""
    move = moment.sight.move
    if move is None or (before is not None and before.versions[-1] > move.version):
        return EMPTY if before is None else before.model_fingerprint
    if last.versions[0] > move.version:
        return move.after.model_fingerprint
    # It was being said when the summary came: what was kept before it is chained anew.
    try:
        base = summary_base(fact_at(connection, moment.key_at(move.version), move.version))
    except Gone:
        return None
    spans = spans_in_sight(connection, moment, moment.archived, moment.messages - 1)
    kept = [m.digest for span in spans for m in _placed(connection, moment, span)]
    return followed(base, kept)


def _config(connection: Connection, moment: Moment) -> str | None:
    version = moment.head.config_version
    if version is not None and version > moment.through:
        version = None
        for part in reversed(parts(moment.key, moment.lineage, moment.through)):
            params = {"session_key": part.key, "through": part.through}
            version = version or _CONFIGURED.run(connection, params).scalar_one_or_none()
    fact = None if version is None else fact_at(connection, moment.key_at(version), version)
    if isinstance(fact, SessionConfigured | SessionOpened):
        return config_fingerprint(fact.config)
    return None


_CONFIGURED: Final = Prepared(
    lambda _: (
        select(t.events.c.version)
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.version <= bindparam("through"),
            text("type IN ('session-configured', 'session-opened')"),
        )
        .order_by(t.events.c.version.desc())
        .limit(1)
    )
)
