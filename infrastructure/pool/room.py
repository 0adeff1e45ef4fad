"""How many more seats may there be, and who waits for one?

Room is given in the order in which it was asked for. A place in it is a future: done once it is the
asker's, who then gives it back, or `withdraw`s, exactly once.
"""

import asyncio
from collections import OrderedDict
from typing import TypeAlias

Place: TypeAlias = asyncio.Future[None]


def new_place() -> Place:
    """Return a place that is nobody's yet."""
    return asyncio.get_running_loop().create_future()


def is_given(place: Place) -> bool:
    """Tell whether the place is its asker's."""
    return place.done() and not place.cancelled()


class Room:
    """Counts the places that are free; while there are any, nobody waits."""

    def __init__(self, capacity: int) -> None:
        self._free = capacity
        self._waiting: OrderedDict[Place, None] = OrderedDict()
        self.closed = False

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    def ask(self) -> Place:
        """Return a place: given at once if one is free, else in turn."""
        place = new_place()
        if self._free:
            self._free -= 1
            place.set_result(None)
        else:
            self._waiting[place] = None
        return place

    def give_back(self) -> None:
        """Let the next who waits have a place; else it is free."""
        if self._waiting:
            place, _ = self._waiting.popitem(last=False)
            place.set_result(None)
        else:
            self._free += 1

    def withdraw(self, place: Place) -> None:
        """Want a place no more, whether it was given or not."""
        if is_given(place):
            self.give_back()
        else:
            self._waiting.pop(place, None)
            place.cancel()

    def close(self) -> None:
        """Give nobody who waits a place: theirs are cancelled. Nobody is to ask any more."""
        self.closed = True
        while self._waiting:
            self._waiting.popitem()[0].cancel()
