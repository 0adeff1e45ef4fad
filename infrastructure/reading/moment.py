"""Where did a session stand at a version, or at a time?

A version is looked up, a time is searched for: no event is read that lies between. How much of the
session was archived then follows from the compactions up to there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Integer,
    Row,
    Select,
    bindparam,
    case,
    cast,
    literal,
    select,
    text,
    true,
)

from domain.events import HistoryCompacted
from domain.identifiers import is_name
from domain.refusals import NoSuchSession, SessionDamaged
from domain.state import Head, Turn
from infrastructure import tables as t
from infrastructure.command_handler import Target
from infrastructure.prepared import Prepared
from infrastructure.recorder import WITH_BODIES
from infrastructure.serialization import decode
from infrastructure.view_rows import head_of


class NotReached(Exception):
    """The session has not come to this version, or had not begun at this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """A version, or a time in microseconds since 1970: the last version recorded by then."""

    version: int | None = None
    time: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A session as it is now, and the version that is looked at.

    Attributes:
        head, open_turn, known_after, agreements: As they are now, whatever is looked at.
        through: The version that is looked at.
        messages, archived, summary_version: What was in the transcript then.
    """

    target: Target
    key: int
    head: Head
    open_turn: Turn | None
    known_after: int
    agreements: int
    through: int
    messages: int
    archived: int
    summary_version: int | None

    @property
    def is_now(self) -> bool:
        """Tell whether the newest version is looked at."""
        return self.through == self.head.version


def moment(connection: Connection, target: Target, at: At | None = None) -> Moment:
    """Return the session at a version or time; now, if none is given.

    Raises:
        NoSuchSession: it was never opened, or is deleted.
        SessionDamaged: the log has its facts and not its head.
        NotReached: there was no such moment.
    """
    names = {"project_id": target.project_id, "session_id": target.session_id}
    now = _NOW.run(connection, names).first()
    if now is None:
        raise NoSuchSession
    if now.version is None:
        raise SessionDamaged
    key, head = int(now.stream_key), head_of(now)
    if head.status in {"absent", "deleted"}:
        raise NoSuchSession
    through = _version(connection, key, head, at)
    messages, archived, summary = head.messages, head.archived, head.summary_version
    if through < head.version:
        messages = _messages(connection, key, through)
        if summary is not None and summary > through:
            archived, summary = _archived(connection, key, through)
    return Moment(
        target=target,
        key=key,
        head=head,
        open_turn=None if now.turn_number is None else _open_turn(now),
        known_after=int(now.known_after),
        agreements=int(now.agreements or 0),
        through=through,
        messages=messages,
        archived=archived,
        summary_version=summary,
    )


def _open_turn(now: Row[Any]) -> Turn:
    return Turn(**{name: getattr(now, f"turn_{name}") for name in Turn._fields})


def _version(connection: Connection, key: int, head: Head, at: At | None) -> int:
    if at is None:
        return head.version
    version = at.version
    if at.time is not None:
        params = {"session_key": key, "newest": head.version, "moment": at.time}
        version = int(_AT_TIME.run(connection, params).scalar_one())
    if version is None or not 0 < version <= head.version:
        raise NotReached
    return version


def _messages(connection: Connection, key: int, through: int) -> int:
    row = _LAST_MESSAGE.run(connection, {"session_key": key, "through": through}).first()
    return 0 if row is None else int(row[0]) + 1


def _archived(connection: Connection, key: int, through: int) -> tuple[int, int | None]:
    """Return how many messages were archived, and the newest compaction that archived any."""
    rows = list(_COMPACTIONS.run(connection, {"session_key": key, "through": through}))
    compactions = {
        row.version: fact.through_message_id
        for row in rows
        if isinstance(fact := decode(row.type, row.schema, row.body), HistoryCompacted)
        and is_name(fact.through_message_id)
    }
    places = _places(connection, key, sorted(set(compactions.values())))
    archived, summary = 0, None
    for version, message_id in compactions.items():
        begun = (index for index, first in places.get(message_id, ()) if first < version)
        index = next(begun, None)
        if index is not None:
            archived, summary = max(archived, index + 1), version
    return archived, summary


Place = tuple[int, int]


def _places(connection: Connection, key: int, message_ids: Sequence[str]) -> dict[str, list[Place]]:
    """Return where messages stand: (index, first version), a given id before a derived one."""
    places: dict[str, list[Place]] = {}
    if not message_ids:
        return places
    m = t.messages.c
    columns = (t.MESSAGE_ID, m.index, m.version)
    named = select(*columns).where(m.session_key == key, m.message_id.in_(message_ids), m.named)
    for row in connection.execute(named):
        places.setdefault(row.message_id, []).append((row[1], row.version))
    ordinals = {name: name.rpartition(":") for name in message_ids}
    turn_ids = {turn_id for turn_id, _, _ in ordinals.values()}
    first = select(t.turns.c.turn_id, t.turns.c.first_message).where(
        t.turns.c.session_key == key, t.turns.c.turn_id.in_(sorted(turn_ids))
    )
    firsts = {row.turn_id: row.first_message for row in connection.execute(first)}
    indexes = [
        firsts[turn_id] + int(ordinal[:9]) - 1
        for turn_id, _, ordinal in ordinals.values()
        if turn_id in firsts and ordinal.isascii() and ordinal.isdigit()
    ]
    derived = select(*columns).where(m.session_key == key, m.index.in_(indexes), m.named.is_(False))
    for row in connection.execute(derived):
        places.setdefault(row.message_id, []).append((row[1], row.version))
    return places


def find_message(connection: Connection, key: int, message_id: str, through: int) -> int | None:
    """Return the index of the message with this id, given or derived, if it had begun."""
    places = _places(connection, key, [message_id]).get(message_id, ())
    return next((index for index, version in places if version <= through), None)


def _at_time(_: str) -> Select[Any]:
    """Halve the versions until one is left, inside one statement; damage is stepped over."""
    newest = cast(bindparam("newest"), Integer)
    search = select(literal(0).label("low"), newest.label("high")).cte("search", recursive=True)
    middle = (search.c.low + search.c.high + 1) // 2
    event = t.events.c
    recorded = (
        select(event.recorded_at)
        .where(event.session_key == bindparam("session_key"), event.version <= middle)
        .order_by(event.version.desc())
        .limit(1)
        .scalar_subquery()
    )
    early = recorded <= bindparam("moment")
    search = search.union_all(
        select(
            case((early, middle), else_=search.c.low),
            case((early, search.c.high), else_=middle - 1),
        ).where(search.c.low < search.c.high)
    )
    return select(search.c.low).where(search.c.low == search.c.high)


def _last_message(_: str) -> Select[Any]:
    """Look for it from the last one before it that the index of versions has."""
    m, near = t.messages.c, t.messages.alias("near").c
    start = (
        select(near.index)
        .where(
            near.session_key == bindparam("session_key"),
            near.version <= bindparam("through"),
            text('(near."index" & 15) = 0'),  # as the index says it
        )
        .order_by(near.version.desc(), near.index.desc())
        .limit(1)
        .scalar_subquery()
    )
    return (
        select(m.index)
        .where(
            m.session_key == bindparam("session_key"),
            m.index.between(start, start + 15),
            m.version <= bindparam("through"),
        )
        .order_by(m.index.desc())
        .limit(1)
    )


_NOW: Final = Prepared(
    lambda _: (
        select(
            t.streams.c.session_key.label("stream_key"),
            *t.heads.c,
            *(t.turns.c[name].label(f"turn_{name}") for name in Turn._fields),
            t.store.c.known_after,
            t.agreements.c.consecutive.label("agreements"),
        )
        .select_from(
            t.streams.join(t.store, true())
            .outerjoin(t.heads, t.heads.c.session_key == t.streams.c.session_key)
            .outerjoin(
                t.turns,
                (t.turns.c.session_key == t.heads.c.session_key)
                & (t.turns.c.turn_id == t.heads.c.turn_id),
            )
            .outerjoin(t.agreements, t.agreements.c.session_key == t.streams.c.session_key)
        )
        .where(
            t.streams.c.project_id == bindparam("project_id"),
            t.streams.c.session_id == bindparam("session_id"),
        )
    )
)
_AT_TIME: Final = Prepared(_at_time)
_LAST_MESSAGE: Final = Prepared(_last_message)
_COMPACTIONS: Final = Prepared(
    lambda _: (
        select(t.events.c.version, t.events.c.type, t.events.c.schema, t.bodies.c.body)
        .select_from(WITH_BODIES)
        .where(
            t.events.c.session_key == bindparam("session_key"),
            t.events.c.version <= bindparam("through"),
            text("events.type = 'history-compacted'"),
        )
        .order_by(t.events.c.version)
    )
)
