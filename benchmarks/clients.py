"""How many appends a second does one server take from one client, and from sixteen at once?

A real server in a process of its own, on SQLite, over loopback; each append is a turn of four
events. Then the same with each commit made slower, as on another disk: what waits together is
committed together, so many clients should lose little by it.
`python benchmarks/clients.py --help`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Barrier, Thread
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent))

from answering import get, wait_for_server
from log import turn

PORT = 18_765
SERVER = """
import sys, time
import uvicorn
from api.app import create_app
from infrastructure import sqlite_writer
from infrastructure.composition import open_turnlog
from infrastructure.settings import load

log = open_turnlog(load({"TURNLOG_DATABASE_URL": sys.argv[1]}))
delay, commits = float(sys.argv[3]) / 1000, 0
commit = sqlite_writer.commit

def count(connection):
    global commits
    commits += 1
    time.sleep(delay)
    commit(connection)

sqlite_writer.commit = count

app = create_app(log)

@app.get("/commits")
def shown():
    return commits

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""


@contextmanager
def server(delay_ms: float) -> Generator[None]:
    """Run a server on a new database."""
    with tempfile.TemporaryDirectory() as directory:
        url = f"sqlite:///{directory}/http.db"
        arguments = [sys.executable, "-c", SERVER, url, str(PORT), str(delay_ms)]
        root = Path(__file__).parent.parent
        with subprocess.Popen(arguments, cwd=root) as process:  # noqa: S603 - our own server
            wait_for_server(PORT)
            yield
            process.terminate()


def client(name: str, seconds: float, start: Barrier, counts: list[int]) -> None:
    """Append turns to a session of its own, one after another, for some seconds."""
    connection = HTTPConnection("127.0.0.1", PORT)
    path = f"/v1/projects/default/sessions/{name}/events"
    start.wait()
    end = perf_counter() + seconds
    number = 0
    while perf_counter() < end:
        number += 1
        body = {
            "producer": {"id": name, "epoch": 1, "sequence": number},
            "open": {},
            "events": [{"type": t, "data": json.loads(data)} for t, data in turn(number)],
        }
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 201:  # noqa: PLR2004
            raise RuntimeError(f"status {answer.status}")
    counts.append(number)
    connection.close()


def measure(clients: int, seconds: float, run: int) -> tuple[float, float]:
    """Return appends a second, and commits an append."""
    before = int(get(PORT, "/commits"))
    start, counts = Barrier(clients), list[int]()
    threads = [
        Thread(target=client, args=(f"c{run}-{clients}-{n}", seconds, start, counts))
        for n in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    appended = sum(counts)
    return appended / seconds, (int(get(PORT, "/commits")) - before) / appended


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--clients", type=int, default=16)
    options = parser.parse_args()
    print(
        "| commit slowed by, ms | clients | appends a second | commits an append | x one client |"
    )
    print("|---|---|---|---|---|")
    for delay in (0.0, 5.0):
        with server(delay):
            one: list[tuple[float, float]] = []
            many: list[tuple[float, float]] = []
            for run in range(options.rounds):
                one.append(measure(1, options.seconds, run))
                many.append(measure(options.clients, options.seconds, run))
            ratio = statistics.median(b[0] / a[0] for a, b in zip(one, many, strict=True))
            for clients, found, shown in ((1, one, "1"), (options.clients, many, f"{ratio:.2f}")):
                rate, commits = (statistics.median(column) for column in zip(*found, strict=True))
                print(f"| {delay:g} | {clients} | {rate:,.0f} | {commits:.2f} | {shown} |")


if __name__ == "__main__":
    main()
