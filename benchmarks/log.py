"""What do appends and reads of the log cost, beside the plainest thing that could do them?

One run, every variant in each round, medians of the rounds' ratios: a machine that is slow for a
while is slow for all. `python benchmarks/log.py --help`.

The plain variant is `sqlite3` (or one psycopg statement) inserting and reading the same bytes in
one table with the same durability; the library's variant is `eventsourcing`'s own recorder, without
any view. Ours keeps every inline view current in the same transaction.
"""

import argparse
import json
import platform
import sqlite3
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Protocol

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore
from sqlalchemy import Connection, create_engine, make_url, text

sys.path.insert(0, str(Path(__file__).parent.parent))

from domain.commands import OpenSession, Proposal
from domain.recorded import ProducerStamp
from infrastructure.appending import BatchRequest, append_batch
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.database import create_schema
from infrastructure.reading.moment import moment
from infrastructure.reading.transcript import extent
from infrastructure.reading.transcript_json import page_json
from infrastructure.serialization import event_of, members_of
from infrastructure.settings import Settings

TEXT = "All work and no play makes a good benchmark. " * 9
EVENTS_A_TURN = 4
PAGE = 50
MICROSECONDS = 1_000_000


def turn(number: int) -> list[tuple[str, bytes]]:
    """Return a turn of four events of about 400 bytes each."""
    turn_id = f"turn-{number}"
    data: list[tuple[str, dict[str, object]]] = [
        (
            "turn-started",
            {"turn_id": turn_id, "messages": [{"role": "user", "content": TEXT}]},
        ),
        (
            "tool-call-requested",
            {
                "turn_id": turn_id,
                "tool_call_id": f"call-{number}",
                "name": "read",
                "arguments": {"path": TEXT[:300]},
            },
        ),
        (
            "tool-call-completed",
            {"turn_id": turn_id, "tool_call_id": f"call-{number}", "output": TEXT},
        ),
        ("turn-completed", {"turn_id": turn_id, "stop_reason": "end_turn", "record_count": 3}),
    ]
    return [(type_, json.dumps(body).encode()) for type_, body in data]


class Variant(Protocol):
    """One way to keep sessions; one of them at a time is appended to and read."""

    def go_to(self, session_id: str) -> None:
        """Go on with another session, new or not."""
        ...

    def append(self, number: int) -> None:
        """Append turn `number`, durably."""
        ...

    def last_page(self) -> int:
        """Read the newest 50 items as JSON; return their bytes."""
        ...

    def whole(self) -> int:
        """Read everything as JSON; return its bytes."""
        ...

    def close(self) -> None:
        """Let go."""
        ...


class PlainSqlite:
    """One table, one transaction a turn."""

    def __init__(self, path: Path) -> None:
        self._session = ""
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute(
            "CREATE TABLE log (session TEXT, version INTEGER, type TEXT, body BLOB, "
            "PRIMARY KEY (session, version))"
        )

    def go_to(self, session_id: str) -> None:
        self._session = session_id

    def append(self, number: int) -> None:
        first = (number - 1) * EVENTS_A_TURN + 1
        rows = [(self._session, first + n, *event) for n, event in enumerate(turn(number))]
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?)", rows)
        self._connection.execute("COMMIT")

    def last_page(self) -> int:
        rows = self._connection.execute(
            "SELECT body FROM log WHERE session = ? ORDER BY version DESC LIMIT ?",
            (self._session, PAGE),
        )
        return len(b"[" + b",".join(row[0] for row in rows) + b"]")

    def whole(self) -> int:
        rows = self._connection.execute(
            "SELECT body FROM log WHERE session = ? ORDER BY version", (self._session,)
        )
        return len(b"[" + b",".join(row[0] for row in rows) + b"]")

    def close(self) -> None:
        self._connection.close()


class PlainPostgres:
    """One table, one statement a turn."""

    def __init__(self, url: str) -> None:
        self._session = ""
        self._connection = create_engine(url, isolation_level="AUTOCOMMIT").connect()
        self._connection.execute(
            text(
                "CREATE TABLE log (session TEXT, version INTEGER, type TEXT, body BYTEA, "
                "PRIMARY KEY (session, version))"
            )
        )

    def go_to(self, session_id: str) -> None:
        self._session = session_id

    def append(self, number: int) -> None:
        first = (number - 1) * EVENTS_A_TURN + 1
        events = turn(number)
        values = ", ".join(f"(:session, :v{n}, :t{n}, :b{n})" for n in range(len(events)))
        parameters: dict[str, object] = {"session": self._session}
        for n, (type_, body) in enumerate(events):
            parameters |= {f"v{n}": first + n, f"t{n}": type_, f"b{n}": body}
        self._connection.execute(text(f"INSERT INTO log VALUES {values}"), parameters)  # noqa: S608

    def last_page(self) -> int:
        return self._read(f"ORDER BY version DESC LIMIT {PAGE}")

    def whole(self) -> int:
        return self._read("ORDER BY version")

    def close(self) -> None:
        self._connection.close()
        self._connection.engine.dispose()

    def _read(self, rest: str) -> int:
        rows = self._connection.execute(
            text(f"SELECT body FROM log WHERE session = :session {rest}"),  # noqa: S608
            {"session": self._session},
        )
        return len(b"[" + b",".join(bytes(row[0]) for row in rows) + b"]")


class LibraryRecorder:
    """The `eventsourcing` library's own recorder; no views."""

    def __init__(self, recorder: object, close: Callable[[], None]) -> None:
        self._recorder: SQLiteApplicationRecorder = recorder  # type: ignore[assignment]
        self._recorder.create_table()
        self._close = close
        self._session = ""

    def go_to(self, session_id: str) -> None:
        self._session = session_id

    def append(self, number: int) -> None:
        first = (number - 1) * EVENTS_A_TURN + 1
        self._recorder.insert_events(
            [
                StoredEvent(self._session, first + n, type_, body)
                for n, (type_, body) in enumerate(turn(number))
            ]
        )

    def last_page(self) -> int:
        found = self._recorder.select_events(self._session, desc=True, limit=PAGE)
        return len(b"[" + b",".join(event.state for event in found) + b"]")

    def whole(self) -> int:
        found = self._recorder.select_events(self._session)
        return len(b"[" + b",".join(event.state for event in found) + b"]")

    def close(self) -> None:
        self._close()


class Ours:
    """turnlog's store, every inline view current."""

    def __init__(
        self, url: str, turn_of: Callable[[int], Sequence[tuple[str, bytes]]] = turn
    ) -> None:
        create_schema(url)
        self._turn = turn_of
        self._log: Turnlog = open_turnlog(
            Settings(
                database_url=make_url(url),
                allow_unverified_turns=True,
                allow_unsafe_durability=True,
            )
        )
        self._target = Target(project_id="default", session_id="s")

    def go_to(self, session_id: str) -> None:
        self._target = Target(project_id="default", session_id=session_id)

    def append(self, number: int) -> None:
        proposals = [
            Proposal(event=event_of(type_, members_of(type_, body)), body=body)
            for type_, body in self._turn(number)
        ]
        request = BatchRequest(
            producer=ProducerStamp(producer_id=self._target.session_id, epoch=1, sequence=number),
            proposals=proposals,
            open=OpenSession() if number == 1 else None,
        )
        log = self._log
        log.runner.run(
            lambda attempt: append_batch(log.handler, attempt, self._target, request, Caller())
        )

    def last_page(self) -> int:
        return len(self._transcript(PAGE))

    def whole(self) -> int:
        return len(self.read())

    def read(self) -> bytes:
        """Return the whole transcript, as JSON."""
        return self._transcript(None)

    def close(self) -> None:
        self._log.close()

    def _transcript(self, limit: int | None) -> bytes:
        def look(connection: Connection) -> bytes:
            now = moment(connection, self._target)
            shown = extent(now, with_archived=False)
            window = shown.before(shown.end, limit or shown.end)
            return b"[" + ",".join(page_json(connection, now, window)).encode() + b"]"

        return self._log.read_now(look)


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of each variant, and ours over the others."""

    name: str
    seconds: dict[str, list[float]]

    def line(self, ours: str, others: Sequence[str]) -> str:
        figures = [statistics.median(self.seconds[name]) * MICROSECONDS for name in (ours, *others)]
        ratios = [
            statistics.median(
                mine / theirs
                for mine, theirs in zip(self.seconds[ours], self.seconds[other], strict=True)
            )
            for other in others
        ]
        cells = [f"{figure:,.0f}" for figure in figures] + [f"{ratio:.2f}" for ratio in ratios]
        return f"| {self.name} | " + " | ".join(cells) + " |"


def timed(work: Callable[[], object], times: int) -> float:
    """Return the median seconds of `times` calls."""
    took: list[float] = []
    for _ in range(times):
        start = perf_counter()
        work()
        took.append(perf_counter() - start)
    return statistics.median(took)


Figures = defaultdict[str, list[float]]
"""The seconds of each variant, one figure for each round."""


def figures() -> Figures:
    """Return none yet."""
    return defaultdict(list)


@dataclass(slots=True)
class Size:
    """A session of so many events in each variant, and what was measured of it."""

    events: int
    written: dict[str, int]
    appends: Figures = field(default_factory=figures)
    pages: Figures = field(default_factory=figures)
    wholes: Figures = field(default_factory=figures)

    def rows(self) -> list[Row]:
        """Return the figures, named."""
        return [
            Row(f"append of a turn (4 events) at {self.events:,} events", self.appends),
            Row(f"last page (50) at {self.events:,} events", self.pages),
            Row(f"whole transcript at {self.events:,} events", self.wholes),
        ]


def measure(variants: dict[str, Variant], rounds: int, events: Sequence[int]) -> list[Size]:
    """Measure appends to sessions of each size, and reads; every one in each round."""
    sizes = [Size(each, dict.fromkeys(variants, 0)) for each in events]
    for size in sizes:
        for name, variant in variants.items():
            variant.go_to(f"s{size.events}")
            for number in range(1, size.events // EVENTS_A_TURN + 1):
                variant.append(number)
            size.written[name] = size.events // EVENTS_A_TURN
    for _ in range(rounds):
        for size in sizes:
            for name, variant in variants.items():
                variant.go_to(f"s{size.events}")
                size.pages[name].append(timed(variant.last_page, 5))
                size.wholes[name].append(timed(variant.whole, 3))
        for size in sizes:
            for name, variant in variants.items():
                variant.go_to(f"s{size.events}")
                size.appends[name].append(statistics.median(appended(size, name, variant)))
    return sizes


def appended(size: Size, name: str, variant: Variant) -> list[float]:
    """Append ten turns; return what each took."""
    took: list[float] = []
    for _ in range(10):
        size.written[name] += 1
        start = perf_counter()
        variant.append(size.written[name])
        took.append(perf_counter() - start)
    return took


def report(title: str, sizes: Sequence[Size], ours: str, others: Sequence[str]) -> None:
    """Print a table, and how ours grows with its history."""
    heads = [f"{name}, us" for name in (ours, *others)] + [f"x {name}" for name in others]
    print(f"\n### {title}\n")
    print("| what | " + " | ".join(heads) + " |")
    print("|---|" + "---|" * len(heads))
    for size in sizes:
        for row in size.rows():
            print(row.line(ours, others))
    large = sizes[-1]
    full = next((size for size in sizes if size.events >= 2 * PAGE), large)
    for what, small, then, now in (
        ("An append", sizes[0], sizes[0].appends[ours], large.appends[ours]),
        ("The last page", full, full.pages[ours], large.pages[ours]),
    ):
        ratio = statistics.median(b / a for a, b in zip(then, now, strict=True))
        print(f"\n{what} at {large.events:,} events takes {ratio:.2f} x that at {small.events:,}.")


def sqlite_variants(directory: Path) -> dict[str, Variant]:
    """Return the three ways on SQLite."""
    datastore = SQLiteDatastore(str(directory / "library.db"), originator_id_type="text")
    return {
        "turnlog": Ours(f"sqlite:///{directory / 'turnlog.db'}"),
        "plain sqlite3": PlainSqlite(directory / "plain.db"),
        "eventsourcing.sqlite": LibraryRecorder(
            SQLiteApplicationRecorder(datastore), datastore.close
        ),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 10_000])
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")
    with ExitStack() as stack:
        if options.database != "postgresql":
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            run("SQLite (WAL, synchronous=FULL)", sqlite_variants(directory), options, stack)
        if options.database != "sqlite":
            from postgres import postgres_variants  # noqa: PLC0415 - needs the test extra

            run("PostgreSQL (fsync on)", postgres_variants(stack), options, stack)


def run(
    title: str, variants: dict[str, Variant], options: argparse.Namespace, stack: ExitStack
) -> None:
    """Measure one database's variants."""
    for variant in variants.values():
        stack.callback(variant.close)
    ours, *others = variants
    report(title, measure(variants, options.rounds, options.sizes), ours, others)


if __name__ == "__main__":
    main()
