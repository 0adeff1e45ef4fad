"""A database that goes away and comes back is told while it is away; then all goes on by itself."""

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copyfile
from threading import Event
from time import monotonic

import httpx
import pytest
from sqlalchemy import make_url

from api.cli.remote import Remote
from infrastructure import connecting
from infrastructure.connecting import UnfitDatabase
from infrastructure.database import open_database
from tests.api.batches import append, batch, event, events_of, problem, turn
from tests.api.serving import Served, served
from tests.api.streams import stream
from tests.api.waiting import caught_up
from tests.conftest import NewDatabase
from tests.faults.cluster import Cluster

SESSIONS = ("s0", "s1", "s2")
PATIENCE_S = 30.0
LONGEST_S = 8.0


@dataclass
class Clients:
    """Runners that send one turn after the other, each until it is taken, and one who follows."""

    server: Served
    taken: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SESSIONS, 0))
    refusals: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    longest_s: float = 0.0
    heard: list[str] = field(default_factory=list[str])
    tailed: list[str] = field(default_factory=list[str])
    stop: Event = field(default_factory=Event)

    def run(self, session_id: str) -> None:
        """Send turns until told to stop."""
        with self.server.client("p") as client:
            while not self.stop.is_set():
                sequence = self.taken[session_id] + 1
                began = monotonic()
                answer = append(client, session_id, batch(sequence, *turn(f"t{sequence}")))
                self.longest_s = max(self.longest_s, monotonic() - began)
                if answer.status_code == 201:
                    self.taken[session_id] = sequence
                else:
                    told = answer.json()
                    self.refusals.append((answer.status_code, told["code"], told["action"]))
                    self.stop.wait(0.05)

    def follow(self, session_id: str) -> None:
        """Follow a session; whenever the stream ends or cannot be had, ask for it again."""
        while not self.stop.is_set():
            last = self.heard[-1] if self.heard else None
            with (
                suppress(AssertionError, httpx.HTTPError),  # it is not served at this moment
                self.server.client("p") as client,
                stream(client, session_id, last) as frames,
            ):
                for frame in frames:
                    if frame.name == "event":
                        self.heard.append(str(frame.id))
                    if self.stop.is_set():
                        return
            self.stop.wait(0.05)

    def tail(self, session_id: str) -> None:
        """Follow a session as `turnlog tail --url` does."""
        for found in Remote(self.server.url, "p").events(session_id, 0, follow=True):
            self.tailed.append(str(json.loads(found)["version"]))
            if self.stop.is_set():
                return

    def end(self, session_id: str) -> None:
        """Have the runners end, and those who follow see something more, and end."""
        self.stop.set()
        with self.server.client("p") as client:
            last = event("data-recorded", kind="k", data="the end")
            append(client, session_id, batch(1, last, producer="last"))

    def wait_for_more(self) -> None:
        """Wait until each session has taken two more turns."""
        wanted = {name: count + 2 for name, count in self.taken.items()}
        self.wait_until(lambda: all(self.taken[name] >= wanted[name] for name in SESSIONS))

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait for a condition."""
        deadline = monotonic() + PATIENCE_S
        while not holds():
            assert monotonic() < deadline, "nothing goes on"
            Event().wait(0.02)


def test_turnlog_goes_on_by_itself_when_its_postgresql_is_back(
    own_postgresql: Cluster, cluster_url: str
) -> None:
    with served("postgresql", cluster_url) as server, server.browser() as browser:
        clients = Clients(server)
        with ThreadPoolExecutor(5) as threads:
            jobs = [threads.submit(clients.run, name) for name in SESSIONS]
            try:
                clients.wait_for_more()
                jobs.append(threads.submit(clients.follow, "s0"))
                jobs.append(threads.submit(clients.tail, "s0"))
                clients.wait_for_more()
                own_postgresql.stop()
                clients.wait_until(lambda: len(clients.refusals) >= 6)
                assert browser.get("/healthz").status_code == 200
                assert browser.get("/readyz").json() == {"status": "no-database"}
                assert browser.get("/metrics").status_code == 200
                own_postgresql.start()
                clients.wait_for_more()
                through = clients.taken["s0"]
                clients.wait_until(lambda: len(clients.heard) > 3 * through)
                clients.wait_until(lambda: len(clients.tailed) > 3 * through)
            finally:
                clients.end("s0")
            for job in jobs:
                job.result()
        assert set(clients.refusals) == {(503, "database-unavailable", "retry")}
        assert clients.longest_s < LONGEST_S
        for heard in (clients.heard, clients.tailed):
            assert heard == [str(n) for n in range(1, len(heard) + 1)]
        assert_all_is_there(server, clients)
        caught_up(server)
        assert browser.get("/readyz").status_code == 200


def test_a_postgresql_that_takes_a_connection_and_says_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connecting, "CONNECT_S", 2)  # the least that its library can wait
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://ann@127.0.0.1:{silent.getsockname()[1]}/turnlog?sslmode=disable"
        began = monotonic()
        with pytest.raises(UnfitDatabase, match="cannot be reached"):
            open_database(make_url(url))
        assert monotonic() - began < LONGEST_S


def assert_all_is_there(server: Served, clients: Clients) -> None:
    with server.client("p") as client:
        for name, count in clients.taken.items():
            assert len(events_of(client, name)) == 1 + 3 * count + (name == "s0")
            assert client.post(f"/sessions/{name}/verify").json()["ok"]


@pytest.fixture
def moved(new_database: NewDatabase, tmp_path: Path) -> Iterator[tuple[Path, Served]]:
    """A directory that can be taken away, with a database in it that is served."""
    place = tmp_path / "place"
    place.mkdir()
    path = place / "turnlog.db"
    copyfile(str(make_url(new_database("sqlite")).database), path)
    with served("sqlite", f"sqlite:///{path}") as server:
        yield place, server


def test_an_sqlite_file_that_is_moved_away_is_not_written_to_until_it_is_back(
    moved: tuple[Path, Served],
) -> None:
    place, server = moved
    note = event("data-recorded", kind="k", data=1)
    with server.client("p") as client:
        assert append(client, "s", batch(1, note)).status_code == 201
        elsewhere = place.rename(place.with_name("elsewhere"))
        for _ in range(3):
            refused = append(client, "s", batch(2, note))
            assert problem(refused) == (503, "unfit-database", [])
            assert refused.json()["action"] == "retry"
            assert str(place) not in refused.text
        # What is open can still be read; what would have to be opened cannot.
        assert client.get("/sessions/s/events").status_code in {200, 503}
        elsewhere.rename(place)
        assert append(client, "s", batch(2, note)).status_code == 201
        assert len(events_of(client, "s")) == 3
        assert client.post("/sessions/s/verify").json()["ok"]
        caught_up(server)


def test_a_file_in_the_place_of_the_database_is_not_written_to(
    moved: tuple[Path, Served], new_database: NewDatabase
) -> None:
    place, server = moved
    note = event("data-recorded", kind="k", data=1)
    path = place / "turnlog.db"
    with server.client("p") as client:
        assert append(client, "s", batch(1, note)).status_code == 201
        kept = path.rename(place / "kept.db")
        copyfile(str(make_url(new_database("sqlite")).database), path)
        refused = append(client, "s", batch(2, note))
        assert problem(refused) == (503, "unfit-database", [])
        assert "restart turnlog" in refused.json()["detail"]
        kept.replace(path)
        assert append(client, "s", batch(2, note)).status_code == 201


def test_no_empty_database_is_made_in_place_of_one_that_is_gone(
    moved: tuple[Path, Served],
) -> None:
    place, server = moved
    path = place / "turnlog.db"
    kept = path.rename(place / "kept.db")
    server.log.database.close()  # so that the next request opens the file anew
    with server.client("p") as client:
        assert problem(client.get("/sessions")) == (503, "database-unavailable", [])
        assert not path.exists()
        kept.rename(path)
        assert client.get("/sessions").status_code == 200
