"""Which facts is a stretch of the transcript made of?"""

from collections.abc import Iterable, Iterator, Mapping
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


class StoredFacts(Mapping[int, Fact]):
    """Facts by version; each is put together and decoded when it is first looked at."""

    def __init__(self, connection: Connection, key: int, rows: Iterable[Row[Any]]) -> None:
        self._connection: Final = connection
        self._key: Final = key
        self._rows: Final = {row.version: row for row in rows}
        self._decoded: Final[dict[int, Fact]] = {}

    def __getitem__(self, version: int) -> Fact:
        known = self._decoded.get(version)
        if known is None:
            known = _fact(self._connection, self._key, self._rows[version])
            self._decoded[version] = known
        return known

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def content(connection: Connection, key: int, low: int, high: int) -> Mapping[int, Fact]:
    """Return the facts of messages from version `low` up to `high`, by version."""
    params = {"session_key": key, "low": low, "high": high}
    return StoredFacts(connection, key, _CONTENT.run(connection, params))


def fact_at(connection: Connection, key: int, version: int) -> Fact | None:
    """Return the fact at a version, if the log has it."""
    row = _ONE.run(connection, {"session_key": key, "version": version}).first()
    return None if row is None else _fact(connection, key, row)


def _fact(connection: Connection, key: int, row: Row[Any]) -> Fact:
    """Return a fact with all that was said, whatever of it was taken out of the body."""
    return decode(row.type, row.schema, whole(connection, key, row.body))
