"""What does an open write transaction know, and where is the place of its next event?

Positions are given here; what the transaction rests on is checked at its end, and what it wrote is
remembered once that is allowed.
"""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Connection, Select, func, literal, literal_column, select
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from domain.state import State
from infrastructure import tables as t
from infrastructure.prepared import Prepared, Sent
from infrastructure.remembered import Memory, Remembered
from infrastructure.view_rows import DEADLOCK, DIVISION_BY_ZERO, XID

ORDINAL_BITS: Final = 20


def _store(dialect: str) -> Select[Any, Any, Any]:
    columns = (t.store.c.base, t.store.c.known_after)
    if dialect != "sqlite":
        return select(*columns, literal(0).label("last"))
    newest = select(func.coalesce(func.max(t.events.c.position), 0)).scalar_subquery()
    return select(*columns, newest.label("last"))


_STORE: Final = Prepared(_store)
_STORE_AND_XID: Final = Prepared(
    lambda _: select(
        t.store.c.base, t.store.c.known_after, literal_column(XID, BigInteger()).label("xid")
    )
)


class Contended(Exception):
    """Another writer came first; look up and decide again, in a new transaction."""


def is_race(error: DBAPIError, *, at_end: bool) -> bool:
    """Tell whether a transaction failed since another writer came first.

    What was sent without waiting for its answer fails later: whenever the next answer is read, or
    `at_end`.
    """
    found = getattr(error.orig, "sqlstate", None)
    return found in {DIVISION_BY_ZERO, DEADLOCK} or (at_end and isinstance(error, IntegrityError))


def is_lost(error: DBAPIError) -> bool:
    """Tell whether a connection to PostgreSQL broke that had been there."""
    if error.statement is None:  # there was none
        return False
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return isinstance(error, OperationalError)
    return state.startswith("08") or state in {"57P01", "57P02"}


class Kept(NamedTuple):
    """A session as it was just written, on what was `seen`, by the transaction `writer`."""

    project_id: str
    session_id: str
    session_key: int
    state: State
    seen: int
    writer: int


@dataclass(slots=True)
class Commit:
    """An open write transaction, and the place of the next event in the whole log."""

    connection: Connection
    memory: Memory | None = None
    last_position: int | None = None
    ordinal: int = 0
    events: int = 0
    forgot: bool = False
    sessions: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    looked: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    deferring: bool = False
    _kept: list[Kept] = field(default_factory=list[Kept])
    _promises: list[tuple[Sent, int]] = field(default_factory=list[tuple[Sent, int]])
    _asked: Sent | None = None
    _with_xid: bool = False
    _xid: int | None = None
    _base: int | None = None
    _known_after: int = 0

    @property
    def known_after(self) -> int:
        """Return the position at the last restore; 0 if there was none."""
        self._read_store()
        return self._known_after

    def place(self) -> int | None:
        """Return the last position that is taken, to go back to if what follows is undone."""
        self._read_store()
        return self.last_position

    def undone(self, place: int | None) -> None:
        """Go back to a place: what was written since is undone."""
        if self.forgot or self.last_position != place:
            self.forget()
        self.last_position = place

    def forget(self) -> None:
        """Have the next look-ups ask the database: not only events were written, or undone."""
        self.forgot = True
        if self.memory is not None:
            self.memory.clear()

    def find(self, project_id: str, session_id: str) -> Remembered | None:
        """Return what this process remembers of a session, unless this transaction changed it."""
        if self.memory is None or (self.deferring and (project_id, session_id) in self.sessions):
            return None
        return self.memory.find(project_id, session_id)

    def keep(self, kept: Kept) -> None:
        """Remember what was written, as soon as it may be."""
        if self.deferring:
            self._kept.append(kept)
        elif self.memory is not None:
            self.memory.keep(*kept)

    def committed(self) -> None:
        """Remember what was written: it is committed."""
        for kept in self._kept:
            if self.memory is not None:
                self.memory.keep(*kept)

    def lost(self) -> None:
        """Forget what turned out to be outdated."""
        for project_id, session_id in self.sessions | self.looked:
            if self.memory is not None:
                self.memory.forget(project_id, session_id)

    def promise(self, sent: Sent, expected: int) -> None:
        """Go on as if `sent` answered `expected`; `check` whether it did."""
        self._promises.append((sent, expected))

    def check(self) -> None:
        """Check what was promised.

        Raises:
            Contended: something else was answered.
        """
        promises, self._promises = self._promises, []
        for sent, expected in promises:
            if sent.rows().scalar_one_or_none() != expected:
                raise Contended

    def ask(self) -> None:
        """Send for what the store says of itself, together with what is sent next."""
        if self._base is None and self._asked is None:
            self._asked = _STORE.send(self.connection, {})

    def ask_all(self) -> None:
        """On PostgreSQL send for what a write will need, together with what is sent next."""
        if self.deferring and self._base is None and self._asked is None:
            self._asked = _STORE_AND_XID.send(self.connection, {})
            self._with_xid = True

    def xid(self) -> int | None:
        """Return the transaction's id, if it was asked for."""
        if self._with_xid:
            self._read_store()
        return self._xid

    def positions(self, xid: int, count: int) -> list[int]:
        """Return the next `count` positions; on PostgreSQL they carry the transaction's id."""
        base = self._read_store()
        self.events += count
        if self.last_position is not None:
            first = self.last_position + 1
            self.last_position += count
        else:
            first = (base + xid << ORDINAL_BITS) | self.ordinal
            self.ordinal += count
        return list(range(first, first + count))

    def _read_store(self) -> int:
        """Ask the store about itself, once a transaction; return its base."""
        if self._base is None:
            self.ask()
            assert self._asked is not None  # noqa: S101 - just asked
            row = self._asked.rows().first()
            self._base = base = int(row.base)
            self._known_after = int(row.known_after)
            if self._with_xid:
                self._xid = int(row.xid)
            if self.connection.dialect.name == "sqlite":
                self.last_position = max(int(row.last), base)
        return self._base
