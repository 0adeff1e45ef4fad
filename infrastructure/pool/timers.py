"""Who calls when time is over? The event loop does, as it is; tests turn time by hand."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Protocol, Self


class Timer(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None:
        """Have it not come; also after it came."""
        ...


class Timers(Protocol):
    """Calls later; an asyncio event loop is one."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Timer:
        """Call back once, in `delay` seconds, on the event loop."""
        ...


class Patience:
    """Waits, as a context manager, for one thing after another until its time is over."""

    def __init__(self, timers: Timers, seconds: float) -> None:
        self._over: Final[asyncio.Future[Any]] = asyncio.get_running_loop().create_future()
        self._timer: Final = timers.call_later(seconds, self._end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._timer.cancel()

    async def wait_for(self, future: asyncio.Future[Any]) -> None:
        """Return when it is done, however, or time is over; whoever is cancelled, it is not."""
        await asyncio.wait({future, self._over}, return_when=asyncio.FIRST_COMPLETED)

    def _end(self) -> None:
        self._over.set_result(None)
