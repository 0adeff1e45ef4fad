"""What does it cost to tell 50 followers what comes, put into frames once or for each of them?

A real server in a process of its own, on SQLite or PostgreSQL, over loopback: a burst of events of
8 KiB is appended, and each follower of the session gets all of it; then events come one at a time,
and what counts is how long after its commit the last follower has each. In each round both ways:
with what all share, and with nothing kept, so that each follower reads and encodes by itself.
`python benchmarks/streams.py --help`.
"""

import argparse
import json
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from threading import Thread
from time import perf_counter
from typing import Literal

sys.path.insert(0, str(Path(__file__).parent.parent))

from answering import PATIENCE_S, get, wait_for_server

from infrastructure.database import create_schema

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tests.databases import forced_writes, postgresql_databases

PORT = 18_775
BASE = "/v1/projects/default/sessions/s/events"
SIZE = 8 * 1024
BATCH = 20
SERVER = """
import sys, time
import uvicorn
from api.app import create_app
from infrastructure import feeds
from infrastructure.composition import open_turnlog
from infrastructure.settings import load

log = open_turnlog(load({"TURNLOG_DATABASE_URL": sys.argv[1]}))
if sys.argv[3] == "each":
    feeds.MOST_BYTES = 0
app = create_app(log)

@app.get("/cpu")
def spent():
    return time.process_time()

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", timeout_keep_alive=600)
"""
ID = re.compile(rb"\nid: (\d+)\n")
Way = Literal["once", "each"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one way took: seconds in all, of the server's processor, and to the last follower."""

    elapsed: float
    processor: float
    late: list[float]


@contextmanager
def server(url: str, way: Way) -> Generator[None]:
    """Run a server."""
    arguments = [sys.executable, "-c", SERVER, url, str(PORT), way]
    root = Path(__file__).parent.parent
    with subprocess.Popen(arguments, cwd=root) as process:  # noqa: S603 - our own server
        try:
            wait_for_server(PORT)
            yield
        finally:
            process.terminate()


class Followers:
    """So many clients of one session, read by one thread; each is as far as its newest event."""

    def __init__(self, count: int) -> None:
        """Connect them, from now on."""
        self._selector = selectors.DefaultSelector()
        self._newest = dict[socket.socket, int]()
        self._rest = dict[socket.socket, bytes]()
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", PORT))
            client.sendall(f"GET {BASE}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            self._newest[client] = 0
            self._rest[client] = b""
            self._selector.register(client, selectors.EVENT_READ)

    def until(self, version: int) -> float:
        """Read until everybody has this event; return when the last one had it."""
        deadline = perf_counter() + PATIENCE_S
        while min(self._newest.values()) < version:
            if perf_counter() > deadline:
                raise TimeoutError("somebody did not get an event")
            for key, _ in self._selector.select(1.0):
                self._read(key.fileobj)
        return perf_counter()

    def _read(self, client: object) -> None:
        assert isinstance(client, socket.socket)
        data = self._rest[client] + client.recv(1 << 20)
        whole = data.rfind(b"\n\n")
        ids = ID.findall(data, 0, max(whole, 0))
        if ids:
            self._newest[client] = int(ids[-1])
        self._rest[client] = data[max(whole, 0) :]

    def close(self) -> None:
        """Hang up."""
        self._selector.close()
        for client in self._newest:
            client.close()


class Writer:
    """Who appends notes of 8 KiB to the session."""

    def __init__(self) -> None:
        """Connect."""
        self._connection = HTTPConnection("127.0.0.1", PORT)
        self._sequence = 0
        self.version = 0

    def append(self, count: int) -> float:
        """Append so many at once; return when the answer came."""
        self._sequence += 1
        note = {"type": "data-recorded", "data": {"kind": "k", "data": "x" * SIZE}}
        body = {
            "producer": {"id": "w", "epoch": 1, "sequence": self._sequence},
            "open": {},
            "events": [note] * count,
        }
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", BASE, json.dumps(body), headers)
        answer = self._connection.getresponse()
        self.version = json.loads(answer.read())["head"]["version"]
        return perf_counter()

    def burst(self, count: int) -> None:
        """Append so many, as fast as they are taken."""
        for _ in range(count // BATCH):
            self.append(BATCH)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def measure(url: str, way: Way, options: argparse.Namespace) -> Found:
    """Tell so many followers a burst, and then single events."""
    create_schema(url)
    with server(url, way), ExitStack() as stack:
        writer = Writer()
        stack.callback(writer.close)
        writer.append(1)
        followers = Followers(options.followers)
        stack.callback(followers.close)
        followers.until(writer.version)
        spent, began = float(get(PORT, "/cpu")), perf_counter()
        expected = writer.version + options.events
        burst = Thread(target=writer.burst, args=(options.events,))
        burst.start()
        elapsed = followers.until(expected) - began
        burst.join()
        processor = float(get(PORT, "/cpu")) - spent
        late: list[float] = []
        for _ in range(options.single):
            committed = writer.append(1)
            late.append(followers.until(writer.version) - committed)
        return Found(elapsed=elapsed, processor=processor, late=late)


def rounds(name: str, stack: ExitStack, options: argparse.Namespace) -> None:
    """Measure both ways in each round, and print."""
    cluster = None if name == "SQLite" else stack.enter_context(postgresql_databases())
    if cluster is not None:
        stack.enter_context(forced_writes(cluster))
    once: list[Found] = []
    each: list[Found] = []
    for number in range(options.rounds):
        for way, kept in (("once", once), ("each", each)):
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            file = f"sqlite:///{directory}/{number}-{way}.db"
            url = file if cluster is None else cluster.empty()
            kept.append(measure(url, "once" if way == "once" else "each", options))
    for shown, found in (("once for all", once), ("for each follower", each)):
        late = [seconds for one in found for seconds in one.late]
        times = [median(one.elapsed / base.elapsed for one, base in zip(found, once, strict=True))]
        times += [
            median(one.processor / base.processor for one, base in zip(found, once, strict=True))
        ]
        print(
            f"| {name} | {shown} | {median(one.elapsed for one in found):.2f} | {times[0]:.2f} | "
            f"{median(one.processor for one in found):.2f} | {times[1]:.2f} | "
            f"{median(late) * 1_000:.1f} | {quantiles(late, n=100)[98] * 1_000:.1f} |",
            flush=True,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, default=1_000)
    parser.add_argument("--followers", type=int, default=50)
    parser.add_argument("--single", type=int, default=200)
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL too")
    options = parser.parse_args()
    print(
        "| database | put into frames | burst, s | x once | processor, s | x once "
        "| commit to last, p50 ms | p99 ms |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with ExitStack() as stack:
        for name in ("SQLite", "PostgreSQL") if options.postgres else ("SQLite",):
            rounds(name, stack, options)


if __name__ == "__main__":
    main()
