"""Which records does a command come by on its way?

The rules are run for nothing but that: whatever they ask for is noted.
"""

from collections.abc import Sequence
from contextlib import suppress

from domain.cuts import Cut, cut_after
from domain.keys import Keys
from domain.paths import grown, runs, runs_within, spot_of
from domain.positions import before_turn, standing_at
from domain.records import Records, message_with_id
from domain.refusals import Refusal
from domain.rewinding import restoring, rewinding
from domain.state import ROOT, Branch, Head, Move, Placed, Turn


class Noted:
    """Records, and which of them were asked for.

    Attributes:
        cuts: Where a summary may part a call from its result.
    """

    def __init__(self, records: Records) -> None:
        """Take where the records are found."""
        self._records = records
        self.turns: dict[str, Turn] = {}
        self.messages: dict[int, Placed] = {}
        self.branches: dict[int, Branch] = {}
        self.moves: dict[int, Move] = {}
        self.cuts: set[Cut] = set()

    def branch(self, number: int) -> Branch:
        """Return the branch with this id."""
        if number in self.branches or not number:
            return self.branches.get(number, ROOT)
        branch = self._records.branch(number)
        if branch is not ROOT:
            self.branches[number] = branch
        return branch

    def turn(self, turn_id: str) -> Turn | None:
        """Return the turn with this id."""
        return self.turns.get(turn_id) or self._turn(self._records.turn(turn_id))

    def turn_numbered(self, number: int) -> Turn | None:
        """Return the turn with this number."""
        return self._turn(self._records.turn_numbered(number))

    def turn_started_after(self, version: int) -> Turn | None:
        """Return the first turn, in sight or not, that started after a version."""
        return self._turn(self._records.turn_started_after(version))

    def message(self, index: int) -> Placed | None:
        """Return the message with this index."""
        return self.messages.get(index) or self._message(self._records.message(index))

    def stretch(self, first: int, end: int) -> Sequence[Placed]:
        """Return the messages with indexes from `first` to before `end` that there are."""
        found = self._records.stretch(first, end)
        self.messages.update((message.index, message) for message in found)
        return found

    def named(self, message_id: str) -> Placed | None:
        """Return the message that was given this id."""
        return self._message(self._records.named(message_id))

    def move(self, version: int) -> Move | None:
        """Return the move at this version."""
        return self.moves.get(version) or self._move(self._records.move(version))

    def last_move(self, through: int) -> Move | None:
        """Return the newest move up to a version."""
        return self._move(self._records.last_move(through))

    def _turn(self, turn: Turn | None) -> Turn | None:
        if turn is not None:
            self.turns[turn.turn_id] = turn
        return turn

    def _message(self, message: Placed | None) -> Placed | None:
        if message is not None:
            self.messages[message.index] = message
        return message

    def _move(self, move: Move | None) -> Move | None:
        if move is not None:
            self.moves[move.version] = move
        return move


def noted(records: Records, head: Head, wanted: Keys) -> Noted:
    """Return what the rules ask for on the way to what `wanted` describes."""
    found = Noted(records)
    head = _moved(found, head, wanted)
    if wanted.kept_after:
        _summed_up(found, head, wanted.kept_after)
    if wanted.grows and head.turn_tip != head.started:
        grown(found.branch, head)
    return found


def _moved(found: Noted, head: Head, wanted: Keys) -> Head:
    for turn_id in sorted(wanted.rewound):
        turn = found.turn(turn_id)
        if turn is not None:
            head = standing_at(head, before_turn(found, turn))
    for version in sorted(wanted.moves):
        move = found.move(version)
        if move is not None:
            head = standing_at(head, move.before)
    with suppress(Refusal):  # it will be refused again
        if wanted.rewind is not None:
            head = standing_at(head, rewinding(found, head, wanted.rewind).position)
        if wanted.redo is not None:
            head = standing_at(head, restoring(found, head, wanted.redo).position)
    return head


def _summed_up(found: Noted, head: Head, kept_after: Sequence[str]) -> None:
    """Look for what summaries keep after these messages, each in its place."""
    here = spot_of(head)
    for number, message_id in enumerate(kept_after):
        message = message_with_id(found, message_id)
        if message is None:
            continue
        found.cuts.add(cut_after(message))
        within = runs_within(found.branch, here, message.index, message.index + 1)
        if number == 0 and within:
            for kept in runs(found.branch, here, within[0].depth, head.messages):
                found.stretch(kept.first, kept.end)
    found.branch(head.branch)  # a message that only the batch brings stands in it
    if head.turn_id is not None:
        found.cuts.add(Cut(head.turn_id, head.version))  # and may part its calls from their results
