"""Which of theirs stands for which of ours, where something was left out, added or moved?

What is in the same place stays together, however it reads; only a different number of things, or
things that are found elsewhere, make anything missing, extra or moved. Costs what there is.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Pair:
    """Two places; None where there is nothing. `moved` tells that the order is another."""

    ours: int | None
    theirs: int | None
    moved: bool = False


def pairs_of(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> Iterator[Pair]:
    """Yield what belongs together, in our order."""
    left, right = _Rest(ours), _Rest(theirs)
    while left.size and right.size:
        one, other = ours[left.at], theirs[right.at]
        place = right.find(one)
        found = left.find(other) is not None
        if one == other:
            yield Pair(left.take(left.at), right.take(right.at))
        elif left.size > right.size and found:
            yield Pair(left.take(left.at), None)
        elif left.size < right.size and place is not None:
            yield Pair(None, right.take(right.at))
        elif left.size == right.size and found and place is not None:
            yield Pair(left.take(left.at), right.take(place), moved=True)
        else:
            yield Pair(left.take(left.at), right.take(right.at))
    while left.size:
        yield Pair(left.take(left.at), None)
    while right.size:
        yield Pair(None, right.take(right.at))


class _Rest:
    """What is not paired yet of one side: `size` things, the first of them at `at`."""

    def __init__(self, keys: Sequence[Hashable]) -> None:
        self._places: Final[dict[Hashable, deque[int]]] = {}
        for place, key in enumerate(keys):
            self._places.setdefault(key, deque()).append(place)
        self._taken: Final[set[int]] = set()
        self.at = 0
        self.size = len(keys)

    def find(self, key: Hashable) -> int | None:
        """Return the first place after this one with this key that is not taken."""
        places = self._places.get(key, deque())
        while places and (places[0] <= self.at or places[0] in self._taken):
            places.popleft()  # nobody comes back to it
        return places[0] if places else None

    def take(self, place: int) -> int:
        """Take a place out, and return it."""
        self._taken.add(place)
        self.size -= 1
        while self.at in self._taken:
            self._taken.discard(self.at)
            self.at += 1
        return place
