"""Where is something marked to be gone on with that belongs to a lane, or did?

Found by indexes of the marks alone, whatever else the log holds.
"""

from typing import Any, Final

from sqlalchemy import bindparam, literal_column, select, text, tuple_

from infrastructure import tables as t
from infrastructure.prepared import Prepared

AT_ONCE: Final = 500
"""So many rows are read at once."""

_SESSION: Final = t.streams.alias("session")


def newest_addressed(session_key: Any, turn_tip: Any, branch: Any) -> Any:  # noqa: ANN401
    """Select the number of the newest turn in sight that is more than what people said aside.

    None of a branch that has no such turn of its own: somebody went back in history there.
    """
    turns = t.turns.alias("newest")
    aside = (
        (turns.c.status == literal_column("'completed'"))
        & turns.c.path.is_(None)
        & turns.c.producer_id.is_(None)
        & (turns.c.messages == literal_column("1"))
    )
    return (
        select(turns.c.number)
        .where(
            turns.c.session_key == session_key,
            turns.c.number <= turn_tip,
            turns.c.branch == branch,
            ~aside,
        )
        .order_by(turns.c.number.desc())
        .limit(1)
        .scalar_subquery()
    )


_NEWEST: Final = newest_addressed(t.heads.c.session_key, t.heads.c.turn_tip, t.heads.c.branch)
_HEAD: Final = (
    _SESSION.c.project_id.label("at_project_id"),
    _SESSION.c.session_id.label("at_session_id"),
    t.heads.c.session_key.label("head_key"),
    t.heads.c.status.label("head_status"),
    t.heads.c.suspended.label("head_suspended"),
    t.heads.c.turn_id.label("head_turn_id"),
    _NEWEST.label("newest_number"),
    t.heads.c.queued.label("head_queued"),
    t.heads.c.resume_turn.label("head_resume_turn"),
    t.heads.c.resume_reason.label("head_resume_reason"),
    t.heads.c.resume_at.label("head_resume_at"),
    t.turns.c.number.label("turn_number"),
    t.turns.c.lane_id.label("turn_lane_id"),
    t.turns.c.reply_to.label("turn_reply_to"),
    t.turns.c.status.label("turn_status"),
    t.turns.c.started_at.label("turn_started_at"),
    t.turns.c.producer_id.label("turn_producer_id"),
    t.turns.c.project_id.label("turn_project_id"),
)
_COLUMNS: Final = (*_HEAD, *(c for c in t.lanes.columns if c.name != "last_xid"))


def _marked(*where: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    """Select each session with a mark, once for each lane that ever had it."""
    return (
        select(*_COLUMNS)
        .select_from(t.heads)
        .join(_SESSION, _SESSION.c.session_key == t.heads.c.session_key)
        .join(t.lane_sessions, t.lane_sessions.c.session_id == _SESSION.c.session_id)
        .join(
            t.lanes,
            (t.lanes.c.session_key == t.lane_sessions.c.session_key)
            & (t.lanes.c.project_id == _SESSION.c.project_id),
        )
        .outerjoin(
            t.turns,
            (t.turns.c.session_key == t.heads.c.session_key)
            & (t.turns.c.turn_id == t.heads.c.resume_turn),
        )
        .where(
            text("heads.resume_turn IS NOT NULL"),
            text("heads.status IN ('open', 'suspended', 'archived')"),
            *where,
        )
        .order_by(t.heads.c.resume_at, t.heads.c.session_key, t.lanes.c.session_key)
        .limit(AT_ONCE)
    )


def _own(*where: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    """Select each lane with a mark of its own, where its session has none."""
    return (
        select(*_COLUMNS)
        .select_from(t.lanes)
        .join(
            _SESSION,
            (_SESSION.c.project_id == t.lanes.c.project_id)
            & (_SESSION.c.session_id == t.lanes.c.session_id),
        )
        .join(t.heads, t.heads.c.session_key == _SESSION.c.session_key)
        .outerjoin(
            t.turns,
            (t.turns.c.session_key == t.heads.c.session_key) & (t.turns.c.number == _NEWEST),
        )
        .where(
            text("lanes.resume_reason IS NOT NULL"),
            text("lanes.status = 'open'"),
            t.heads.c.resume_turn.is_(None),
            *where,
        )
        .order_by(t.lanes.c.resume_at, t.lanes.c.session_key)
        .limit(AT_ONCE)
    )


def _later(table: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    place = tuple_(table.c.resume_at, table.c.session_key)
    return place > tuple_(
        bindparam("at", type_=table.c.resume_at.type),
        bindparam("key", type_=table.c.session_key.type),
    )


_BY_NAME: Final = (
    _SESSION.c.project_id == bindparam("project_id"),
    _SESSION.c.session_id == bindparam("session_id"),
)
MARKED: Final = Prepared(lambda _: _marked(_later(t.heads)))
"""The sessions with a mark, oldest first, each once for each lane that ever had it."""
OWN: Final = Prepared(lambda _: _own(_later(t.lanes)))
"""The lanes with a mark of their own whose sessions have none, oldest first."""
MARKED_OF: Final = Prepared(lambda _: _marked(*_BY_NAME))
"""As `MARKED`, of one session."""
OWN_OF: Final = Prepared(lambda _: _own(*_BY_NAME))
"""As `OWN`, of one session."""
