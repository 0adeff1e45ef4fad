"""Which platforms' gateways are there, as they said last? One that never said so is not."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, select, text
from sqlalchemy.dialects import postgresql, sqlite

from infrastructure import tables as t
from infrastructure.prepared import Prepared


class Platform(NamedTuple):
    """A platform, and since when its gateway is there, or is not any more."""

    platform: str
    connected: bool
    changed_at: int


_CONNECTED: Final = Prepared(
    lambda _: select(t.lane_platforms.c.platform).where(
        t.lane_platforms.c.project_id == bindparam("project_id"),
        text("lane_platforms.connected"),
    )
)


def connected_platforms(connection: Connection, project_id: str) -> frozenset[str]:
    """Return the platforms whose gateways are there."""
    found = _CONNECTED.run(connection, {"project_id": project_id})
    return frozenset(row.platform for row in found)


def platforms(connection: Connection, project_id: str) -> Sequence[Platform]:
    """Return every platform of which a gateway ever said something, by name."""
    columns = t.lane_platforms.c
    rows = connection.execute(
        select(columns.platform, columns.connected, columns.changed_at)
        .where(columns.project_id == project_id)
        .order_by(columns.platform)
    )
    return [Platform(row.platform, bool(row.connected), row.changed_at) for row in rows]


def set_connected(
    connection: Connection, project_id: str, platform: str, now: int, *, connected: bool
) -> Platform:
    """Keep whether a platform's gateway is there; the same again changes nothing."""
    row = {
        "project_id": project_id,
        "platform": platform,
        "connected": connected,
        "changed_at": now,
    }
    _SET.run(connection, row)
    found = _FIND.run(connection, {"project_id": project_id, "platform": platform}).first()
    return Platform(platform, bool(found.connected), int(found.changed_at))


_FIND: Final = Prepared(
    lambda _: select(t.lane_platforms.c.connected, t.lane_platforms.c.changed_at).where(
        t.lane_platforms.c.project_id == bindparam("project_id"),
        t.lane_platforms.c.platform == bindparam("platform"),
    )
)


def _set(dialect: str) -> Any:  # noqa: ANN401 - one of two classes without a common one
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    statement = insert(t.lane_platforms).values(
        {c.name: bindparam(c.name) for c in t.lane_platforms.columns}
    )
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=["project_id", "platform"],
        set_={"connected": new["connected"], "changed_at": new["changed_at"]},
        where=t.lane_platforms.c.connected != new["connected"],
    )


_SET: Final = Prepared(_set)
