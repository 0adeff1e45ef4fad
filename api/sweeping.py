"""When does a server look for what nobody needs? Soon after it starts, and then every hour."""

import asyncio
from contextlib import suppress
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from infrastructure.collecting import collect
from infrastructure.composition import Turnlog

FIRST_S: Final = 60
EVERY_S: Final = 60 * 60


async def sweep(log: Turnlog, first: float = FIRST_S, every: float = EVERY_S) -> None:
    """Collect blobs that no event names, until cancelled."""
    await asyncio.sleep(first)
    while True:
        with suppress(SQLAlchemyError):  # the database is away, or busy: the next time does as well
            await asyncio.to_thread(collect, log.database, log.now())
        await asyncio.sleep(every)
