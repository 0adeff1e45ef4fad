"""A server looks by itself for what nobody needs."""

import asyncio
from hashlib import sha256

from sqlalchemy import select

from api.sweeping import sweep
from infrastructure import tables as t
from infrastructure.collecting import KEPT_US
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
            sweeping = asyncio.create_task(sweep(log, first=0, every=0.01))
            async with asyncio.timeout(30):
                while names():  # noqa: ASYNC110 - what is waited for is in the database
                    await asyncio.sleep(0)
            sweeping.cancel()

        assert names() == [sha256(content).digest()]
        asyncio.run(until_it_is_gone())
        assert names() == []
