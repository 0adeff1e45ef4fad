"""A real server in a process of its own, with the real demo agent: started, stopped, killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import IO, Final

from infrastructure.harness.process_table import look_up
from tests.differential.journeys import Json

PATIENCE_S: Final = 60.0
_ROOT: Final = Path(__file__).parents[2]


class Starter:
    """What starts servers, one at a time; see `tests.differential.starter`."""

    def __init__(self, end: ExitStack) -> None:
        """Take what ends the process that starts them, which is there from its first use on."""
        self._end: Final = end
        self._one_at_a_time: Final = Lock()

    def start(self, environment: dict[str, str], errors: Path) -> tuple[int, str]:
        """Return a server's process id and its address."""
        with self._one_at_a_time:
            return self._start(environment, errors)

    def _start(self, environment: dict[str, str], errors: Path) -> tuple[int, str]:
        asked = {"environment": environment, "errors": str(errors)}
        to, of = self._pipes
        to.write(f"{json.dumps(asked)}\n")
        to.flush()
        pid, said = of.readline(), of.readline()
        why = errors.read_text() if errors.exists() else "it cannot even be loaded"
        assert said, f"the server did not start: {why}"
        return int(pid), json.loads(said)["url"]

    @cached_property
    def _pipes(self) -> tuple[IO[str], IO[str]]:
        # It loads everything, which takes longer than many a journey.
        process = self._end.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "tests.differential.starter"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=_ROOT,
            )
        )
        assert process.stdin is not None
        assert process.stdout is not None
        return process.stdin, process.stdout


@contextmanager
def starter() -> Generator[Starter]:
    """Give what starts servers, until the end of the block."""
    with ExitStack() as end:
        yield Starter(end)


class Serving:
    """One server on one database, which can be killed and is then started again.

    Attributes:
        url: Where it listens now.
        arrays: Where the arrays are written that the model side received.
        calls: Where the calls are written that were made.
    """

    def __init__(
        self, starter: Starter, folder: Path, database_url: str, approval_ttl_s: int
    ) -> None:
        """Start it in a folder, where the agents' notes go."""
        self.arrays: Final = folder / "arrays"
        self.calls: Final = folder / "calls"
        self._starter: Final = starter
        self._errors: Final = folder / "errors"
        self._environment: Final = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TURNLOG_CONFIG": str(_settings(folder, self.arrays, self.calls)),
            "TURNLOG_DATABASE_URL": database_url,
            "TURNLOG_STATE_DIR": str(folder / "state"),
            "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true",
            "TURNLOG_ALLOW_UNVERIFIED_TURNS": "true",
            "TURNLOG_POOL_CAPACITY": "50",
            "TURNLOG_POOL_IDLE_TTL_S": "3600",
            "TURNLOG_POOL_APPROVAL_TTL_S": str(approval_ttl_s),
            "TURNLOG_POOL_WAIT_S": "60",
        }
        self._pid, self.url = starter.start(self._environment, self._errors)

    def kill_and_restart(self) -> None:
        """Kill the server and its agents, in the middle of whatever they do, and start it again."""
        agents = _children(self._pid)
        for pid in (self._pid, *agents):  # the server first: it is to notice nothing
            _send(pid, signal.SIGKILL)
        _wait_for_the_end_of([self._pid, *agents])
        self._pid, self.url = self._starter.start(self._environment, self._errors)

    def stop(self) -> None:
        """End it in order, with its agents."""
        _send(self._pid, signal.SIGTERM)
        _wait_for_the_end_of([self._pid])

    def received(self) -> dict[str, list[Json]]:
        """Return the arrays that the model side received, by session, in order."""
        return _lines(self.arrays)

    def made(self) -> dict[str, list[Json]]:
        """Return the calls that were made, by session, in order."""
        return _lines(self.calls)

    def complaints(self) -> str:
        """Return what the servers said to whoever runs them."""
        return self._errors.read_text()


@contextmanager
def serving(
    starter: Starter, folder: Path, database_url: str, *, approval_ttl_s: int = 3600
) -> Generator[Serving]:
    """Serve a database until the end of the block."""
    server = Serving(starter, folder, database_url, approval_ttl_s)
    try:
        yield server
    finally:
        server.stop()


def _settings(folder: Path, arrays: Path, calls: Path) -> Path:
    """Write a settings file by which the demo agent notes what happens."""
    command = [sys.executable, "-P", "-m", "infrastructure.demo_agent"]
    environment = {
        "PYTHONPATH": str(_ROOT),
        "TURNLOG_DEMO_RECORD": str(arrays),
        "TURNLOG_DEMO_CALLS": str(calls),
    }
    written = [
        "[harnesses.demo]",
        f"command = {json.dumps(command)}",
        "[harnesses.demo.environment]",
        *(f"{name} = {json.dumps(value)}" for name, value in environment.items()),
    ]
    path = folder / "settings.toml"
    path.write_text("\n".join(written))
    return path


def _lines(path: Path) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        said = json.loads(line)
        found.setdefault(said.pop("session"), []).append(said)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _wait_for_the_end_of(pids: list[int]) -> None:
    deadline = monotonic() + PATIENCE_S
    while any(look_up(pid) is not None for pid in pids):
        assert monotonic() < deadline, "a process does not end"
        Event().wait(0.005)
