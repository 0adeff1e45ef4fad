"""What does a server measure, and ask its log, before harnesses have to go for memory?"""

import asyncio
import logging
from typing import Final

from domain.pressure import AUTO, MIB, Budget
from infrastructure.composition import Turnlog
from infrastructure.harness.memory import Memory
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.pool.pool import Pool
from infrastructure.pool.pressure import Looked, Pressure
from infrastructure.reading.seats import on_record

_LOGGER: Final = logging.getLogger("turnlog")


def pressure_of(log: Turnlog, pool: Pool, owner: str) -> Pressure:
    """Return what looks after the memory of a server's pool; `owner` is the server's name."""
    limits = log.settings.pool

    async def look() -> Looked:
        return await asyncio.to_thread(measured, log.memory, limits.memory_budget)

    async def told() -> frozenset[str]:
        try:
            return await log.read(lambda connection: on_record(connection, owner))
        except UNREACHABLE as error:  # what cannot be asked is not known, and stays
            _LOGGER.info("it cannot be asked what is on record: %s", type(error).__qualname__)
            return frozenset()

    return Pressure(
        pool,
        limits,
        asyncio.get_running_loop(),
        look=look,
        on_record=told,
        relieved=log.counting.relieved,
    )


def measured(memory: Memory, budget: Budget) -> Looked:
    """Return how much may be used, as it was set, and how much is."""
    if isinstance(budget, int):
        return Looked(budget * MIB, memory.used())
    return Looked(memory.budget() if budget == AUTO else None, memory.used())
