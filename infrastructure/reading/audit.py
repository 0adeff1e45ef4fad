"""What happened in a session, fact by fact?"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from domain.events import Fact
from domain.recorded import Envelope
from infrastructure import tables as t
from infrastructure.blobs import whole
from infrastructure.recorder import stored_fact
from infrastructure.serialization import decode
from projections.audit import TELLING


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """A fact's envelope and hash, and the fact itself where its name does not say enough."""

    envelope: Envelope
    hash: bytes
    fact: Fact | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Which facts, after which version: oldest first if `ascending`."""

    type: str | None = None
    actor: str | None = None
    turn_id: str | None = None
    after: int | None = None
    ascending: bool = True
    limit: int = 50


def audit(
    connection: Connection, stream: tuple[str, str, int], query: AuditQuery
) -> Sequence[AuditLine]:
    """Return a page of the audit; `stream` is (project id, session id, session key)."""
    events, bodies = t.events.c, t.bodies.c
    said = (
        (bodies.session_key == events.session_key)
        & (bodies.version == events.version)
        & events.type.in_(sorted(TELLING))
    )
    columns = [column for column in events if column.name != "session_key"]
    statement = (
        select(*columns, bodies.salt, bodies.body)
        .select_from(t.events.outerjoin(t.bodies, said))
        .where(events.session_key == stream[2])
        .order_by(events.version if query.ascending else events.version.desc())
        .limit(query.limit)
    )
    for column, wanted in (
        (events.type, query.type),
        (events.actor, query.actor),
        (events.turn_id, query.turn_id),
    ):
        if wanted is not None:
            statement = statement.where(column == wanted)
    if query.after is not None:
        beyond = events.version > query.after
        statement = statement.where(beyond if query.ascending else events.version < query.after)
    lines: list[AuditLine] = []
    for row in connection.execute(statement):
        stored = stored_fact(row, stream, b"")
        told = stored.topic in TELLING
        lines.append(
            AuditLine(
                envelope=stored.envelope,
                hash=stored.hash,
                fact=(
                    decode(row.type, row.schema, whole(connection, stream[2], row.body))
                    if told
                    else None
                ),
            )
        )
    return lines
