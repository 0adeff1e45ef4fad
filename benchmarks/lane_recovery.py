"""How soon is it known of every lane whether what a restart cut off there is gone on with?

A store with 200 lanes and one with 10,000, in 200 of which a turn was cut off. Timed from the
opening of the store by a server with `auto_resume`, in one process and with agents that are no
processes: until a lane is read, until it is decided of all 200 (they wait for their platform), and
from when that connects until a turn went on in each of them and ended. Beside it how many
statements the decision takes, counted on SQLite. Both stores in turns, in one run, on SQLite and
with `--postgres` on PostgreSQL. `python benchmarks/lane_recovery.py --help`.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

from fastapi.testclient import TestClient
from lanes import BASE, POLICY, asked, fill, source
from postgres import ready_database
from sqlalchemy import func, select, text

from api.app import create_app
from domain import commands as c
from domain.lanes.keys import lane_id
from infrastructure import tables as t
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.harness.in_process import InProcessHarnesses
from infrastructure.lanes.recovery import After, page
from infrastructure.proposing import proposal_of
from infrastructure.runner import Attempt
from infrastructure.settings import load

SIZES: Final = (200, 10_000)
CUT_OFF: Final = 200
AT_ONCE: Final = 50
PATIENCE_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """How long one start took, in milliseconds."""

    read: float
    decided: float
    resumed: float


def opened(url: str) -> Turnlog:
    """Open a store as a server does that goes on with what was cut off."""
    given = {
        "DATABASE_URL": url,
        "AUTO_RESUME": "on",
        "POOL_CAPACITY": "1000",
        "POOL_MEMORY_BUDGET": "off",
        "SEARCH": "off",
    }
    return open_turnlog(load({f"TURNLOG_{name}": value for name, value in given.items()}))


def prepare(url: str, lanes: int) -> None:
    """Make so many lanes, each with a session."""
    with opened(url) as log:
        client = TestClient(create_app(log), base_url="http://127.0.0.1")
        answer = client.post(f"{BASE}/lanes/resolve", json=asked(0))
        assert answer.json().get("created"), answer.text
        fill(log, lanes)
        with log.database.write() as connection:
            connection.execute(
                text(
                    "INSERT INTO lane_sessions (session_key, session_id, bound_version, bound_at,"
                    " reason) SELECT session_key, session_id, 2, bound_at, 'created' FROM lanes"
                    " WHERE session_key NOT IN (SELECT session_key FROM lane_sessions)"
                )
            )
            connection.exec_driver_sql("ANALYZE")
        client.close()


def cut_off(log: Turnlog, turn_id: str) -> None:
    """Have a turn be cut off in many lanes, spread over the store."""
    with log.database.read() as connection:
        lanes = connection.execute(select(func.count()).select_from(t.lanes)).scalar_one()
    numbers = range(1, lanes, max(1, (lanes - 1) // CUT_OFF))[:CUT_OFF]
    for first in range(0, len(numbers), AT_ONCE):
        some = numbers[first : first + AT_ONCE]

        def write(attempt: Attempt, some: Sequence[int] = some) -> None:
            for number in some:
                target = Target(project_id="default", session_id=f"session-{number}")
                said = [{"role": "user", "content": "Hello"}]
                named = lane_id(source(number), POLICY)
                body = json.dumps({"turn_id": turn_id, "lane_id": named, "messages": said})
                begun = c.Record(proposal=proposal_of("turn-started", body.encode()))
                over = c.InterruptTurn(turn_id=turn_id, reason="server-restarted")
                for step in (begun, over):
                    log.handler.carry_out(attempt, target, [step], caller=Caller())

        log.runner.run(write)


def when(is_so: Callable[[], bool]) -> float:
    """Return the moment at which something is so."""
    for _ in range(round(PATIENCE_S * 200)):
        if is_so():
            return perf_counter()
        Event().wait(0.005)
    raise RuntimeError("it never came to be")


def left(log: Turnlog) -> int:
    """Return in how many sessions there is something to go on with."""
    with log.database.read() as connection:
        marked = select(func.count()).select_from(t.heads).where(t.heads.c.resume_turn.is_not(None))
        return int(connection.execute(marked).scalar_one())


def start(url: str, number: int) -> Took:
    """Start a server on what was cut off, and have it all gone on with."""
    with opened(url) as log:
        cut_off(log, f"t{number}")
        _say(log, connected=False)
    began = perf_counter()
    with opened(url) as log:
        app = create_app(log, InProcessHarnesses())
        with TestClient(app, base_url="http://127.0.0.1") as client:
            lane = lane_id(source(1), POLICY)
            assert client.get(f"{BASE}/lanes/{lane}").status_code == 200  # noqa: PLR2004
            read = perf_counter()
            decided = when(lambda: log.counting.held.get("not-connected") == CUT_OFF)
            connected = perf_counter()
            client.put(f"{BASE}/lanes/platforms/telegram", json={"connected": True})
            resumed = when(lambda: left(log) == 0)
    return Took(
        read=(read - began) * 1_000,
        decided=(decided - began) * 1_000,
        resumed=(resumed - connected) * 1_000,
    )


def _say(log: Turnlog, *, connected: bool) -> None:
    client = TestClient(create_app(log), base_url="http://127.0.0.1")
    client.put(f"{BASE}/lanes/platforms/telegram", json={"connected": connected})
    client.close()


def statements(url: str) -> int:
    """Return how many statements it takes to decide of all that was cut off, on SQLite."""
    with opened(url) as log:
        cut_off(log, "counted")
        seen: list[str] = []
        with log.database.read() as connection:
            raw: Any = connection.connection.driver_connection
            raw.set_trace_callback(seen.append)
            after: After | None = After()
            found = 0
            while after is not None:
                some, after = page(connection, log.now(), after)
                found += len(some)
            raw.set_trace_callback(None)
    assert found == CUT_OFF, found
    return len(seen)


def measure(urls: Sequence[str], rounds: int) -> list[Took]:
    """Return the medians for each store."""
    found: list[list[Took]] = [[] for _ in urls]
    for url, lanes in zip(urls, SIZES, strict=True):
        prepare(url, lanes + 1)
    for number in range(rounds):
        for kept, url in zip(found, urls, strict=True):
            kept.append(start(url, number))
    return [
        Took(
            read=statistics.median(each.read for each in kept),
            decided=statistics.median(each.decided for each in kept),
            resumed=statistics.median(each.resumed for each in kept),
        )
        for kept in found
    ]


def show(kind: str, found: Sequence[Took], counted: Sequence[int]) -> None:
    """Print a table."""
    few, many = (f"{size:,}" for size in SIZES)
    print(f"\n{kind}, {CUT_OFF} cut off, milliseconds:\n")
    print(f"| | of {few} lanes | of {many} | x |\n|---|---|---|---|")
    names = ("a lane is read", "all are decided", "their platform connects: all went on")
    rows = zip(names, zip(*map(astuple, found), strict=True), strict=True)
    for name, (small, large) in rows:
        print(f"| {name} | {small:,.0f} | {large:,.0f} | {large / small:.2f} |")
    if counted:
        print(f"| statements to decide | {counted[0]} | {counted[1]} | |")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL as well")
    asked_for = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        urls = [f"sqlite:///{folder}/{size}.db" for size in SIZES]
        found = measure(urls, asked_for.rounds)
        show("SQLite", found, [statements(url) for url in urls])
        if asked_for.postgres:
            urls = [ready_database(stack) for _ in SIZES]
            show("PostgreSQL", measure(urls, asked_for.rounds), ())


if __name__ == "__main__":
    main()
