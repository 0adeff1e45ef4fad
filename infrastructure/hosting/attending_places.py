"""Where is something to be looked after, as the log says now?

Each look finds one kind of place in all sessions, by an index of what is open; a few at once.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, and_, bindparam, exists, or_, select, text

from domain.dispatch.asides import REACH
from infrastructure import tables as t
from infrastructure.hosting.queueing import held
from infrastructure.prepared import Prepared

HOST: Final = "host-"
"""How the name of a server begins, as the owner of seats and leases."""
HOSTS: Final = f"{HOST}%"
"""The owners of seats that are servers, not runners."""
PATIENCE_S: Final = 60
"""So long after its time a seat of another server is taken for lost, with its server."""
SECOND: Final = 1_000_000
AT_ONCE: Final = 100


class Place(NamedTuple):
    """What is looked after in which session: by the name of its gate, turn, input or seat."""

    project_id: str
    session_id: str
    name: str
    key: int = 0
    version: int = 0


def _in_session(*of: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    return select(t.streams.c.project_id, t.streams.c.session_id, *of)


def _of_sessions(of: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    """Select a column of a table, and the session of each row."""
    return (
        _in_session(of)
        .select_from(of.table)
        .join(t.streams, t.streams.c.session_key == of.table.c.session_key)
    )


def _seats() -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    """Select seats, their sessions' heads beside them."""
    return _of_sessions(t.seats.c.seat_id).join(
        t.heads, t.heads.c.session_key == t.seats.c.session_key
    )


def _of_turn(of: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    return (of.session_key == t.turns.c.session_key) & (of.turn_id == t.turns.c.turn_id)


_HAD_A_LANE: Final = exists().where(
    t.lane_sessions.c.session_id == t.streams.c.session_id,
    t.lanes.c.session_key == t.lane_sessions.c.session_key,
    t.lanes.c.project_id == t.streams.c.project_id,
)
"""Of such a session it is told elsewhere whether it is gone on with, and until when."""
EXPIRED: Final = Prepared(
    lambda _: (
        _of_sessions(t.gates.c.gate_id)
        .where(
            text("gates.status = 'open'"),
            t.gates.c.expires_at <= bindparam("now"),
            t.gates.c.inherited.is_(False),
        )
        .order_by(t.gates.c.expires_at)
        .limit(AT_ONCE)
    )
)
"""Open questions whose time is over."""
DECIDED: Final = Prepared(
    lambda _: (
        _in_session(t.turns.c.turn_id)
        .select_from(t.turns)
        .join(t.runs, _of_turn(t.runs.c))
        .join(t.heads, _of_turn(t.heads.c))
        .join(t.streams, t.streams.c.session_key == t.turns.c.session_key)
        .where(
            text("turns.status = 'running'"),
            t.turns.c.producer_id.is_(None),
            t.runs.c.lease_until == 0,
            t.runs.c.kind == "turn",
            t.heads.c.open_gates == 0,
            t.heads.c.status == "open",
        )
        .limit(AT_ONCE)
    )
)
"""Turns that pause, whose gates are all decided, and that nobody runs."""
CUT_OFF: Final = Prepared(
    lambda _: (
        _of_sessions(t.heads.c.resume_turn)
        .join(
            t.turns,
            (t.turns.c.session_key == t.heads.c.session_key)
            & (t.turns.c.turn_id == t.heads.c.resume_turn)
            & (t.turns.c.number == t.heads.c.turn_tip),
        )
        .where(
            text("heads.resume_turn IS NOT NULL"),
            t.heads.c.resume_at > bindparam("since"),
            t.heads.c.turn_id.is_(None),
            text("heads.queued = 0"),
            text("heads.status = 'open'"),
            ~_HAD_A_LANE,
        )
        .order_by(t.heads.c.resume_at)
        .limit(AT_ONCE)
    )
)
"""Sessions of no lane whose newest turn was cut off not long ago, and in which nothing waits."""
STALE: Final = Prepared(
    lambda _: (
        _of_sessions(t.heads.c.resume_turn)
        .where(
            text("heads.resume_turn IS NOT NULL"),
            t.heads.c.resume_at <= bindparam("since"),
            text("heads.status IN ('open', 'archived')"),
            ~_HAD_A_LANE,
        )
        .order_by(t.heads.c.resume_at)
        .limit(AT_ONCE)
    )
)
"""Sessions of no lane in which a turn was cut off too long ago to be gone on with."""
WAITING: Final = Prepared(
    lambda _: (
        _of_sessions(t.queue.c.queue_id)
        .join(t.heads, t.heads.c.session_key == t.queue.c.session_key)
        .where(
            text("queue.status = 'waiting'"),
            t.heads.c.turn_id.is_(None),
            t.heads.c.status == "open",
            ~held(t.queue.c.session_key),
        )
        .order_by(t.queue.c.queued_at)
        .limit(AT_ONCE)
    )
)
"""Inputs that wait for nothing."""
STEERING: Final = Prepared(
    lambda _: (
        _of_sessions(t.queue.c.queue_id)
        .join(
            t.runs,
            (t.runs.c.session_key == t.queue.c.session_key)
            & (t.runs.c.turn_id == t.queue.c.steers),
        )
        .where(text("queue.status = 'waiting'"), t.runs.c.owner == bindparam("owner"))
        .order_by(t.queue.c.queued_at)
        .limit(AT_ONCE)
    )
)
"""Inputs that wait to be told to turns of one server."""
LOST: Final = Prepared(
    lambda _: (
        _seats()
        .where(
            text("seats.state <> 'gone'"),
            t.seats.c.owner.like(HOSTS),
            t.seats.c.owner != bindparam("owner"),
            t.heads.c.status != "deleted",
            or_(
                t.seats.c.changed_at + (t.seats.c.ttl_s + PATIENCE_S) * SECOND < bindparam("now"),
                and_(
                    t.seats.c.ttl_s.is_(None),
                    t.seats.c.changed_at + PATIENCE_S * SECOND < bindparam("now"),
                    or_(t.heads.c.turn_id.is_(None), t.heads.c.turn_id != t.seats.c.turn_id),
                ),
            ),
        )
        .limit(AT_ONCE)
    )
)
"""Seats of other servers that are past their time, and a little more."""
OF_OWNER: Final = Prepared(
    lambda _: (
        _seats()
        .where(
            text("seats.state <> 'gone'"),
            t.seats.c.owner == bindparam("owner"),
            t.heads.c.status != "deleted",
        )
        .limit(AT_ONCE)
    )
)
"""Seats of one server."""
LEFT_BEHIND: Final = Prepared(
    lambda _: (
        _seats()
        .where(
            t.seats.c.owner == bindparam("owner"),
            text("seats.state <> 'gone'"),
            text("seats.state <> 'busy'"),
            t.seats.c.pin_history_version.is_not(None),
            or_(
                text("heads.status = 'deleted'"),
                (t.heads.c.fingerprint != t.seats.c.pin_fingerprint)
                & or_(
                    t.heads.c.turn_id.is_not(None),
                    t.heads.c.version > t.seats.c.pin_version + REACH,
                    exists().where(
                        t.events.c.session_key == t.seats.c.session_key,
                        t.events.c.version > t.seats.c.pin_version,
                        t.events.c.history,
                        text("events.type <> 'turn-started'"),
                    ),
                ),
                text("seats.state = 'awaiting_approval'")
                & or_(t.heads.c.turn_id.is_(None), t.heads.c.turn_id != t.seats.c.turn_id),
                exists().where(
                    t.events.c.session_key == t.seats.c.session_key,
                    t.events.c.version > t.seats.c.changed_version,
                    t.events.c.type == "seat-close-requested",
                ),
            ),
        )
        .limit(AT_ONCE)
    )
)
"""Seats of one server whose sessions went on elsewhere, or that were asked to close.

Not those since which turns only began and were over, and not long ago: what was said aside can be
told them.
"""
INTERRUPTED: Final = Prepared(
    lambda _: (
        _in_session(t.turns.c.turn_id, t.turns.c.session_key, t.events.c.version)
        .select_from(t.turns)
        .join(t.runs, _of_turn(t.runs.c))
        .join(t.streams, t.streams.c.session_key == t.turns.c.session_key)
        .join(
            t.events,
            (t.events.c.session_key == t.turns.c.session_key)
            & (t.events.c.version > t.turns.c.started_version),
        )
        .where(
            text("turns.status = 'running'"),
            t.turns.c.producer_id.is_(None),
            t.runs.c.owner == bindparam("owner"),
            t.events.c.type == "interrupt-requested",
        )
        .order_by(t.events.c.version)
        .limit(AT_ONCE)
    )
)
"""Turns of one server that were asked to stop elsewhere."""


def places(connection: Connection, look: Prepared, params: dict[str, object]) -> Sequence[Place]:
    """Return what a look finds, no more than can be seen to at once."""
    return [Place(*row) for row in look.run(connection, params)]
