"""Which facts is a stretch of the transcript made of?"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, select, text

from domain.blobs import Cut
from domain.events import Fact
from domain.offloading import cuts_of
from infrastructure import tables as t
from infrastructure.blobs import whole
from infrastructure.prepared import Prepared
from infrastructure.recorder import WITH_BODIES
from infrastructure.serialization import decode
from projections.cuts import FactCuts, with_cuts

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
    """Facts by version; each is put together and decoded when it is first looked at.

    Or, if only the beginnings of what is long are wanted, decoded as it is stored.
    """

    def __init__(
        self, connection: Connection, key: int, rows: Iterable[Row[Any]], *, cut: bool = False
    ) -> None:
        self._cut: Final = cut
        self._connection: Final = connection
        self._key: Final = key
        self._rows: Final = {row.version: row for row in rows}
        self._decoded: Final[dict[int, Fact]] = {}

    def __getitem__(self, version: int) -> Fact:
        known = self._decoded.get(version)
        if known is None:
            row = self._rows[version]
            known = _beginning(row) if self._cut else _fact(self._connection, self._key, row)
            self._decoded[version] = known
        return known

    @property
    def cuts(self) -> FactCuts:
        """Return what of the facts was cut, by version."""
        found = ((version, _cuts(row)) for version, row in self._rows.items()) if self._cut else ()
        return {version: cuts for version, cuts in found if cuts}

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def content(
    connection: Connection, key: int, low: int, high: int, *, cut: bool = False
) -> StoredFacts:
    """Return the facts of messages from version `low` up to `high`, by version."""
    params = {"session_key": key, "low": low, "high": high}
    return StoredFacts(connection, key, _CONTENT.run(connection, params), cut=cut)


def fact_at(connection: Connection, key: int, version: int) -> Fact | None:
    """Return the fact at a version, if the log has it."""
    row = _ONE.run(connection, {"session_key": key, "version": version}).first()
    return None if row is None else _fact(connection, key, row)


def beginning_at(
    connection: Connection, key: int, version: int
) -> tuple[Fact | None, tuple[Cut, ...]]:
    """Return the same with the beginnings of what is long, and what of it was cut."""
    row = _ONE.run(connection, {"session_key": key, "version": version}).first()
    return (None, ()) if row is None else (_beginning(row), _cuts(row))


def _beginning(row: Row[Any]) -> Fact:
    fact = decode(row.type, row.schema, None if row.body is None else bytes(row.body))
    return with_cuts(fact, _cuts(row))


def _cuts(row: Row[Any]) -> tuple[Cut, ...]:
    return () if row.body is None else cuts_of(bytes(row.body))


def _fact(connection: Connection, key: int, row: Row[Any]) -> Fact:
    """Return a fact with all that was said, whatever of it was taken out of the body."""
    return decode(row.type, row.schema, whole(connection, key, row.body))
