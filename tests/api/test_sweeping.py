"""A server looks by itself for what nobody needs."""

import asyncio
from collections.abc import Callable
from hashlib import sha256

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from api import sweeping
from api.app import create_app
from api.sweeping import sweep, watch_leases
from domain.events import TurnInterrupted
from domain.recorded import Recorded
from infrastructure import tables as t
from infrastructure.collecting import KEPT_US
from tests.api.batches import batch, started
from tests.api.serving import open_log


def test_a_blob_that_nobody_named_for_a_day_goes(database_url: str) -> None:
    with open_log(database_url) as log:
        content = b"nobody's"
        old = {
            "project_id": "default",
            "sha256": sha256(content).digest(),
            "size": len(content),
            "stored_at": log.now() - KEPT_US,
            "content": content,
        }
        with log.database.write() as connection:
            connection.execute(t.blobs.insert().values(old))

        def names() -> list[bytes]:
            with log.database.read() as connection:
                return list(connection.execute(select(t.blobs.c.sha256)).scalars())

        async def until_it_is_gone() -> None:
            task = asyncio.create_task(sweep(log, first=0, every=0.01))
            await until(lambda: not names())
            task.cancel()

        assert names() == [sha256(content).digest()]
        asyncio.run(until_it_is_gone())
        assert names() == []


def test_a_turn_whose_holder_is_silent_is_interrupted(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However late each look comes on a machine that has more to do.
    monkeypatch.setattr(sweeping, "HELD_UP", 10_000)
    with open_log(database_url) as log:
        client = TestClient(create_app(log))
        events = "http://127.0.0.1/v1/projects/default/sessions/s/events"
        assert client.post(events, json=batch(1, started("t1"), lease_s=1)).is_success

        def last() -> Recorded:
            return list(log.log.stream("default", "s"))[-1]

        async def until_it_is_over() -> None:
            watching = asyncio.create_task(watch_leases(log, every=0.05))
            await until(lambda: last().envelope.type == "turn-interrupted")
            watching.cancel()

        asyncio.run(until_it_is_over())
        assert last().event == TurnInterrupted(turn_id="t1", reason="owner-lost")


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that is seen in the database."""
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 - what is waited for is in the database
            await asyncio.sleep(0.05)
