"""Whoever reads a stream slowly holds up nobody, costs no memory, and misses nothing later."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import httpx
import pytest

from api import live_answer
from tests.api.batches import append, batch, event
from tests.api.serving import Served
from tests.api.serving import served as server_of
from tests.api.streams import Frame, frames, until_synced
from tests.databases import DatabaseKind
from tests.faults.forked import Forked

EVENTS = 4_000
SAID = "x" * 2_000
READERS = 8
"""Of each stream: together they could hold more than 100 MB."""
MOST_MB = 50
MORE = 20_500
BATCHES = 6
STREAMS = ("/sessions/s/events/stream", "/events/stream")
BASE = "/v1/projects/default"


@dataclass
class SlowReader:
    """A client that takes a byte now and then."""

    socket: socket.socket
    path: str
    taken: bytes = b""

    def take(self, count: int) -> None:
        for _ in range(count):
            self.taken += self.socket.recv(1)

    def hang_up(self) -> None:
        """Take some more, and leave in the middle of an event."""
        while len(self.taken) < MORE:
            self.taken += self.socket.recv(1_000)
        self.socket.close()

    def rest(self) -> list[Frame]:
        """Take everything that comes until the server hangs up; return the frames of all."""
        while chunk := self.socket.recv(1 << 20):
            self.taken += chunk
            if self.taken.endswith(b"0\r\n\r\n"):
                break
        self.socket.close()
        _, _, body = self.taken.partition(b"\r\n\r\n")
        return [frame for frame in frames(iter([_without_chunks(body)])) if frame.name]

    def told(self) -> list[Frame]:
        """Return the whole frames among what was taken."""
        _, _, body = self.taken.partition(b"\r\n\r\n")
        found = frames(iter([_without_chunks(body)]))
        return [frame for frame in found if frame.name == "event"]


def _without_chunks(body: bytes) -> bytes:
    """Return what the HTTP chunks hold (RFC 9112, section 7.1), the last one perhaps cut."""
    held = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size or b"0", 16)
        held += rest[:length]
        body = rest[length + 2 :]
    return held


def memory_mb(pid: int, name: str) -> int:
    """Return the memory that a process has now (VmRSS), or had at most (VmHWM)."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith(name)]
    return int(line.split()[1]) // 1024


def slow_reader(port: int, path: str) -> SlowReader:
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    opened.settimeout(30)
    opened.connect(("127.0.0.1", port))
    opened.sendall(f"GET {BASE}{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    return SlowReader(opened, path)


def rest_of(client: httpx.Client, path: str, last: str) -> list[Frame]:
    with client.stream("GET", path, headers={"Last-Event-ID": last}) as response:
        return [each for each in until_synced(frames(response.iter_bytes())) if each.name]


@pytest.fixture
def served(processes: Forked) -> Iterator[tuple[int, int, httpx.Client]]:
    pid, port = processes.start("serve")
    base = f"http://127.0.0.1:{port}{BASE}"
    with httpx.Client(base_url=base, timeout=30, verify=False) as client:  # noqa: S501
        for number in range(1, 5):
            notes = [event("data-recorded", kind="k", data=SAID) for _ in range(EVENTS // 4)]
            assert append(client, "s", batch(number, *notes)).status_code == 201
        yield pid, port, client


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_slow_readers_hold_up_nobody_and_lose_nothing(
    served: tuple[int, int, httpx.Client],
) -> None:
    pid, port, client = served
    before = memory_mb(pid, "VmHWM")
    slow = [slow_reader(port, path) for path in STREAMS for _ in range(READERS)]
    for reader in slow:
        reader.take(300)

    whole = {path: [each.id for each in rest_of(client, path, "0")] for path in STREAMS}
    assert {len(ids) for ids in whole.values()} == {EVENTS + 1}
    more = batch(1, event("data-recorded", kind="k", data=1))
    assert append(client, "other", more).status_code == 201
    for reader in slow:
        reader.take(10)
    assert memory_mb(pid, "VmHWM") - before < MOST_MB

    for reader in slow:
        reader.hang_up()
        told = [frame.id for frame in reader.told()]
        assert 0 < len(told) < EVENTS
        assert told == whole[reader.path][: len(told)]
    for reader in slow[::READERS]:
        told = [frame.id for frame in reader.told()]
        missed = [frame.id for frame in rest_of(client, reader.path, str(told[-1]))]
        assert (told + missed)[: EVENTS + 1] == whole[reader.path]


@pytest.fixture
def hurried(
    database_kind: DatabaseKind, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Served]:
    """A server that soon lets go of who does not read."""
    monkeypatch.setattr(live_answer, "TAKES_S", 6.0)
    with server_of(database_kind, database_url) as running:
        yield running


def test_who_reads_a_byte_now_and_then_is_let_go_of_and_goes_on_later_without_loss(
    hurried: Served,
) -> None:
    with hurried.client("default") as client:
        append(client, "s", batch(1, event("data-recorded", kind="k", data=0)))
        slow = [slow_reader(client.base_url.port or 0, path) for path in STREAMS]
        with ThreadPoolExecutor() as others:
            quick = [others.submit(followed, client, path) for path in STREAMS]
            for number in range(2, BATCHES + 2):
                notes = [event("data-recorded", kind="k", data=SAID) for _ in range(1_000)]
                assert append(client, "s", batch(number, *notes)).status_code == 201
                for reader in slow:
                    reader.take(1)
            assert [each.result() for each in quick] == [1_000 * BATCHES + 2] * len(quick)
        deadline = monotonic() + 60
        while hurried.log.feeds.followers():
            assert monotonic() < deadline, "somebody is still waited for"
            client.get("/sessions")

        for reader in slow:
            found = reader.rest()
            assert (found[-1].name, found[-1].json) == ("goaway", {"reason": "slow-reader"})
            told = [frame.id for frame in found if frame.name == "event"]
            missed = [frame.id for frame in rest_of(client, reader.path, str(told[-1]))]
            assert missed
            assert told + missed == [each.id for each in rest_of(client, reader.path, "0")]


def followed(client: httpx.Client, path: str) -> int:
    """Follow until the last event is there; return how many there were, each once."""
    seen: dict[str | None, Frame] = {}
    with client.stream("GET", path) as response:
        for frame in frames(response.iter_bytes()):
            if frame.name == "event":
                assert frame.id not in seen
                seen[frame.id] = frame
            if frame.name == "goaway" or len(seen) == 1_000 * BATCHES + 2:
                break
    return len(seen)
