"""Who wants to know at once that a session has grown?

Commits of this process wake the listeners of their session on the event loop; nobody is told what
came, only to look. Listeners look by themselves too, for what other processes wrote.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from threading import Event
from time import monotonic
from typing import Final

Name = tuple[str, str]


def whole(project_id: str) -> Name:
    """Return what every session of a project is listened to by."""
    return project_id, ""


class Listener:
    """One who waits for one session."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.get_running_loop()
        self._event: Final = asyncio.Event()

    async def wait(self, seconds: float) -> float:
        """Wait until something came, or `seconds` passed; return how long it was."""
        began = monotonic()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)
        self._event.clear()
        return monotonic() - began

    def wake(self) -> None:
        """Have the listener look; on its event loop, where this costs less than `nudge`."""
        self._event.set()

    def nudge(self) -> None:
        """Have the listener look; from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._event.set)


class Arrivals:
    """The listeners of this process, by session."""

    def __init__(self) -> None:
        self._listeners: Final[dict[Name, set[Listener]]] = {}
        self._bells: Final[list[Event]] = []

    def ring(self, bell: Event) -> None:
        """Set `bell` from now on, whichever session has grown."""
        self._bells.append(bell)

    def add(self, name: Name, listener: Listener) -> None:
        """Have the session (project id, session id), or a whole project, be listened to."""
        self._listeners.setdefault(name, set()).add(listener)

    def remove(self, name: Name, listener: Listener) -> None:
        """Have it be listened to no more."""
        listeners = self._listeners[name]
        listeners.discard(listener)
        if not listeners:
            del self._listeners[name]

    def announce(self, names: Iterable[Name]) -> None:
        """Wake who waits for these sessions; from any thread, after the commit."""
        grown = set(names)
        for name in grown | {whole(project_id) for project_id, _ in grown}:
            for listener in tuple(self._listeners.get(name, ())):
                listener.nudge()
        for bell in self._bells if grown else ():
            bell.set()
