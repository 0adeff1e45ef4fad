"""What is kept of a project's wishes, and whose change stands when two make one at once?

One row for each name, found by its key; a change rests on the version that it has seen, so that of
two at once one is made again on what the other left.
"""

from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite

from domain.refusals import VersionMoved
from infrastructure import tables as t
from infrastructure.commit import Contended
from infrastructure.prepared import Prepared


class Name(NamedTuple):
    """Of which project, and what of it."""

    project_id: str
    name: str


class Stored(NamedTuple):
    """What a project has set under a name; version 0 if nothing ever was."""

    version: int
    value: bytes
    changed_at: int | None
    actor: str | None


class Change(NamedTuple):
    """Who changes what is set, when, and which version they have seen, if they say so."""

    actor: str | None
    now: int
    expected: int | None = None


_NEVER: Final = Stored(0, b"{}", None, None)
_MINE: Final = (
    t.project_settings.c.project_id == bindparam("project_id_"),
    t.project_settings.c.name == bindparam("name_"),
)
_FIND: Final = Prepared(
    lambda _: select(
        t.project_settings.c.version,
        t.project_settings.c.value,
        t.project_settings.c.changed_at,
        t.project_settings.c.actor,
    ).where(*_MINE)
)
_FIND_VERSION: Final = Prepared(
    lambda _: select(t.project_settings.c.version, t.project_settings.c.changed_at).where(*_MINE)
)


def _insert(dialect: str) -> Any:  # noqa: ANN401 - one of two classes without a common one
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    return (
        insert(t.project_settings)
        .values({column.name: bindparam(column.name) for column in t.project_settings.columns})
        .on_conflict_do_nothing()
        .returning(t.project_settings.c.version)
    )


_INSERT: Final = Prepared(_insert)
_UPDATE: Final = Prepared(
    lambda _: (
        t.project_settings.update()
        .where(*_MINE, t.project_settings.c.version == bindparam("seen"))
        .values(
            version=bindparam("version"),
            value=bindparam("value"),
            changed_at=bindparam("changed_at"),
            actor=bindparam("actor"),
        )
        .returning(t.project_settings.c.version)
    )
)


def stored(connection: Connection, name: Name) -> Stored:
    """Return what a project has set under a name."""
    row = _FIND.run(connection, _where(name)).first()
    if row is None:
        return _NEVER
    return Stored(int(row.version), bytes(row.value), row.changed_at, row.actor)


def stamp_of(connection: Connection, name: Name) -> tuple[int, int]:
    """Return the version and the time of what is set, without reading it; 0 if nothing was."""
    row = _FIND_VERSION.run(connection, _where(name)).first()
    return (0, 0) if row is None else (int(row.version), int(row.changed_at))


def replaced(
    connection: Connection, name: Name, found: Stored, value: bytes, change: Change
) -> Stored:
    """Have `value` stand where `found` did; the same is not written again.

    Raises:
        VersionMoved: `found` is not what the caller saw.
        Contended: another writer came first.
    """
    if change.expected not in {None, found.version}:
        raise VersionMoved(change.expected or 0, found.version, "what is set")
    if value == found.value:
        return found
    new = Stored(found.version + 1, value, change.now, change.actor)
    if found.version:
        seen = {"seen": found.version}
        written = _UPDATE.run(connection, _where(name) | seen | new._asdict())
    else:
        written = _INSERT.run(connection, name._asdict() | new._asdict())
    if not written:
        raise Contended
    return new


def _where(name: Name) -> dict[str, object]:
    return {"project_id_": name.project_id, "name_": name.name}
