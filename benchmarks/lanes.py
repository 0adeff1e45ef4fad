"""What does it cost to find a lane among few and among many?

A store with 100 lanes and one with 100,000, of as many sources of one platform, each made from real
ones: their rows are copied under other names. `POST /lanes/resolve` goes through the whole
application, without a socket, for known lanes in a random order: asked twice within a second, so
that nothing is written, and after the time of its last activity moved on, which is one small
commit. The same for a place that is new. Then 10 lanes each are suspended, wait to be gone on with,
moved, were given up, or are pinned, and `GET /lanes` lists them. Both stores in turns, in one run,
on SQLite and with `--postgres` on PostgreSQL. `python benchmarks/lanes.py --help`.
"""

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

from fastapi.testclient import TestClient
from postgres import ready_database
from sqlalchemy import Table, select, text

from api.app import create_app
from domain.lanes.keys import KeyPolicy, lane_id, lane_key
from domain.lanes.source import Source
from infrastructure import tables as t
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.lanes.facts import stream_name
from infrastructure.settings import load

BASE: Final = "/v1/projects/default"
SIZES: Final = (100, 100_000)
AT_ONCE: Final = 5_000
POLICY: Final = KeyPolicy()
FEW: Final = 10
SET_ASIDE: Final[Sequence[tuple[str, dict[str, Any]]]] = (
    ("status=suspended", {"suspended_reason": "stuck"}),
    ("status=resume-pending", {"resume_reason": "restart-interrupted", "resume_at": 1}),
    ("status=moved", {"status": "moved"}),
    ("status=pruned", {"status": "pruned"}),
    ("pinned=true", {"pinned": True}),
)
"""What lanes are listed by, and what is kept of one that is so."""


class Clock:
    """The real time, moved on by what is asked of it."""

    def __init__(self) -> None:
        """Begin in 2026."""
        self.at = 1_767_225_600_000_000

    def __call__(self) -> int:
        """Return microseconds since 1970."""
        return self.at


def source(number: int) -> Source:
    """Return one of the sources."""
    return Source(platform="telegram", chat_id=str(number), user_id=str(number))


def asked(number: int) -> dict[str, Any]:
    """Return a request for it."""
    where = {"platform": "telegram", "chat_id": str(number), "user_id": str(number)}
    return {"source": where}


def fill(log: Turnlog, lanes: int) -> None:
    """Copy the one lane that there is, and its session, until there are so many."""
    with log.database.read() as connection:
        streams = {row.session_id: row.session_key for row in connection.execute(select(t.streams))}
        lane = connection.execute(select(t.lanes)).mappings().one()
        head = connection.execute(select(t.heads)).mappings().one()
        activity = connection.execute(select(t.lane_activity)).mappings().one()
        events = [dict(row) for row in connection.execute(select(t.events)).mappings()]
    keys = {streams[stream_name(lane["lane_id"])], streams[lane["session_id"]]}
    top = max(keys)
    position = max(event["position"] for event in events)
    for first in range(1, lanes, AT_ONCE):
        rows: dict[Table, list[dict[str, Any]]] = {
            table: [] for table in (t.streams, t.events, t.heads, t.lanes, t.lane_activity)
        }
        for number in range(first, min(first + AT_ONCE, lanes)):
            named = lane_id(source(number), POLICY)
            session_id = f"session-{number}"
            mine, its = top + 2 * number - 1, top + 2 * number
            rows[t.streams] += [
                {"session_key": mine, "project_id": "default", "session_id": stream_name(named)},
                {"session_key": its, "project_id": "default", "session_id": session_id},
            ]
            for event in events:
                position += 1
                belongs = its if event["session_key"] == streams[lane["session_id"]] else mine
                rows[t.events].append(event | {"position": position, "session_key": belongs})
            rows[t.heads].append(dict(head) | {"session_key": its})
            rows[t.lanes].append(
                dict(lane)
                | {
                    "session_key": mine,
                    "lane_id": named,
                    "lane_key": lane_key(source(number), POLICY),
                    "owner": f"person:main:telegram:{number}",
                    "session_id": session_id,
                }
            )
            rows[t.lane_activity].append(dict(activity) | {"session_key": mine})
        with log.database.write() as connection:
            for table, made in rows.items():
                connection.execute(table.insert(), made)
    with log.database.write() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(
                text(
                    "SELECT setval(pg_get_serial_sequence('streams', 'session_key'),"
                    " (SELECT max(session_key) + 1 FROM streams), false)"
                )
            )
            base = (position >> 20) + 1
            connection.execute(t.store.update().values(base=base))
        connection.exec_driver_sql("ANALYZE")


def set_aside(log: Turnlog) -> None:
    """Have few lanes each stand in one way that is rare, those that are pinned too."""
    with log.database.write() as connection:
        first = select(t.lanes.c.session_key).order_by(t.lanes.c.session_key)
        keys = connection.execute(first.limit(FEW * len(SET_ASIDE))).scalars().all()
        for place, (_, values) in enumerate(SET_ASIDE):
            these = t.lanes.c.session_key.in_(keys[place * FEW : (place + 1) * FEW])
            connection.execute(t.lanes.update().where(these).values(values))


@contextmanager
def filled(url: str, lanes: int) -> Generator[tuple[TestClient, Clock, Turnlog]]:
    """Give who asks a store with so many lanes."""
    clock = Clock()
    with open_turnlog(load({"TURNLOG_DATABASE_URL": url}), clock) as log:
        client = TestClient(create_app(log), base_url="http://127.0.0.1")
        answer = client.post(f"{BASE}/lanes/resolve", json=asked(0))
        assert answer.json().get("created"), answer.text
        fill(log, lanes)
        yield client, clock, log
        client.close()


def timed(client: TestClient, numbers: Sequence[int], before: Callable[[], None]) -> float:
    """Return the median of resolving these, in milliseconds."""
    took: list[float] = []
    for number in numbers:
        before()
        body = asked(number)
        started = perf_counter()
        answer = client.post(f"{BASE}/lanes/resolve", json=body)
        took.append(perf_counter() - started)
        assert answer.status_code == 200, answer.text  # noqa: PLR2004
    return statistics.median(took) * 1_000


def listed(client: TestClient, query: str, requests: int) -> float:
    """Return the median of listing lanes that are rare, in milliseconds."""
    took: list[float] = []
    for _ in range(requests):
        started = perf_counter()
        answer = client.get(f"{BASE}/lanes?{query}")
        took.append(perf_counter() - started)
        assert len(answer.json()["items"]) == FEW, answer.text
    return statistics.median(took) * 1_000


def measure(urls: Sequence[str], rounds: int, requests: int) -> dict[str, list[float]]:
    """Return the medians of each thing, at each size."""
    chosen = random.Random(7)  # noqa: S311 - which lanes are asked for is the same in each run
    found: dict[str, list[list[float]]] = {}
    with ExitStack() as stack:
        stores = [stack.enter_context(filled(*each)) for each in zip(urls, SIZES, strict=True)]
        fresh = 10_000_000
        for _ in range(rounds):
            for place, (client, clock, _) in enumerate(stores):
                known = [chosen.randrange(SIZES[place]) for _ in range(requests)]

                def later(clock: Clock = clock) -> None:
                    clock.at += 10_000_000

                def at_once() -> None:
                    """Let no time pass."""

                new = list(range(fresh, fresh + requests))
                fresh += requests
                for name, numbers, before in (
                    ("found, its activity kept", known, later),
                    ("found, just asked for", known[-1:] * requests, at_once),
                    ("a new place", new, later),
                ):
                    kept = found.setdefault(name, [[] for _ in SIZES])
                    kept[place].append(timed(client, numbers, before))
        for _, _, log in stores:
            set_aside(log)
        for _ in range(rounds):
            for place, (client, _, _) in enumerate(stores):
                for query, _ in SET_ASIDE:
                    kept = found.setdefault(f"`GET /lanes?{query}`", [[] for _ in SIZES])
                    kept[place].append(listed(client, query, requests // 5))
    return {name: [statistics.median(each) for each in kept] for name, kept in found.items()}


def show(kind: str, found: dict[str, list[float]]) -> None:
    """Print a table."""
    few, many = (f"{size:,}" for size in SIZES)
    print(f"\n{kind}, milliseconds:\n")
    print(f"| | of {few} lanes | of {many} | x |\n|---|---|---|---|")
    for name, (small, large) in found.items():
        print(f"| {name} | {small:.2f} | {large:.2f} | {large / small:.2f} |")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL as well")
    asked_for = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        urls = [f"sqlite:///{folder}/{size}.db" for size in SIZES]
        show("SQLite", measure(urls, asked_for.rounds, asked_for.requests))
        if asked_for.postgres:
            urls = [ready_database(stack) for _ in SIZES]
            show("PostgreSQL", measure(urls, asked_for.rounds, asked_for.requests))


if __name__ == "__main__":
    main()
