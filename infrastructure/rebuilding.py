"""Are the views what the log makes of them? If not, they are made again.

Each session by itself: folded and compared as of one moment, and written, where it differs, in one
transaction with whatever was appended meanwhile. A session whose log ends before its head is
damaged: it is reported and left alone, since its head is what tells how much is missing, but is
not ready any more.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from sqlalchemy import Connection, Table, select, text

from domain.attachments import named_blobs
from domain.blobs import Blob
from domain.evolve import evolve
from domain.state import Call, Changes, Checkpoint, Gate, Head, Move, Placed, Seat, State, Turn
from infrastructure import tables as t
from infrastructure.ancestry import folded_on
from infrastructure.blobs import Entangled, completed, refer
from infrastructure.checkpoint_rows import checkpoint_row
from infrastructure.commit import ORDINAL_BITS, Contended
from infrastructure.database import Readable
from infrastructure.lanes.rebuilding import rebuilt
from infrastructure.lineages import NOBODY, Ancestor, lineage_row, note
from infrastructure.mapper import recorded_of
from infrastructure.recorder import purged_at
from infrastructure.remembered import Memory
from infrastructure.runner import Attempt, Runs
from infrastructure.stored_stream import (
    Stream,
    lane_streams,
    last_version,
    stored_facts,
    streams,
)
from infrastructure.view_rows import XID, Values, message_values, move_values, values
from infrastructure.writing import head_values, is_inherited, project_of, write_views

Key: TypeAlias = tuple[object, ...]
Progress: TypeAlias = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How one session's rows of a table differed from the log.

    Attributes:
        table: Its name, or `events` if the log ends before the session's head. Of
            `blob_references`, which say what facts name, only what is missing counts.
        missing: Rows that were not there, or for `events` facts that are not.
        extra: Rows that should not have been there.
        changed: Rows with another value in some column.
    """

    project_id: str
    session_id: str
    table: str
    missing: int = 0
    extra: int = 0
    changed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What was found: `equal` of `sessions` had no difference."""

    sessions: int = 0
    equal: int = 0
    differences: tuple[Difference, ...] = field(default=())


def rebuild(
    database: Readable,
    runner: Runs,
    project_id: str | None = None,
    session_id: str | None = None,
    *,
    check_only: bool = False,
    progress: Progress = lambda _: None,
) -> Rebuilt:
    """Fold sessions from the log; replace the views that differ, unless only asked to check.

    Lanes are folded too, unless one session is named; in a difference one is called `lane:` and its
    id. `progress` hears how many sessions are done.
    """
    done = equal = 0
    differences: list[Difference] = []
    for stream in streams(database, project_id, session_id):
        found = _rebuild(database, runner, stream, check_only=check_only)
        done += 1
        equal += not found
        differences.extend(found)
        progress(done)
    for stream in () if session_id is not None else lane_streams(database, project_id):
        for table, missing, extra, changed in rebuilt(
            database, runner, stream, check_only=check_only
        ):
            differences.append(
                Difference(
                    project_id=stream.project_id,
                    session_id=stream.session_id,
                    table=table,
                    missing=missing,
                    extra=extra,
                    changed=changed,
                )
            )
    return Rebuilt(sessions=done, equal=equal, differences=tuple(differences))


def _rebuild(
    database: Readable, runner: Runs, stream: Stream, *, check_only: bool
) -> list[Difference]:
    folded = _Folded(stream)
    with database.read() as connection:
        folded.catch_up(connection)
        found = folded.differences(connection)
    if not found or check_only:
        return found
    return runner.run(lambda attempt: folded.replaced(attempt, found))


class _Folded:
    """A session as its log makes it, and how far that was read."""

    def __init__(self, stream: Stream) -> None:
        self._stream: Final = stream
        self._state = State()
        self._own = self._state  # of a fork, without what it shares
        self._lineage = NOBODY
        self._named: dict[tuple[int, bytes], Blob] = {}

    def catch_up(self, connection: Connection) -> None:
        """Fold what the log has got since."""
        stream = replace(self._stream, last=last_version(connection, self._stream.key))
        purged = purged_at(connection, stream.key)
        if purged is not None and self._state.head.status != "purged":
            # Its last fact alone tells what is left; whatever else was read is no more.
            self._own, self._lineage, self._named = self._state, NOBODY, {}
            self._state.head = Head(version=purged - 1)
        elif not self._state.head.version:
            self._state, self._lineage = folded_on(connection, stream)
            self._own = State() if self._lineage else self._state
        for stored in stored_facts(connection, stream, after=self._state.head.version):
            changes = evolve(self._state, recorded_of(completed(connection, stored)))
            self._state.apply(changes)
            if self._lineage:
                self._own.apply(changes)
            for blob in named_blobs(stored.state):
                self._named[stored.envelope.version, bytes.fromhex(blob.sha256)] = blob

    def differences(self, connection: Connection) -> list[Difference]:
        """Compare the stored views with the fold."""
        missing = self._missing_facts(connection)
        found = [self._difference(connection, table) for table in t.VIEWS]
        if missing:
            found.insert(0, self._differing(t.events, missing=missing))
        if unreferenced := self._unreferenced(connection):
            found.append(self._differing(t.blob_references, missing=len(unreferenced)))
        return [each for each in found if each.missing or each.extra or each.changed]

    def replaced(self, attempt: Attempt, before: list[Difference]) -> list[Difference]:
        """Write the views anew, and return how they differ from the log once nobody else writes."""
        connection = attempt.connection
        attempt.commit.forget()
        if connection.dialect.name == "postgresql":
            key = t.heads.c.session_key == self._stream.key
            connection.execute(select(t.heads.c.session_key).where(key).with_for_update())
        self.catch_up(connection)
        found = self.differences(connection)
        if found and found[0].table != t.events.name:
            self._write(connection, attempt.commit.memory)
        elif found:
            self._tell(connection, attempt.commit.memory, found[0].missing)
        return found or before

    def _unreferenced(self, connection: Connection) -> list[tuple[int, Blob]]:
        """Return the blobs that facts name and the store does not know them to name."""
        if not self._named:
            return []
        r = t.blob_references.c
        rows = connection.execute(
            select(r.version, r.sha256).where(r.session_key == self._stream.key)
        )
        known = {(row.version, bytes(row.sha256)) for row in rows}
        return [(key[0], blob) for key, blob in self._named.items() if key not in known]

    def _missing_facts(self, connection: Connection) -> int:
        """Return how many facts the stored head knows of after the last one of the log."""
        head = select(t.heads.c.version).where(t.heads.c.session_key == self._stream.key)
        stored = connection.execute(head).scalar_one_or_none() or 0
        return max(0, int(stored) - self._state.head.version)

    def _difference(self, connection: Connection, table: Table) -> Difference:
        wanted = self._records(table)
        keys = [column.name for column in table.primary_key if column.name != "session_key"]
        extra = changed = 0
        rows = connection.execute(select(table).where(table.c.session_key == self._stream.key))
        for found in rows.mappings():
            row = {name: value for name, value in found.items() if name != "last_xid"}
            record = wanted.pop(tuple(row[name] for name in keys), None)
            extra += record is None
            changed += record is not None and self._row(record) != row
        return self._differing(table, missing=len(wanted), extra=extra, changed=changed)

    def _differing(
        self, table: Table, missing: int = 0, extra: int = 0, changed: int = 0
    ) -> Difference:
        return Difference(
            project_id=self._stream.project_id,
            session_id=self._stream.session_id,
            table=table.name,
            missing=missing,
            extra=extra,
            changed=changed,
        )

    def _records(self, table: Table) -> dict[Key, object]:
        """Return the records that make the table's rows, by their keys within the session."""
        state = self._own
        records: dict[str, dict[Key, object]] = {
            t.turns.name: {(turn.turn_id,): turn for turn in state.turns.values()},
            t.calls.name: {(c.turn_id, c.tool_call_id, c.occurrence): c for c in _flat(state)},
            t.gates.name: {(gate.gate_id,): gate for gate in state.gates.values()},
            t.messages.name: {(message.index,): message for message in state.messages.values()},
            t.losses.name: {(loss.version,): loss for loss in state.losses.values()},
            t.branches.name: {(branch.first_turn,): branch for branch in state.branches.values()},
            t.moves.name: {(move.version,): move for move in state.moves.values()},
            t.checkpoints.name: {(each.version,): each for each in state.checkpoints.values()},
            t.seats.name: {(seat.seat_id,): seat for seat in state.seats.values()},
            t.queue.name: {(each.queue_id,): each for each in state.queue.values()},
            t.heads.name: {(): state.head} if state.head.version else {},
            t.lineages.name: {(ancestor.key,): ancestor for ancestor in self._lineage},
        }
        return records[table.name]

    def _row(self, record: object) -> Values:
        stream = self._stream
        row: Values
        match record:
            case Head():
                return head_values(record, stream.key, stream.project_id)
            case Placed():
                row = message_values(record)
            case Move():
                row = move_values(record)
            case Checkpoint():
                columns = checkpoint_row(stream.key, record)
                row = dict(zip(t.checkpoints.columns.keys(), columns, strict=True))
            case Gate():
                inherited = is_inherited(record, self._own.head)
                row = values(record) | {"project_id": stream.project_id, "inherited": inherited}
            case Turn():
                project_id = project_of(record, self._own.head, stream.project_id)
                row = values(record) | {"project_id": project_id}
            case Seat():
                row = values(record) | {"project_id": stream.project_id}
            case Ancestor():
                row = lineage_row(record)
            case _:
                row = values(record)
        return row | {"session_key": stream.key}

    def _write(self, connection: Connection, memory: Memory | None) -> None:
        state = self._own
        for table in t.VIEWS:
            if table is not t.heads:
                connection.execute(table.delete().where(table.c.session_key == self._stream.key))
        whole = Changes(
            head=state.head,
            turns=tuple(state.turns.values()),
            calls=tuple(_flat(state)),
            gates=tuple(state.gates.values()),
            messages=tuple(state.messages.values()),
            losses=tuple(state.losses.values()),
            branches=tuple(state.branches.values()),
            moves=tuple(state.moves.values()),
            checkpoints=tuple(state.checkpoints.values()),
            seats=tuple(state.seats.values()),
            queue=tuple(state.queue.values()),
        )
        self._write_head(connection, memory)
        write_views(connection, self._stream.key, self._stream.project_id, [whole])
        note(connection, self._stream.key, self._lineage)
        try:
            unreferenced = self._unreferenced(connection)
            refer(connection, self._stream.project_id, self._stream.key, unreferenced)
        except Entangled as error:
            raise Contended from error

    def _tell(self, connection: Connection, memory: Memory | None, missing: int) -> None:
        """Have readiness tell of the facts that the log lost after its last one."""
        mine = t.heads.c.session_key == self._stream.key
        lost = self._state.head.unreadable + missing
        row: Values = {"unreadable": lost}
        connection.execute(t.heads.update().where(mine).values(row | _writer(connection, memory)))

    def _write_head(self, connection: Connection, memory: Memory | None) -> None:
        """Update the head where it is; a new one has the newest writer that the log knows of."""
        row = self._row(self._state.head)
        mine = t.heads.c.session_key == self._stream.key
        told = row | _writer(connection, memory)
        if connection.execute(t.heads.update().where(mine).values(told)).rowcount == 0:
            writer = "0" if connection.dialect.name == "sqlite" else _NEWEST_WRITER
            bound = text(writer).bindparams(**({} if writer == "0" else {"key": self._stream.key}))
            connection.execute(t.heads.insert().values(row | {"last_xid": bound}))


def _writer(connection: Connection, memory: Memory | None) -> Values:
    """Return another last writer: it tells whoever remembers the session."""
    shared = connection.dialect.name == "postgresql" and memory is not None
    return {"last_xid": text(XID)} if shared else {}


def _flat(state: State) -> Iterator[Call]:
    return (call for calls in state.calls.values() for call in calls)


_NEWEST_WRITER: Final = (
    f"(SELECT greatest({XID}, (max(position) >> {ORDINAL_BITS}) - min(store.base)) "  # noqa: S608 - made of constants
    "FROM events, store WHERE session_key = :key)"
)
