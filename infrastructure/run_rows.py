"""How is the table of leases asked and written? By the session's key, one row each.

What a lease means is told in `runs`; here are its statements.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    String,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from infrastructure import tables as t
from infrastructure.prepared import Prepared

SECOND: Final = 1_000_000
INCARNATION: Final = 1 << 32
"""So many fences of a session has each incarnation of the store: none is given out again."""

_R: Final = t.runs.c
_KEY: Final = bindparam("key", type_=_R.session_key.type)
_NOW: Final = bindparam("now", type_=BigInteger())
_UNTIL: Final = bindparam("until", type_=BigInteger())
_COLUMNS: Final = tuple(t.runs.columns)
_HELD: Final = _R.lease_until > literal_column("0")  # a literal, so that the index serves
_SEEN: Final = _R.fence == bindparam("seen", type_=BigInteger())
_TURN: Final = bindparam("turn", type_=String())
_WHOSE: Final = bindparam("whose", type_=String())


def _named(dialect: str) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    """Select by the session's name; on PostgreSQL nobody changes the row until this is over."""
    statement = (
        select(*_COLUMNS)
        .join(t.streams, t.streams.c.session_key == _R.session_key)
        .where(
            t.streams.c.project_id == bindparam("project_id"),
            t.streams.c.session_id == bindparam("session_id"),
        )
    )
    return statement if dialect == "sqlite" else statement.with_for_update(of=t.runs)


def _begin(dialect: str) -> Any:  # noqa: ANN401 - one of two classes without a common one
    """Write the row with the next fence; the first one is of this incarnation of the store."""
    insert = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(t.runs)
    first = (
        select((cast(t.store.c.incarnation, BigInteger) - 1) * INCARNATION + 1)
        .where(t.store.c.one == 1)
        .scalar_subquery()
    )
    given = {
        name: bindparam(name, type_=t.runs.c[name].type)
        for name in t.runs.columns.keys()  # noqa: SIM118 - of columns, their names
        if name not in {"fence", "begun"}
    }
    statement = insert.values(given | {"fence": first, "begun": first})
    fence = _R.fence + 1
    same = (_R.turn_id == statement.excluded.turn_id) & (_R.kind == statement.excluded.kind)
    return statement.on_conflict_do_update(
        index_elements=["session_key"],
        set_={name: statement.excluded[name] for name in given if name != "session_key"}
        | {"fence": fence, "begun": case((same, _R.begun), else_=fence)},
    ).returning(_R.fence)


FIND: Final = Prepared(lambda _: select(*_COLUMNS).where(_R.session_key == _KEY))
FIND_NAMED: Final = Prepared(_named)
LOOK_AT: Final = Prepared(lambda _: _named("sqlite"))
BEGIN: Final = Prepared(_begin)
TAKE_OVER: Final = Prepared(
    lambda _: (
        t.runs.update()
        .where(
            _R.session_key == _KEY,
            _SEEN,
            _R.heartbeat_at == bindparam("heard", type_=BigInteger()),
        )
        .values(
            turn_id=_TURN,
            kind="turn",
            owner=_WHOSE,
            fence=_R.fence + 1,
            begun=case((_R.turn_id == _TURN, _R.begun), else_=_R.fence + 1),
            lease_until=_UNTIL,
            lease_s=bindparam("seconds", type_=BigInteger()),
            heartbeat_at=_NOW,
        )
        .returning(_R.fence)
    )
)
_LEASE_S: Final = func.coalesce(bindparam("seconds", type_=BigInteger()), _R.lease_s)
RENEW: Final = Prepared(
    lambda _: (
        t.runs.update()
        .where(_R.session_key == _KEY, _SEEN)
        .values(lease_until=_NOW + _LEASE_S * SECOND, lease_s=_LEASE_S, heartbeat_at=_NOW)
        .returning(_R.lease_until)
    )
)
RELEASE: Final = Prepared(
    lambda _: t.runs.update().where(_R.session_key == _KEY, _SEEN, _HELD).values(lease_until=0)
)
LET_GO: Final = Prepared(
    lambda _: (
        t.runs.update()
        .where(_R.session_key == _KEY, _R.turn_id == _TURN, _HELD)
        .values(lease_until=0)
    )
)
EXPIRED: Final = Prepared(
    lambda _: (
        select(t.streams.c.session_id, *_COLUMNS)
        .join(t.streams, t.streams.c.session_key == _R.session_key)
        .join(t.heads, t.heads.c.session_key == _R.session_key)
        .where(
            _HELD,
            _R.lease_until <= _NOW,
            _R.kind == "turn",
            t.heads.c.turn_id == _R.turn_id,
        )
        .order_by(_R.lease_until)
        .limit(bindparam("limit", type_=BigInteger()))
    )
)
HELD_BY: Final = Prepared(
    lambda _: (
        select(t.streams.c.session_id, *_COLUMNS)
        .join(t.streams, t.streams.c.session_key == _R.session_key)
        .join(t.heads, t.heads.c.session_key == _R.session_key)
        .where(
            _HELD,
            _R.owner == _WHOSE,
            _R.kind == "turn",
            t.heads.c.turn_id == _R.turn_id,
        )
        .limit(bindparam("limit", type_=BigInteger()))
    )
)
ANY_COMPACTION_OVER: Final = Prepared(
    lambda _: (
        select(_R.session_key)
        .where(_HELD, _R.kind == "compaction", _R.lease_until <= _NOW)
        .limit(1)
    )
)
COMPACTIONS_OVER: Final = Prepared(
    lambda _: (
        t.runs.update()
        .where(
            _HELD,
            _R.kind == "compaction",
            (_R.lease_until <= _NOW) | (_R.owner == _WHOSE),
        )
        .values(lease_until=0, fence=_R.fence + 1)
    )
)
_AHEAD: Final = _R.lease_until > _NOW + _R.lease_s * (2 * SECOND)
ANY_AHEAD: Final = Prepared(lambda _: select(_R.session_key).where(_HELD, _AHEAD).limit(1))
SET_BACK: Final = Prepared(
    lambda _: (
        t.runs.update()
        .where(_HELD, _AHEAD)
        .values(lease_until=_NOW + _R.lease_s * SECOND, heartbeat_at=_NOW)
    )
)
