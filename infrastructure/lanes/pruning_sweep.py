"""How do lanes go to which nothing came for as long as their projects say, while a server runs?

So few in a transaction that nobody waits for it.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

from domain.lanes.pruning import Cutoff, cutoff
from infrastructure.command_handler import Caller
from infrastructure.composition import Turnlog
from infrastructure.lanes.pruning import Rested, give_up, projects_that_prune, rested
from infrastructure.lanes.resolving import Lanes
from infrastructure.runner import Attempt

AT_ONCE: Final = 20
_LOGGER: Final = logging.getLogger("turnlog")


async def sweep_lanes(log: Turnlog) -> int:
    """Give up the lanes that rested for too long; return how many went."""
    gone = 0
    for project_id, days in (await log.read(projects_that_prune, long=True)).items():
        given = cutoff(days, log.now())
        of_project = 0 if given is None else await _given_up(log, project_id, given)
        if of_project:
            _LOGGER.info("lanes: %d given up after %d days", of_project, days)
        gone += of_project
    return gone


async def _given_up(log: Turnlog, project_id: str, given: Cutoff) -> int:
    gone, after = 0, None
    while True:
        look = partial(
            rested, project_id=project_id, given=given, now=log.now(), limit=AT_ONCE, after=after
        )
        found = await log.read(look, long=True)
        if not found:
            return gone
        went = await log.write(
            partial(_give_up, log.lanes, found=found, given=given, now=log.now())
        )
        gone += len(went)
        log.written.pruned += len(went)
        if len(found) < AT_ONCE:
            return gone
        after = found[-1]  # what went is not walked past again


def _give_up(
    lanes: Lanes, attempt: Attempt, *, found: Sequence[Rested], given: Cutoff, now: int
) -> Sequence[str]:
    return give_up(lanes, attempt, found, given, now, Caller())
