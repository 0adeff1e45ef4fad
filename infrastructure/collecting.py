"""Which blobs does no event name any more, and how do they go?

Those that are a day old: somebody may just be about to name one. They are looked for beside all
writers. Then what an append has locked is passed over, and whether a blob is named is asked again
once it is locked here: no event loses what it needs.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, or_, select

from infrastructure import tables as t
from infrastructure.database import Database

KEPT_US: Final = 24 * 60 * 60 * 1_000_000
AT_ONCE: Final = 100
"""Blobs of one transaction: other writers come between."""
_B: Final = t.blobs.c


class Name(NamedTuple):
    """Which blob, of which project."""

    project_id: str
    sha256: bytes


def collect(database: Database, now: int) -> int:
    """Remove what nobody names and nobody stored within a day; return how many blobs went."""
    removed = 0
    while True:
        with database.read() as connection:
            found = unnamed(connection, now)
        if found:
            with database.write() as connection:
                removed += remove(connection, found, now)
        if len(found) < AT_ONCE:
            return removed


def unnamed(connection: Connection, now: int) -> Sequence[Name]:
    """Return some of the blobs that nobody names and nobody stored within a day."""
    statement = select(_B.project_id, _B.sha256).where(*_can_go(now)).limit(AT_ONCE)
    return [Name(*row) for row in connection.execute(statement)]


def remove(connection: Connection, found: Sequence[Name], now: int) -> int:
    """Remove those of these blobs that can still go; return how many went."""
    these = or_(*(and_(_B.project_id == b.project_id, _B.sha256 == b.sha256) for b in found))
    locked = select(_B.project_id, _B.sha256).where(these).with_for_update(skip_locked=True)
    free = [Name(*row) for row in connection.execute(locked)]
    if not free:
        return 0
    # Another statement, so that it sees what was committed until the locks were got.
    those = or_(*(and_(_B.project_id == b.project_id, _B.sha256 == b.sha256) for b in free))
    return connection.execute(delete(t.blobs).where(those, *_can_go(now))).rowcount


def _can_go(now: int) -> Sequence[ColumnElement[bool]]:
    r = t.blob_references.c
    same = (r.project_id == _B.project_id) & (r.sha256 == _B.sha256)
    return _B.stored_at <= now - KEPT_US, ~exists().where(same).correlate(t.blobs)
