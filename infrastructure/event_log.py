"""Where are facts kept? The log as the rest of the program sees it.

An `eventsourcing` application: its event store takes facts through our mapper to our recorder, and
gives them back the same way. There is no way to change or remove one.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, cast

from eventsourcing.application import Application
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    EventStore,
    InfrastructureFactory,
    IntegrityError,
    Mapper,
    ProcessRecorder,
    Recording,
    TrackingRecorder,
    Transcoder,
)
from eventsourcing.utils import Environment
from sqlalchemy import Connection

from domain.json_text import JsonValue, NotJson, parse
from domain.recorded import Recorded
from infrastructure.blobs import completed, completed_in
from infrastructure.commit import Contended
from infrastructure.database import Database
from infrastructure.mapper import (
    FactMapper,
    StreamFact,
    originator,
    recorded_of,
    whole_body,
)
from infrastructure.recorder import EVERYTHING, LogRecorder, Written, find_key, stream_facts

PAGE: Final = 500


class NotOffered(NotImplementedError):
    """The library can ask for this kind of recorder; turnlog has no use for it."""


class LogFactory(InfrastructureFactory[TrackingRecorder]):
    """Hands our recorder to the library's application."""

    def __init__(self, env: Environment, database: Database) -> None:
        super().__init__(env)
        self._database = database

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        """Return the recorder; there are no snapshots."""
        if purpose != "events":
            raise NotOffered(purpose)
        return LogRecorder(self._database)

    def application_recorder(self) -> ApplicationRecorder:
        """Return the recorder."""
        return LogRecorder(self._database)

    def tracking_recorder(
        self, tracking_recorder_class: type[TrackingRecorder] | None = None
    ) -> TrackingRecorder:
        """Refuse: followers keep their own tracking."""
        raise NotOffered(tracking_recorder_class)

    def process_recorder(self) -> ProcessRecorder:
        """Refuse: no process applications."""
        raise NotOffered


class LogStore(EventStore[str]):
    """The library's event store; whoever appends finds the positions in the `writing`."""

    def put(
        self,
        domain_events: Sequence[DomainEventProtocol[str]],
        **kwargs: Any,  # noqa: ANN401 - the library's
    ) -> list[Recording[str]]:
        """Store facts; none is told of as recorded, which costs as much as to store it."""
        stored = list(map(self.mapper.to_stored_event, domain_events))
        self.recorder.insert_events(stored, **kwargs)
        return []


class SessionLog(Application[str]):
    """The library's application over our tables."""

    name = "turnlog"

    def __init__(self, database: Database) -> None:
        self._database = database
        super().__init__({})

    def construct_env(self, name: str, env: Any = None) -> Environment:  # noqa: ANN401
        """Return an environment that the process's variables do not reach into."""
        return Environment(name, env or {})

    def construct_factory(self, env: Environment) -> InfrastructureFactory[TrackingRecorder]:
        """Return the factory over our database."""
        return LogFactory(env, self._database)

    def construct_mapper(self) -> Mapper[str]:
        """Return our mapper."""
        return FactMapper()

    def construct_event_store(self) -> EventStore[str]:
        """Return our event store."""
        return LogStore(self.mapper, self.recorder)

    def construct_transcoder(self) -> Transcoder:
        """Refuse: our mapper transcodes by itself."""
        raise NotOffered


class Appending(Written, Protocol):
    """What is appended to a stream: of a session, or of a lane."""

    @property
    def project_id(self) -> str:
        """Return the project."""
        ...

    @property
    def session_id(self) -> str:
        """Return the stream's name."""
        ...

    @property
    def placed(self) -> list[Recorded]:
        """Return the facts with their positions, once they are written."""
        ...


class EventLog:
    """Append facts, read them back."""

    def __init__(self, database: Database) -> None:
        self._database: Final = database
        self.application: Final = SessionLog(database)

    def append(self, writing: Appending) -> list[Recorded]:
        """Write the facts of `writing`, all or none; return them with their positions.

        Raises:
            Contended: another writer came first.
        """
        stream = originator(writing.project_id, writing.session_id)
        wrapped = [StreamFact(stream, fact.version, fact) for fact in writing.facts]
        try:
            self.application.events.put(cast("Any", wrapped), writing=writing)
        except IntegrityError as error:
            raise Contended from error
        return list(writing.placed)

    def first(self, connection: Connection, project_id: str, session_id: str) -> JsonValue:
        """Return the data of a session's first fact, if the log has it and it can be read."""
        key = find_key(connection, project_id, session_id)
        if key is None:
            return None
        found = stream_facts(connection, (project_id, session_id, key), lte=1)
        body = whole_body(completed(connection, found[0])) if found else None
        try:
            return None if body is None else parse(body)
        except NotJson:
            return None

    def stream(
        self, project_id: str, session_id: str, *, after: int = 0, through: int | None = None
    ) -> Iterator[Recorded]:
        """Yield a session's facts after version `after` up to `through`, oldest first, by pages."""
        most = EVERYTHING if through is None else through
        while True:
            with self._database.read() as connection:
                key = find_key(connection, project_id, session_id)
                if key is None:
                    return
                page = stream_facts(
                    connection,
                    (project_id, session_id, key),
                    gt=after,
                    lte=most,
                    limit=PAGE,
                )
            for stored in page:
                yield recorded_of(completed_in(self._database, stored))
            if len(page) < PAGE:
                return
            after = page[-1].envelope.version
