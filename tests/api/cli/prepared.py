"""Commands as `python -m api.cli` runs them, forked from a process that has loaded what they need.

A process of its own with its own environment, folder and files, which ends as any Python does: all
that is saved is the time to load the libraries. `python -m tests.api.cli.prepared` takes, from the
socket that is its standard input, a line of JSON for each command, with the files that it gets: its
three and one in which is told who it is and, later, how it ended.
"""

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from atexit import register
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from threading import active_count
from time import monotonic
from typing import Any, TextIO, cast

# What most commands need. Each command still imports what else it needs by itself.
LOADED = (
    "alembic.command",
    "api.cli.listing",
    "api.cli.program",
    "api.cli.stored",
    "infrastructure.composition",
    "infrastructure.database",
    "psycopg",
    "pygments",
    "rich.console",
    "rich.live",
    "rich.progress",
    "rich.table",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "urllib.request",
)
_MOST = 1_000_000


class Prepared:
    """A process that commands are forked from."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.api.cli.prepared"],
                env=dict(environment),
                cwd=Path(__file__).parents[3],
                stdin=theirs.fileno(),
            )

    def run(
        self, arguments: list[str], environment: dict[str, str], folder: Path, within: float
    ) -> tuple[int, bytes, bytes]:
        """Run a command to its end; return how it ended, and what it wrote.

        Raises:
            TimeoutError: it does not end.
        """
        request = {"arguments": arguments, "environment": environment, "folder": str(folder)}
        out, its_out = os.pipe()
        errors, its_errors = os.pipe()
        told, telling = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        given = [nothing, its_out, its_errors, telling]
        socket.send_fds(self._socket, [json.dumps(request).encode()], given)
        for file in given:
            os.close(file)
        written = _read({out: b"", errors: b"", told: b""}, monotonic() + within)
        return int(written[told].split()[1]), written[out], written[errors]

    def end(self) -> None:
        """Let go of the process."""
        self._socket.close()
        self._process.wait()


def _read(files: dict[int, bytes], deadline: float) -> dict[int, bytes]:
    with selectors.DefaultSelector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0, deadline - monotonic()))
            if not ready:
                os.kill(int([*files.values()][-1].split()[0]), signal.SIGKILL)
                raise TimeoutError(files)
            for key, _ in ready:
                file = key.fd
                if more := os.read(file, 65_536):
                    files[file] += more
                else:
                    selector.unregister(file)
                    os.close(file)
    return files


@cache
def prepared(*environment: tuple[str, str]) -> Prepared:
    """Return this process's one; it starts at first use."""
    found = Prepared(dict(environment))
    register(found.end)
    return found


def main() -> None:
    """Fork what is asked for, until nobody can ask any more."""
    for name in LOADED:
        importlib.import_module(name)
    assert active_count() == 1, "what forks has one thread"
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as requests:
        while True:
            line, files, _, _ = socket.recv_fds(requests, _MOST, 4)
            if not line:
                return
            if os.fork() == 0:
                break
            for file in files:
                os.close(file)
            _reap()
    _fork(json.loads(line), files)


def _reap() -> None:
    """Forget who has ended."""
    while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG) is not None:
        pass


def _fork(request: dict[str, Any], files: list[int]) -> None:
    """Fork the command, and tell who it is and how it ends."""
    *own, telling = files
    pid = os.fork()
    if pid == 0:
        os.close(telling)
        _become(request, own)
        return
    for file in own:
        os.close(file)
    os.write(telling, f"{pid} ".encode())
    status = os.waitpid(pid, 0)[1]
    os.write(telling, f"{os.waitstatus_to_exitcode(status)}".encode())
    os._exit(0)


def _become(request: dict[str, Any], files: list[int]) -> None:
    """Be the command, as if just started; its end is the process's."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = map(_reopened, (sys.stdin, sys.stdout, sys.stderr))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[0] = request["folder"]
    sys.argv = ["turnlog", *request["arguments"]]
    importlib.import_module("api.cli.program").main()


def _reopened(stream: TextIO) -> TextIO:
    """Return a standard stream as Python opens it at its start."""
    number = stream.fileno()
    again = open(  # noqa: SIM115 - it stays open
        number,
        stream.mode,
        encoding=stream.encoding,
        errors=stream.errors,
        newline="\n" if number else None,
        closefd=False,
        buffering=1 if number == 2 or os.isatty(number) else -1,
    )
    return cast("TextIO", again)


if __name__ == "__main__":
    main()
