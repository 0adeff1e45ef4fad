"""What a client gets again costs what it missed, and a place that is none any more is told."""

from collections.abc import Iterator
from pathlib import Path

import httpx
from sqlalchemy import make_url

from infrastructure.backing_up import back_up
from infrastructure.backup_format import Backup
from infrastructure.restoring import restore
from tests.api.batches import append, batch, event, problem, turn
from tests.api.recording import record_turn
from tests.api.serving import Served, served
from tests.api.streams import frames, until_synced
from tests.databases import DatabaseKind, Databases
from tests.infrastructure.writing import NEW_YEAR

EVENTS = 2_000
RECONNECTS = 50
STREAMS = ("/sessions/s/events/stream", "/events/stream")


def fill(client: httpx.Client) -> None:
    for number in range(1, EVENTS // 1_000 + 1):
        notes = [event("data-recorded", kind="k", data=n) for n in range(1_000)]
        assert append(client, "s", batch(number, *notes)).status_code == 201


def received(client: httpx.Client, path: str, last: str) -> tuple[int, list[str | None]]:
    """Return how many bytes come until everything is told, and the ids of the events."""
    size = 0
    with client.stream("GET", path, headers={"Last-Event-ID": last}) as response:

        def chunks() -> Iterator[bytes]:
            nonlocal size
            for chunk in response.iter_bytes():
                size += len(chunk)
                yield chunk

        told = until_synced(frames(chunks()))
    return size, [frame.id for frame in told]


def test_a_hundred_reconnects_cost_what_was_missed(client: httpx.Client) -> None:
    fill(client)
    for path in STREAMS:
        whole, ids = received(client, path, "0")
        assert len(ids) == EVENTS + 1
        one = whole // EVENTS
        for number in range(RECONNECTS):
            gap = number % 7
            last = str(ids[-1 - gap])
            size, told = received(client, path, last)
            assert told == ids[len(ids) - gap :]
            assert size < 2 * one * (gap + 2)


def test_what_a_restore_lost_is_told_to_who_has_seen_it(
    own_server: Served, databases: Databases, database_kind: DatabaseKind, tmp_path: Path
) -> None:
    url, backup = databases.empty(), tmp_path / "store.backup"
    with own_server.client("default") as client:
        record_turn(client, "s1")
        back_up(own_server.log.database, backup, NEW_YEAR)
        kept = client.get("/sessions/s1/events").json()["items"][-1]
        assert append(client, "s1", batch(1, *turn("t2"))).status_code == 201
        lost = client.get("/sessions/s1/events").json()["items"][-1]
    with Backup(backup) as found:
        restore(found, make_url(url))
    with served(database_kind, url) as running, running.client("default") as client:
        for grown in (False, True):
            if grown:
                record_turn(client, "s2")
            headers = {"Last-Event-ID": lost["position"]}
            assert problem(client.get("/events/stream", headers=headers)) == (
                409,
                "stale-cursor",
                [],
            )
            _, told = received(client, "/events/stream", kept["position"])
            assert len(told) == 4 * grown
        headers = {"Last-Event-ID": str(lost["version"])}
        ahead = client.get("/sessions/s1/events/stream", headers=headers)
        assert problem(ahead) == (409, "cursor-ahead-of-log", [])
        assert ahead.json()["action"] == "refresh"
    databases.drop(url)
