"""Which events did earlier imports append to a session, and are they the first of these?

A file can be an older copy of what was imported, or have grown in the middle of its last message:
its lines then tell nothing, and its events do.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from sqlalchemy import Connection, select

from domain.attachments import without_files
from domain.json_text import JsonValue, NotJson, parse
from domain.offloading import LIMIT
from domain.refusals import InvalidValue
from infrastructure import tables as t
from infrastructure.blobs import whole
from infrastructure.imports.translation import TranslatedEvent
from infrastructure.recorder import WITH_BODIES, find_key

ACTOR: Final = "import"
REFUSED: Final = "turnlog/refused-on-import"
Recalled: TypeAlias = tuple[str, bytes]
_OWN: Final = (
    "session-opened",
    "session-renamed",
    "history-imported",
    "records-lost",
    "loss-healed",
    "gate-withdrawn",
)
_ENDS: Final = frozenset({"turn-completed", "turn-failed", "turn-interrupted"})
_GATES: Final = frozenset({"gate-opened", "gate-decided"})
_PAGE: Final = 500


def recalled(connection: Connection, project_id: str, session_id: str) -> Iterator[Recalled]:
    """Yield the type and the data of each event that an import appended, but its own marks."""
    key = find_key(connection, project_id, session_id)
    after = 0
    while key is not None:
        rows = connection.execute(
            select(t.events.c.version, t.events.c.type, t.bodies.c.body)
            .select_from(WITH_BODIES)
            .where(
                t.events.c.session_key == key,
                t.events.c.version > after,
                t.events.c.actor == ACTOR,
                t.events.c.type.not_in(_OWN),
            )
            .order_by(t.events.c.version)
            .limit(_PAGE)
        ).all()
        for row in rows:
            yield row.type, whole(connection, key, row.body) or b""
        if len(rows) < _PAGE:
            return
        after = rows[-1].version


def shared(told: Iterable[Recalled], events: Sequence[TranslatedEvent]) -> int | None:
    """Return how many of `events` were told, or None if something else was told.

    The last one may be an end that only the end of an older copy made.
    """
    count = 0
    for type_, body in told:
        if count == len(events):
            return count
        event = events[count]
        if (type_, body) != (event.type, _kept(event)) and not _is_same(type_, body, event):
            is_end = count == len(events) - 1 and event.type in _ENDS
            return len(events) if is_end else None
        count += 1
    return count


def _kept(event: TranslatedEvent) -> bytes:
    """Return an event's data as the log keeps it, its files named and not held."""
    try:
        return without_files(event.data).body
    except InvalidValue:
        return event.data


def _is_same(type_: str, body: bytes, event: TranslatedEvent) -> bool:
    """Tell whether the log made this of the event: gates get ids, refused events become data."""
    if type_ in _GATES and type_ == event.type:
        return _without_gate_id(body) == _without_gate_id(event.data)
    if len(body) > LIMIT and type_ == event.type:
        return _parsed(body) == _parsed(_kept(event))  # long texts are spelled anew
    match _parsed(body):
        case {"kind": str(kind), "data": {"type": str(refused), "data": data}}:
            return (
                type_ == "data-recorded"
                and (kind, refused) == (REFUSED, event.type)
                and data == _parsed(event.data)
            )
        case _:
            return False


def _without_gate_id(body: bytes) -> JsonValue:
    value = _parsed(body)
    if not isinstance(value, dict):
        return value
    return {key: member for key, member in value.items() if key != "gate_id"}


def _parsed(body: bytes) -> JsonValue:
    try:
        return parse(body)
    except NotJson:
        return None
