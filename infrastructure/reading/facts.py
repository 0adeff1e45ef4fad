"""Which facts is a stretch of the transcript made of?"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, select, text

from domain.events import Fact
from infrastructure import tables as t
from infrastructure.blobs import whole
from infrastructure.prepared import Prepared
from infrastructure.recorder import WITH_BODIES
from infrastructure.serialization import decode

CONTENT: Final = (
    "gate-opened",
    "message-recorded",
    "tool-call-completed",
    "tool-call-requested",
    "turn-started",
)
"""The types that a message can be made of."""

_COLUMNS: Final = (t.events.c.version, t.events.c.type, t.events.c.schema, t.bodies.c.body)
_CONTENT: Final = Prepared(
    lambda _: (
        select(*_COLUMNS)
        .select_from(WITH_BODIES)
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.version >= bindparam("low"),
            t.events.c.version <= bindparam("high"),
            text(f"events.type IN {CONTENT}"),
        )
    )
)
_ONE: Final = Prepared(
    lambda _: (
        select(*_COLUMNS)
        .select_from(WITH_BODIES)
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.version == bindparam("version"),
        )
    )
)


def content(connection: Connection, key: int, low: int, high: int) -> dict[int, Fact]:
    """Return the facts of messages from version `low` up to `high`, by version."""
    params = {"session_key": key, "low": low, "high": high}
    return {
        row.version: _fact(row) for row in _whole(connection, key, _CONTENT.run(connection, params))
    }


def fact_at(connection: Connection, key: int, version: int) -> Fact | None:
    """Return the fact at a version, if the log has it."""
    rows = _ONE.run(connection, {"session_key": key, "version": version})
    return next(map(_fact, _whole(connection, key, rows)), None)


def _whole(connection: Connection, key: int, rows: Iterable[Any]) -> Iterator[Any]:
    """Yield rows with all that was said, whatever of it was taken out of the bodies."""
    for row in rows:
        body = whole(connection, key, row.body)
        yield row if body is row.body else row._replace(body=body)


def _fact(row: Row[Any]) -> Fact:
    return decode(row.type, row.schema, None if row.body is None else bytes(row.body))
