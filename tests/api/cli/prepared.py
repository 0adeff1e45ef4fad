"""Commands as `python -m api.cli` runs them, forked from a process that has loaded what they need.

A process of its own with its own environment, folder and files. It ends as any Python does up to
what was registered for the end; saved is the time to load the libraries and to take them down.
`python -m tests.api.cli.prepared` takes, from the socket that is its standard input, a line of JSON
for each command, with the files that it gets: its three and one in which is told who it is and,
later, how it ended.
"""

import gc
import importlib
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
from atexit import register
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import active_count
from time import monotonic
from typing import Any, TextIO, cast

# What most commands need. Each command still imports what else it needs by itself.
LOADED = (
    "alembic.command",
    "api.app",
    "api.cli.listing",
    "api.cli.program",
    "api.cli.replaying",
    "api.cli.serving",
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
    "uvicorn.protocols.http.h11_impl",
)
_MOST = 1_000_000
_PATIENCE_S = 60.0
_ended_with: list[int] = []


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

    def start(self, arguments: list[str], environment: dict[str, str], folder: Path) -> "Piped":
        """Start a command whose input is empty, and whose output is kept for the test."""
        out, its_out = os.pipe()
        errors, its_errors = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        its = (nothing, its_out, its_errors)
        told = self._asked(arguments, environment, folder, its)
        for file in its:
            os.close(file)
        return Piped(told, out, errors)

    def start_on(
        self, terminal: int, arguments: list[str], environment: dict[str, str], folder: Path
    ) -> "Started":
        """Start a command on a terminal, which stays open here."""
        return Started(self._asked(arguments, environment, folder, (terminal,) * 3))

    def _asked(
        self, arguments: list[str], environment: dict[str, str], folder: Path, its: tuple[int, ...]
    ) -> int:
        """Ask for a command; return the file in which is told what becomes of it."""
        request = {"arguments": arguments, "environment": environment, "folder": str(folder)}
        told, telling = os.pipe()
        socket.send_fds(self._socket, [json.dumps(request).encode()], [*its, telling])
        os.close(telling)
        return told

    def end(self) -> None:
        """Let go of the process."""
        self._socket.close()
        self._process.wait()


class Started:
    """A command that was started, to be used as a `subprocess.Popen` is."""

    def __init__(self, told: int) -> None:
        self._told = os.fdopen(told, "rb", 0)
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return how it ended; None if it has not."""
        return self._ended(0)

    def wait(self, timeout: float) -> int:
        """Return how it ended, once it has.

        Raises:
            TimeoutError: it does not end.
        """
        code = self._ended(timeout)
        if code is None:
            raise TimeoutError
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """Kill it if it has not ended, and let go of it."""
        self.send_signal(signal.SIGKILL)
        self.wait(_PATIENCE_S)
        self._told.close()

    def _ended(self, within: float) -> int | None:
        if self.returncode is None and select.select([self._told], [], [], within)[0]:
            self.returncode = int(self._told.readline())
        return self.returncode


class Piped(Started):
    """A started command of which is read what it writes."""

    def __init__(self, told: int, out: int, errors: int) -> None:
        # What was read here is all that is missing there.
        self.stdout = os.fdopen(out, "rb", 0)
        self.stderr = os.fdopen(errors, "rb", 0)
        super().__init__(told)

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """Wait for its end; return what it wrote that was not read.

        Raises:
            TimeoutError: it does not end.
        """
        deadline = monotonic() + timeout
        written = {self.stdout: b"", self.stderr: b""}
        with selectors.DefaultSelector() as selector:
            for file in written:
                selector.register(file, selectors.EVENT_READ, file)
            while selector.get_map():
                ready = selector.select(max(0, deadline - monotonic()))
                if not ready:
                    raise TimeoutError
                for key, _ in ready:
                    more = os.read(key.fd, 65_536)
                    written[key.data] += more
                    if not more:
                        selector.unregister(key.fileobj)
        self.wait(max(0, deadline - monotonic()))
        return written[self.stdout], written[self.stderr]

    def end(self) -> None:
        """See `Started.end`."""
        super().end()
        self.stdout.close()
        self.stderr.close()


@cache
def prepared(*environment: tuple[str, str]) -> Prepared:
    """Return this process's one; it starts at first use."""
    found = Prepared(dict(environment))
    register(found.end)
    return found


def main() -> None:
    """Fork what is asked for, until nobody can ask any more."""
    register(_leave)  # before all others, so that it is called after them
    for name in LOADED:
        importlib.import_module(name)
    importlib.import_module("api.cli.program").every_command()
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
    os.write(telling, f"{pid}\n".encode())
    status = os.waitpid(pid, 0)[1]
    os.write(telling, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(request: dict[str, Any], files: list[int]) -> None:
    """Be the command, as if just started; its end is the process's."""
    os.setsid()  # what is pressed where the tests run is for the tests
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = map(_reopened, (sys.stdin, sys.stdout, sys.stderr))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[0] = request["folder"]
    sys.argv = ["turnlog", *request["arguments"]]
    try:
        importlib.import_module("api.cli.program").main()
    except SystemExit as ended:
        _ended_with.append(cast("int", ended.code))
        raise


def _leave() -> None:
    """End a command where Python would begin to take the loaded libraries down, one by one."""
    if not _ended_with:
        return
    gc.collect()  # what was never closed is complained about now
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return  # Python says so in its own way
    os._exit(_ended_with[0])


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
