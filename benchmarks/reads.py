"""What do reads cost as what is stored grows: of a whole session, and of many?

A whole history as JSON that is ready to be sent, beside the plainest read of the same messages (a
row each, `json.loads` of each, as a peer's store does it) and beside that read made into JSON
again; the same in pages over HTTP, by the application alone, without a socket; and the first page
of a project's sessions. One run, everything in each round, medians of the rounds and of their
ratios. What a page costs as its session grows is in `log.py`. `python benchmarks/reads.py --help`.
"""

import argparse
import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from log import Ours
from peer_stores import response_items, whole_turn
from sqlalchemy import make_url

sys.path.insert(0, str(Path(__file__).parent.parent))

from api.app import create_app
from domain.commands import OpenSession
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.reading.sessions import SessionQuery, sessions
from infrastructure.runner import Attempt
from infrastructure.settings import Settings

MILLISECONDS: Final = 1_000
ITEMS_A_TURN: Final = 4
PAGE: Final = 200
"""Messages on the largest page that there is."""
FEW: Final = 100
AT_ONCE: Final = 50
QUERIES: Final[Mapping[str, Mapping[str, Any]]] = {
    "newest first": {},
    "of every status": {"status": "all"},
    "archived": {"status": "archived"},
    "children of one": {"parent": "s1"},
    "with words in the title": {"title": "no such title"},
}


class PlainRows:
    """A row for each message in SQLite, read as objects."""

    def __init__(self, path: Path, turns: int) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session TEXT, message TEXT)"
        )
        self._connection.execute("CREATE INDEX by_session ON messages (session, id)")
        items = (item for number in range(turns) for item in response_items(number))
        self._connection.executemany(
            "INSERT INTO messages (session, message) VALUES ('s', ?)",
            ((json.dumps(item),) for item in items),
        )
        self._connection.commit()

    def read(self) -> list[object]:
        rows = self._connection.execute(
            "SELECT message FROM messages WHERE session = 's' ORDER BY id"
        )
        return [json.loads(row[0]) for row in rows.fetchall()]

    def close(self) -> None:
        self._connection.close()


async def answered(app: Any, path: str, query: str) -> Any:  # noqa: ANN401 - the application's own
    """Return what the application answers to a GET."""
    pieces: list[bytes] = []

    async def receive() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message.get("status", 200) != 200:  # noqa: PLR2004
            raise RuntimeError(str(message["status"]))
        pieces.append(message.get("body", b""))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    await app(scope, receive, send)
    return json.loads(b"".join(pieces))


async def paged(app: Any, session: str) -> int:  # noqa: ANN401 - the application's own
    """Read a whole transcript page by page; return how many messages it has."""
    path = f"/v1/projects/default/sessions/{session}/transcript"
    found, cursor = 0, ""
    while True:
        page = await answered(app, path, f"limit={PAGE}{cursor}")
        found += len(page["items"])
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def open_sessions(log: Turnlog, project: str, count: int) -> None:
    """Open so many sessions, many in a transaction."""

    def opened(attempt: Attempt, numbers: Sequence[int]) -> None:
        for number in numbers:
            target = Target(project_id=project, session_id=f"s{number}")
            command = OpenSession(title=f"Number {number}")
            log.handler.carry_out(attempt, target, [command], caller=Caller())

    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, count))
        log.runner.run(partial(opened, numbers=numbers))


async def timed(work: Callable[[], object], times: int) -> float:
    """Return the median milliseconds of `times` calls."""
    took: list[float] = []
    for _ in range(times):
        began = perf_counter()
        answer = work()
        if isinstance(answer, Coroutine):
            await answer
        took.append((perf_counter() - began) * MILLISECONDS)
    return statistics.median(took)


def first_page(log: Turnlog, project: str, filters: Mapping[str, Any]) -> None:
    """Read the first page of a project's sessions."""
    query = SessionQuery(project_id=project, limit=51, **filters)
    log.read_now(lambda connection: sessions(connection, query))


async def measure(url: str, options: argparse.Namespace, stack: ExitStack) -> None:
    """Fill a database, measure it, and print what it took."""
    turns = options.items // ITEMS_A_TURN
    ours = stack.enter_context(closing(Ours(url, whole_turn)))
    for number in range(1, turns + 1):
        ours.append(number)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    plain = stack.enter_context(closing(PlainRows(folder / "plain.db", turns)))
    settings = Settings(
        database_url=make_url(url), allow_unverified_turns=True, allow_unsafe_durability=True
    )
    log = stack.enter_context(open_turnlog(settings))
    for project, count in (("few", FEW), ("many", options.sessions)):
        open_sessions(log, project, count)
    app = create_app(log)
    app.state.turnlog = log
    wholes: Mapping[str, Callable[[], object]] = {
        "rows, `json.loads` of each": plain.read,
        "the same, made into JSON": lambda: json.dumps(plain.read()),
        "turnlog, as JSON": ours.read,
        f"turnlog, in pages of {PAGE}, answered and parsed": lambda: paged(app, "s"),
    }
    read: dict[str, list[float]] = {name: [] for name in wholes}
    listed: dict[str, list[tuple[float, float]]] = {name: [] for name in QUERIES}
    for _ in range(options.rounds):
        for name, work in wholes.items():
            read[name].append(await timed(work, 3))
        for name, filters in QUERIES.items():
            few = await timed(partial(first_page, log, "few", filters), 10)
            many = await timed(partial(first_page, log, "many", filters), 10)
            listed[name].append((few, many))
    report(options, read, listed)


def report(
    options: argparse.Namespace,
    read: Mapping[str, list[float]],
    listed: Mapping[str, list[tuple[float, float]]],
) -> None:
    """Print two tables."""
    base, *_ = read.values()
    print(f"\n| a history of {options.items:,} items | ms | x |\n|---|---|---|")
    for name, took in read.items():
        ratio = statistics.median(one / other for one, other in zip(took, base, strict=True))
        print(f"| {name} | {statistics.median(took):.1f} | {ratio:.2f} |")
    print(f"\n| first page (50), ms | of {FEW:,} sessions | of {options.sessions:,} | x |")
    print("|---|---|---|---|")
    for name, pairs in listed.items():
        few, many = (statistics.median(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(many / few for few, many in pairs)
        print(f"| {name} | {few:.2f} | {many:.2f} | {ratio:.2f} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL too")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        print("### SQLite")
        asyncio.run(measure(f"sqlite:///{folder}/turnlog.db", options, stack))
        if options.postgres:
            from postgres import empty_database  # noqa: PLC0415 - needs the test extra

            print("\n### PostgreSQL")
            asyncio.run(measure(empty_database(stack), options, stack))


if __name__ == "__main__":
    main()
