"""How many turns a second do eight writers of one PostgreSQL take, and does a follower miss any?

Each writer is a process with a session of its own; a turn is four events of about 400 bytes.
Variants take turns on the same server, each in a new database: turnlog with every inline view
current, turnlog without the views (the events, their bodies, the chain and the head, decided by
nobody), and the `eventsourcing` library's own PostgreSQL recorder, which has no views, no chain and
no head. A follower reads each log while it is written; what it never saw is `missed`. With
`--rtt-ms` the writers reach the server over a wire with that round trip.
`python benchmarks/writers.py --help`.
"""

import argparse
import statistics
import subprocess
import sys
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_bytes
from threading import Event, Thread
from time import monotonic, time
from typing import Protocol
from uuid import uuid4

from delayed import delayed
from eventsourcing.persistence import ApplicationRecorder, StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from log import EVENTS_A_TURN, Ours, turn
from sqlalchemy import make_url

sys.path.insert(0, str(Path(__file__).parent.parent))

from domain.recorded import Envelope, Recorded, body_digest, chained_hash
from domain.state import Head, State
from infrastructure.composition import open_turnlog
from infrastructure.database import create_schema
from infrastructure.lookup import find_head
from infrastructure.recorder import LogRecorder
from infrastructure.runner import Attempt
from infrastructure.serialization import event_of, members_of
from infrastructure.settings import Settings
from infrastructure.writing import Writing

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tests.databases import forced_writes, postgresql_databases

TURNLOG, BARE, LIBRARY = "turnlog", "turnlog without views", "eventsourcing.postgres"
VARIANTS = (TURNLOG, BARE, LIBRARY)
PAGE = 1_000
TICK_S = 0.02
WARM = 20


class Bare:
    """turnlog's log alone: one session's facts, chained, with its head and nothing else."""

    def __init__(self, url: str, session_id: str) -> None:
        self._log = open_turnlog(settings(url))
        self._session_id = session_id
        self._head = Head()
        self._key: int | None = None

    def append(self, number: int) -> None:
        """Append turn `number`."""
        facts: list[Recorded] = []
        head = self._head
        for type_, body in turn(number):
            fact = self._fact(head, f"turn-{number}", type_, body)
            facts.append(fact)
            head = head._replace(status="open", version=fact.version, hash=fact.hash)

        def write(attempt: Attempt) -> None:
            if self._key is None:
                self._key, _ = find_head(attempt.connection, "default", self._session_id)
            self._log.log.append(
                Writing(
                    commit=attempt.commit,
                    session_key=self._key,
                    project_id="default",
                    session_id=self._session_id,
                    seen=self._head.version,
                    facts=facts,
                    changes=[],
                    state=State(head=head),
                )
            )

        self._log.runner.run(write)
        self._head = head

    def close(self) -> None:
        """Let go."""
        self._log.close()

    def _fact(self, head: Head, turn_id: str, type_: str, body: bytes) -> Recorded:
        event_id, salt = str(uuid4()), token_bytes(16)
        envelope = Envelope(
            project_id="default",
            session_id=self._session_id,
            version=head.version + 1,
            event_id=event_id,
            type=type_,
            schema=1,
            affects="history",
            recorded_at=self._log.now(),
            body_digest=body_digest(salt, body),
            turn_id=turn_id,
        )
        return Recorded(
            envelope=envelope,
            position=0,
            previous=head.hash,
            hash=chained_hash(envelope, head.hash),
            salt=salt,
            body=body,
            event=event_of(type_, members_of(type_, body)),
        )


class Library:
    """The library's own recorder; events and nothing else."""

    def __init__(self, url: str, session_id: str) -> None:
        self._recorder, self._datastore = library(url)
        self._session_id = session_id

    def append(self, number: int) -> None:
        """Append turn `number`."""
        first = (number - 1) * EVENTS_A_TURN + 1
        self._recorder.insert_events(
            [
                StoredEvent(self._session_id, first + n, type_, body)
                for n, (type_, body) in enumerate(turn(number))
            ]
        )

    def close(self) -> None:
        """Let go."""
        self._datastore.close()


def settings(url: str) -> Settings:
    """Return the settings of one writer: nothing in the background, few connections."""
    return Settings(
        database_url=make_url(url),
        allow_unverified_turns=True,
        allow_unsafe_durability=True,
        pool_size=2,
    )


def library(url: str) -> tuple[PostgresApplicationRecorder, PostgresDatastore]:
    """Return the library's recorder."""
    parsed = make_url(url)
    datastore = PostgresDatastore(
        dbname=parsed.database or "",
        host=str(parsed.query["host"]),
        port="5432",
        user=parsed.username or "postgres",
        password="",
        originator_id_type="text",
    )
    return PostgresApplicationRecorder(datastore, events_table_name="library_events"), datastore


class Writer(Protocol):
    """What appends turns to one session."""

    def append(self, number: int) -> None:
        """Append turn `number`, durably."""
        ...

    def close(self) -> None:
        """Let go."""
        ...


def writer(variant: str, url: str, session_id: str) -> Writer:
    """Return one writer's way to append."""
    if variant == BARE:
        return Bare(url, session_id)
    if variant == LIBRARY:
        return Library(url, session_id)
    ours = Ours(url)
    ours.go_to(session_id)
    return ours


def write(variant: str, url: str, session_id: str, begin: float, seconds: float) -> None:
    """Append turns from the time `begin` on; print how many."""
    mine = writer(variant, url, session_id)
    number = 0
    for _ in range(WARM):
        number += 1
        mine.append(number)
    Event().wait(max(0.0, begin - time()))
    end = monotonic() + seconds
    while monotonic() < end:
        number += 1
        mine.append(number)
    mine.close()
    print(number)


class Follower:
    """Somebody who reads the whole log by position while it is written."""

    def __init__(self, recorder: ApplicationRecorder) -> None:
        self._recorder = recorder
        self._at: int | None = None
        self._stopped = Event()
        self.seen = 0
        self._thread = Thread(target=self._follow, daemon=True)
        self._thread.start()

    def stop(self, expected: int) -> int:
        """Return how many of `expected` facts were never seen."""
        deadline = monotonic() + 5
        while self.seen < expected and monotonic() < deadline:
            self._stopped.wait(TICK_S)
        self._stopped.set()
        self._thread.join()
        return expected - self.seen

    def _follow(self) -> None:
        while not self._stopped.wait(TICK_S):
            while found := self._recorder.select_notifications(
                self._at, PAGE, inclusive_of_start=False
            ):
                self._at = found[-1].id
                self.seen += len(found)


@contextmanager
def follower(variant: str, url: str) -> Generator[Follower]:
    """Follow a log; make its tables first."""
    if variant == LIBRARY:
        recorder, datastore = library(url)
        recorder.create_table()
        yield Follower(recorder)
        datastore.close()
        return
    create_schema(url)
    with open_turnlog(settings(url)) as log:
        yield Follower(LogRecorder(log.database))


def measure(variant: str, url: str, options: argparse.Namespace) -> tuple[float, int]:
    """Return turns a second of all writers together, and how many events a follower missed."""
    with follower(variant, url) as follows, ExitStack() as stack:
        wire = stack.enter_context(delayed(url, options.rtt_ms)) if options.rtt_ms else url
        begin = time() + 3 + options.writers / 4  # all have connected, and are warm
        command = [sys.executable, __file__, "--seconds", str(options.seconds), "--write", variant]
        processes = [
            subprocess.Popen(  # noqa: S603 - ourselves
                [*command, wire, f"s{number}", str(begin)], stdout=subprocess.PIPE, text=True
            )
            for number in range(options.writers)
        ]
        written = [int(process.communicate()[0]) for process in processes]
        opened = options.writers if variant == TURNLOG else 0
        missed = follows.stop(sum(written) * EVENTS_A_TURN + opened)
    return (sum(written) - WARM * options.writers) / options.seconds, missed


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--rtt-ms", type=float, default=None, help="only with this round trip")
    parser.add_argument("--write", nargs=4, metavar=("VARIANT", "URL", "SESSION", "BEGIN"))
    options = parser.parse_args()
    if options.write:
        variant, url, session_id, begin = options.write
        write(variant, url, session_id, float(begin), options.seconds)
        return
    print("| round trip added, ms | variant | turns a second | x the library | missed |")
    print("|---|---|---|---|---|")
    trips = [0.0, 5.0] if options.rtt_ms is None else [options.rtt_ms]
    with postgresql_databases() as server, forced_writes(server):
        for options.rtt_ms in trips:
            rates: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
            missed = dict.fromkeys(VARIANTS, 0)
            for _ in range(options.rounds):
                for variant in VARIANTS:
                    url = server.empty()
                    rate, lost = measure(variant, url, options)
                    server.drop(url)
                    rates[variant].append(rate)
                    missed[variant] += lost
            for variant in VARIANTS:
                ratio = statistics.median(
                    mine / theirs
                    for mine, theirs in zip(rates[variant], rates[LIBRARY], strict=True)
                )
                rate = statistics.median(rates[variant])
                print(
                    f"| {options.rtt_ms:g} | {variant} | {rate:,.0f} | {ratio:.2f} "
                    f"| {missed[variant]} |"
                )


if __name__ == "__main__":
    main()
