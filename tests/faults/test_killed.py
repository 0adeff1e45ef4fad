"""A killed process loses nothing that it promised, and leaves nothing half there."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from threading import Event

from infrastructure import tables as t
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify_all
from tests.faults.killed_writer import SHARED_BY, sessions_of
from tests.faults.promising import Promise, assert_kept, assert_once, promise
from tests.infrastructure.followers.watching import following, rows
from tests.infrastructure.writing import Store, opened

ROUNDS = 200
LATEST_S = 0.03


class Writing:
    """Processes that append to one database, one after the other."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin
        self._output = process.stdout

    def run(self, number: int, promises: int, longer_s: float) -> list[Promise]:
        """Kill a process some time after its first `promises`; return all that it made."""
        self._input.write(f"{number}\n")
        self._input.flush()
        made: list[Promise] = []
        pid = 0
        while not pid or len(made) < promises:
            line = self._line()
            if line.startswith("born "):
                pid = int(line.split()[1])
            else:
                made.append(promise(line))
        Event().wait(longer_s)
        os.kill(pid, signal.SIGKILL)
        while (line := self._line()) != "dead\n":
            made.append(promise(line))
        return made

    def _line(self) -> str:
        line = self._output.readline()
        assert line, "the process ended by itself"
        return line


@contextmanager
def writing_to(url: str) -> Generator[Writing]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.killed_writer", url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Writing(process)


def assert_views_are_what_the_log_says(store: Store, number: int) -> None:
    for session_id in sessions_of(number):
        found = rebuild(store.database, store.runner, "default", session_id, check_only=True)
        assert found.differences == ()


def test_200_kills_at_random_instants_lose_no_promise_and_leave_no_half(database_url: str) -> None:
    random = Random(20261129)  # noqa: S311 - instants, no secrets
    with writing_to(database_url) as writing, opened(database_url) as store:
        shared: list[Promise] = []
        total = 0
        for number in range(ROUNDS):
            made = writing.run(number, random.randrange(5), random.random() * LATEST_S)
            total += len(made)
            first, *own = sessions_of(number)
            shared += [each for each in made if each.session_id == first]
            for session_id in own:
                assert_kept(store, session_id, made)
            for session_id in sessions_of(number):
                mine = [each.sequence for each in made if each.session_id == session_id]
                assert_once(store, session_id, f"p{number}", max(mine, default=0))
            if number % SHARED_BY == SHARED_BY - 1:
                assert_kept(store, first, shared)
                assert_views_are_what_the_log_says(store, number)
                shared.clear()
        assert total > ROUNDS
        assert all(found.ok for found in verify_all(store.database))
        assert_followers_missed_nothing(store)


def assert_followers_missed_nothing(store: Store) -> None:
    tables = {"usage": t.usage, "search": t.search_documents}
    with following(store) as views:
        for name, table in tables.items():
            store.clock.at += 3_600_000_000  # whoever was killed holds no lease any more
            views.catch_up(name)
            before = rows(store, table)
            views.rebuild(name)
            assert before == rows(store, table)
