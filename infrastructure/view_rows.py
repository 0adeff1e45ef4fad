"""How do the records of the core stand in the views' tables?

One function each way for each kind of record: field names are column names, and what differs is
here.
"""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, TypeAlias, TypeVar, cast

from sqlalchemy import Integer, Select, Table, bindparam, literal_column, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Row
from sqlalchemy.sql.dml import ReturningUpdate

from domain.state import (
    Branch,
    Call,
    Gate,
    Head,
    Loss,
    Move,
    Placed,
    Position,
    QueuedInput,
    Seat,
    Turn,
)
from infrastructure import tables as t
from infrastructure.prepared import Prepared, PreparedRows

Values: TypeAlias = dict[str, object]
Record = TypeVar("Record")

_FLAGS: Final[Mapping[type[Any], tuple[str, ...]]] = {
    Head: ("pinned", "put_away", "suspended", "tail_open"),
    Call: ("announced", "gated"),
    Seat: ("prior_was_sent",),
}
XID: Final = "pg_current_xact_id()::text::bigint"


def values(record: object) -> Values:
    """Return a record's fields by name."""
    return {name: getattr(record, name) for name in _NAMES[type(record)]}


def head_of(row: Row[Any]) -> Head:
    """Return the head in a row of `heads`."""
    return _record(Head, row)


def turn_of(row: Row[Any]) -> Turn:
    """Return the turn in a row of `turns`."""
    return _record(Turn, row)


def call_of(row: Row[Any]) -> Call:
    """Return the call in a row of `calls`."""
    return _record(Call, row)


def gate_of(row: Row[Any]) -> Gate:
    """Return the gate in a row of `gates`."""
    return _record(Gate, row)


def loss_of(row: Row[Any]) -> Loss:
    """Return the loss in a row of `losses`."""
    return _record(Loss, row)


def seat_of(row: Row[Any]) -> Seat:
    """Return the seat in a row of `seats`."""
    return _record(Seat, row)


def queued_of(row: Row[Any]) -> QueuedInput:
    """Return the queued input in a row of `queue`."""
    return _record(QueuedInput, row)


def branch_of(row: Row[Any]) -> Branch:
    """Return the branch in a row of `branches`."""
    return _record(Branch, row)


def move_of(row: Row[Any]) -> Move:
    """Return the move in a row of `moves`."""
    found = _named(row)
    before, after = (_position(found, time) for time in ("before", "after"))
    return Move(version=found["version"], kind=found["kind"], before=before, after=after)


def _position(found: Mapping[Any, Any], time: str) -> Position:
    given: dict[str, Any] = {name: found[f"{time}_{name}"] for name in Position._fields}
    for name in ("fingerprint", "model_fingerprint"):
        given[name] = bytes(given[name])
    return Position(**given)


def move_values(move: Move) -> Values:
    """Return a move's columns by name, but the session's key."""
    return dict(zip(UPSERT_MOVE.names[1:], move_row(0, move)[1:], strict=True))


def move_row(session_key: int, move: Move) -> tuple[object, ...]:
    """Return a move's columns in the table's order."""
    return (session_key, move.version, move.kind, *move.before, *move.after)


def message_values(message: Placed) -> Values:
    """Return a message's columns by name, but the session's key."""
    return dict(zip(UPSERT_MESSAGE.names[1:], message_row(0, message)[1:], strict=True))


def message_of(row: Row[Any]) -> Placed:
    """Return the message in a row of `messages`."""
    found = _named(row)
    versions: str | None = found["versions"]
    return Placed(
        index=found["index"],
        message_id=(
            found["message_id"] if found["named"] else found["turn_id"] + found["message_id"]
        ),
        named=bool(found["named"]),
        turn_id=found["turn_id"],
        role=found["role"],
        item=found["item"],
        versions=(
            (found["version"],) if versions is None else tuple(map(int, versions.split(",")))
        ),
        partial=bool(found["partial"]),
        digest=_bytes(found["digest"]),
        fingerprint=bytes(found["fingerprint"]),
        model_fingerprint=_bytes(found["model_fingerprint"]) or bytes(found["fingerprint"]),
    )


def message_row(session_key: int, message: Placed) -> tuple[object, ...]:
    """Return a message's columns in the table's order: what follows from others is left empty."""
    versions, fingerprint, model = (
        message.versions,
        message.fingerprint,
        message.model_fingerprint,
    )
    return (
        session_key,
        message.index,
        versions[0],
        message.item,
        message.named,
        message.partial,
        message.message_id if message.named else message.message_id.removeprefix(message.turn_id),
        message.turn_id,
        message.role,
        ",".join(map(str, versions)) if len(versions) > 1 else None,
        message.digest,
        fingerprint,
        None if model == fingerprint else model,
    )


def upsert(table: Table, names: Iterable[str]) -> PreparedRows:
    """Return the statement that writes rows of `table`, new or known; `names` are its columns."""
    keep = {column.name for column in table.primary_key}

    def build(dialect: str) -> Any:  # noqa: ANN401 - one of two classes without a common one
        insert: Callable[..., Any] = sqlite.insert if dialect == "sqlite" else postgresql.insert
        statement = insert(table).values({c.name: bindparam(c.name) for c in table.columns})
        changed = {c.name: statement.excluded[c.name] for c in table.columns if c.name not in keep}
        return statement.on_conflict_do_update(
            index_elements=list(table.primary_key.columns), set_=changed
        )

    return PreparedRows(build, tuple(names))


_KINDS: Final[tuple[type[Any], ...]] = (
    Head,
    Turn,
    Call,
    Gate,
    Loss,
    Branch,
    Seat,
    QueuedInput,
)
_NAMES: Final[Mapping[type[Any], tuple[str, ...]]] = {
    kind: tuple(kind.__annotations__) for kind in _KINDS
}
_BLOBS: Final[Mapping[type[Any], tuple[str, ...]]] = {
    kind: tuple(
        name for name, hint in kind.__annotations__.items() if hint in {bytes, bytes | None}
    )
    for kind in _KINDS
}
FIELDS: Final[Mapping[type[Any], Callable[[Any], tuple[object, ...]]]] = {
    kind: attrgetter(*_NAMES[kind]) for kind in _KINDS
}
"""What gives a record's fields in the order that its statement wants, after the session's key."""

UPSERT_TURN: Final = upsert(t.turns, ("session_key", "project_id", *_NAMES[Turn]))
UPSERT_CALL: Final = upsert(t.calls, ("session_key", *_NAMES[Call]))
UPSERT_GATE: Final = upsert(t.gates, ("session_key", "project_id", "inherited", *_NAMES[Gate]))
UPSERT_MESSAGE: Final = upsert(t.messages, (column.name for column in t.messages.columns))
UPSERT_LOSS: Final = upsert(t.losses, ("session_key", *_NAMES[Loss]))

UPSERT_SEAT: Final = upsert(t.seats, ("session_key", "project_id", *_NAMES[Seat]))
UPSERT_QUEUED: Final = upsert(t.queue, ("session_key", *_NAMES[QueuedInput]))
UPSERT_BRANCH: Final = upsert(t.branches, ("session_key", *_NAMES[Branch]))
UPSERT_MOVE: Final = upsert(t.moves, (column.name for column in t.moves.columns))
UPSERT_CHECKPOINT: Final = upsert(t.checkpoints, (c.name for c in t.checkpoints.columns))


def _head_columns(dialect: str, without: Iterable[str]) -> dict[str, Any]:
    given: dict[str, Any] = {
        c.name: bindparam(c.name) for c in t.heads.columns if c.name not in without
    }
    return given | {"last_xid": text("0" if dialect == "sqlite" else XID)}


INSERT_HEAD: Final = PreparedRows(
    lambda dialect: (
        t.heads.insert().values(_head_columns(dialect, {"last_xid"})).returning(t.heads.c.last_xid)
    ),
    ("session_key", "project_id", *_NAMES[Head]),
)
_HEAD_KEYS: Final = {"session_key", "project_id", "last_xid"}
_UNTOUCHED: Final = f"last_xid <= {XID} AND last_xid = coalesce(CAST(:writer_ AS bigint), last_xid)"


def _update_head(dialect: str) -> ReturningUpdate[Any]:
    return (
        t.heads.update()
        .where(
            t.heads.c.session_key == bindparam("session_key_"),
            t.heads.c.version == bindparam("seen_"),
            text("1=1" if dialect == "sqlite" else _UNTOUCHED),
        )
        .values(_head_columns(dialect, _HEAD_KEYS))
        .returning(t.heads.c.last_xid)
    )


def _update_head_or_fail(dialect: str) -> Select[int]:
    moved = _update_head(dialect).cte("moved")
    return select(literal_column("1 / count(*)", Integer())).select_from(moved)


UPDATE_HEAD: Final = PreparedRows(_update_head, ("session_key_", "seen_", "writer_", *_NAMES[Head]))
UPDATE_HEAD_OR_FAIL: Final = PreparedRows(_update_head_or_fail, UPDATE_HEAD.names)
"""On PostgreSQL: divides by the number of heads that were updated, so that where there is none the
transaction fails by itself, whatever was sent after it."""
DIVISION_BY_ZERO: Final = "22012"
DEADLOCK: Final = "40P01"

FIND_HEAD: Final = Prepared(
    lambda _: (
        select(t.streams.c.session_key.label("stream_key"), *t.heads.columns)
        .select_from(t.streams.outerjoin(t.heads, t.heads.c.session_key == t.streams.c.session_key))
        .where(
            t.streams.c.project_id == bindparam("project_id"),
            t.streams.c.session_id == bindparam("session_id"),
        )
    )
)


def _record(kind: type[Record], row: Row[Any]) -> Record:
    found = _named(row)
    given = {name: found[name] for name in _NAMES[kind]}
    for name in _BLOBS[kind]:
        given[name] = _bytes(given[name])
    for name in _FLAGS.get(kind, ()):
        given[name] = None if given[name] is None else bool(given[name])
    return kind(**given)


def _named(row: Row[Any]) -> Mapping[Any, Any]:
    return row._mapping  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - public, by its docs


def _bytes(value: object) -> bytes | None:
    return None if value is None else bytes(cast("bytes", value))
