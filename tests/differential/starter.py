"""Starts `turnlog serve` again and again, at once: by forks of a process that has loaded it.

Each line of the input is the environment of one server, as JSON; the server says its process id and
then, as always, where it listens. When the input ends, this process ends, and the servers do not.
"""

import json
import os
import signal
import sys
from pathlib import Path

from api.cli import serving
from api.cli.program import run


def serve(environment: dict[str, str], errors: str) -> None:
    """Be a server; what it complains about goes to a file."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
    os.environ.clear()
    os.environ.update(environment)
    os.write(1, f"{os.getpid()}\n".encode())
    os._exit(run(["serve", "--port", "0", "--json"]))


def main() -> None:
    """Start what is asked for."""
    assert Path(serving.__file__).exists()  # loaded here, and so in every server
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who is dead is gone at once
    for line in sys.stdin:
        asked = json.loads(line)
        if os.fork() == 0:
            serve(asked["environment"], asked["errors"])


if __name__ == "__main__":
    main()
