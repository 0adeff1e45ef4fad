"""How do tests write sessions? Through the command handler, as the program does."""

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from sqlalchemy import make_url, select

from domain.commands import BeginBatch, OpenSession, Proposal, Record
from domain.recorded import ProducerStamp, Recorded
from infrastructure import tables as t
from infrastructure.appending import BatchAnswer, BatchRequest, append_batch
from infrastructure.command_handler import Appended, Caller, CommandHandler, Target
from infrastructure.commit import Commit
from infrastructure.database import Database, open_database
from infrastructure.event_log import EventLog
from infrastructure.proposing import proposal_of
from infrastructure.runner import Attempt, Runner

NEW_YEAR = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z in microseconds
SECOND = 1_000_000
NOBODY = Caller()


@dataclass
class SetClock:
    """A clock that stands until it is set."""

    at: int = NEW_YEAR

    def __call__(self) -> int:
        return self.at


def propose(type_: str, body: bytes) -> Proposal:
    """Return an event as a producer sends it."""
    return proposal_of(type_, body)


def note(text: bytes) -> Proposal:
    """Return a fact that changes nothing but the log."""
    return propose("data-recorded", b'{"kind":"note","data":' + text + b"}")


def turn(name: str) -> list[Proposal]:
    """Return the four events of a short, whole turn with one tool call."""
    turn_id = name.encode()
    return [
        propose(
            "turn-started",
            b'{"turn_id":"%s","messages":[{"role":"user","content":"go on"}]}' % turn_id,
        ),
        propose(
            "tool-call-requested",
            b'{"turn_id":"%s","tool_call_id":"c1","name":"ls","arguments":{}}' % turn_id,
        ),
        propose(
            "tool-call-completed",
            b'{"turn_id":"%s","tool_call_id":"c1","output":"a.txt"}' % turn_id,
        ),
        propose("turn-completed", b'{"turn_id":"%s","record_count":3}' % turn_id),
    ]


def batch(
    proposals: Sequence[Proposal],
    producer_id: str = "p1",
    sequence: int = 1,
    expected_version: int | None = None,
) -> BatchRequest:
    """Return a producer's batch that opens its session if need be."""
    return BatchRequest(
        producer=ProducerStamp(producer_id=producer_id, epoch=1, sequence=sequence),
        proposals=proposals,
        expected_version=expected_version,
        open=OpenSession(),
    )


def target(session_id: str, project_id: str = "default") -> Target:
    """Return a session of the project that tests use."""
    return Target(project_id=project_id, session_id=session_id)


@dataclass
class Store:
    """An open log, and the next sequence number of each producer."""

    database: Database
    clock: SetClock = field(default_factory=SetClock)
    sequences: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def __post_init__(self) -> None:
        self.log = EventLog(self.database)
        self.runner = Runner(self.database)
        self.handler = CommandHandler(self.log, self.clock, unverified_turns=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.runner.close()
        self.database.close()

    def append(
        self,
        proposals: Sequence[Proposal],
        session_id: str = "s1",
        producer_id: str = "p1",
        expected_version: int | None = None,
    ) -> Appended:
        """Append the producer's next batch, opening the session if need be."""
        sequence = self.sequences[session_id, producer_id] + 1
        request = batch(proposals, producer_id, sequence, expected_version)
        answer = self.send(request, session_id)
        self.sequences[session_id, producer_id] = sequence
        return answer.appended

    def send(self, request: BatchRequest, session_id: str = "s1") -> BatchAnswer:
        """Append a batch in a transaction of its own."""
        return self.runner.run(
            lambda attempt: append_batch(self.handler, attempt, target(session_id), request, NOBODY)
        )

    @contextmanager
    def transaction(self) -> Generator[Commit]:
        """Give an open transaction that commits at the end."""
        with self.database.write() as connection:
            yield Commit(connection)

    def carry_out(self, commit: Commit, session_id: str, *proposals: Proposal) -> Appended:
        """Append in a transaction that is already open, and leave it open."""
        begin = BeginBatch(open=OpenSession(), events=len(proposals))
        return self.handler.carry_out(
            Attempt(commit, patient=False),
            target(session_id),
            [begin, *(Record(proposal=proposal) for proposal in proposals)],
            caller=NOBODY,
        )

    def facts(self, session_id: str = "s1", project_id: str = "default") -> list[Recorded]:
        """Return the session's facts."""
        return list(self.log.stream(project_id, session_id))

    def sessions(self) -> list[tuple[str, str]]:
        """Return the project and id of each session of the log."""
        with self.database.read() as connection:
            rows = connection.execute(
                select(t.streams.c.project_id, t.streams.c.session_id).order_by(
                    t.streams.c.session_key
                )
            )
            return [(row.project_id, row.session_id) for row in rows]

    def rows(self) -> dict[str, int]:
        """Return how many rows each table of the truth and of the views has."""
        with self.database.read() as connection:
            return {
                table.name: len(connection.execute(select(table)).all())
                for table in (*t.TRUTH, *t.VIEWS)
            }


@contextmanager
def opened(url: str) -> Generator[Store]:
    """Open the log of a database, flushed or not."""
    with Store(open_database(make_url(url), allow_unsafe=True)) as store:
        yield store
