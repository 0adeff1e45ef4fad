"""What does one commit write, besides the events?

The head first (on PostgreSQL it gives the position, and refuses a writer who is late), then the
events and their bodies, then every inline view: all in the transaction that the caller gave.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    Select,
    bindparam,
    func,
    literal,
    literal_column,
    select,
)
from sqlalchemy.exc import DBAPIError, IntegrityError

from domain.events import HistoryImported, SessionOpened
from domain.recorded import Recorded
from domain.state import Call, Changes, Gate, Head, Loss, State, Turn
from infrastructure import tables as t
from infrastructure.blobs import Entangled, keep_of
from infrastructure.event_ids import packed
from infrastructure.prepared import (
    Prepared,
    PreparedRows,
    Sent,
    copy_rows,
    end_pipeline,
    pipelined,
)
from infrastructure.remembered import Memory, Remembered
from infrastructure.view_rows import (
    DEADLOCK,
    DIVISION_BY_ZERO,
    FIELDS,
    INSERT_HEAD,
    UPDATE_HEAD,
    UPDATE_HEAD_OR_FAIL,
    UPSERT_CALL,
    UPSERT_GATE,
    UPSERT_LOSS,
    UPSERT_MESSAGE,
    UPSERT_TURN,
    XID,
    Values,
    message_row,
    values,
)

ORDINAL_BITS: Final = 20
COPIED_FROM: Final = 100
"""So many facts at once go in by COPY on PostgreSQL: half the time of as many inserts."""

_INSERT_STREAM: Final = Prepared(
    lambda _: (
        t.streams.insert()
        .values(project_id=bindparam("project_id"), session_id=bindparam("session_id"))
        .returning(t.streams.c.session_key)
    )
)
_INSERT_EVENT: Final = PreparedRows(
    lambda _: t.events.insert(), [column.name for column in t.events.columns]
)
_INSERT_BODY: Final = PreparedRows(
    lambda _: t.bodies.insert(), [column.name for column in t.bodies.columns]
)


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
    _kept: list[tuple[str, str, int, State, int, int]] = field(
        default_factory=list[tuple[str, str, int, State, int, int]]
    )
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

    def keep(self, writing: "Writing", session_key: int, xid: int) -> None:
        """Remember what was written, as soon as it may be."""
        name = (writing.project_id, writing.session_id)
        kept = (*name, session_key, writing.state, writing.seen, xid)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """What to write: facts of one session, and what each changed.

    Attributes:
        seen: The version that the facts were decided on; 0 for a new session.
    """

    commit: Commit
    session_key: int | None
    project_id: str
    session_id: str
    seen: int
    facts: Sequence[Recorded]
    changes: Sequence[Changes]
    state: State
    placed: list[Recorded] = field(default_factory=list[Recorded])


def write(writing: Writing) -> list[int]:
    """Write it all; return the positions, and leave the facts with them in `placed`.

    Raises:
        Contended: the head is not where the facts were decided, or its last writer is younger.
    """
    commit, connection = writing.commit, writing.commit.connection
    session_key = writing.session_key
    known = commit.find(writing.project_id, writing.session_id)
    if known is not None and known.head.version != writing.seen:
        known = None  # what was decided rests on a look-up
    quick = known is not None and not any(fact.blobs for fact in writing.facts)
    if not quick:
        end_pipeline(connection)  # what goes wrong is told here
    commit.sessions.add((writing.project_id, writing.session_id))
    if session_key is None:
        names = {"project_id": writing.project_id, "session_id": writing.session_id}
        session_key = int(_INSERT_STREAM.run(connection, names).scalar_one())
    xid = _write_head(writing, session_key, known, quick=quick)
    commit.check()
    positions = commit.positions(xid, len(writing.facts))
    writing.placed.extend(
        _at(fact, position) for fact, position in zip(writing.facts, positions, strict=True)
    )
    _place_knowledge(writing, session_key)
    if any(fact.blobs for fact in writing.facts):
        _keep_blobs(writing, session_key)
    events = [event_row(fact, session_key) for fact in writing.placed]
    bodies = [
        (session_key, fact.version, fact.salt, fact.body)
        for fact in writing.placed
        if fact.body is not None
    ]
    if len(events) >= COPIED_FROM and connection.dialect.name == "postgresql":
        copy_rows(connection, t.events, events)
        copy_rows(connection, t.bodies, bodies)
        events, bodies = [], []
    with pipelined(connection):
        _INSERT_EVENT.rows(connection, events)
        _INSERT_BODY.rows(connection, bodies)
        write_views(connection, session_key, writing.project_id, writing.changes)
    commit.keep(writing, session_key, xid)
    return positions


def _keep_blobs(writing: Writing, session_key: int) -> None:
    try:
        keep_of(writing.commit.connection, writing.project_id, session_key, writing.facts)
    except Entangled as error:
        raise Contended from error


def _at(fact: Recorded, position: int) -> Recorded:
    return fact._replace(position=position)


def _write_head(
    writing: Writing, session_key: int, known: Remembered | None, *, quick: bool
) -> int:
    connection = writing.commit.connection
    head = FIELDS[Head](writing.state.head)
    if writing.seen == 0:
        row = (session_key, writing.project_id, *head)
        return int(INSERT_HEAD.row(connection, row).scalar_one())
    writer = None if known is None else known.writer
    row = (session_key, writing.seen, writer, *head)
    known_xid = writing.commit.xid() if quick else None
    if known_xid is not None:  # nothing has to be waited for
        UPDATE_HEAD_OR_FAIL.send_row(connection, row).unread()
        return known_xid
    xid = UPDATE_HEAD.row(connection, row).scalar_one_or_none()
    if xid is None:
        raise Contended
    return int(xid)


_SET_KNOWN: Final = Prepared(
    lambda _: (
        t.heads.update()
        .where(t.heads.c.session_key == bindparam("session_key_"))
        .values(known_position=bindparam("known_position"))
    )
)


def _place_knowledge(writing: Writing, session_key: int) -> None:
    """History becomes known at a position, which is known only once the head is written."""
    known = [
        fact.position
        for fact in writing.placed
        if isinstance(fact.event, SessionOpened | HistoryImported)
    ]
    if known:
        writing.state.head = writing.state.head._replace(known_position=known[-1])
        _SET_KNOWN.run(
            writing.commit.connection,
            {"session_key_": session_key, "known_position": known[-1]},
        )


def head_values(head: Head, session_key: int, project_id: str) -> Values:
    """Return a head's columns."""
    return values(head) | {"session_key": session_key, "project_id": project_id}


def event_row(fact: Recorded, session_key: int) -> tuple[object, ...]:
    """Return the columns of an event, in the table's order."""
    envelope = fact.envelope
    producer = envelope.producer
    return (
        fact.position,
        envelope.recorded_at,
        envelope.occurred_at,
        producer.sequence if producer else None,
        session_key,
        envelope.version,
        producer.epoch if producer else None,
        envelope.batch,
        envelope.schema,
        envelope.affects == "history",
        packed(envelope.event_id),
        envelope.type,
        envelope.actor,
        producer.producer_id if producer else None,
        envelope.turn_id,
        envelope.trace_id,
        envelope.body_digest,
        fact.hash,
    )


def write_views(
    connection: Connection, session_key: int, project_id: str, changes: Sequence[Changes]
) -> None:
    """Write each record that `changes` touched, in its last state, but the head."""
    turns = {turn.turn_id: turn for change in changes for turn in change.turns}
    calls = {
        (call.turn_id, call.tool_call_id, call.occurrence): call
        for change in changes
        for call in change.calls
    }
    gates = {gate.gate_id: gate for change in changes for gate in change.gates}
    messages = {message.index: message for change in changes for message in change.messages}
    losses = {loss.version: loss for change in changes for loss in change.losses}
    turn_of, call_of, gate_of, loss_of = (FIELDS[kind] for kind in (Turn, Call, Gate, Loss))
    UPSERT_TURN.rows(connection, [(session_key, *turn_of(turn)) for turn in turns.values()])
    UPSERT_CALL.rows(connection, [(session_key, *call_of(call)) for call in calls.values()])
    UPSERT_GATE.rows(
        connection, [(session_key, project_id, *gate_of(gate)) for gate in gates.values()]
    )
    UPSERT_MESSAGE.rows(connection, [message_row(session_key, m) for m in messages.values()])
    UPSERT_LOSS.rows(connection, [(session_key, *loss_of(loss)) for loss in losses.values()])
