"""Where do the rules find a session's records, if it shares its history with others?

Its own come first: a fork has one of what it shares only where it changed it.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from domain.resuming import Views
from domain.state import ROOT, Branch, Call, Head, Loss, Move, Placed, QueuedInput, Turn
from infrastructure.inherited import Inherited
from infrastructure.lineages import lineage_of
from infrastructure.stored_records import StoredRecords


def records_of(connection: Connection, session_key: int, head: Head) -> Views:
    """Return a session's records, and those that it shares if it is a fork."""
    return records_on(connection, session_key, head.started, head.base_version)


def records_on(connection: Connection, session_key: int, started: int, base: int) -> Views:
    """Return the same of a session with so many turns, which shares what is up to its base."""
    if not base:
        return StoredRecords(connection, session_key, started)
    return ForkRecords(connection, session_key, started, base)


class ForkRecords:
    """A fork's records, as `domain.records.Records` asks for them."""

    def __init__(self, connection: Connection, session_key: int, started: int, base: int) -> None:
        """Take the fork's key, how many turns there are, and the last version that it shares."""
        self._connection: Final = connection
        self._key: Final = session_key
        self._base: Final = base
        self._own: Final = StoredRecords(connection, session_key, started)
        self._inherited: Final = Inherited(connection, session_key)

    def branch(self, number: int) -> Branch:
        """Return the branch with this id."""
        own = self._own.branch(number)
        return own if own is not ROOT or not number else self._inherited.branch(number) or ROOT

    def turn(self, turn_id: str) -> Turn | None:
        """Return the turn with this id."""
        return self._own.turn(turn_id) or self._inherited.turn(turn_id)

    def turn_numbered(self, number: int) -> Turn | None:
        """Return the turn with this number."""
        return self._own.turn_numbered(number) or self._inherited.turn_numbered(number)

    def turn_started_after(self, version: int) -> Turn | None:
        """Return the first turn, in sight or not, that started after a version."""
        if version < self._base:
            for shared in reversed(lineage_of(self._connection, self._key)):
                if version < shared.version:
                    there = StoredRecords(self._connection, shared.key, shared.started)
                    turn = there.turn_started_after(version)
                    if turn is not None and turn.started_version <= shared.version:
                        return self.turn(turn.turn_id)
        return self._own.turn_started_after(version)

    def message(self, index: int) -> Placed | None:
        """Return the message with this index."""
        return self._own.message(index) or self._inherited.message(index)

    def stretch(self, first: int, end: int) -> Sequence[Placed]:
        """Return the messages with indexes from `first` to before `end` that there are."""
        found = self._inherited.stretch(first, end)
        found |= {message.index: message for message in self._own.stretch(first, end)}
        return [found[index] for index in sorted(found)]

    def named(self, message_id: str) -> Placed | None:
        """Return the message that was given this id."""
        return self._own.named(message_id) or self._inherited.named(message_id)

    def move(self, version: int) -> Move | None:
        """Return the move at this version."""
        return self._own.move(version) or self._inherited.move(version)

    def loss(self, version: int) -> Loss | None:
        """Return the loss that was declared at this version."""
        return self._own.loss(version) or self._inherited.loss(version)

    def queued(self, queue_id: str) -> QueuedInput | None:
        """Return the queued input with this id; a fork shares none."""
        return self._own.queued(queue_id)

    def calls(self, turn_id: str, tool_call_id: str) -> list[Call]:
        """Return the calls of this id in a turn, in order."""
        found = {
            call.occurrence: call
            for records in (self._inherited, self._own)
            for call in records.calls(turn_id, tool_call_id)
        }
        return [found[occurrence] for occurrence in sorted(found)]

    def last_move(self, through: int) -> Move | None:
        """Return the newest move up to a version; each fork begins with one."""
        if through > self._base:
            return self._own.last_move(through)
        for shared in lineage_of(self._connection, self._key):
            there = StoredRecords(self._connection, shared.key, shared.started)
            move = there.last_move(min(through, shared.version))
            if move is not None:
                return move
        return None
