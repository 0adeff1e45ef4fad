"""What is told of the inputs that wait: since when, by whom, and which message each will be?"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, bindparam, select, text

from domain import events as e
from domain.json_text import JsonValue, parse
from domain.raw_json import RawJson
from domain.state import QueuedInput
from infrastructure import tables as t
from infrastructure.blobs import whole
from infrastructure.hosting.asking import NOWHERE, Address
from infrastructure.hosting.queueing import waiting
from infrastructure.prepared import Prepared
from infrastructure.recorder import WITH_BODIES
from infrastructure.serialization import decode

_QUEUED: Final = Prepared(
    lambda _: (
        select(t.events.c.version, t.events.c.actor, t.events.c.schema, t.bodies.c.body)
        .select_from(WITH_BODIES)
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.version >= bindparam("low"),
            t.events.c.version <= bindparam("high"),
            text("events.type = 'input-queued'"),
        )
    )
)


class Listed(NamedTuple):
    """An input that waits.

    Attributes:
        message_id: The id that its message came with.
        by: Who asked for it.
        address: Where its answer goes.
    """

    queued: QueuedInput
    message_id: str | None = None
    by: str | None = None
    address: Address = NOWHERE


def listed(connection: Connection, key: int) -> Sequence[Listed]:
    """Return the inputs that wait, first in, first out."""
    found = waiting(connection, key)
    if not found:
        return []
    low, high = found[0].queued_version, found[-1].queued_version
    rows = _QUEUED.run(connection, {"session_key": key, "low": low, "high": high})
    by_version = {row.version: row for row in rows}
    items: list[Listed] = []
    for each in found:
        row = by_version.get(each.queued_version)
        if row is None:
            items.append(Listed(each))
            continue
        fact = decode("input-queued", row.schema, whole(connection, key, row.body))
        if not isinstance(fact, e.InputQueued):
            items.append(Listed(each, by=row.actor))
            continue
        said = parse(fact.request) if isinstance(fact.request, RawJson) else None
        address = Address(fact.lane_id, fact.reply_to)
        items.append(Listed(each, _message_id(said), row.actor, address))
    return items


def _message_id(said: JsonValue) -> str | None:
    """Return the id of the last message, in whichever form it came.

    >>> _message_id({"messages": [{"role": "user", "content": "a", "message_id": "m1"}]})
    'm1'
    """
    messages = said.get("messages") if isinstance(said, dict) else None
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(last, dict):
        return None
    found = last.get("message_id", last.get("id"))
    return found if isinstance(found, str) else None
