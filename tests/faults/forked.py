"""Processes of one database, forked from one that has loaded everything: they start at once.

`python -m tests.faults.forked` starts one for each line of its input, which is the URL of a
database, a tab, and what is wanted, and says its process id: `serve` (and its port), `follow`,
`follow-and-die STEP`, which kills itself within the transaction of that step, the rows written and
the checkpoint not yet committed, or `compete`, which follows under a name that others have too, so
that no lease keeps them apart. `end` kills all of a database; when the input ends, all are killed.
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Event

import httpx
from sqlalchemy import Connection, make_url

from api.serving import Server
from api.sweeping import watch_leases
from infrastructure import clock
from infrastructure.database import Database
from infrastructure.followers.follower import Follower, Write
from infrastructure.followers.following import Following, followers
from infrastructure.followers.search import SearchFollower
from infrastructure.followers.stepping import Stepper
from infrastructure.reading.whole_log import Found
from infrastructure.runner import Runner
from tests.api.serving import open_log


class Dying(SearchFollower):
    """Follows as usual, until it has written the rows of its last step."""

    def __init__(self, step: int) -> None:
        self._left = step

    def fold(self, facts: Sequence[Found]) -> Write:
        write = super().fold(facts)

        def write_and_die(connection: Connection, generation: int) -> None:
            write(connection, generation)
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        return write_and_die


LOOK_S = 1.0


def look_often() -> None:
    """Have servers look each second for leases that ended, so that tests wait less."""
    watch_leases.__defaults__ = (LOOK_S,)


def serve(url: str, listener: socket.socket) -> None:
    """Serve the database until somebody kills this process."""
    look_often()
    Server(open_log(url), host="127.0.0.1", port=listener.getsockname()[1]).run([listener])


def follow(url: str, wanted: Sequence[Follower]) -> None:
    """Follow the log until somebody kills this process."""
    database = Database(make_url(url), allow_unsafe=True)
    Following(database, Runner(database), wanted, clock.now).start()
    Event().wait()


def compete(url: str) -> None:
    """Take the steps of every follower as if nobody else did, until somebody kills this process."""
    database = Database(make_url(url), allow_unsafe=True)
    runner = Runner(database)
    steppers = [
        Stepper(database, runner, each, "everybody", clock.now) for each in followers(search=True)
    ]
    while True:
        for stepper in steppers:
            stepper.step()


def start(url: str, command: str) -> tuple[int, str]:
    """Fork a process; return its id and what else is to be said of it."""
    name, _, step = command.partition(" ")
    listener = socket.create_server(("127.0.0.1", 0)) if name == "serve" else None
    pid = os.fork()
    if pid == 0:
        if listener is not None:
            serve(url, listener)
        elif name == "compete":
            compete(url)
        else:
            follow(url, [Dying(int(step))] if step else followers(search=True))
        os._exit(1)
    if listener is None:
        return pid, ""
    port = listener.getsockname()[1]
    listener.close()
    return pid, f" {port}"


class Forked:
    """What a test starts processes of its database with."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin
        self._output = process.stdout
        self._url = url

    def start(self, command: str) -> list[int]:
        """Start a process; return its id, and the port of one that serves."""
        self._input.write(f"{self._url}\t{command}\n")
        self._input.flush()
        return [int(word) for word in self._output.readline().split()]

    def ended(self, pid: int) -> int:
        """Wait for the end of a process; return the signal that ended it."""
        return self.start(f"wait {pid}")[0]


@contextmanager
def forked(url: str) -> Generator[Forked]:
    """Give what starts processes of a database; they end with the block."""
    processes = Forked(_starter(), url)
    try:
        yield processes
    finally:
        processes.start("end")


def client_of(port: int) -> httpx.Client:
    """Return a client of the default project of a process that serves."""
    base = f"http://127.0.0.1:{port}/v1/projects/default"
    return httpx.Client(base_url=base, timeout=30, verify=False)  # noqa: S501


@cache
def _starter() -> "subprocess.Popen[str]":
    # Loading everything takes longer than most of these tests: it is done once for all of them.
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.forked"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.__exit__, None, None, None)
    return process


def main() -> None:
    """Start what is asked for; kill it all at the end of the input."""
    alive: dict[int, str] = {}
    for line in sys.stdin:
        url, command = line.rstrip("\n").split("\t")
        if command == "end":
            end(alive, url)
            answer = ""
        elif command.startswith("wait "):
            pid = int(command.removeprefix("wait "))
            answer = f"{os.waitpid(pid, 0)[1] & 0x7F}"
            del alive[pid]
        else:
            pid, more = start(url, command)
            alive[pid] = url
            answer = f"{pid}{more}"
        os.write(1, f"{answer}\n".encode())
    for url in set(alive.values()):
        end(alive, url)


def end(alive: dict[int, str], url: str) -> None:
    """Kill all processes of a database."""
    for pid in [each for each, its_url in alive.items() if its_url == url]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        del alive[pid]


if __name__ == "__main__":
    main()
