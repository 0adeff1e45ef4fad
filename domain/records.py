"""Where do the rules find a record that only the way to it names?

A rewind names a turn by how many are in sight after it, a redo a place by the fact that left it:
what has to be looked up shows while one looks. So the same rules run over a session in memory, and
over one in a database to learn what they need of it.
"""

from collections.abc import Sequence
from typing import Protocol

from domain.identifiers import derived_from
from domain.state import ROOT, Branch, Move, Placed, State, Turn


class Records(Protocol):
    """A session's records, one at a time; None where there is none."""

    def branch(self, number: int) -> Branch:
        """Return the branch with this id."""
        ...

    def turn(self, turn_id: str) -> Turn | None:
        """Return the turn with this id."""
        ...

    def turn_numbered(self, number: int) -> Turn | None:
        """Return the turn with this number."""
        ...

    def turn_started_after(self, version: int) -> Turn | None:
        """Return the first turn, in sight or not, that started after a version."""
        ...

    def message(self, index: int) -> Placed | None:
        """Return the message with this index."""
        ...

    def stretch(self, first: int, end: int) -> Sequence[Placed]:
        """Return the messages with indexes from `first` to before `end` that there are."""
        ...

    def named(self, message_id: str) -> Placed | None:
        """Return the message that was given this id."""
        ...

    def move(self, version: int) -> Move | None:
        """Return the move at this version."""
        ...

    def last_move(self, through: int) -> Move | None:
        """Return the newest move up to a version."""
        ...


class InState:
    """The records of a state."""

    def __init__(self, state: State) -> None:
        """Take the state; it is not changed."""
        self._state = state

    def branch(self, number: int) -> Branch:
        """Return the branch with this id."""
        return self._state.branches.get(number, ROOT)

    def turn(self, turn_id: str) -> Turn | None:
        """Return the turn with this id."""
        return self._state.turns.get(turn_id)

    def turn_numbered(self, number: int) -> Turn | None:
        """Return the turn with this number."""
        return next((t for t in self._state.turns.values() if t.number == number), None)

    def turn_started_after(self, version: int) -> Turn | None:
        """Return the first turn, in sight or not, that started after a version."""
        later = (t for t in self._state.turns.values() if t.started_version > version)
        return min(later, key=_number, default=None)

    def message(self, index: int) -> Placed | None:
        """Return the message with this index."""
        return self._state.messages.get(index)

    def stretch(self, first: int, end: int) -> Sequence[Placed]:
        """Return the messages with indexes from `first` to before `end` that there are."""
        known = self._state.messages
        return [known[index] for index in range(first, end) if index in known]

    def named(self, message_id: str) -> Placed | None:
        """Return the message that was given this id."""
        index = self._state.message_ids.get(message_id)
        return None if index is None else self._state.messages.get(index)

    def move(self, version: int) -> Move | None:
        """Return the move at this version."""
        return self._state.moves.get(version)

    def last_move(self, through: int) -> Move | None:
        """Return the newest move up to a version."""
        moves = self._state.moves
        newest = max(moves, default=0)
        if newest > through:
            newest = max((version for version in moves if version <= through), default=0)
        return moves.get(newest)


def message_with_id(records: Records, message_id: str, through: int | None = None) -> Placed | None:
    """Return the message with this id, given or derived (`<turn_id>:<n>`).

    A name that was given after version `through` does not count.
    """
    named = records.named(message_id)
    if named is not None and (through is None or named.versions[0] <= through):
        return named
    turn_id, ordinal = derived_from(message_id) or (None, 0)
    turn = None if turn_id is None else records.turn(turn_id)
    known = None if turn is None else records.message(turn.first_message + ordinal - 1)
    return known if known is not None and known.message_id == message_id else None


def _number(turn: Turn) -> int:
    return turn.number
