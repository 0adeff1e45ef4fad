"""How is something read of the log while the log is briefly away?"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy import Connection

from infrastructure.composition import Turnlog
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.hosting.timing import loop_ms

PATIENCE_S: Final = 20.0
"""So long a turn that begins waits for the log."""
AGAIN_S: Final = 0.25
Answered = TypeVar("Answered")


async def patiently(log: Turnlog, look: Callable[[Connection], Answered]) -> Answered:
    """Return what is read once the log can be, within reason."""
    deadline = loop_ms() + PATIENCE_S * 1_000
    while True:
        try:
            return await log.read(look, long=True)
        except UNREACHABLE:
            if loop_ms() >= deadline:
                raise
        await asyncio.sleep(AGAIN_S)
