"""How does a prompt come to its end, also if it does not want to?"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeAlias

from infrastructure.harness.port import Ended, Harness

STOP_S: Final = 5
"""A harness that is to stop, and does not, is closed after so long, and then given up."""
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


async def talk(
    prompt: Coroutine[Any, Any, Ended],
    harness: Harness,
    *,
    watch: Coroutine[Any, Any, None],
    stop: asyncio.Event,
    sleep: Sleep,
) -> Ended | BaseException | None:
    """Return how a prompt ended, or by what; None if the harness was given up.

    Args:
        prompt: What says it, and returns when the harness is done.
        harness: Whom it is said to.
        watch: Runs as long as the prompt does; if it fails, so does the prompt.
        stop: Has the harness stop.
        sleep: Waits so many seconds.
    """
    talking = asyncio.create_task(prompt)
    watching = asyncio.create_task(watch)
    stopping = asyncio.create_task(stop.wait())
    every = {talking, watching, stopping}
    try:
        await asyncio.wait(every, return_when=asyncio.FIRST_COMPLETED)
        if not talking.done():
            await _bring_down(harness, talking, sleep)
    finally:
        for task in every:
            task.cancel()
        await asyncio.wait(every)
    if not watching.cancelled() and (broken := watching.exception()) is not None:
        return broken
    if talking.cancelled():
        return None
    return talking.exception() or talking.result()


async def _bring_down(harness: Harness, talking: asyncio.Task[Ended], sleep: Sleep) -> None:
    cancelling = asyncio.create_task(harness.cancel())
    if not await _in_time({talking}, sleep):
        closing = asyncio.create_task(harness.close())
        await _in_time({talking, closing}, sleep)
        await _dropped(closing)
    await _dropped(cancelling)


async def _in_time(tasks: set[asyncio.Task[Any]], sleep: Sleep) -> bool:
    """Tell whether all of them were done before long."""
    late: asyncio.Future[Any] = asyncio.ensure_future(sleep(STOP_S))
    every: asyncio.Future[Any] = asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.wait({every, late}, return_when=asyncio.FIRST_COMPLETED)
    late.cancel()
    await asyncio.wait({late})
    return every.done()


async def _dropped(task: asyncio.Task[None]) -> None:
    """End a task whose failure changes nothing any more."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()
