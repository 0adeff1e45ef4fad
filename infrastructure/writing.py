"""What does one commit write, besides the events?

The head first (on PostgreSQL it gives the position, and refuses a writer who is late), then the
events and their bodies, then every inline view: all in the transaction that the caller gave.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, bindparam

from domain.events import GapAccepted, HistoryAsserted, HistoryImported, SessionOpened
from domain.recorded import Recorded
from domain.state import (
    Branch,
    Call,
    Changes,
    Checkpoint,
    Gate,
    Head,
    Loss,
    QueuedInput,
    Seat,
    State,
    Turn,
)
from infrastructure import tables as t
from infrastructure.blobs import Entangled, keep_of
from infrastructure.checkpoint_rows import checkpoint_row
from infrastructure.commit import Commit, Contended, Kept
from infrastructure.event_ids import packed
from infrastructure.lineages import Lineage, note
from infrastructure.prepared import Prepared, PreparedRows, copy_rows, end_pipeline, pipelined
from infrastructure.remembered import Remembered
from infrastructure.view_rows import (
    FIELDS,
    INSERT_HEAD,
    UPDATE_HEAD,
    UPDATE_HEAD_OR_FAIL,
    UPSERT_BRANCH,
    UPSERT_CALL,
    UPSERT_CHECKPOINT,
    UPSERT_GATE,
    UPSERT_LOSS,
    UPSERT_MESSAGE,
    UPSERT_MOVE,
    UPSERT_QUEUED,
    UPSERT_SEAT,
    UPSERT_TURN,
    Values,
    message_row,
    move_row,
    values,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """What to write: facts of one session, and what each changed.

    Attributes:
        seen: The version that the facts were decided on; 0 for a new session, and the last shared
            one for a fork.
        lineage: With whom a fork, which is new, shares its history.
    """

    commit: Commit
    session_key: int | None
    project_id: str
    session_id: str
    seen: int
    facts: Sequence[Recorded]
    changes: Sequence[Changes]
    state: State
    lineage: Lineage = ()
    placed: list[Recorded] = field(default_factory=list[Recorded])

    def write(self) -> list[int]:
        """Write it all, as `write` does."""
        return write(self)


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
        session_key = new_stream(connection, writing.project_id, writing.session_id)
        note(connection, session_key, writing.lineage)
    xid = _write_head(writing, session_key, known, quick=quick)
    commit.check()
    positions = commit.positions(xid, len(writing.facts))
    writing.placed.extend(
        _at(fact, position) for fact, position in zip(writing.facts, positions, strict=True)
    )
    _place_knowledge(writing, session_key)
    if any(fact.blobs for fact in writing.facts):
        _keep_blobs(writing, session_key)
    events, bodies = _rows(session_key, writing.placed)
    if len(events) >= COPIED_FROM and connection.dialect.name == "postgresql":
        copy_rows(connection, t.events, events)
        copy_rows(connection, t.bodies, bodies)
        events, bodies = [], []
    with pipelined(connection):
        _INSERT_EVENT.rows(connection, events)
        _INSERT_BODY.rows(connection, bodies)
        write_views(connection, session_key, writing.project_id, _placed_changes(writing))
    session = (writing.project_id, writing.session_id)
    commit.keep(Kept(*session, session_key, writing.state, writing.seen, xid))
    return positions


def new_stream(connection: Connection, project_id: str, name: str) -> int:
    """Return the key of a stream that begins now."""
    names = {"project_id": project_id, "session_id": name}
    return int(_INSERT_STREAM.run(connection, names).scalar_one())


def insert_facts(connection: Connection, session_key: int, placed: Sequence[Recorded]) -> None:
    """Write facts and what they say."""
    events, bodies = _rows(session_key, placed)
    _INSERT_EVENT.rows(connection, events)
    _INSERT_BODY.rows(connection, bodies)


def _rows(
    session_key: int, placed: Sequence[Recorded]
) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    events = [event_row(fact, session_key) for fact in placed]
    bodies: list[tuple[object, ...]] = [
        (session_key, fact.version, fact.salt, fact.body)
        for fact in placed
        if fact.body is not None
    ]
    return events, bodies


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
    if writing.seen == 0 or writing.session_key is None:
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


_MAKES_KNOWN: Final = (SessionOpened, HistoryImported, HistoryAsserted, GapAccepted)
_SET_KNOWN: Final = Prepared(
    lambda _: (
        t.heads.update()
        .where(t.heads.c.session_key == bindparam("session_key_"))
        .values(known_position=bindparam("known_position"))
    )
)


def _place_knowledge(writing: Writing, session_key: int) -> None:
    """History becomes known at a position, which is known only once the head is written."""
    known = [fact.position for fact in writing.placed if isinstance(fact.event, _MAKES_KNOWN)]
    if known:
        writing.state.head = writing.state.head._replace(known_position=known[-1])
        _SET_KNOWN.run(
            writing.commit.connection,
            {"session_key_": session_key, "known_position": known[-1]},
        )


def _placed_changes(writing: Writing) -> Sequence[Changes]:
    """Return what changed; a checkpoint since history became known tells at which position."""
    known = [fact for fact in writing.placed if isinstance(fact.event, _MAKES_KNOWN)]
    if not known or not any(change.checkpoints for change in writing.changes):
        return writing.changes
    return [
        change._replace(checkpoints=tuple(_known_since(known, c) for c in change.checkpoints))
        for change in writing.changes
    ]


def _known_since(known: Sequence[Recorded], checkpoint: Checkpoint) -> Checkpoint:
    before = [fact.position for fact in known if fact.version <= checkpoint.version]
    if not before:
        return checkpoint
    return checkpoint._replace(head=checkpoint.head._replace(known_position=before[-1]))


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


def is_inherited(gate: Gate, head: Head) -> bool:
    """Tell whether a gate is one of the parent's that a fork has something to say of."""
    return gate.opened_version <= head.base_version


def project_of(turn: Turn, head: Head, project_id: str) -> str | None:
    """Return in whose list a turn stands: in none, if it is one of a fork's parent."""
    return None if turn.started_version <= head.base_version else project_id


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
    UPSERT_TURN.rows(
        connection,
        [
            (session_key, project_of(turn, changes[-1].head, project_id), *turn_of(turn))
            for turn in turns.values()
        ],
    )
    UPSERT_CALL.rows(connection, [(session_key, *call_of(call)) for call in calls.values()])
    UPSERT_GATE.rows(
        connection,
        [
            (session_key, project_id, is_inherited(gate, changes[-1].head), *gate_of(gate))
            for gate in gates.values()
        ],
    )
    UPSERT_MESSAGE.rows(connection, [message_row(session_key, m) for m in messages.values()])
    UPSERT_LOSS.rows(connection, [(session_key, *loss_of(loss)) for loss in losses.values()])
    branches = [branch for change in changes for branch in change.branches]
    moves = [move for change in changes for move in change.moves]
    branch_of = FIELDS[Branch]
    UPSERT_BRANCH.rows(connection, [(session_key, *branch_of(branch)) for branch in branches])
    UPSERT_MOVE.rows(connection, [move_row(session_key, move) for move in moves])
    seats = {seat.seat_id: seat for change in changes for seat in change.seats}
    queue = {each.queue_id: each for change in changes for each in change.queue}
    seat_of, queued_of = FIELDS[Seat], FIELDS[QueuedInput]
    UPSERT_SEAT.rows(
        connection, [(session_key, project_id, *seat_of(seat)) for seat in seats.values()]
    )
    UPSERT_QUEUED.rows(connection, [(session_key, *queued_of(each)) for each in queue.values()])
    checkpoints = [checkpoint for change in changes for checkpoint in change.checkpoints]
    UPSERT_CHECKPOINT.rows(connection, [checkpoint_row(session_key, c) for c in checkpoints])
