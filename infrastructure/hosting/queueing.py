"""Which inputs of a session wait, and which one is next?"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, select, text

from domain import events as e
from domain.raw_json import RawJson
from domain.refusals import NoSuchSession
from domain.state import QueuedInput
from infrastructure import tables as t
from infrastructure.command_handler import Target
from infrastructure.prepared import Prepared
from infrastructure.reading.facts import fact_at
from infrastructure.reading.sessions import session_head
from infrastructure.view_rows import queued_of

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


def waiting(connection: Connection, key: int) -> Sequence[QueuedInput]:
    """Return the inputs that wait, first in, first out."""
    return [queued_of(row) for row in _WAITING.run(connection, {"session_key": key})]


def next_input(connection: Connection, target: Target) -> tuple[str, bytes] | None:
    """Return the id of the input that waits longest, and what it asked for; None if none does."""
    try:
        key, head, _ = session_head(connection, target)
    except NoSuchSession:
        return None
    if not head.queued:
        return None
    for each in waiting(connection, key):
        fact = fact_at(connection, key, each.queued_version)
        request = fact.request if isinstance(fact, e.InputQueued) else None
        return each.queue_id, request if isinstance(request, RawJson) else b"{}"
    return None
