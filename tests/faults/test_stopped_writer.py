"""A writer that stands still inside its transaction holds up as few as it must, for a bounded time.

It is stopped by SIGSTOP, as by a debugger, a suspended machine or a frozen container.
"""

import signal
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from time import monotonic
from typing import IO

import httpx
import pytest
from sqlalchemy.exc import DBAPIError

from infrastructure import connecting
from infrastructure.reading.whole_log import log_page
from infrastructure.trouble import trouble
from tests.api.batches import append, batch, event, events_of, problem, turn
from tests.api.serving import Served, served
from tests.api.waiting import caught_up
from tests.databases import DatabaseKind
from tests.infrastructure.writing import Store, note, opened

NOTE = event("data-recorded", kind="k", data=1)
AT_ONCE_S = 8.0
"""Sooner than anybody waits for a lock."""
SOON_MS = 300


class Holder:
    """A process that holds a transaction open, and is stopped."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def go_on(self) -> str:
        """Let it run again, and commit; return what came of it."""
        self._process.send_signal(signal.SIGCONT)
        self._of(self._process.stdin).write("\n")
        self._of(self._process.stdin).flush()
        return self.line()

    def line(self) -> str:
        """Return the next line that it prints."""
        return self._of(self._process.stdout).readline().strip()

    def stop(self) -> None:
        """Stop it where it is."""
        self._process.send_signal(signal.SIGSTOP)

    @staticmethod
    def _of(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


@contextmanager
def holding(url: str, session_id: str) -> Generator[Holder]:
    """Give a process that was stopped after it wrote, and before it commits."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.holding_process", url, session_id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        holder = Holder(process)
        try:
            assert holder.line() == "holding"
            holder.stop()
            yield holder
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


def assert_refused_as_busy(answer: httpx.Response) -> None:
    assert problem(answer) == (503, "database-busy", [])
    told = answer.json()
    assert (told["action"], told["retry_after_s"]) == ("retry", 1)


def assert_held_session_is_whole(client: httpx.Client, mine: int) -> None:
    assert len(events_of(client, "held")) == 1 + 5 + mine
    assert client.post("/sessions/held/verify").json()["ok"]


def test_who_needs_what_a_stopped_writer_holds_is_told_to_try_again_and_then_served(
    database_kind: DatabaseKind, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "BUSY_MS", SOON_MS)
    monkeypatch.setattr(connecting, "LOCK_MS", SOON_MS)
    with served(database_kind, database_url) as server, server.client("default") as client:
        append(client, "held", batch(1, NOTE))
        with holding(database_url, "held") as holder:
            began = monotonic()
            assert_refused_as_busy(append(client, "held", batch(2, NOTE)))
            assert SOON_MS / 1000 <= monotonic() - began < SOON_MS / 1000 + AT_ONCE_S
            assert len(events_of(client, "held")) == 2
            assert holder.go_on() == "committed"
        assert append(client, "held", batch(2, NOTE)).status_code == 201
        assert_held_session_is_whole(client, 2)
        caught_up(server)


def test_on_sqlite_a_writer_waits_ten_seconds_for_a_stopped_one_and_many_wait_together(
    sqlite_url: str,
) -> None:
    with served("sqlite", sqlite_url) as server, server.client("default") as client:
        append(client, "held", batch(1, NOTE))
        with holding(sqlite_url, "held") as holder:
            began = monotonic()
            with ThreadPoolExecutor(4) as threads:
                waiting = [threads.submit(sent_by, server, f"other{n}", n) for n in range(4)]
            for answer in waiting:
                assert_refused_as_busy(answer.result())
            assert 10 <= monotonic() - began < 4 * 10  # as long as one after the other would take
            assert client.get("/sessions").status_code == 200
            assert holder.go_on() == "committed"
        assert append(client, "held", batch(2, NOTE)).status_code == 201
        assert_held_session_is_whole(client, 2)


def sent_by(server: Served, session_id: str, number: int) -> httpx.Response:
    """Return the answer to a producer with a client of its own, who has patience."""
    with server.client("default") as own:
        own.timeout = httpx.Timeout(60)
        return append(own, session_id, batch(1, NOTE, producer=f"p{number}"))


@pytest.fixture
def sqlite_url(request: pytest.FixtureRequest) -> str:
    """A fresh SQLite database."""
    url: str = request.getfixturevalue("new_database")("sqlite")
    return url


@pytest.fixture
def postgresql_url(request: pytest.FixtureRequest) -> str:
    """A fresh PostgreSQL database."""
    url: str = request.getfixturevalue("new_database")("postgresql")
    return url


def test_on_postgresql_other_sessions_go_on_at_once_while_a_writer_stands_still_for_ten_seconds(
    postgresql_url: str,
) -> None:
    with served("postgresql", postgresql_url) as server, server.client("default") as client:
        append(client, "held", batch(1, NOTE))
        caught_up(server)
        with holding(postgresql_url, "held") as holder:
            stopped = monotonic()
            for number in range(1, 6):
                began = monotonic()
                body = batch(number, *turn(f"t{number}"))
                assert append(client, "free", body).status_code == 201
                assert monotonic() - began < AT_ONCE_S
            assert lag_of(server) > 0
            # Late as it is, it has the older place in the log: followers wait for it.
            assert followed(server) == ["held"]
            Event().wait(10 - (monotonic() - stopped))
            assert lag_of(server) > 9
            assert followed(server) == ["held"]
            assert holder.go_on() == "committed"
        caught_up(server)
        assert lag_of(server) == 0
        assert followed(server) == ["held", "free"]
        assert (found(client, "go on"), found(client, "Hello")) == ({"held"}, {"free"})
        assert append(client, "held", batch(2, NOTE)).status_code == 201
        assert_held_session_is_whole(client, 2)


def test_on_postgresql_a_held_session_leaves_writers_for_the_others(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "LOCK_MS", SOON_MS)
    with served("postgresql", postgresql_url) as server, server.client("default") as client:
        append(client, "held", batch(1, NOTE))
        with holding(postgresql_url, "held") as holder, ThreadPoolExecutor(8) as threads:
            waiting = [threads.submit(sent_by, server, "held", n) for n in range(8)]
            began = monotonic()
            assert append(client, "free", batch(1, NOTE)).status_code == 201
            assert monotonic() - began < AT_ONCE_S
            for answer in waiting:
                assert_refused_as_busy(answer.result())
            assert holder.go_on() == "committed"


def test_on_postgresql_a_transaction_that_stands_still_is_ended_by_the_server(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "IDLE_MS", SOON_MS)

    def stand_still(store: Store, other: Store) -> None:
        with store.transaction() as standing:
            store.carry_out(standing, "held", note(b"1"))
            # Not right after a pipeline, whose last word to the server ends its waiting.
            standing.connection.exec_driver_sql("SELECT 1")
            other.append([note(b"2")], "held", "p2")
            store.carry_out(standing, "held", note(b"3"))

    with opened(postgresql_url) as store, opened(postgresql_url) as other:
        store.append([note(b"0")], "held")
        with pytest.raises(DBAPIError) as ended:
            stand_still(store, other)
        assert trouble(ended.value) == "away"
        assert [fact.version for fact in store.facts("held")] == [1, 2, 3]
        store.append([note(b"4")], "held")


def lag_of(server: Served) -> float:
    """Return how many seconds the usage is behind, as the metrics tell it."""
    with server.browser() as browser:
        lines = browser.get("/metrics").text.splitlines()
    [line] = [
        each for each in lines if each.startswith('turnlog_follower_lag_seconds{view="usage"}')
    ]
    return float(line.split()[1])


def followed(server: Served) -> list[str]:
    """Return the sessions in the order in which a follower meets them."""
    found, _ = server.log.read_now(lambda connection: log_page(connection, after=0, limit=1_000))
    return list(dict.fromkeys(each.stored.envelope.session_id for each in found))


def found(client: httpx.Client, text: str) -> set[str]:
    """Return the sessions in which a search finds a text."""
    items = client.get("/search", params={"q": text}).json()["items"]
    return {item["session_id"] for item in items}
