"""When does a server look for what nobody needs, or nobody holds any more?

Soon after it starts and then every hour; for leases that ended, and for what is remembered of idle
sessions, every few seconds.
"""

import asyncio
from contextlib import suppress
from time import monotonic, monotonic_ns
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from infrastructure.collecting import collect
from infrastructure.commit import Contended
from infrastructure.composition import Turnlog
from infrastructure.connecting import UnfitDatabase
from infrastructure.idle import Idle
from infrastructure.lanes.pruning_sweep import sweep_lanes
from infrastructure.purging_sweep import Swept, sweep_deleted
from infrastructure.recovering import Watch, recover
from infrastructure.retention_sweep import sweep_ended

FIRST_S: Final = 60
EVERY_S: Final = 60 * 60
LEASES_S: Final = 5.0
HELD_UP: Final = 2
"""A look that comes so many times too late was held up, as when a process is stopped."""


async def sweep(log: Turnlog, first: float = FIRST_S, every: float = EVERY_S) -> None:
    """Remove what is kept no longer: lanes, ended and deleted sessions, blobs that no event names.

    Until cancelled.
    """
    await asyncio.sleep(first)
    while True:
        with suppress(SQLAlchemyError, Contended):
            await sweep_lanes(log)  # before sessions that no lane leads to then
        with suppress(SQLAlchemyError, Contended):
            await sweep_ended(log)
        with suppress(SQLAlchemyError, Contended):
            await asyncio.to_thread(purge_deleted, log)
        with suppress(SQLAlchemyError):  # the database is away, or busy: the next time does as well
            await asyncio.to_thread(collect, log.database, log.now())
        await asyncio.sleep(every)


def purge_deleted(log: Turnlog) -> Swept:
    """Purge the sessions whose time to be restored is over, if any is to be purged by itself."""
    days = log.settings.deleted_keep_days
    if days is None:
        return Swept()
    return sweep_deleted(log.database, log.runner, log.handler, days)


async def watch_leases(log: Turnlog, every: float = LEASES_S) -> None:
    """Interrupt turns whose holders were lost, and forget idle sessions, until cancelled."""
    watch, idle = Watch(), Idle(log.runner.memory)
    while True:
        idle.look(monotonic())
        try:
            await recover(log, watch, monotonic_ns() // 1_000)
        except (SQLAlchemyError, UnfitDatabase):
            watch.interrupted()
        since = monotonic()
        await asyncio.sleep(every)
        if monotonic() - since > HELD_UP * every:  # nor could this process hear its own turns
            watch.interrupted()
