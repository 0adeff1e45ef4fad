"""Which ended sessions does a project keep no longer, and how do they go?

As if somebody had deleted each: out of sight, and back until it is purged. A harness that is parked
for it keeps a session, and so does a lane that it is the current session of. Whether one can go is
asked again in the transaction in which it goes: what became live meanwhile stays. Those of its
sub-agents and its forks stay too, and go by themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    bindparam,
    case,
    false,
    func,
    literal_column,
    or_,
    select,
)

from domain import commands as c
from domain.retention import RETENTION, Retention, kept_for, may_go
from infrastructure import tables as t
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.prepared import Prepared
from infrastructure.project_settings import settings_by_project, settings_of
from infrastructure.runner import Attempt

_H: Final = t.heads.c
_NOW: Final = bindparam("now", type_=BigInteger())


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How many sessions of a project ended longer ago than they are kept.

    Attributes:
        going: Those that are kept no longer.
        pinned: Those that are kept because they are pinned.
        in_use: Those that something holds that waits, runs or is parked, or a lane.
    """

    going: int = 0
    pinned: int = 0
    in_use: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """Which ended sessions, or lanes that rest, somebody wants to go.

    Attributes:
        days: None: as the project's settings say.
    """

    project_id: str
    days: int | None = None
    include_pinned: bool = False
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What went, or would.

    Attributes:
        days: For how many days ended sessions are kept; 0: for ever.
        before: What was last written before this time went; None if all are kept.
        remaining: How many others are kept no longer.
    """

    days: int
    before: int | None = None
    session_ids: Sequence[str] = ()
    remaining: int = 0
    counts: Ended = Ended()


def would_prune(connection: Connection, asked: Pruning, now: int) -> Pruned:
    """Return what pruning would do."""
    days = _days(connection, asked)
    if not days:
        return Pruned(days=0)
    retention = kept_for(days, now, include_pinned=asked.include_pinned)
    counts = count_ended(connection, asked.project_id, retention, now)
    found = ended(connection, asked.project_id, retention, now, asked.limit)
    return Pruned(
        days=days,
        before=retention.before,
        session_ids=[target.session_id for target in found],
        remaining=counts.going - len(found),
        counts=counts,
    )


def prune(handler: CommandHandler, attempt: Attempt, asked: Pruning, caller: Caller) -> Pruned:
    """Delete ended sessions of a project that are kept no longer, up to a limit."""
    would = would_prune(attempt.connection, asked, handler.now())
    if would.before is None:
        return would
    retention = Retention(before=would.before, include_pinned=asked.include_pinned)
    targets = [Target(project_id=asked.project_id, session_id=each) for each in would.session_ids]
    return replace(would, session_ids=retire(handler, attempt, targets, retention, caller))


def ended(
    connection: Connection, project_id: str, retention: Retention, now: int, limit: int
) -> Sequence[Target]:
    """Return some of the sessions that are kept no longer, those that ended first before others."""
    statement = (
        select(t.streams.c.session_id)
        .join(t.streams, t.streams.c.session_key == _H.session_key)
        .where(*_old(project_id, retention), ~_pinned(retention), ~_HELD)
        .order_by(_H.updated_at, _H.session_key)
        .limit(limit)
    )
    found = connection.execute(statement, {"now": now}).scalars()
    return [Target(project_id=project_id, session_id=session_id) for session_id in found]


def count_ended(connection: Connection, project_id: str, retention: Retention, now: int) -> Ended:
    """Return how many sessions would go, and how many stay although they ended long ago."""
    why = case((_pinned(retention), "pinned"), (_HELD, "in_use"), else_="going").label("why")
    found = select(why).where(*_old(project_id, retention)).subquery()
    statement = select(found.c.why, func.count()).group_by(found.c.why)
    rows = connection.execute(statement, {"now": now})
    counts = {str(name): int(count) for name, count in rows}
    return Ended(**counts)


def retire(
    handler: CommandHandler,
    attempt: Attempt,
    targets: Iterable[Target],
    retention: Retention,
    caller: Caller,
) -> Sequence[str]:
    """Delete those of these sessions that can still go, and return their ids."""
    gone: list[str] = []
    for target in targets:
        # The head is read before what else may hold the session: all that comes to hold it later
        # moves the head, so that this is tried again.
        key, state = handler.state(attempt, target)
        if key is None or not may_go(state.head, retention):
            continue
        if _IS_HELD.run(attempt.connection, {"key": key, "now": handler.now()}).first() is not None:
            continue
        steps = (c.BeginBatch(events=0), c.DeleteSession(reason=RETENTION))
        handler.carry_out(attempt, target, steps, caller=caller, known=(key, state))
        gone.append(target.session_id)
    return gone


def projects_that_retain(connection: Connection) -> Mapping[str, int]:
    """Return for how many days each project keeps ended sessions that does not for ever."""
    return {
        project_id: settings.sessions.retain_ended_days
        for project_id, settings in settings_by_project(connection)
        if settings.sessions.retain_ended_days
    }


def _days(connection: Connection, asked: Pruning) -> int:
    if asked.days is not None:
        return asked.days
    return settings_of(connection, asked.project_id).sessions.retain_ended_days


def _old(project_id: str, retention: Retention) -> Sequence[ColumnElement[bool]]:
    return (
        _H.project_id == project_id,
        _H.status == literal_column("'archived'"),
        _H.updated_at < retention.before,
    )


def _pinned(retention: Retention) -> ColumnElement[bool]:
    return false() if retention.include_pinned else _H.pinned.is_(True)


def _held() -> ColumnElement[bool]:
    """Tell whether something that waits, runs or is parked holds a session, or a lane."""
    session_id = (
        select(t.streams.c.session_id)
        .where(t.streams.c.session_key == _H.session_key)
        .correlate(t.heads)
        .scalar_subquery()
    )
    seat = (t.seats.c.session_key == _H.session_key) & (t.seats.c.state != literal_column("'gone'"))
    run = (t.runs.c.session_key == _H.session_key) & (t.runs.c.lease_until > _NOW)
    lane = (
        (t.lanes.c.project_id == _H.project_id)
        & (t.lanes.c.session_id == session_id)
        & (t.lanes.c.status == literal_column("'open'"))
    )
    return or_(
        _H.turn_id.is_not(None),
        _H.queued > 0,
        _H.open_gates > 0,
        *(
            select(table.c.session_key).where(so).correlate(t.heads).exists()
            for table, so in ((t.seats, seat), (t.runs, run), (t.lanes, lane))
        ),
    )


_HELD: Final = _held()
_IS_HELD: Final = Prepared(
    lambda _: select(_H.session_key).where(_H.session_key == bindparam("key"), _HELD)
)
