"""How does what was said in a deleted session leave the database, for ever?

By a last fact, `session-purged`, and in the transaction that appends it; of what is larger than a
piece, the rest in pieces after it, so that other writers come between. A server that ends meanwhile
leaves that to the next sweep. Envelopes stay, and the chain of their hashes; so does what the
session's models used, as sums. Nothing of a session is told from its last fact on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
)

from domain import commands as c
from domain.refusals import HasForks, NoSuchSession, SessionNotDeleted
from infrastructure import tables as t
from infrastructure.blobs import completed
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.followers.search import remove_texts
from infrastructure.followers.usage import TYPES, summed, told_of
from infrastructure.lookup import find_head
from infrastructure.prepared import end_pipeline
from infrastructure.reading.whole_log import Found
from infrastructure.recorder import COLUMNS, WITH_BODIES, stored_fact
from infrastructure.runner import Attempt, Runs
from infrastructure.stored_stream import last_version

PIECE: Final = 2_000
"""So many facts, and rows of each view, go in one transaction."""
_VIEWS: Final = tuple(table for table in t.VIEWS if table is not t.heads)
_FEW: Final = (t.imported_rows, t.agreements, t.runs, t.idempotency)
"""What else is kept of a session; a few rows each."""
_TEXTS: Final = "search_documents"
Counts: TypeAlias = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What of a session went, or would.

    Attributes:
        events: Facts of its own; their envelopes stay.
        rows: How many rows went, by table.
        more: Whether something is left for another piece.
    """

    session_key: int
    events: int = 0
    rows: Counts = field(default_factory=dict[str, int])
    more: bool = False

    def then(self, piece: "Purged") -> "Purged":
        """Return this and what went after it as one."""
        names = dict.fromkeys((*self.rows, *piece.rows))
        return Purged(
            session_key=self.session_key,
            events=self.events,
            rows={name: self.rows.get(name, 0) + piece.rows.get(name, 0) for name in names},
            more=piece.more,
        )


def foreseen(connection: Connection, target: Target) -> Purged:
    """Return what purging a session would remove, but for what can be found of it.

    Raises:
        NoSuchSession, SessionNotDeleted, HasForks: as `begin_purge`.
    """
    key, state = find_head(connection, target.project_id, target.session_id)
    head = state.head
    if key is None or head.status in {"absent", "purged"}:
        raise NoSuchSession
    if head.status != "deleted":
        raise SessionNotDeleted
    _check_forks(connection, target)
    rows = {
        table.name: connection.execute(
            select(func.count()).select_from(table).where(table.c.session_key == key)
        ).scalar_one()
        for table in (t.bodies, t.blob_references, *_VIEWS)
    }
    return Purged(session_key=key, events=head.version - head.base_version, rows=_some(rows))


def begin_purge(
    handler: CommandHandler, attempt: Attempt, target: Target, caller: Caller, piece: int = PIECE
) -> Purged:
    """Append the last fact of a deleted session, and remove the first piece of it.

    Raises:
        NoSuchSession: there is no such session, or it is purged already.
        SessionNotDeleted: it has to be deleted first.
        HasForks: other sessions share its history.
    """
    connection = attempt.connection
    key, state = handler.state(attempt, target)
    usage = None
    if key is not None and state.head.status == "deleted":
        _check_forks(connection, target)
        sums = summed(_used(connection, target, key))
        usage = told_of(sums) if sums else None
    events = state.head.version - state.head.base_version
    command = c.PurgeSession(usage=usage)
    handler.carry_out(attempt, target, [command], caller=caller, known=(key, state))
    assert key is not None  # noqa: S101 - else it was refused
    for table in _FEW:
        connection.execute(delete(table).where(table.c.session_key == key))
    return Purged(session_key=key, events=events).then(next_piece(connection, key, piece))


def next_piece(connection: Connection, key: int, piece: int = PIECE) -> Purged:
    """Remove another piece of what is left of a purged session."""
    end_pipeline(connection)
    rows: dict[str, int] = {}
    last = last_version(connection, key)
    first = _first_body(connection, key, last)
    through = min(first + piece, last) - 1
    if first < last:
        # What can be found goes before its bodies: they tell the index which words to remove.
        rows[_TEXTS] = remove_texts(connection, key, first - 1, through)
        for table in (t.bodies, t.blob_references):
            these = (table.c.session_key == key, table.c.version <= through)
            rows[table.name] = connection.execute(delete(table).where(*these)).rowcount
    more = through < last - 1
    for table in _VIEWS:
        rows[table.name] = gone = _removed(connection, table, key, piece)
        more = more or gone == piece
    return Purged(session_key=key, rows=_some(rows), more=more)


def purge(runner: Runs, handler: CommandHandler, target: Target, caller: Caller) -> Purged:
    """Purge a session, whole, in as many transactions as that takes.

    Raises:
        NoSuchSession, SessionNotDeleted, HasForks: as `begin_purge`.
    """
    return finish(runner, runner.run(lambda attempt: begin_purge(handler, attempt, target, caller)))


def finish(
    runner: Runs, done: Purged, progress: Callable[[Purged], None] = lambda _: None
) -> Purged:
    """Remove what earlier pieces left; `progress` hears of all that is done after each."""
    while done.more:
        done = done.then(runner.run(partial(_next, key=done.session_key)))
        progress(done)
    return done


def _next(attempt: Attempt, key: int) -> Purged:
    return next_piece(attempt.connection, key)


def left_behind(connection: Connection, limit: int) -> Sequence[int]:
    """Return some of the purged sessions, by their keys, of which something is left."""
    h = t.heads.c
    body = (t.bodies.c.session_key == h.session_key) & (t.bodies.c.version < h.version)
    statement = select(h.session_key).where(
        h.status == literal_column("'purged'"),
        or_(
            exists().where(body).correlate(t.heads),
            exists().where(t.messages.c.session_key == h.session_key).correlate(t.heads),
        ),
    )
    return connection.execute(statement.limit(limit)).scalars().all()


def deleted_before(
    connection: Connection, before: int, after: tuple[int, int], limit: int
) -> Sequence[tuple[Target, tuple[int, int]]]:
    """Return sessions that were deleted before a time, the first ones first, each with its place.

    `after` is the place of the last one before them.
    """
    h, s = t.heads.c, t.streams.c
    updated, key = after
    later = or_(h.updated_at > updated, and_(h.updated_at == updated, h.session_key > key))
    statement = (
        select(s.project_id, s.session_id, h.updated_at, h.session_key)
        .join(t.streams, s.session_key == h.session_key)
        .where(h.status == literal_column("'deleted'"), h.updated_at <= before, later)
        .order_by(h.updated_at, h.session_key)
        .limit(limit)
    )
    return [
        (Target(project_id=project_id, session_id=session_id), (updated, key))
        for project_id, session_id, updated, key in connection.execute(statement)
    ]


def _check_forks(connection: Connection, target: Target) -> None:
    """Refuse if a session that is not purged was forked from this one."""
    forks = select(t.heads.c.session_key).where(
        t.heads.c.project_id == target.project_id,
        t.heads.c.forked_from == target.session_id,
        t.heads.c.status != "purged",
    )
    if connection.execute(forks.limit(1)).first() is not None:
        raise HasForks


def _used(connection: Connection, target: Target, key: int) -> Iterator[Found]:
    """Yield what the session told of usage."""
    stream = (target.project_id, target.session_id, key)
    statement = (
        select(*COLUMNS)
        .select_from(WITH_BODIES)
        .where(t.events.c.session_key == key, t.events.c.type.in_(TYPES))
        .order_by(t.events.c.version)
    )
    for row in connection.execute(statement):
        yield Found(key, completed(connection, stored_fact(row, stream, b"")))


def _first_body(connection: Connection, key: int, last: int) -> int:
    """Return the version of the first fact that has a body; that of the last one if none has."""
    first = select(func.min(t.bodies.c.version)).where(t.bodies.c.session_key == key)
    found = connection.execute(first).scalar_one()
    return last if found is None else int(found)


def _removed(connection: Connection, table: Table, key: int, piece: int) -> int:
    """Remove up to so many rows of a session from a view; return how many there were."""
    name = "rowid" if connection.dialect.name == "sqlite" else "ctid"
    row: ColumnElement[object] = literal_column(name)
    some = select(row).select_from(table).where(table.c.session_key == key).limit(piece)
    return connection.execute(delete(table).where(row.in_(some))).rowcount


def _some(rows: Counts) -> Counts:
    return {name: count for name, count in rows.items() if count}
