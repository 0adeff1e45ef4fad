"""Where did a session stand at a version, or at a time?

A version is looked up, a time is searched for: no event is read that lies between.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, ScalarSelect, bindparam, select, true

from domain.refusals import NoSuchSession, SessionDamaged
from domain.state import GONE, Branch, Head, Turn
from infrastructure import tables as t
from infrastructure.command_handler import Target
from infrastructure.lineages import (
    NO_ANCESTOR,
    NOBODY,
    Ancestor,
    Lineage,
    key_at,
    lineage,
    parts,
)
from infrastructure.prepared import Prepared
from infrastructure.reading.sight import Sight, finding, last_number, sight_at, sight_of
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
        sight: What was in sight then.
        branches: Those that were looked up for it; they never change.
        key: Of a version that a fork shares, that of the session whose it is.
        lineage: With whom the session of this key shares its history.
    """

    target: Target
    key: int
    head: Head
    open_turn: Turn | None
    known_after: int
    agreements: int
    through: int
    sight: Sight
    branches: dict[int, Branch] = field(default_factory=dict[int, Branch], compare=False)
    lineage: Lineage = NOBODY

    @property
    def is_now(self) -> bool:
        """Tell whether the newest version is looked at."""
        return self.through == self.head.version

    @property
    def shared(self) -> Ancestor:
        """Return the nearest session that history is shared with."""
        return self.lineage[0] if self.lineage else NO_ANCESTOR

    def key_at(self, version: int) -> int:
        """Return the key of the session that a version belongs to."""
        return key_at(self.key, self.lineage, version) if self.lineage else self.key

    def through_of(self, key: int) -> int:
        """Return the last version of what of the history belongs to a session."""
        return next((each.version for each in self.lineage if each.key == key), self.through)

    @property
    def messages(self) -> int:
        """Return how many messages were in sight."""
        return self.sight.messages

    @property
    def archived(self) -> int:
        """Return how many of them, from the first one, were archived."""
        return self.sight.archived

    @property
    def summary_version(self) -> int | None:
        """Return where the summary was recorded that stood for those."""
        return self.sight.summary_version


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
    if head.status in GONE:
        raise NoSuchSession
    shared = lineage(connection, key, head)
    through = _version(connection, key, head, shared, at)
    holders = [each for each in shared if each.version >= through]
    then = head._replace(started=holders[-1].started) if holders else head
    key, shared = key_at(key, shared, through), [s for s in shared if s.version < through]
    branches: dict[int, Branch] = {}
    if through < head.version:
        find = finding(connection, key, branches, shared)
        nearest = shared[0] if shared else NO_ANCESTOR
        sight = sight_at(connection, key, then, through, find, nearest)
    else:
        sight = sight_of(head)
    return Moment(
        target=target,
        key=key,
        head=head,
        open_turn=None if now.turn_number is None else _open_turn(now),
        known_after=int(now.known_after),
        agreements=int(now.agreements or 0),
        through=through,
        sight=sight,
        branches=branches,
        lineage=shared,
    )


def version_at(
    connection: Connection, key: int, newest: int, time: int, lineage: Lineage = NOBODY
) -> int:
    """Return the last version up to `newest` that was recorded by a time; 0 if there is none."""
    for part in reversed(parts(key, lineage, newest)):
        params = {
            "session_key": part.key,
            "oldest": part.after,
            "newest": part.through,
            "moment": time,
        }
        version = int(_AT_TIME.run(connection, params).scalar_one())
        if version > part.after:
            return version
    return 0


def _open_turn(now: Row[Any]) -> Turn:
    return Turn(**{name: getattr(now, f"turn_{name}") for name in Turn._fields})


def _version(connection: Connection, key: int, head: Head, lineage: Lineage, at: At | None) -> int:
    if at is None:
        return head.version
    version = at.version
    if at.time is not None:
        version = version_at(connection, key, head.version, at.time, lineage)
    if version is None or not 0 < version <= head.version:
        raise NotReached
    return version


def _recorded(middle: ColumnElement[int]) -> ScalarSelect[Any]:
    event = t.events.c
    return (
        select(event.recorded_at)
        .where(event.session_key == bindparam("session_key"), event.version <= middle)
        .order_by(event.version.desc())
        .limit(1)
        .scalar_subquery()
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
_AT_TIME: Final = Prepared(lambda _: last_number(_recorded, "oldest", "newest", "moment"))
