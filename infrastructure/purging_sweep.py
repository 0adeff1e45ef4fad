"""Which deleted sessions are past their grace time, and how are they purged, one after another?"""

import logging
from dataclasses import dataclass
from typing import Final

from domain.refusals import HasForks, Refusal
from infrastructure.command_handler import Caller, CommandHandler
from infrastructure.database import Database
from infrastructure.purging import Purged, deleted_before, finish, left_behind, purge
from infrastructure.runner import Runs

DAY_US: Final = 24 * 60 * 60 * 1_000_000
AT_ONCE: Final = 100
_LOGGER: Final = logging.getLogger("turnlog")


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep did.

    Attributes:
        purged: Sessions that were purged.
        has_forks: Sessions that wait for their forks to be purged.
    """

    purged: int = 0
    has_forks: int = 0


def sweep_deleted(
    database: Database, runner: Runs, handler: CommandHandler, keep_days: int
) -> Swept:
    """Purge what was deleted so many days ago, or earlier, and what another purge left half done.

    Forks go before what they were forked from: what waits for them is looked at once more.
    """
    while True:
        with database.read() as connection:
            left = left_behind(connection, AT_ONCE)
        for key in left:
            finish(runner, Purged(session_key=key, more=True))
        if len(left) < AT_ONCE:
            break
    done = 0
    while True:
        swept = _sweep(database, runner, handler, handler.now() - keep_days * DAY_US)
        done += swept.purged
        if not (swept.purged and swept.has_forks):
            break
    if done or swept.has_forks:
        _LOGGER.info("deleted sessions: %d purged, %d wait for their forks", done, swept.has_forks)
    return Swept(purged=done, has_forks=swept.has_forks)


def _sweep(database: Database, runner: Runs, handler: CommandHandler, before: int) -> Swept:
    done = skipped = 0
    place = (-1, 0)
    while True:
        with database.read() as connection:
            found = deleted_before(connection, before, place, AT_ONCE)
        for target, _ in found:
            try:
                purge(runner, handler, target, Caller())
                done += 1
            except HasForks:
                skipped += 1
            except Refusal as refusal:  # it was restored meanwhile, or purged by another server
                _LOGGER.info("a session is not purged: %s", type(refusal).__qualname__)
        place = found[-1][1] if found else place
        if len(found) < AT_ONCE:
            return Swept(purged=done, has_forks=skipped)
