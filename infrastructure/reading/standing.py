"""What does a session do at this moment? In one statement, as it is asked again and again."""

from typing import Final, Literal, NamedTuple, TypeAlias

from sqlalchemy import Connection, bindparam, func, select

from domain.state import GONE
from infrastructure import tables as t
from infrastructure.lineages import Lineage, parts
from infrastructure.prepared import Prepared
from infrastructure.reading.events import NEWEST_VERSION, Stream
from infrastructure.recorder import WITH_BODIES
from infrastructure.stored_stream import last_version

Doing: TypeAlias = Literal["idle", "running", "paused", "compacting", "deleting"]

_STANDING: Final = Prepared(
    lambda _: (
        select(
            t.heads.c.version,
            t.heads.c.status,
            t.heads.c.turn_id,
            t.heads.c.queued,
            t.turns.c.open_gates,
            t.turns.c.open_calls,
            t.turns.c.gated_calls,
            t.runs.c.kind,
            t.runs.c.lease_until,
        )
        .select_from(
            t.heads.outerjoin(
                t.turns,
                (t.turns.c.session_key == t.heads.c.session_key)
                & (t.turns.c.turn_id == t.heads.c.turn_id),
            ).outerjoin(t.runs, t.runs.c.session_key == t.heads.c.session_key)
        )
        .where(t.heads.c.session_key == bindparam("session_key"))
    )
)
_SIZES: Final = Prepared(
    lambda _: (
        select(func.coalesce(func.length(t.bodies.c.body), 0))
        .select_from(WITH_BODIES)
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.version > bindparam("after"),
            t.events.c.version <= bindparam("through"),
        )
        .order_by(t.events.c.version)
        .limit(bindparam("most"))
    )
)


class Standing(NamedTuple):
    """Where a session stands, and what it does.

    Attributes:
        gone: Whether it is deleted.
    """

    version: int
    doing: Doing
    turn_id: str | None
    queued: int
    gone: bool


def standing(connection: Connection, session_key: int, now: int) -> Standing | None:
    """Return where a session stands; None if that is lost."""
    row = _STANDING.run(connection, {"session_key": session_key}).first()
    if row is None:
        return None
    doing: Doing = "idle"
    if row.status in GONE:
        doing = "deleting"
    elif row.kind == "compaction" and row.lease_until > now:
        doing = "compacting"
    elif row.turn_id is not None:
        waits = row.open_gates and row.open_calls <= row.gated_calls
        doing = "paused" if waits else "running"
    return Standing(row.version, doing, row.turn_id, row.queued, row.status in GONE)


def newest_version(connection: Connection, session_key: int, lineage: Lineage) -> int:
    """Return the version of the last fact that there is; of a fork it can be one that it shares."""
    return last_version(connection, session_key) or (lineage[0].version if lineage else 0)


def fitting(
    connection: Connection, stream: Stream, lineage: Lineage, *, after: int, most: int, size: int
) -> int:
    """Return how many facts after a version have not more bytes together; at least one."""
    total = count = 0
    for part in parts(stream[2], lineage, NEWEST_VERSION):
        if part.through <= after:
            continue
        asked = {
            "session_key": part.key,
            "after": max(after, part.after),
            "through": part.through,
            "most": most - count,
        }
        for row in _SIZES.run(connection, asked):
            total += row[0]
            if total > size:
                return max(1, count)
            count += 1
        if count >= most:
            break
    return max(1, count)
