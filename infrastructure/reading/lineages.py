"""Which sessions share their history with one, above and below it?"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, select

from infrastructure import tables as t
from infrastructure.command_handler import Target
from infrastructure.prepared import Prepared

LARGEST: Final = 2**31 - 1


class Relative(NamedTuple):
    """A session that shares history with another, and the last version that both have."""

    key: int
    session_id: str
    title: str | None
    status: str
    version: int


def ancestors(connection: Connection, target: Target) -> Sequence[Relative]:
    """Return the sessions that a session shares what it began with, from the root on."""
    return [Relative(*row) for row in _ANCESTORS.run(connection, _named(target))]


def children(
    connection: Connection, target: Target, below: int | None, limit: int
) -> Sequence[Relative]:
    """Return the forks of a session, the newest first: those with a key below one."""
    params = _named(target) | {"below": LARGEST if below is None else below, "most": limit}
    return [Relative(*row) for row in _CHILDREN.run(connection, params)]


def _named(target: Target) -> dict[str, object]:
    return {"project_id": target.project_id, "session_id": target.session_id}


def _ancestors(_: str) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    fork = t.streams.alias("fork")
    return (
        select(
            t.lineages.c.ancestor_key,
            t.streams.c.session_id,
            t.heads.c.title,
            t.heads.c.status,
            t.lineages.c.version,
        )
        .select_from(
            fork.join(t.lineages, t.lineages.c.session_key == fork.c.session_key)
            .join(t.streams, t.streams.c.session_key == t.lineages.c.ancestor_key)
            .join(t.heads, t.heads.c.session_key == t.lineages.c.ancestor_key)
        )
        .where(
            fork.c.project_id == bindparam("project_id"),
            fork.c.session_id == bindparam("session_id"),
        )
        .order_by(t.lineages.c.version)
    )


_ANCESTORS: Final = Prepared(_ancestors)
_CHILDREN: Final = Prepared(
    lambda _: (
        select(
            t.heads.c.session_key,
            t.streams.c.session_id,
            t.heads.c.title,
            t.heads.c.status,
            t.heads.c.base_version,
        )
        .join(t.streams, t.streams.c.session_key == t.heads.c.session_key)
        .where(
            t.heads.c.project_id == bindparam("project_id"),
            t.heads.c.forked_from == bindparam("session_id"),
            t.heads.c.status != "purged",
            t.heads.c.session_key < bindparam("below"),
        )
        .order_by(t.heads.c.session_key.desc())
        .limit(bindparam("most"))
    )
)
