"""How far has a view that follows the log come, and who waits until it has all?

Every answer says how far. A reader of what was just written asks with `Prefer: wait=2` (RFC 7240)
for an answer that has it, and is answered with what there is when the seconds are over.
"""

import asyncio
import re
from collections.abc import Mapping
from time import monotonic
from typing import Annotated, Final

from fastapi import Depends, Header
from sqlalchemy import Connection

from api.shapes import Shape
from infrastructure.composition import Turnlog
from infrastructure.followers import tracking
from infrastructure.followers.tracking import Lag
from infrastructure.reading.whole_log import newest_position

LONGEST_S: Final = 30
_LOOK_S: Final = 0.005
_WAIT: Final = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?=$|[,;])", re.IGNORECASE)


async def seconds_to_wait(
    prefer: Annotated[
        str | None,
        Header(
            description="`wait=<seconds>` (RFC 7240), at most 30: answer once the view has all "
            "that was recorded before the request, or with what there is then. "
            "`Preference-Applied` says that it has all."
        ),
    ] = None,
) -> int:
    """Return how long the caller would wait for a view; 0 if not at all."""
    found = _WAIT.search(prefer or "")
    return 0 if found is None else min(int(found.group(1)), LONGEST_S)


Wait = Annotated[int, Depends(seconds_to_wait)]


async def caught_up(log: Turnlog, view: str, wait: Wait) -> Mapping[str, str]:
    """Wait until a view has what is recorded by now; return what headers say of it."""
    if not wait:
        return {}
    target = await log.read(newest_position)
    deadline = monotonic() + wait

    def position(connection: Connection) -> int:
        standing = tracking.live(connection, view)
        return -1 if standing is None else standing.position

    while await log.read(position) < target:
        if monotonic() >= deadline or log.stopping.is_set():
            return {}
        log.following.hurry()
        await asyncio.sleep(_LOOK_S)
    return {"Preference-Applied": f"wait={wait}"}


def lag_shape(lag: Lag) -> Shape:
    """Return a lag: the position through which the view speaks, and how far that is behind."""
    return {
        "through_position": str(lag.position),
        "lag": {"events": lag.events, "seconds": lag.seconds},
    }


def through(log: Turnlog, connection: Connection, view: str) -> Shape:
    """Return how far a view has come, in the transaction that reads it."""
    return lag_shape(tracking.lag(connection, view, log.now()))
