"""Processes that append turns until somebody kills them, and print what they were promised.

`python -m tests.infrastructure.appending_process URL` reads the name of a round from each line of
its input, and forks a process for it: a new interpreter each time would take most of the time.
What a process prints is `born PID`, then `SESSION VERSION HASH` after each commit, then `dead`.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import make_url

from domain.commands import BeginBatch, OpenSession, Record, SessionCommand
from domain.keys import keys_of
from infrastructure import clock
from infrastructure.command_handler import Appended, CommandHandler
from infrastructure.database import open_database
from infrastructure.event_log import EventLog
from infrastructure.runner import Attempt, Runner
from tests.infrastructure.writing import NOBODY, note, target, turn

SHARED = "shared"
BATCH = 5


def sessions_of(round_: str) -> list[str]:
    """Return the sessions that a round writes: one of all rounds, and two of its own."""
    return [SHARED, f"a{round_}", f"b{round_}"]


def append_until_killed(url: str, round_: str) -> None:
    """Append to each session from a thread of its own."""
    log = EventLog(database := open_database(make_url(url), allow_unsafe=True))
    runner = Runner(database)
    handler = CommandHandler(log, clock.now, unverified_turns=True)

    def write(session_id: str, name: str) -> None:
        proposals = [*turn(name), note(b'"' + b"x" * 2000 + b'"')]
        records = [Record(proposal=proposal) for proposal in proposals]
        begin = BeginBatch(open=OpenSession(), events=BATCH)
        steps: list[SessionCommand] = [begin, *records]

        def work(attempt: Attempt) -> Appended:
            where = target(session_id)
            return handler.carry_out(attempt, where, steps, keys_of(steps), caller=NOBODY)

        head = runner.run(work).head
        say(f"{session_id} {head.version} {head.hash.hex()}")

    def keep_writing(session_id: str) -> None:
        number = 0
        while True:
            number += 1
            write(session_id, f"{round_}-{number}")

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(keep_writing, sessions_of(round_)))


def say(line: str) -> None:
    """Print a line by one write, so that none is ever cut or mixed with another."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def serve(url: str) -> None:
    """Fork a process for each line of the input."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            append_until_killed(url, line.strip())
            os._exit(1)
        say(f"born {pid}")
        os.waitpid(pid, 0)
        say("dead")


if __name__ == "__main__":
    serve(sys.argv[1])
