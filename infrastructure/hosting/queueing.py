"""Which inputs of a session wait, and which one is next?"""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, exists, func, select, text

from domain import events as e
from domain.json_text import parse
from domain.raw_json import RawJson
from domain.refusals import NoSuchInput, NoSuchSession
from domain.state import QueuedInput
from infrastructure import tables as t
from infrastructure.command_handler import Target
from infrastructure.hosting.asking import NOWHERE, Address
from infrastructure.prepared import Prepared
from infrastructure.reading.facts import fact_at
from infrastructure.reading.sessions import session_head
from infrastructure.stored_records import QUEUED
from infrastructure.view_rows import queued_of

PASSING: Final = frozenset({"turn-in-progress", "compacting", "gate-open", "shutting-down"})
"""Refusals of an input that waits after which it goes on waiting."""
GOING_BACK: Final = ("rewound", "reverted")
"""The moves that somebody makes to go back in history, or forth again."""
_WAITING: Final = Prepared(
    lambda _: (
        select(t.queue)
        .where(
            t.queue.c.session_key == bindparam("session_key"),
            text("queue.status = 'waiting'"),
        )
        .order_by(t.queue.c.queued_version)
    )
)


class Waiting(NamedTuple):
    """An input that waits, or waited.

    Attributes:
        request: What it asked for.
        address: Where its answer goes.
    """

    queue_id: str
    request: bytes
    address: Address = NOWHERE


def held(session_key: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's own generics
    """Return what holds where nobody began a turn since somebody went back in history."""
    newest = (
        select(t.turns.c.started_version)
        .where(t.turns.c.session_key == session_key)
        .order_by(t.turns.c.number.desc())
        .limit(1)
        .scalar_subquery()
    )
    return exists().where(
        t.moves.c.session_key == session_key,
        text(f"moves.kind IN {GOING_BACK}"),
        t.moves.c.version > func.coalesce(newest, 0),
    )


_HELD: Final = Prepared(lambda _: select(held(bindparam("session_key"))))


def _is_held(connection: Connection, key: int) -> bool:
    row = _HELD.run(connection, {"session_key": key}).first()
    return row is not None and bool(row[0])


def waiting(connection: Connection, key: int) -> Sequence[QueuedInput]:
    """Return the inputs that wait, first in, first out."""
    return [queued_of(row) for row in _WAITING.run(connection, {"session_key": key})]


def next_input(connection: Connection, target: Target) -> Waiting | None:
    """Return the input that waits longest, and what it asked for; None if none does.

    One that waits for a runner is for the runner to take: it has an owner, and none comes before.
    After a rewind all wait until somebody begins a turn: they were meant for another history.
    """
    try:
        key, head, _ = session_head(connection, target)
    except NoSuchSession:
        return None
    if not head.queued or _is_held(connection, key):
        return None
    for each in waiting(connection, key):
        first = _waiting(connection, key, each)
        return None if _owner(first.request) is not None else first
    return None


def steering_input(
    connection: Connection, target: Target, turn_id: str, passed: Collection[str]
) -> Waiting | None:
    """Return the input that waits longest to be told to a turn, and what it asked for.

    None if none does, but those in `passed`.

    Raises:
        NoSuchSession: it is gone.
    """
    key, head, _ = session_head(connection, target)
    for each in waiting(connection, key) if head.queued else ():
        if each.steers == turn_id and each.queue_id not in passed:
            return _waiting(connection, key, each)
    return None


def input_of(connection: Connection, target: Target, queue_id: str) -> Waiting:
    """Return an input, and what it asked for, whether it still waits or not.

    Raises:
        NoSuchInput: the session has no such input.
        NoSuchSession: it is gone.
    """
    key, _, _ = session_head(connection, target)
    row = QUEUED.run(connection, {"session_key": key, "queue_id": queue_id}).first()
    if row is None:
        raise NoSuchInput
    return _waiting(connection, key, queued_of(row))


def known_input(connection: Connection, target: Target, queue_id: str) -> QueuedInput | None:
    """Return what became of an input; None if the session has no such input.

    Raises:
        NoSuchSession: it is gone.
    """
    key, _, _ = session_head(connection, target)
    row = QUEUED.run(connection, {"session_key": key, "queue_id": queue_id}).first()
    return None if row is None else queued_of(row)


def _waiting(connection: Connection, key: int, queued: QueuedInput) -> Waiting:
    fact = fact_at(connection, key, queued.queued_version)
    if not isinstance(fact, e.InputQueued):
        return Waiting(queued.queue_id, b"{}")
    request = fact.request if isinstance(fact.request, RawJson) else b"{}"
    return Waiting(queued.queue_id, request, Address(fact.lane_id, fact.reply_to))


def _owner(request: bytes) -> str | None:
    """Return the runner whose input it is."""
    said = parse(request)
    owner = said.get("owner") if isinstance(said, dict) else None
    return owner if isinstance(owner, str) else None
