"""Which input that waits is told to a turn next, and what does it say?

It is asked where the harness stands between two of its steps, so what was taken back by then is
not found. One that cannot be read any more is passed by: it is for the queue to say why.
"""

from collections.abc import Awaitable, Callable

from domain import events as e
from domain.messages import parts_of, readable
from domain.refusals import Refusal
from infrastructure.blobs import put
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.hosting.asking import Address, Ask
from infrastructure.hosting.hosted import Steered
from infrastructure.hosting.journal import UNREACHABLE
from infrastructure.hosting.patience import patiently
from infrastructure.hosting.queueing import steering_input
from infrastructure.reading.files import with_files_of
from infrastructure.runner import Attempt

Read = Callable[[Target, bytes, Address], Awaitable[Ask]]


async def next_steered(
    log: Turnlog, read: Read, target: Target, turn_id: str, passed: set[str]
) -> Steered | None:
    """Return the input that waits first of those that steer a turn; those in `passed` do not count.

    None if there is none, or if the log cannot be read.
    """
    try:
        while True:
            found = await patiently(log, lambda c: steering_input(c, target, turn_id, passed))
            if found is None:
                return None
            queue_id, request, address = found
            try:
                return await _told(log, target, queue_id, await read(target, request, address))
            except Refusal:
                passed.add(queue_id)
    except UNREACHABLE:
        return None


async def _told(log: Turnlog, target: Target, queue_id: str, ask: Ask) -> Steered:
    """Return what an input says; its files are kept from now on."""
    start = ask.start
    assert start is not None  # noqa: S101 - what waits has text
    assert isinstance(start.event, e.TurnStarted)  # noqa: S101
    message = start.event.messages[-1]
    parts = readable(parts_of(message))
    if start.blobs:

        def write(attempt: Attempt) -> None:
            for blob in start.blobs:
                put(attempt.connection, target.project_id, blob, log.now())

        await log.write(write)
    if any(part.get("type") == "attachment" for part in parts):
        parts = await log.read(lambda c: with_files_of(c, target.project_id, parts), long=True)
    return Steered(queue_id=queue_id, message=message, parts=parts)
