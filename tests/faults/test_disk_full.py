"""On a full disk appends are refused, nothing is lost, reads go on, and all goes on after it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.api.batches import Json, append, batch, event, events_of
from tests.api.serving import Served, served
from tests.api.waiting import caught_up
from tests.databases import DatabaseKind, Databases
from tests.faults.small_disk import Disk, small_disk, stand_in

SIZE = 40_000
MOST = 600


@pytest.fixture(params=["a small disk", "a stand-in"])
def disk(
    request: pytest.FixtureRequest,
    database_kind: DatabaseKind,
) -> Iterator[Disk]:
    """A disk that can be filled, with a database on it."""
    databases: Databases
    if database_kind == "sqlite":
        databases = request.getfixturevalue("sqlite")
    else:
        databases = request.getfixturevalue("own_postgresql").databases
    if request.param == "a stand-in":
        with stand_in(database_kind, databases) as disk:
            yield disk
        return
    with small_disk(database_kind, databases) as disk:
        yield disk


def large(sequence: int) -> Json:
    """Return a batch that no free space between others holds for long."""
    text = "".join(chr(33 + (n * n * (sequence + 1) + n) % 90) for n in range(SIZE))
    return batch(sequence, event("data-recorded", kind="k", data=text))


def append_until_refused(client: httpx.Client) -> tuple[int, httpx.Response]:
    """Append until there is no room; return how many were taken, and the refusal."""
    for sequence in range(1, MOST):
        answer = append(client, "s", large(sequence))
        if answer.status_code != 201:
            return sequence - 1, answer
    raise AssertionError("the disk does not run full")


def is_full(answer: httpx.Response) -> bool:
    """Tell whether an answer says that there is no room, and to try again."""
    told = answer.json()
    return (answer.status_code, told["code"], told["action"], told["retry_after_s"]) == (
        503,
        "storage-full",
        "retry",
        10,
    )


def test_a_full_disk_refuses_appends_loses_nothing_and_heals(
    disk: Disk, database_kind: DatabaseKind
) -> None:
    with served(database_kind, disk.url) as server, server.client("p") as client:
        append(client, "before", batch(1, event("data-recorded", kind="k", data=1)))
        caught_up(server)
        disk.fill(server.log)
        taken, refused = append_until_refused(client)
        assert is_full(refused), refused.text
        assert "Retry-After" in refused.headers
        assert is_full(append(client, "s", large(taken + 1)))
        refuse_many_at_once(server)
        assert not taken or len(events_of(client, "s")) == 1 + taken
        assert len(events_of(client, "before")) == 2

        disk.free(server.log)
        assert append(client, "s", large(taken + 1)).status_code == 201
        assert append(client, "s", large(taken + 2)).status_code == 201
        for name in ("s", "before"):
            assert client.post(f"/sessions/{name}/verify").json()["ok"]
        assert len(events_of(client, "s")) == 1 + taken + 2
        caught_up(server)


def refuse_many_at_once(server: Served) -> None:
    """Have many append at once, who share a commit on SQLite; each hears why."""

    def send(number: int) -> httpx.Response:
        with server.client("p") as own:
            return append(own, f"other-{number}", large(1))

    with ThreadPoolExecutor(6) as threads:
        assert all(map(is_full, threads.map(send, range(6))))
