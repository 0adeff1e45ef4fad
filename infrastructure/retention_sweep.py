"""How do ended sessions go that their projects keep no longer, while a server runs?

So few in a transaction that nobody waits for it.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

from domain.retention import Retention, kept_for
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.composition import Turnlog
from infrastructure.retention import ended, projects_that_retain, retire
from infrastructure.runner import Attempt

AT_ONCE: Final = 20
_LOGGER: Final = logging.getLogger("turnlog")


async def sweep_ended(log: Turnlog) -> int:
    """Delete the sessions that no project keeps any longer; return how many went."""
    gone = 0
    for project_id, days in (await log.read(projects_that_retain, long=True)).items():
        of_project = await _retired(log, project_id, kept_for(days, log.now()))
        if of_project:
            _LOGGER.info("ended sessions: %d deleted that were kept %d days", of_project, days)
        gone += of_project
    return gone


async def _retired(log: Turnlog, project_id: str, retention: Retention) -> int:
    gone = 0
    while True:
        found = await log.read(
            partial(
                ended, project_id=project_id, retention=retention, now=log.now(), limit=AT_ONCE
            ),
            long=True,
        )
        went = await log.write(partial(_retire, log.handler, targets=found, retention=retention))
        gone += len(went)
        log.written.retired += len(went)
        if len(found) < AT_ONCE or not went:
            return gone


def _retire(
    handler: CommandHandler, attempt: Attempt, *, targets: Sequence[Target], retention: Retention
) -> Sequence[str]:
    return retire(handler, attempt, targets, retention, Caller())
