"""With which sessions does a fork share its history, and up to where?

The view `lineages` has a row for each: a record of one of them stands for the fork's own unless the
fork, or another one nearer to it, has a record of the same name. What such a record says is clipped
to the version that the fork shares.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, bindparam, select

from domain.state import Head
from infrastructure import tables as t
from infrastructure.prepared import Prepared, PreparedRows


class Ancestor(NamedTuple):
    """A session that a fork shares history with.

    Attributes:
        key: What names it in the tables.
        version: The last version that is shared.
        placed, started: How many messages and turns it had at that version.
    """

    key: int
    version: int
    placed: int
    started: int


Lineage: TypeAlias = Sequence[Ancestor]
"""The nearest one first."""
NOBODY: Final[Lineage] = ()
NO_ANCESTOR: Final = Ancestor(key=0, version=0, placed=0, started=0)

_LINEAGE: Final = Prepared(
    lambda _: (
        select(
            t.lineages.c.ancestor_key,
            t.lineages.c.version,
            t.lineages.c.placed,
            t.lineages.c.started,
        )
        .where(t.lineages.c.session_key == bindparam("session_key"))
        .order_by(t.lineages.c.version.desc())
    )
)
_INSERT: Final = PreparedRows(
    lambda _: t.lineages.insert(), [column.name for column in t.lineages.columns]
)


def lineage(connection: Connection, session_key: int, head: Head) -> Lineage:
    """Return the sessions that a session shares history with; none but for a fork."""
    return lineage_of(connection, session_key) if head.base_version else ()


def lineage_of(connection: Connection, session_key: int) -> Lineage:
    """Return the sessions that a fork shares history with."""
    return [Ancestor(*row) for row in _LINEAGE.run(connection, {"session_key": session_key})]


def key_at(session_key: int, lineage: Lineage, version: int) -> int:
    """Return the key of the session that a version of a history belongs to."""
    keys = [ancestor.key for ancestor in lineage if version <= ancestor.version]
    return keys[-1] if keys else session_key


class Part(NamedTuple):
    """What of a history belongs to one session: what is after a version, through another."""

    key: int
    after: int
    through: int


def parts(session_key: int, lineage: Lineage, through: int) -> list[Part]:
    """Return whose a history is up to a version, from the root on."""
    found: list[Part] = []
    after = 0
    for ancestor in reversed(lineage):
        found.append(Part(ancestor.key, after, min(ancestor.version, through)))
        after = ancestor.version
    found.append(Part(session_key, after, through))
    return [part for part in found if part.after < part.through]


def forked_from(key: int, version: int, head: Head, lineage: Lineage) -> Lineage:
    """Return the lineage of what is forked from a session, which has this head there."""
    return (Ancestor(key, version, head.placed, head.started), *lineage)


def lineage_row(ancestor: Ancestor) -> dict[str, object]:
    """Return an ancestor's columns by name, but the fork's key."""
    return dict(zip(_INSERT.names[1:], ancestor, strict=True))


def note(connection: Connection, session_key: int, lineage: Lineage) -> None:
    """Write the lineage of a fork."""
    _INSERT.rows(connection, [(session_key, *ancestor) for ancestor in lineage])
