"""What does a hosted turn cost besides what its harness does?

A real server in a process of its own, on SQLite, over loopback. Bookkeeping is measured on the demo
agent behind the in-process port, which takes next to nothing; the same turn is asked of sessions of
different lengths, and with one seat taken and a thousand. Warm turns of an agent that takes 200 ms
are held against the bare ACP prompt to the very same agent, cold ones against warm ones for an
agent that takes 350 ms to start, with 1,000 messages of history. All in one run, in turn, medians.
`python benchmarks/turns.py --help`.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from time import perf_counter
from types import MappingProxyType
from typing import Any, Final, cast

HERE: Final = Path(__file__).parent.parent
sys.path.insert(0, str(HERE))

PORT: Final = 18_767
BASE: Final = "/v1/projects/default"
WARM_LIMIT_MS: Final = 5.0
BARE_LIMIT: Final = 1.05
SERVER: Final = """
import sys
import uvicorn
from api.app import create_app
from infrastructure.composition import open_turnlog
from infrastructure.harness.in_process import InProcessHarnesses
from infrastructure.settings import load

log = open_turnlog(load())
harnesses = InProcessHarnesses(record=False) if sys.argv[2] == "in-process" else None
app = create_app(log, harnesses)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""


class Client:
    """One client of the server, on one connection."""

    def __init__(self) -> None:
        self._connection = HTTPConnection("127.0.0.1", PORT, timeout=120)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Any:  # noqa: ANN401 - any JSON
        """Return what the server answers; it has to be a success."""
        raw = None if body is None else json.dumps(body)
        type_ = {} if raw is None else {"Content-Type": "application/json"}
        self._connection.request(method, BASE + path, raw, {**type_, **headers})
        response = self._connection.getresponse()
        said = response.read()
        if response.status >= 300:  # noqa: PLR2004 - HTTP's own
            raise RuntimeError(f"{method} {path}: {response.status} {said[:300]!r}")
        return json.loads(said) if said else None

    def turn(self, session_id: str, text: str, **more: object) -> Any:  # noqa: ANN401 - any JSON
        """Say something, and return the turn."""
        body = {"messages": [{"role": "user", "content": text}], **more}
        return self.ask("POST", f"/sessions/{session_id}/turns", body)


@contextmanager
def server(kind: str, **settings: str) -> Generator[tuple[Client, int]]:
    """Run a server on a new database; give a client of it, and its process id."""
    with tempfile.TemporaryDirectory() as directory:
        environment = os.environ | {
            "TURNLOG_DATABASE_URL": f"sqlite:///{directory}/turnlog.db",
            "TURNLOG_STATE_DIR": f"{directory}/state",
            "TURNLOG_SEARCH": "off",
            **settings,
        }
        command = [sys.executable, "-c", SERVER, str(PORT), kind]
        process = subprocess.Popen(command, cwd=HERE, env=environment)  # noqa: S603 - this program
        try:
            yield reached(), process.pid
        finally:
            process.terminate()
            process.wait(30)


def reached() -> Client:
    """Return a client once the server answers."""
    for _ in range(200):
        try:
            client = Client()
            client.ask("GET", "/sessions")
        except OSError:
            Event().wait(0.05)
        else:
            return client
    raise RuntimeError("the server does not answer")


def timed(ask: Any, rounds: int) -> list[float]:  # noqa: ANN401 - whatever is to be timed
    """Return how long each of some calls took, in milliseconds."""
    took: list[float] = []
    for _ in range(rounds):
        began = perf_counter()
        ask()
        took.append((perf_counter() - began) * 1_000)
    return took


def fill(client: Client, session_id: str, events: int) -> None:
    """Record turns of two events besides their start and end, many in a batch."""
    turns, batch = max(1, events // 4), 200
    for number, first in enumerate(range(0, turns, batch), start=1):
        said: list[Mapping[str, Any]] = []
        for n in range(first, min(first + batch, turns)):
            turn_id = f"t{n}"
            answer = {"role": "assistant", "content": f"You said the {n}th thing of many."}
            said += [
                {
                    "type": "turn-started",
                    "data": {
                        "turn_id": turn_id,
                        "messages": [{"role": "user", "content": f"This is the {n}th thing."}],
                    },
                },
                {"type": "message-recorded", "data": {"turn_id": turn_id, "message": answer}},
                {
                    "type": "usage-recorded",
                    "data": {
                        "turn_id": turn_id,
                        "model": "m",
                        "input_tokens": 1,
                        "output_tokens": 1,
                    },
                },
                {"type": "turn-completed", "data": {"turn_id": turn_id, "record_count": 3}},
            ]
        producer = {"id": "filler", "epoch": 1, "sequence": number}
        client.ask(
            "POST",
            f"/sessions/{session_id}/events",
            {"producer": producer, "open": {}, "events": said},
        )


def bookkeeping(rounds: int, lengths: Sequence[int], seats: int) -> None:
    """Measure warm turns by the length of the session, and by how many seats are taken."""
    rows: list[tuple[str, float]] = []
    with server("in-process", TURNLOG_POOL_CAPACITY="10000", TURNLOG_POOL_IDLE_TTL_S="3600") as (
        client,
        pid,
    ):
        for events in lengths:
            fill(client, f"s{events}", events)
            client.turn(f"s{events}", "hello")
        taken: dict[int, list[float]] = {events: [] for events in lengths}
        for _ in range(rounds):
            for events in lengths:
                taken[events] += timed(lambda e=events: client.turn(f"s{e}", "hello"), 1)
        rows += [(f"{n:,} events", statistics.median(took)) for n, took in taken.items()]
        before = resident_mb(pid)
        for number in range(seats):
            session_id = f"seat{number}"
            client.ask("POST", "/sessions", {"session_id": session_id})
            client.turn(session_id, "hello")
        grown = resident_mb(pid) - before
        few = timed(lambda: client.turn(f"s{lengths[0]}", "hello"), rounds)
        rows.append((f"{seats:,} seats taken", statistics.median(few)))
    print("| a warm turn over HTTP, ms | median | limit |")
    print("|---|---|---|")
    for name, median in rows:
        print(f"| {name} | {median:.2f} | {WARM_LIMIT_MS:.0f} |")
    print(f"\nServer memory per parked seat: {grown / seats * 1024:.1f} KiB (in-process port).\n")


def against_bare(rounds: int, delay_ms: int) -> None:
    """Measure warm turns of an agent that takes a while against the bare prompt to it."""
    said = f"delay: {delay_ms} hello"
    bare = asyncio.run(bare_prompts(said, rounds))
    with server("acp") as (client, _):
        client.ask("POST", "/sessions", {"session_id": "slow"})
        client.turn("slow", "hello")
        warm = timed(lambda: client.turn("slow", said), rounds)
    one, other = statistics.median(bare), statistics.median(warm)
    print(f"| an agent that takes {delay_ms} ms | ms | x | limit |")
    print("|---|---|---|---|")
    print(f"| bare ACP prompt | {one:.1f} | 1 | |")
    print(f"| warm turn over HTTP | {other:.1f} | {other / one:.3f} | {BARE_LIMIT} |\n")


async def bare_prompts(text: str, rounds: int) -> list[float]:
    """Return how long prompts take the demo agent, spoken to with the library alone."""
    from acp import PROTOCOL_VERSION, spawn_agent_process, text_block  # noqa: PLC0415

    class Deaf:
        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:  # noqa: ANN401
            """Hear nothing."""

        def on_connect(self, _: Any) -> None:  # noqa: ANN401
            """Need nothing of the agent."""

    command = [sys.executable, "-m", "infrastructure.demo_agent"]
    async with spawn_agent_process(
        cast("Any", Deaf()), *command, env={"PYTHONPATH": str(HERE)}, cwd=HERE
    ) as (
        agent,
        _,
    ):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        session = await agent.new_session(cwd=str(HERE))
        took: list[float] = []
        for _ in range(rounds):
            began = perf_counter()
            await agent.prompt(session_id=session.session_id, prompt=[text_block(text)])
            took.append((perf_counter() - began) * 1_000)
        return took


def cold_and_warm(rounds: int, messages: int, start_ms: int) -> None:
    """Measure turns warm and cold, with the newest message alone and with the full history."""
    took: dict[str, list[float]] = {}
    settings = {"TURNLOG_DEMO_START_MS": str(start_ms), "TURNLOG_POOL_CAPACITY": "2"}
    with server("acp", **settings) as (client, _):
        fill(client, "long", messages * 2)
        for number in range(rounds):
            for way in ("newest message only", "full history"):
                prior = history(client) if way == "full history" else []
                if number or way == "full history":
                    client.ask("DELETE", "/pool/long")
                for path in ("cold", "warm"):
                    body = {"messages": [*prior, {"role": "user", "content": "hello"}]}
                    began = perf_counter()
                    turn = client.ask("POST", "/sessions/long/turns", body)
                    elapsed = (perf_counter() - began) * 1_000
                    found = "warm" if turn["path"] == "warm" else "cold"
                    if found != path:
                        raise RuntimeError(f"wanted {path}, was {turn['path']}: {turn['reason']}")
                    took.setdefault(f"{path}, {way}", []).append(elapsed)
                    prior = history(client) if prior else []
    print(f"| start-up {start_ms} ms, {messages:,} messages of history | ms |")
    print("|---|---|")
    for name, values in sorted(took.items()):
        print(f"| {name} | {statistics.median(values):.1f} |")
    print()


def history(client: Client) -> list[Mapping[str, Any]]:
    """Return all that was said, as a client would hold it."""
    whole = client.ask("GET", "/sessions/long/transcript?format=openai")
    found: list[Mapping[str, Any]] = whole["messages"]
    return found


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seats", type=int, default=1_000)
    parser.add_argument("--events", type=int, nargs="+", default=[10, 1_000, 10_000])
    parser.add_argument("--delay-ms", type=int, default=200)
    parser.add_argument("--messages", type=int, default=1_000)
    parser.add_argument("--start-ms", type=int, default=350)
    given = parser.parse_args()
    bookkeeping(given.rounds, given.events, given.seats)
    against_bare(max(5, given.rounds // 5), given.delay_ms)
    cold_and_warm(max(3, given.rounds // 20), given.messages, given.start_ms)


if __name__ == "__main__":
    main()
