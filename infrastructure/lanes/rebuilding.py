"""Is what is kept of a lane what its facts make of it? If not, it is made again."""

from collections.abc import Iterable

from sqlalchemy import Connection, Table, select, text

from domain.lanes.state import NO_LANE, Bound, Lane
from infrastructure import tables as t
from infrastructure.commit import ORDINAL_BITS
from infrastructure.database import Readable
from infrastructure.lanes.facts import Folded, fact_of, folded
from infrastructure.lanes.lookup import lane_version
from infrastructure.lanes.rows import bound_row, lane_values
from infrastructure.runner import Attempt, Runs
from infrastructure.stored_stream import Stream, last_version, stored_facts
from infrastructure.view_rows import XID

Differing = tuple[str, int, int, int]
"""A table's name, and how many rows were missing, too many, and changed."""


def rebuilt(
    database: Readable, runner: Runs, stream: Stream, *, check_only: bool
) -> list[Differing]:
    """Fold a lane from the log; replace what differs, unless only asked to check.

    A lane whose log ends before what is kept of it is damaged: it is reported and left alone.
    """
    with database.read() as connection:
        found = _differences(connection, stream, _folded(connection, stream))
    if not found or check_only:
        return found
    return runner.run(lambda attempt: _replaced(attempt, stream, found))


def _folded(connection: Connection, stream: Stream) -> Folded:
    now = Stream(
        project_id=stream.project_id,
        session_id=stream.session_id,
        key=stream.key,
        last=last_version(connection, stream.key),
    )
    return folded(NO_LANE, [fact_of(stored) for stored in stored_facts(connection, now)])


def _differences(connection: Connection, stream: Stream, wanted: Folded) -> list[Differing]:
    lost = (lane_version(connection, stream.key) or 0) - wanted.lane.version
    compared = [
        _difference(connection, stream, t.lanes, [_lane(stream, wanted.lane)]),
        _difference(
            connection, stream, t.lane_sessions, [_bound(stream, each) for each in wanted.bound]
        ),
    ]
    found = [each for each in compared if any(each[1:])]
    return [(t.events.name, lost, 0, 0), *found] if lost > 0 else found


def _difference(
    connection: Connection, stream: Stream, table: Table, rows: Iterable[dict[str, object]]
) -> Differing:
    keys = [column.name for column in table.primary_key]
    wanted = {tuple(row[name] for name in keys): row for row in rows}
    extra = changed = 0
    kept = connection.execute(select(table).where(table.c.session_key == stream.key))
    for found in kept.mappings():
        row = {name: value for name, value in found.items() if name != "last_xid"}
        other = wanted.pop(tuple(row[name] for name in keys), None)
        extra += other is None
        changed += other is not None and other != row
    return table.name, len(wanted), extra, changed


def _replaced(attempt: Attempt, stream: Stream, before: list[Differing]) -> list[Differing]:
    connection = attempt.connection
    mine = t.lanes.c.session_key == stream.key
    if connection.dialect.name == "postgresql":
        connection.execute(select(t.lanes.c.session_key).where(mine).with_for_update())
    wanted = _folded(connection, stream)
    found = _differences(connection, stream, wanted)
    if not found or found[0][0] == t.events.name:
        return found or before
    row = _lane(stream, wanted.lane)
    if connection.execute(t.lanes.update().where(mine).values(row)).rowcount == 0:
        sqlite = connection.dialect.name == "sqlite"
        writer = text("0") if sqlite else text(_NEWEST_WRITER).bindparams(key=stream.key)
        connection.execute(t.lanes.insert().values(row | {"last_xid": writer}))
    s = t.lane_sessions
    connection.execute(s.delete().where(s.c.session_key == stream.key))
    for each in wanted.bound:
        connection.execute(s.insert().values(_bound(stream, each)))
    return found


def _lane(stream: Stream, lane: Lane) -> dict[str, object]:
    return lane_values(stream.key, stream.project_id, stream.session_id, lane)


def _bound(stream: Stream, bound: Bound) -> dict[str, object]:
    return dict(zip(t.lane_sessions.columns.keys(), bound_row(stream.key, bound), strict=True))


_NEWEST_WRITER = (
    f"(SELECT greatest({XID}, (max(position) >> {ORDINAL_BITS}) - min(store.base)) "  # noqa: S608 - made of constants
    "FROM events, store WHERE session_key = :key)"
)
