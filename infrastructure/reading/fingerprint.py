"""Which history, and which configuration, was it at a version?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, select, text

from domain.events import SessionConfigured, SessionOpened
from domain.fingerprints import EMPTY
from domain.messages import CONFIGURATION
from domain.state import Placed
from infrastructure import tables as t
from infrastructure.prepared import Prepared
from infrastructure.reading.facts import content, fact_at
from infrastructure.reading.moment import Moment
from infrastructure.reading.places import placed_in
from infrastructure.reading.transcript import live_view
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
    newest = moment.messages - 1
    placed = placed_in(connection, moment.key, max(newest - 1, 0), newest + 1)
    before = placed[-2].fingerprint if len(placed) > 1 else EMPTY
    try:
        last = [_last_digest(connection, moment, message) for message in placed[-1:]]
        history = followed(before, last)
    except Gone:
        return None, None
    if moment.summary_version is None:
        return history, history
    try:
        return history, _model_chain(connection, moment, last, moment.summary_version)
    except Gone:
        return history, None


def _model_chain(
    connection: Connection, moment: Moment, last: Sequence[bytes | None], summary_version: int
) -> bytes:
    base = summary_base(fact_at(connection, moment.key, summary_version))
    params = {
        "session_key": moment.key,
        "low": moment.archived,
        "high": moment.messages - 1,
    }
    kept = [row.digest for row in _DIGESTS.run(connection, params)]
    return followed(base, [*kept, *(last if moment.archived < moment.messages else ())])


def _last_digest(connection: Connection, moment: Moment, message: Placed) -> bytes | None:
    """Return the digest of the last message then, which may have grown since."""
    if message.versions[-1] <= moment.through:
        return message.digest
    facts = content(connection, moment.key, message.versions[0], moment.through)
    pieces = pieces_at(message, facts, moment.through)
    return digest_at(message, pieces, leading=_leading(connection, moment, message))


def _leading(connection: Connection, moment: Moment, message: Placed) -> bool:
    if message.role not in CONFIGURATION:
        return False
    params = {"session_key": moment.key, "index": message.index}
    return _CONVERSATION.run(connection, params).first() is None


def _config(connection: Connection, moment: Moment) -> str | None:
    version = moment.head.config_version
    if version is not None and version > moment.through:
        params = {"session_key": moment.key, "through": moment.through}
        version = _CONFIGURED.run(connection, params).scalar_one_or_none()
    fact = None if version is None else fact_at(connection, moment.key, version)
    if isinstance(fact, SessionConfigured | SessionOpened):
        return config_fingerprint(fact.config)
    return None


_DIGESTS: Final = Prepared(
    lambda _: (
        select(t.messages.c.digest)
        .where(
            t.messages.c.session_key == bindparam("session_key"),
            t.messages.c.index >= bindparam("low"),
            t.messages.c.index < bindparam("high"),
        )
        .order_by(t.messages.c.index)
    )
)
_CONVERSATION: Final = Prepared(
    lambda _: (
        select(t.messages.c.index)
        .where(
            t.messages.c.session_key == bindparam("session_key"),
            t.messages.c.index < bindparam("index"),
            text("role NOT IN ('system', 'developer')"),
        )
        .limit(1)
    )
)
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
