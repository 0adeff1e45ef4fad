"""The eventsourcing library's own tests of a recorder hold for ours, on both databases."""

import threading
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    IntegrityError,
    Notification,
    StoredEvent,
    Subscription,
)
from eventsourcing.tests import persistence as library
from sqlalchemy import func, select

from domain.events import Opaque
from domain.recorded import Envelope, Recorded, body_digest
from domain.state import Head, State
from infrastructure import tables as t
from infrastructure.commit import Contended
from infrastructure.lookup import find_head
from infrastructure.mapper import StreamFact, originator
from infrastructure.recorder import LogRecorder, TickingSubscription
from infrastructure.runner import Attempt
from infrastructure.writing import Writing
from tests.conftest import NewDatabase
from tests.databases import DatabaseKind
from tests.infrastructure.writing import NEW_YEAR, Store, opened

NOWHERE = 2**62
SALT = b"\x00" * 16


class AdaptedRecorder(ApplicationRecorder):
    """Our recorder, as the library's tests take a recorder to be.

    Those tests hand over bare stored events, of streams named by UUIDs, with versions from 0 or 1
    as they like, and expect notification ids 1, 2, 3. So the adapter supplies envelopes and heads,
    stores version n as n + 1 (ours begin at 1), and gives the rank of a position for a position.
    Every assertion of theirs holds.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recorder = LogRecorder(store.database)

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        **kwargs: Any,  # noqa: ANN401, ARG002 - the library's
    ) -> Sequence[int] | None:
        if not stored_events:
            return None
        try:
            positions = self._store.runner.run(lambda attempt: self._insert(attempt, stored_events))
        except Contended as error:
            raise IntegrityError from error
        return self._ranks(positions)

    def _insert(self, attempt: Attempt, stored_events: Sequence[StoredEvent]) -> list[int]:
        stream_id = str(stored_events[0].originator_id)
        key, state = find_head(attempt.connection, "default", stream_id)
        facts = [recorded(event) for event in stored_events]
        head = Head(status="open", version=facts[-1].version, hash=facts[-1].hash)
        writing = Writing(
            commit=attempt.commit,
            session_key=key,
            project_id="default",
            session_id=stream_id,
            seen=state.head.version,
            facts=facts,
            changes=[],
            state=State(head=head),
        )
        mapper = self._store.log.application.mapper
        name = originator("default", stream_id)
        stored = [
            mapper.to_stored_event(cast("Any", StreamFact(name, fact.version, fact)))
            for fact in facts
        ]
        return list(self._recorder.insert_events(stored, writing=writing) or ())

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        found = self._recorder.select_events(
            originator("default", str(originator_id)),
            gt=None if gt is None else gt + 1,
            lte=None if lte is None else lte + 1,
            desc=desc,
            limit=limit,
        )
        return [
            StoredEvent(
                originator_id=originator_id,
                originator_version=event.originator_version - 1,
                topic=event.topic,
                state=event.state,
            )
            for event in found
        ]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        found = self._recorder.select_notifications(
            self._position(start),
            limit,
            self._position(stop),
            topics,
            inclusive_of_start=inclusive_of_start,
        )
        ranks = self._ranks([notification.id for notification in found])
        return [
            Notification(
                id=rank,
                originator_id=UUID(str(notification.originator_id).rpartition("/")[2]),
                originator_version=notification.originator_version - 1,
                topic=notification.topic,
                state=notification.state,
            )
            for rank, notification in zip(ranks, found, strict=True)
        ]

    def max_notification_id(self) -> int | None:
        position = self._recorder.max_notification_id()
        return None if position is None else self._ranks([position])[0]

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        return TickingSubscription(cast("LogRecorder", self), gt=gt, topics=topics)

    def _position(self, rank: int | None) -> int | None:
        if not rank:
            return None
        statement = select(t.events.c.position).order_by(t.events.c.position)
        with self._store.database.read() as connection:
            found = connection.execute(statement.limit(1).offset(rank - 1)).scalar_one_or_none()
        return NOWHERE if found is None else found

    def _ranks(self, positions: Sequence[int]) -> list[int]:
        if not positions:
            return []
        position = t.events.c.position
        with self._store.database.read() as connection:
            before = connection.execute(
                select(func.count()).where(position < positions[0])
            ).scalar_one()
            between = connection.execute(
                select(position)
                .where(position.between(positions[0], positions[-1]))
                .order_by(position)
            ).scalars()
            ranks = {found: rank for rank, found in enumerate(between, start=before + 1)}
        return [ranks[found] for found in positions]


class AdaptedAggregateRecorder(AggregateRecorder):
    """The same as a recorder of streams only: it gives no notification ids."""

    def __init__(self, store: Store) -> None:
        self._recorder = AdaptedRecorder(store)

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        **kwargs: Any,  # noqa: ANN401 - the library's
    ) -> Sequence[int] | None:
        self._recorder.insert_events(stored_events, **kwargs)
        return None

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        return self._recorder.select_events(originator_id, gt=gt, lte=lte, desc=desc, limit=limit)


def recorded(event: StoredEvent) -> Recorded:
    """Return a bare stored event with the envelope that ours have."""
    envelope = Envelope(
        project_id="default",
        session_id=str(event.originator_id),
        version=event.originator_version + 1,
        event_id=str(uuid4()),
        type=event.topic,
        schema=1,
        affects="none",
        recorded_at=NEW_YEAR,
        body_digest=body_digest(SALT, event.state),
    )
    return Recorded(
        envelope=envelope,
        position=0,
        previous=b"",
        hash=b"",
        salt=SALT,
        body=event.state,
        event=Opaque(reason="unknown-type"),
    )


class OnDatabase:
    """Gives each of the library's tests a fresh database of one kind."""

    kind: DatabaseKind = "sqlite"
    store: Store

    @pytest.fixture(autouse=True)
    def _open(self, new_database: NewDatabase) -> Any:  # noqa: ANN401 - a generator of nothing
        with opened(new_database(self.kind)) as store:
            self.store = store
            before = {*threading.enumerate()}
            yield
            for thread in {*threading.enumerate()} - before:
                if "read_continuously" in thread.name:
                    thread.join(10)  # the library leaves its readers behind


class StreamsOnSqlite(OnDatabase, library.AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return AdaptedAggregateRecorder(self.store)


class StreamsOnPostgresql(StreamsOnSqlite):
    kind = "postgresql"


class WholeLogOnSqlite(OnDatabase, library.ApplicationRecorderTestCase[ApplicationRecorder]):
    def create_recorder(self) -> ApplicationRecorder:
        return AdaptedRecorder(self.store)

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class WholeLogOnPostgresql(WholeLogOnSqlite):
    kind = "postgresql"


class NonInterleavingOnSqlite(OnDatabase, library.NonInterleavingNotificationIDsBaseCase):
    def create_recorder(self) -> ApplicationRecorder:
        return AdaptedRecorder(self.store)


class NonInterleavingOnPostgresql(NonInterleavingOnSqlite):
    kind = "postgresql"
