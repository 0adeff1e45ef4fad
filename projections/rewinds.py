"""By which rewind is a turn out of sight?

The last time that a session left a place beyond the turn, or came back to one, tells: if that was a
rewind that left fewer turns in sight than there are up to this one, it took the turn out.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple


class Passage(NamedTuple):
    """A rewind, which left a place, or its taking back, which came to one.

    Attributes:
        version: When.
        branch, turn: The place: its branch, and the number of the last turn in sight there.
        kept: How many turns a rewind left in sight; None if it was taken back.
    """

    version: int
    branch: int
    turn: int
    kept: int | None


class Parting(NamedTuple):
    """A branch, and where its parent was left for it: after the turn with this number."""

    branch: int
    parent: int
    turn: int


class Rewinds:
    """A session's rewinds up to some version, in order to be asked about its turns."""

    def __init__(self, passages: Iterable[Passage], partings: Iterable[Parting]) -> None:
        places: defaultdict[int, list[tuple[int, Passage]]] = defaultdict(list)
        for passage in passages:
            places[passage.branch].append((passage.turn, passage))
        left = {parting.branch: parting for parting in partings}
        # A branch has a higher number than the one that was left for it.
        for branch in sorted({*left, *places}, reverse=True):
            latest = _latest_beyond(places[branch])
            places[branch] = latest
            if latest and branch in left:
                places[left[branch].parent].append((left[branch].turn, latest[0][1]))
        self._latest: Final = places

    def that_took_out(self, branch: int, number: int, before: int) -> int | None:
        """Return the version of the rewind by which a turn is out of sight; None if it is in sight.

        Args:
            branch: The branch in which the turn stands.
            number: The turn's number.
            before: How many turns are in sight before it where it is in sight.
        """
        places = self._latest.get(branch, [])
        found = bisect_left(places, number, key=_turn)
        if found == len(places):
            return None
        last = places[found][1]
        return None if last.kept is None or last.kept > before else last.version


def _latest_beyond(places: Sequence[tuple[int, Passage]]) -> list[tuple[int, Passage]]:
    """Return the places of a branch in order, each with the latest passage there or beyond."""
    found: list[tuple[int, Passage]] = []
    latest: Passage | None = None
    for turn, passage in sorted(places, key=_turn, reverse=True):
        if latest is None or passage.version > latest.version:
            latest = passage
        found.append((turn, latest))
    return found[::-1]


def _turn(place: tuple[int, Passage]) -> int:
    return place[0]
