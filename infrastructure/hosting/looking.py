"""What of a session's log bears on whether a harness still remembers it?

A few look-ups by an index; none reads more of the session than was written since the harness
was parked.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, bindparam, exists, or_, select, text

from domain.dispatch.asides import (
    FACTS,
    MOST_FILE_BYTES,
    REACH,
    files_of,
    is_little,
    said_aside,
)
from domain.messages import Message
from domain.offloading import cuts_of
from domain.state import Head, Seat
from infrastructure import tables as t
from infrastructure.blobs import whole
from infrastructure.prepared import Prepared
from infrastructure.recorder import WITH_BODIES
from infrastructure.serialization import decode
from infrastructure.view_rows import seat_of

OWN: Final = ("gate-decided", "gate-expired")
"""Facts of its own turn that a parked harness learns by the answer."""
OF_GATES: Final = ("gate-opened", "gate-decided", "gate-expired", "gate-withdrawn")
MOST: Final = 20


def _moves(types: tuple[str, ...], *, of_turn: bool) -> Prepared:
    event = t.events.c
    others = text(f"events.type NOT IN {types}")
    strange = or_(others, event.turn_id != bindparam("turn_id")) if of_turn else others
    return Prepared(
        lambda _: (
            select(event.version, event.type)
            .where(
                event.session_key == bindparam("session_key"),
                event.version > bindparam("after"),
                event.history,
                strange,
            )
            .order_by(event.version)
            .limit(MOST)
        )
    )


_CHILDREN: Final = Prepared(
    lambda _: (
        select(t.heads.c.session_key)
        .where(
            t.heads.c.project_id == bindparam("project_id"),
            t.heads.c.parent_session_id == bindparam("session_id"),
            t.heads.c.turn_id.is_not(None),
            text("heads.status = 'open'"),
        )
        .limit(1)
    )
)
_UNHEARD: Final = Prepared(
    lambda _: select(t.turns.c.ended_version).where(
        t.turns.c.session_key == bindparam("session_key"),
        t.turns.c.turn_id == bindparam("turn_id"),
        exists().where(
            t.events.c.session_key == t.turns.c.session_key,
            t.events.c.version > t.turns.c.ended_version,
            t.events.c.version <= bindparam("pin_version"),
            t.events.c.history,
        ),
    )
)
"""The end of a turn, if the history changed after it and before its harness was parked."""
_SINCE_PIN: Final = _moves(OWN, of_turn=True)
_SINCE_CLAIM: Final = _moves(OF_GATES, of_turn=False)
_STARTED: Final = "turn-started"
_SAID: Final = Prepared(
    lambda _: (
        select(t.events.c.type, t.events.c.schema, t.bodies.c.body)
        .select_from(WITH_BODIES)
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.version > bindparam("after"),
            or_(t.events.c.history, text("events.type = 'turn-completed'")),
        )
        .order_by(t.events.c.version)
        .limit(FACTS + 1)
    )
)
_FILES: Final = Prepared(
    lambda _: (
        select(t.blobs.c.sha256, t.blobs.c.size)
        .join(
            t.blob_references,
            (t.blob_references.c.project_id == t.blobs.c.project_id)
            & (t.blob_references.c.sha256 == t.blobs.c.sha256),
        )
        .where(
            t.blob_references.c.session_key == bindparam("session_key"),
            t.blob_references.c.version > bindparam("after"),
        )
    )
)
_KEPT: Final = Prepared(
    lambda _: (
        select(t.seats)
        .where(t.seats.c.session_key == bindparam("session_key"), text("seats.state <> 'gone'"))
        .order_by(t.seats.c.changed_version.desc())
        .limit(MOST)
    )
)


def subagents_run(connection: Connection, project_id: str, session_id: str) -> bool:
    """Tell whether a turn of a sub-agent of the session has not ended."""
    names = {"project_id": project_id, "session_id": session_id}
    return _CHILDREN.run(connection, names).first() is not None


def kept_seats(connection: Connection, key: int) -> Sequence[Seat]:
    """Return the session's seats that are not gone, as the log has them: up to 20, newest first.

    Those of servers that were killed stay; each was asked to go when the next was started.
    """
    return [seat_of(row) for row in _KEPT.run(connection, {"session_key": key})]


def heard_by(connection: Connection, key: int, seat: Seat) -> Seat:
    """Return a parked seat with a pin that has nothing of what its harness cannot have heard.

    A runner may park its harness a while after the turn that it ran. What others said or did in
    between came before the pin, but the harness knows the history as it was when its turn ended.
    """
    if seat.state != "idle" or seat.pin_version is None or seat.turn_id is None:
        return seat
    params = {"session_key": key, "turn_id": seat.turn_id, "pin_version": seat.pin_version}
    found = _UNHEARD.run(connection, params).first()
    if found is None:
        return seat
    ended = found.ended_version
    return seat._replace(pin_version=ended, pin_history_version=ended, pin_fingerprint=None)


def moved_since_pin(connection: Connection, key: int, head: Head, seat: Seat) -> list[Any]:
    """Return what a parked harness does not know of, up to 20 facts: rows of version and type.

    Decisions and the expiry of its own turn's gates do not count: it learns of them by the answer.
    """
    pinned = (seat.pin_history_version, seat.pin_fingerprint)
    if pinned == (head.history_version, head.fingerprint):
        return []
    after = seat.pin_version or 0
    params = {"session_key": key, "after": after, "turn_id": seat.turn_id or ""}
    return list(_SINCE_PIN.run(connection, params))


def aside_since_pin(
    connection: Connection, key: int, head: Head, seat: Seat, moved: Sequence[Any]
) -> tuple[Message, ...] | None:
    """Return what a parked harness has to be told to know what `moved`; None if that will not do.

    Whatever else happened than that turns began needs no look, nor does what is far behind.
    """
    after = seat.pin_version or 0
    if head.version - after > REACH or any(row.type != _STARTED for row in moved):
        return None
    since: dict[str, object] = {"session_key": key, "after": after}
    rows = _SAID.run(connection, since)
    if not is_little([_size(row.body) for row in rows]):
        return None
    said = said_aside(
        decode(row.type, row.schema, whole(connection, key, row.body)) for row in rows
    )
    files = files_of(said or ())
    if files:
        sizes = {bytes(row.sha256).hex(): row.size for row in _FILES.run(connection, since)}
        if sum(sizes.get(file, 0) for file in files) > MOST_FILE_BYTES:
            return None
    return said


def _size(body: bytes | None) -> int:
    """Return how large a fact is with all that was taken out of it."""
    if body is None:
        return 0
    return len(body) + sum(cut.size for cut in cuts_of(bytes(body)))


def moved_since_claim(connection: Connection, key: int, version: int) -> list[Any]:
    """Return what changed the history after a version, but for gates; up to 20 facts."""
    return list(_SINCE_CLAIM.run(connection, {"session_key": key, "after": version}))
