"""How does what is known of a lane leave the database, for ever?

By a fact, `lane-purged`, and in the transaction that appends it: where the lane was and who spoke
there, which sessions it had, and what is kept of its messages' ids. The envelopes of its facts
stay, and the chain of their hashes. Who comes from there later begins the lane anew, after that
fact. The sessions go first, each by a purge of its own: by the lane they are found.
"""

from collections.abc import Callable, Iterable
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Select,
    Table,
    bindparam,
    delete,
    func,
    or_,
    select,
    text,
)

from domain.lanes.decide import PurgeLane, decide
from domain.refusals import NoSuchLane
from infrastructure import tables as t
from infrastructure.command_handler import Caller
from infrastructure.lanes.lookup import FoundLane, find_lane
from infrastructure.lanes.resolving import Lanes
from infrastructure.prepared import end_pipeline
from infrastructure.purging import Purged
from infrastructure.runner import Attempt

_GONE: Final = ("deleted", "purged")
_IN_ANSWER: Final = {
    "sqlite": "instr(result, :named) > 0",
    "postgresql": "position(:named IN result) > 0",
}


def lane_foreseen(connection: Connection, project_id: str, lane_id: str) -> Purged:
    """Return what purging a lane would remove.

    Raises:
        NoSuchLane: there never was one, or it is purged already.
        LaneHasSessions: a session that it has or had is not deleted.
    """
    found = _judged(connection, project_id, lane_id, _statuses)
    rows = {
        table.name: connection.execute(
            select(func.count()).select_from(table).where(where)
        ).scalar_one()
        for table, where in _rows_of(connection, found, found.lane.version)
    }
    return _purged(found, rows)


def purge_lane(
    lanes: Lanes, attempt: Attempt, project_id: str, lane_id: str, caller: Caller
) -> Purged:
    """Append the fact that purges a lane, and remove what is known of it.

    Raises:
        NoSuchLane, LaneHasSessions: as `lane_foreseen`.
        Contended: something came to the lane meanwhile.
    """
    connection = attempt.connection
    found = _judged(connection, project_id, lane_id, _held_statuses)
    facts = decide(found.lane, found.standing, PurgeLane(has_sessions=False))
    lanes.append(attempt, (project_id, lane_id), found, facts, caller)
    end_pipeline(connection)
    rows = {
        table.name: connection.execute(delete(table).where(where)).rowcount
        for table, where in _rows_of(connection, found, found.lane.version)
    }
    return _purged(found, rows)


def _judged(
    connection: Connection,
    project_id: str,
    lane_id: str,
    statuses: Callable[[Connection, FoundLane], Iterable[str]],
) -> FoundLane:
    """Return a lane that can be purged: nothing that was said in it can be read."""
    found = find_lane(connection, project_id, lane_id)
    if found is None:
        raise NoSuchLane
    has_sessions = any(status not in _GONE for status in statuses(connection, found))
    decide(found.lane, found.standing, PurgeLane(has_sessions=has_sessions))
    return found


def _held_statuses(connection: Connection, found: FoundLane) -> Iterable[str]:
    """Return how the sessions stand that a lane has or had, until the transaction ends.

    Who brings one back at the same time is waited for, or waits.
    """
    statement = _of_sessions(found)
    if connection.dialect.name == "postgresql":
        statement = statement.with_for_update(of=t.heads, read=True)
    return connection.execute(statement).scalars().all()


def _statuses(connection: Connection, found: FoundLane) -> Iterable[str]:
    """Return how the sessions stand that a lane has or had, each way once."""
    return connection.execute(_of_sessions(found).distinct()).scalars().all()


def _of_sessions(found: FoundLane) -> Select[str]:
    bound = t.lane_sessions.c
    return (
        select(t.heads.c.status)
        .select_from(
            t.lane_sessions.join(
                t.streams,
                (t.streams.c.project_id == found.project_id)
                & (t.streams.c.session_id == bound.session_id),
            ).join(t.heads, t.heads.c.session_key == t.streams.c.session_key)
        )
        .where(bound.session_key == found.key)
    )


def _rows_of(
    connection: Connection, found: FoundLane, through: int
) -> list[tuple[Table, ColumnElement[bool]]]:
    """Return which rows know something of a lane, its bodies up to a version."""
    bodies, kept = t.bodies.c, t.idempotency.c
    answered = text(_IN_ANSWER[connection.dialect.name]).bindparams(
        bindparam("named", found.lane_id.encode(), type_=LargeBinary())
    )
    asked = or_(
        kept.key.startswith(f"\x1flane {found.lane_id} "),
        kept.key.startswith(f"\x1flane-message {found.lane_id} "),
        answered,
    )
    return [
        (t.bodies, (bodies.session_key == found.key) & (bodies.version <= through)),
        (t.lane_sessions, t.lane_sessions.c.session_key == found.key),
        (t.idempotency, (kept.project_id == found.project_id) & asked),
    ]


def _purged(found: FoundLane, rows: dict[str, int]) -> Purged:
    some = {name: count for name, count in rows.items() if count}
    return Purged(session_key=found.key, events=found.lane.version, rows=some)
