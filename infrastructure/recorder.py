"""How do the library's stored events stand in our tables?

The library's recorder over SQLAlchemy Core: appends with the inline views in one transaction,
reads one stream by version, and the whole log by position. On PostgreSQL a reader of the whole
log stays below the oldest running transaction, so that none misses an event that commits late.
"""

from collections.abc import Sequence
from threading import Event
from typing import Any, Final, Protocol
from uuid import UUID

from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    ListenNotifySubscription,
    Notification,
    ProgrammingError,
    StoredEvent,
    Subscription,
)
from sqlalchemy import Connection, bindparam, func, literal_column, select, text
from sqlalchemy import exc as sa_exc

from domain.events import SessionForked, SessionPurged
from domain.recorded import GENESIS, Envelope, ProducerStamp, Recorded
from infrastructure import tables as t
from infrastructure.blobs import completed
from infrastructure.commit import ORDINAL_BITS
from infrastructure.database import Database
from infrastructure.event_ids import spelt
from infrastructure.mapper import StoredFact, originator
from infrastructure.prepared import Prepared
from infrastructure.serialization import decode

TICK_S: Final = 0.02
HORIZON: Final = (
    "(SELECT (base + pg_snapshot_xmin(pg_current_snapshot())::text::bigint) "  # noqa: S608
    f"<< {ORDINAL_BITS} FROM store)"
)

COLUMNS: Final = (
    *(c for c in t.events.columns if c.name != "session_key"),
    t.bodies.c.salt,
    t.bodies.c.body,
)
ADDRESS: Final = (t.turns.c.lane_id, t.turns.c.reply_to)
WITH_BODIES: Final = t.events.outerjoin(
    t.bodies,
    (t.bodies.c.session_key == t.events.c.session_key) & (t.bodies.c.version == t.events.c.version),
)
WITH_TURNS: Final = WITH_BODIES.outerjoin(
    t.turns,
    (t.turns.c.session_key == t.events.c.session_key) & (t.turns.c.turn_id == t.events.c.turn_id),
)


def _stream(*, desc: bool, addressed: bool) -> Prepared:
    def build(_: str) -> Any:  # noqa: ANN401
        order = t.events.c.version.desc() if desc else t.events.c.version
        return (
            select(*COLUMNS, *(ADDRESS if addressed else ()))
            .select_from(WITH_TURNS if addressed else WITH_BODIES)
            .where(
                t.events.c.session_key == bindparam("session_key"),
                t.events.c.version > bindparam("gt"),
                t.events.c.version <= bindparam("lte"),
            )
            .order_by(order)
            .limit(bindparam("most"))
        )

    return Prepared(build)


_STREAM: Final = {
    (desc, addressed): _stream(desc=desc, addressed=addressed)
    for desc in (False, True)
    for addressed in (False, True)
}
_KEY: Final = Prepared(
    lambda _: select(t.streams.c.session_key).where(
        t.streams.c.project_id == bindparam("project_id"),
        t.streams.c.session_id == bindparam("session_id"),
    )
)
_HASH: Final = Prepared(
    lambda _: select(t.events.c.hash).where(
        t.events.c.session_key == bindparam("session_key"),
        t.events.c.version == bindparam("version"),
    )
)
_LAST: Final = Prepared(
    lambda _: (
        select(t.events.c.version, t.events.c.type, t.events.c.schema, t.bodies.c.body)
        .select_from(WITH_BODIES)
        .where(t.events.c.session_key == bindparam("session_key"))
        .order_by(t.events.c.version.desc())
        .limit(1)
    )
)
_LANE_PURGED: Final = Prepared(
    lambda _: select(func.max(t.events.c.version)).where(
        t.events.c.session_key == bindparam("session_key"),
        t.events.c.type == literal_column("'lane-purged'"),
    )
)
PURGED: Final = "session-purged"
EVERYTHING: Final = 2**31 - 1


class Written(Protocol):
    """What one commit writes of a stream, with its views."""

    @property
    def facts(self) -> Sequence[Recorded]:
        """Return the facts."""
        ...

    def write(self) -> Sequence[int]:
        """Write it all, and return the positions."""
        ...


class LogRecorder(ApplicationRecorder):
    """Keeps stored facts in `events` and `bodies`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        **kwargs: Any,  # noqa: ANN401 - the library's
    ) -> Sequence[int] | None:
        """Write facts and views in the transaction of `kwargs["writing"]`.

        Raises:
            IntegrityError: a version is taken.
            Contended: the head moved on, or its last writer is younger.
        """
        writing: Written = kwargs["writing"]
        if len(writing.facts) != len(stored_events):
            raise ProgrammingError("the stored events are not those that are written")
        try:
            return writing.write()
        except sa_exc.IntegrityError as error:
            raise IntegrityError("another writer took this version") from error

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Return the facts of one stream, by version."""
        project_id, _, session_id = str(originator_id).partition("/")
        with self._database.read() as connection:
            key = find_key(connection, project_id, session_id)
            if key is None:
                return []
            found = stream_facts(
                connection,
                (project_id, session_id, key),
                gt=gt or 0,
                lte=EVERYTHING if lte is None else lte,
                limit=EVERYTHING if limit is None else limit,
                desc=desc,
            )
            return [completed(connection, stored) for stored in found]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Return facts of the whole log, by position; none that a late commit could precede."""
        position = t.events.c.position
        statement = (
            select(t.streams.c.project_id, t.streams.c.session_id, *COLUMNS)
            .select_from(
                WITH_BODIES.join(t.streams, t.streams.c.session_key == t.events.c.session_key)
            )
            .order_by(position)
            .limit(limit)
        )
        if start is not None:
            statement = statement.where(
                position >= start if inclusive_of_start else position > start
            )
        if stop is not None:
            statement = statement.where(position <= stop)
        if topics:
            statement = statement.where(t.events.c.type.in_(topics))
        if self._database.kind == "postgresql":
            statement = statement.where(position < text(HORIZON))
        with self._database.read() as connection:
            return [
                Notification(
                    id=row.position,
                    originator_id=originator(row.project_id, row.session_id),
                    originator_version=row.version,
                    topic=row.type,
                    state=b"" if row.body is None else bytes(row.body),
                )
                for row in connection.execute(statement)
            ]

    def max_notification_id(self) -> int | None:
        """Return the highest position that a follower can see."""
        statement = select(func.max(t.events.c.position))
        if self._database.kind == "postgresql":
            statement = statement.where(t.events.c.position < text(HORIZON))
        with self._database.read() as connection:
            return connection.execute(statement).scalar_one_or_none()

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        """Follow the whole log from after `gt`, by asking for more every few milliseconds."""
        return TickingSubscription(self, gt=gt, topics=topics)


class TickingSubscription(ListenNotifySubscription["LogRecorder"]):
    """The library's subscription, woken by a clock: neither database has to notify anybody."""

    def __init__(self, recorder: LogRecorder, *, gt: int | None, topics: Sequence[str]) -> None:
        self._stopped = Event()
        super().__init__(recorder=recorder, gt=gt, topics=topics)
        from threading import Thread  # noqa: PLC0415

        self._ticker = Thread(target=self._tick, name="log-follower", daemon=True)
        self._ticker.start()

    def stop(self) -> None:
        """Stop following."""
        self._stopped.set()
        super().stop()

    def _tick(self) -> None:
        while not self._stopped.wait(TICK_S):
            self._has_been_notified.set()


def find_key(connection: Connection, project_id: str, session_id: str) -> int | None:
    """Return the session's key in the tables, if the log knows it."""
    found = _KEY.run(
        connection, {"project_id": project_id, "session_id": session_id}
    ).scalar_one_or_none()
    return None if found is None else int(found)


def stream_facts(  # noqa: PLR0913 - which facts, and what of them
    connection: Connection,
    stream: tuple[str, str, int],
    *,
    gt: int = 0,
    lte: int = EVERYTHING,
    limit: int = EVERYTHING,
    desc: bool = False,
    addressed: bool = False,
) -> list[StoredFact]:
    """Return a stream's facts after `gt` up to `lte`, each with the hash before it.

    `stream` is (project id, session id, session key). `addressed`: with where the answers of their
    turns go.
    """
    _, _, key = stream
    statement = _STREAM[desc, addressed]
    rows = list(
        statement.run(connection, {"session_key": key, "gt": gt, "lte": lte, "most": limit})
    )
    if not rows:
        return []
    hashes = {row.version: bytes(row.hash) for row in rows}
    lowest = min(hashes)
    before = _HASH.run(connection, {"session_key": key, "version": lowest - 1}).scalar_one_or_none()
    if before is None and lowest > 1:
        before = _shared_hash(connection, stream, next(r for r in rows if r.version == lowest))
    hashes[lowest - 1] = GENESIS if before is None else bytes(before)
    form = addressed_fact if addressed else stored_fact
    return [form(row, stream, hashes.get(row.version - 1, GENESIS)) for row in rows]


def parent_of(connection: Connection, session_key: int, row: Any) -> str | None:  # noqa: ANN401 - a row
    """Return the session that a fork was forked from, as its first own fact tells, or its last.

    None if `row`, its first one, does not go on where that session was left.
    """
    fact = decode(row.type, row.schema, None if row.body is None else bytes(row.body))
    if isinstance(fact, SessionForked):
        return fact.parent.session_id if fact.parent.version == row.version - 1 else None
    last = _LAST.run(connection, {"session_key": session_key}).first()
    if last is None or last.type != PURGED:
        return None
    purged = decode(last.type, last.schema, None if last.body is None else bytes(last.body))
    if not isinstance(purged, SessionPurged) or purged.base_version != row.version - 1:
        return None
    return purged.forked_from


def purged_at(connection: Connection, session_key: int) -> int | None:
    """Return the version of the fact that purged a session, if one did."""
    last = _LAST.run(connection, {"session_key": session_key}).first()
    return last.version if last is not None and last.type == PURGED else None


def lane_purged_at(connection: Connection, session_key: int) -> int | None:
    """Return the version of the newest fact that purged a lane, which may have begun anew since."""
    found = _LANE_PURGED.run(connection, {"session_key": session_key}).scalar_one()
    return None if found is None else int(found)


def _shared_hash(connection: Connection, stream: tuple[str, str, int], row: Any) -> bytes | None:  # noqa: ANN401 - a row
    """Return the hash before a fork's first own fact."""
    parent = parent_of(connection, stream[2], row)
    if parent is None:
        return None
    key = find_key(connection, stream[0], parent)
    before = {"session_key": key, "version": row.version - 1}
    found = _HASH.run(connection, before).scalar_one_or_none()
    return None if found is None else bytes(found)


def addressed_fact(row: Any, stream: tuple[str, str, int], previous: bytes) -> StoredFact:  # noqa: ANN401
    """Return the stored fact in a row of `events` joined with `bodies` and `turns`."""
    return stored_fact(row, stream, previous, row.lane_id, row.reply_to)


def stored_fact(
    row: Any,  # noqa: ANN401
    stream: tuple[str, str, int],
    previous: bytes,
    lane_id: str | None = None,
    reply_to: str | None = None,
) -> StoredFact:
    """Return the stored fact in a row of `events` joined with `bodies`."""
    project_id, session_id, _ = stream
    producer = (
        None
        if row.producer_id is None
        else ProducerStamp(
            producer_id=row.producer_id,
            epoch=row.producer_epoch,
            sequence=row.producer_sequence,
        )
    )
    envelope = Envelope(
        project_id=project_id,
        session_id=session_id,
        version=row.version,
        event_id=spelt(bytes(row.event_id)),
        type=row.type,
        schema=row.schema,
        affects="history" if row.history else "none",
        recorded_at=row.recorded_at,
        occurred_at=row.occurred_at,
        actor=row.actor,
        producer=producer,
        batch=row.batch,
        turn_id=row.turn_id,
        trace_id=row.trace_id,
        body_digest=bytes(row.body_digest),
    )
    return StoredFact(
        originator_id=originator(project_id, session_id),
        originator_version=row.version,
        topic=row.type,
        state=b"" if row.body is None else bytes(row.body),
        envelope=envelope,
        position=row.position,
        previous=previous,
        hash=bytes(row.hash),
        salt=None if row.salt is None else bytes(row.salt),
        gone=row.body is None,
        lane_id=lane_id,
        reply_to=reply_to,
    )
