"""To which lanes did nothing come for long, and what holds each?

What runs, waits or is parked in a lane's current session holds it, unless it came by another lane
that has the same session: it is looked at by lane and not by session. What cannot be told holds it
too: a lane or a session that this build cannot read, an input of which no view tells by which lane
it came, a session that is not there.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    and_,
    bindparam,
    literal_column,
    or_,
    select,
)

from domain.lanes.pruning import Resting
from infrastructure import tables as t
from infrastructure.commit import Contended
from infrastructure.prepared import Prepared

_L: Final = t.lanes.c
_H: Final = t.heads.c
_SESSION: Final = t.streams.alias("session")
_NOW: Final = bindparam("now", type_=BigInteger())
JOINED: Final = (
    t.lanes.join(t.lane_activity, t.lane_activity.c.session_key == _L.session_key)
    .outerjoin(
        _SESSION,
        (_SESSION.c.project_id == _L.project_id) & (_SESSION.c.session_id == _L.session_id),
    )
    .outerjoin(t.heads, _H.session_key == _SESSION.c.session_key)
)
"""Lanes of which is known when something last came, each with its current session."""
TOUCHED_AT: Final = t.lane_activity.c.touched_at


def _by_no_other(table: FromClause, name: str, *where: ColumnElement[bool]) -> ColumnElement[bool]:
    """Tell whether a row of the session stands there whose turn did not come by another lane."""
    other = t.lanes.alias(f"{name}_other")
    turn = t.turns.alias(f"{name}_turn")
    return (
        select(table.c.session_key)
        .select_from(
            table.outerjoin(
                turn,
                (turn.c.session_key == table.c.session_key) & (turn.c.turn_id == table.c.turn_id),
            ).outerjoin(
                other,
                and_(
                    other.c.project_id == _L.project_id,
                    other.c.lane_id == turn.c.lane_id,
                    other.c.session_id == _L.session_id,
                    other.c.session_key != _L.session_key,
                    other.c.status == literal_column("'open'"),
                ),
            )
        )
        .where(table.c.session_key == _H.session_key, other.c.session_key.is_(None), *where)
        .correlate(t.lanes, t.heads)
        .exists()
    )


def _in_use() -> ColumnElement[bool]:
    running = t.heads.alias("running")
    gates, seats, runs = t.gates, t.seats, t.runs
    return or_(
        _L.unreadable > 0,
        _H.session_key.is_(None),
        _H.unreadable > 0,
        _H.queued > 0,
        _by_no_other(running, "head", running.c.turn_id.is_not(None)),
        _by_no_other(
            gates, "gate", gates.c.status == literal_column("'open'"), gates.c.inherited.is_(False)
        ),
        _by_no_other(seats, "seat", seats.c.state != literal_column("'gone'")),
        _by_no_other(runs, "run", runs.c.lease_until > _NOW),
    )


PINNED: Final = _L.pinned.is_(True)
SUSPENDED: Final = or_(_L.suspended_reason.is_not(None), _H.suspended.is_(True))
IN_USE: Final = _in_use()
RESUME_PENDING: Final = or_(_L.resume_reason.is_not(None), _H.resume_reason.is_not(None))
"""What holds a lane; each is so or not, also of a lane whose session is not there."""


_ONE: Final = Prepared(
    lambda _: (
        select(
            _L.status,
            TOUCHED_AT,
            PINNED.label("pinned"),
            SUSPENDED.label("suspended"),
            IN_USE.label("in_use"),
            RESUME_PENDING.label("resume_pending"),
        )
        .select_from(JOINED)
        .where(_L.session_key == bindparam("key"))
    )
)


def _last(dialect: str) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    """Select when something last came; on PostgreSQL whoever comes now is waited for, or waits."""
    found = select(TOUCHED_AT).where(t.lane_activity.c.session_key == bindparam("key"))
    return found.with_for_update() if dialect == "postgresql" else found


_LAST: Final = Prepared(_last)


def resting(connection: Connection, key: int, now: int) -> Resting | None:
    """Return how the lane stands whose stream has this key."""
    row = _ONE.run(connection, {"key": key, "now": now}).first()
    if row is None:
        return None
    held = (bool(each) for each in (row.pinned, row.suspended, row.in_use, row.resume_pending))
    return Resting(row.status, row.touched_at, *held)


def check_untouched(connection: Connection, key: int, seen: Resting) -> None:
    """Have it judged again if something came to a lane meanwhile, in a transaction that writes it.

    Raises:
        Contended: something came.
    """
    if _LAST.run(connection, {"key": key}).scalar_one_or_none() != seen.touched_at:
        raise Contended
