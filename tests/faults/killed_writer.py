"""Processes that append, with every follower on, until somebody kills them.

`python -m tests.faults.killed_writer URL` reads the number of a round from each line of its input
and forks a process for it, which is quick since all is loaded and was used once. What a process
prints is `born PID`, then a promise after each commit, then, once it is gone, `dead`.
"""

import gc
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import make_url

from infrastructure import clock
from infrastructure.database import Database
from infrastructure.followers.following import Following, followers
from tests.faults.promising import promised, request, say
from tests.infrastructure.writing import Store

SHARED_BY = 20


def sessions_of(number: int) -> list[str]:
    """Return the sessions that a round writes: one of several rounds, and two of its own."""
    return [f"shared{number // SHARED_BY}", f"a{number}", f"b{number}"]


def append_until_killed(url: str, number: int) -> None:
    """Append to each session from a thread of its own."""
    store = Store(Database(make_url(url), allow_unsafe=True))
    Following(store.database, store.runner, followers(search=True), clock.now).start()

    def keep_writing(session_id: str) -> None:
        sequence = 0
        while True:
            sequence += 1
            sent = request(f"p{number}", sequence)
            say(promised(session_id, sent, store.send(sent, session_id)).line())

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(keep_writing, sessions_of(number)))


def warm_up(url: str) -> None:
    """Do once what the processes do, so that they find every statement compiled."""
    with Store(Database(make_url(url), allow_unsafe=True)) as store:
        for sequence in (1, 2):
            store.send(request("warm", sequence), "warm")
    gc.freeze()  # what is never looked at again is never copied


def serve(url: str) -> None:
    """Fork a process for each line of the input."""
    warm_up(url)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            append_until_killed(url, int(line))
            os._exit(1)
        say(f"born {pid}")
        os.waitpid(pid, 0)
        say("dead")


if __name__ == "__main__":
    serve(sys.argv[1])
