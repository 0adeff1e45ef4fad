"""How soon does a server serve reads, and turns, after one was killed in the middle of many?

10,000 sessions of one turn each, and on a real server of them 200 more turns that run when it is
killed. The next one on the same database is timed from the start of its process: until a session
is read, until a turn that is asked for at that moment is answered, and until it says that nothing
is left to be taken up. The same with nothing to be taken up, and with no sessions at all. One run,
on SQLite and with `--postgres` on PostgreSQL. `python benchmarks/starting.py --help`.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

from postgres import ready_database

from domain import commands as c
from infrastructure.command_handler import Caller, Target
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.proposing import proposal_of
from infrastructure.settings import load

HERE: Final = Path(__file__).parent.parent
PORT: Final = 18_771
BASE: Final = "/v1/projects/default"
AT_ONCE: Final = 200
PER_PROCESS: Final = 50
PATIENCE_S: Final = 120.0
SUCCESS: Final = range(200, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """How long one start took, in milliseconds, and how many turns it ended."""

    read: float
    turn: float
    recovered: float
    ended: int


def ask(method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - any JSON
    """Return what the server answers; it has to be a success."""
    connection = HTTPConnection("127.0.0.1", PORT, timeout=PATIENCE_S)
    headers = {"Content-Type": "application/json", "Prefer": "respond-async"}
    raw = None if body is None else json.dumps(body)
    connection.request(method, path, raw, {} if raw is None else headers)
    response = connection.getresponse()
    said = response.read()
    connection.close()
    if response.status not in SUCCESS:
        raise RuntimeError(f"{method} {path}: {response.status} {said[:300]!r}")
    return json.loads(said) if said else None


def say(session_id: str, text: str) -> str:
    """Say something and do not wait for what comes of it; return the turn."""
    body = {"messages": [{"role": "user", "content": text}]}
    turn_id: str = ask("POST", f"{BASE}/sessions/{session_id}/turns", body)["turn_id"]
    return turn_id


def wait(session_id: str) -> str:
    """Have an agent do something that takes long; return the turn."""
    return say(session_id, "tool: wait {}")


def when(look: Callable[[], bool]) -> float:
    """Return the moment at which something is so; a server that is not there yet is waited for."""
    for _ in range(round(PATIENCE_S * 200)):
        try:
            if look():
                return perf_counter()
        except OSError:
            pass
        Event().wait(0.005)
    raise RuntimeError("it never came to be")


@contextmanager
def server(
    folder: Path, url: str, end: signal.Signals = signal.SIGTERM
) -> Generator[subprocess.Popen[bytes]]:
    """Run a server of a database, with the demo agent in a few processes; end it by a signal."""
    settings = folder / "settings.toml"
    settings.write_text(
        "[harnesses.many]\n"
        f"command = {json.dumps([sys.executable, '-P', '-m', 'infrastructure.demo_agent'])}\n"
        f"environment = {{ PYTHONPATH = {json.dumps(str(HERE))} }}\n"
        f"sessions_per_process = {PER_PROCESS}\n"
    )
    environment = os.environ | {
        "TURNLOG_CONFIG": str(settings),
        "TURNLOG_DATABASE_URL": url,
        "TURNLOG_STATE_DIR": str(folder / "state"),
        "TURNLOG_DEFAULT_HARNESS": "many",
        "TURNLOG_POOL_CAPACITY": "1000",
        "TURNLOG_POOL_WAIT_S": "60",
        "TURNLOG_SEARCH": "off",
    }
    command = [sys.executable, "-m", "api.cli", "serve", "--port", str(PORT), "--json"]
    process = subprocess.Popen(  # noqa: S603 - this program
        command, cwd=HERE, env=environment, stdout=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.send_signal(end)
        process.wait()


def fill(url: str, begin: int, sessions: int) -> None:
    """Open sessions and record a turn in each."""
    with open_turnlog(load({"TURNLOG_DATABASE_URL": url})) as log:
        for first in range(begin, sessions, AT_ONCE):
            names = range(first, min(first + AT_ONCE, sessions))
            asyncio.run(_fill(log, [f"s{number}" for number in names]))


async def _fill(log: Turnlog, session_ids: Sequence[str]) -> None:
    await asyncio.gather(*(_turn(log, session_id) for session_id in session_ids))


async def _turn(log: Turnlog, session_id: str) -> None:
    said: list[tuple[str, dict[str, Any]]] = [
        ("turn-started", {"messages": [{"role": "user", "content": "Hello"}]}),
        ("message-recorded", {"message": {"role": "assistant", "content": "Good day."}}),
        ("turn-completed", {}),
    ]
    steps: list[c.SessionCommand] = [c.OpenSession()]
    for name, data in said:
        raw = json.dumps({"turn_id": "t1"} | data).encode()
        steps.append(c.Record(proposal=proposal_of(name, raw), imported=True))
    target = Target(project_id="default", session_id=session_id)
    await log.write(lambda attempt: log.handler.carry_out(attempt, target, steps, caller=Caller()))


def cut_off(folder: Path, url: str, ids: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Kill a server in the middle of a turn of each session; return each with its turn."""
    with server(folder, url, signal.SIGKILL):
        when(lambda: bool(ask("GET", f"{BASE}/sessions?limit=1")))
        with ThreadPoolExecutor(8) as threads:
            turn_ids = list(threads.map(wait, ids))
        last = f"{BASE}/sessions/{ids[-1]}/events?types=tool-call-requested"
        when(lambda: bool(ask("GET", last)["items"]))
    return list(zip(ids, turn_ids, strict=True))


def started(folder: Path, url: str, lost: Sequence[tuple[str, str]], session_id: str) -> Started:
    """Start a server, and time what it does first."""
    began = perf_counter()
    with server(folder, url), ThreadPoolExecutor(1) as thread:
        read = when(lambda: bool(ask("GET", f"{BASE}/sessions/{session_id}")))
        turn = thread.submit(answered, session_id)
        recovered = when(lambda: ask("GET", "/readyz")["recovering"] is False)
        taken = turn.result()
        ended = sum(
            ask("GET", f"{BASE}/sessions/{name}/turns/{turn_id}")["reason"] == "server-restarted"
            for name, turn_id in lost
        )
    return Started(
        read=(read - began) * 1_000,
        turn=(taken - began) * 1_000,
        recovered=(recovered - began) * 1_000,
        ended=ended,
    )


def answered(session_id: str) -> float:
    """Have a turn taken; return the moment."""
    say(session_id, "Hello")
    return perf_counter()


def measured(url: str, sessions: int, turns: int, rounds: int) -> dict[str, list[Started]]:
    """Return the starts of each kind, on one database that fills."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        fill(url, 0, 1)
        empty = [started(folder, url, (), "s0") for _ in range(rounds)]
        fill(url, 1, sessions)
        full = [started(folder, url, (), "s0") for _ in range(rounds)]
        torn: list[Started] = []
        for number in range(1, rounds + 1):
            names = [f"s{each}" for each in range(number * turns, (number + 1) * turns)]
            torn.append(started(folder, url, cut_off(folder, url, names), "s0"))
    return {
        "one session": empty,
        f"{sessions:,} sessions": full,
        f"{sessions:,} sessions, {turns} turns cut off": torn,
    }


def show(kind: str, found: dict[str, list[Started]]) -> None:
    """Print a table."""
    print(
        f"\n| {kind}, ms from the start of the process | a read | a turn | all taken up | ended |"
    )
    print("|---|---|---|---|---|")
    for name, each in found.items():
        read, turn, recovered = (
            f"{statistics.median(getattr(one, what) for one in each):,.0f}"
            for what in ("read", "turn", "recovered")
        )
        print(f"| {name} | {read} | {turn} | {recovered} | {each[0].ended} |")


def main() -> None:
    """Measure, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        url = f"sqlite:///{directory}/turnlog.db"
        show("SQLite", measured(url, given.sessions, given.turns, given.rounds))
    if given.postgres:
        with ExitStack() as stack:
            url = ready_database(stack)
            show("PostgreSQL", measured(url, given.sessions, given.turns, given.rounds))


if __name__ == "__main__":
    main()
