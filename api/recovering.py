"""May a turn begin here yet? Who asks waits until what killed servers left is taken up."""

from typing import Final

from fastapi import Request

from api.errors import retry
from infrastructure.composition import Turnlog
from infrastructure.hosting.hosts import Hosting

RETRY_AFTER_S: Final = 5


async def recovered(request: Request, log: Turnlog) -> None:
    """Wait until turns can begin and go on, for as long as was set.

    Raises:
        ProblemError: it takes longer.
    """
    hosting = request.app.state.hosting
    if isinstance(hosting, Hosting) and hosting.recovery.runs:
        over = await hosting.recovery.over(log.settings.restarts.recovery_wait_s)
        if not over and not log.stopping.is_set():
            detail = "turns that a killed server left are still being ended"
            raise retry("recovering", detail, RETRY_AFTER_S)


def is_recovering(request: Request) -> bool:
    """Tell whether something that killed servers left is still to be taken up."""
    hosting = request.app.state.hosting
    return isinstance(hosting, Hosting) and hosting.recovery.runs
