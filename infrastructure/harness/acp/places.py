"""How many conversations does each agent's process hold, and when does it end?"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias

from infrastructure.harness.acp.link import Link

Opening: TypeAlias = Callable[[], Coroutine[Any, Any, Link]]


@dataclass(frozen=True, slots=True)
class Kind:
    """What conversations have in common that may share a process."""

    project_id: str
    harness: str
    folder: str


@dataclass(slots=True, eq=False)
class Place:
    """One process that runs or is being started, and how many conversations count on it."""

    kind: Kind
    opening: asyncio.Task[Link]
    taken: int = 0

    @property
    def usable(self) -> bool:
        """Tell whether another conversation may count on it."""
        if not self.opening.done():
            return True
        failed = self.opening.cancelled() or self.opening.exception() is not None
        return not failed and self.opening.result().alive


class Places:
    """The processes of one server."""

    def __init__(self) -> None:
        self._places: set[Place] = set()
        self._ending: set[asyncio.Task[None]] = set()

    def take(self, kind: Kind, most: int, opening: Opening) -> Place:
        """Return a process with room for one more conversation; a new one if there is none."""
        for place in self._places:
            if place.kind == kind and place.taken < most and place.usable:
                break
        else:
            place = Place(kind, asyncio.create_task(opening()))
            self._places.add(place)
        place.taken += 1
        return place

    async def give_back(self, place: Place) -> None:
        """Count on a process no more; it ends with the last that did, before this returns."""
        ending = self.give_back_soon(place)
        if ending is not None:
            await asyncio.shield(ending)

    def give_back_soon(self, place: Place) -> asyncio.Task[None] | None:
        """Count on a process no more; return what ends it, if nobody does."""
        place.taken -= 1
        return self._end(place) if place.taken <= 0 and place in self._places else None

    async def close(self) -> None:
        """End all processes."""
        for place in list(self._places):
            self._end(place)
        while self._ending:
            await asyncio.wait(set(self._ending))

    def count(self) -> int:
        """Return how many processes there are, those that end included."""
        return len(self._places) + len(self._ending)

    def _end(self, place: Place) -> asyncio.Task[None]:
        self._places.discard(place)
        ending = asyncio.create_task(_ended(place.opening))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
        return ending


async def _ended(opening: asyncio.Task[Link]) -> None:
    """End a process, also one that is still being started: that ends what it has started."""
    if not opening.done():
        opening.cancel()
        await asyncio.wait({opening})
    if not opening.cancelled() and opening.exception() is None:
        await opening.result().end()
