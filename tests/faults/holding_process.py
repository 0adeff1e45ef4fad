"""A process that stops in the middle of a write, holding what other writers need.

`python -m tests.faults.holding_process URL SESSION` appends to a session and, before it commits,
prints `holding`, then waits for a line of its input; then it commits and prints `committed`, or the
name of the error that it met.
"""

import sys

from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from infrastructure.appending import append_batch
from infrastructure.database import open_database
from infrastructure.runner import Attempt
from tests.faults.promising import request, say
from tests.infrastructure.writing import NOBODY, Store, target


def hold(url: str, session_id: str) -> None:
    """Append, wait, commit."""
    with Store(open_database(make_url(url), allow_unsafe=True)) as store:

        def work(attempt: Attempt) -> None:
            sent = request("holder", 1)
            append_batch(store.handler, attempt, target(session_id), sent, NOBODY)
            say("holding")
            sys.stdin.readline()

        try:
            store.runner.run(work)
        except DBAPIError as error:
            say(type(error.orig).__name__)
        else:
            say("committed")


if __name__ == "__main__":
    hold(sys.argv[1], sys.argv[2])
