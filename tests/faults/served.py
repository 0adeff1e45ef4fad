"""Servers as `turnlog serve` starts them, forked from a process that has loaded everything.

`python -m tests.faults.served` reads a line of JSON for each: `{"environment", "output"}` starts
one with these variables, whose words go into files, and says its process id; `{"wait"}` waits for
the end of one and says how it ended. When the input ends, all are killed.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import api.cli.program
import api.cli.serving
import api.import_jobs
import infrastructure.hosting.opening
from tests.faults.forked import look_often


def serve(environment: dict[str, str], output: str) -> None:
    """Be a server, until it is told to stop or is killed."""
    files = [os.open(f"{output}.{name}", os.O_WRONLY | os.O_CREAT, 0o600) for name in "io"]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(files[0], 2)
    os.dup2(files[1], 1)
    os.environ.update(environment)
    look_often()
    os._exit(api.cli.program.run(["serve", "--port", "0", "--json"]))


def start(line: dict[str, Any]) -> int:
    """Fork a server; return its process id."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        serve(line["environment"], line["output"])
    return pid


def main() -> None:
    """Start what is asked for; kill it all at the end of the input."""
    alive: set[int] = set()
    for text in sys.stdin:
        line = json.loads(text)
        if "wait" in line:
            status = os.waitpid(line["wait"], 0)[1]
            alive.discard(line["wait"])
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = start(line)
            alive.add(answer)
        os.write(1, f"{answer}\n".encode())
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


LOADED = (api.cli.serving, api.import_jobs, infrastructure.hosting.opening)
HERE = Path(__file__)

if __name__ == "__main__":
    main()
