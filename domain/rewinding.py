"""What does a rewind take out, and what does a redo bring back?

Whatever is named, whole turns go: the first one that goes, and with it all that came after.
"""

from typing import NamedTuple

from domain.commands import Redo, Rewind
from domain.fields import check_count, check_id
from domain.identifiers import is_name
from domain.paths import index_in_sight, meeting, next_turn, spot_of, turn_at, turn_in_sight
from domain.positions import before_turn
from domain.records import Records, message_with_id
from domain.refusals import (
    InvalidValue,
    NoSuchMessage,
    NoSuchRewind,
    NoSuchTurn,
    NothingToRedo,
    NothingToRewind,
)
from domain.state import Head, Position, Turn


class Rewinding(NamedTuple):
    """The first turn that goes, and what is in sight without it."""

    turn: Turn
    position: Position


class Restoring(NamedTuple):
    """What is to be in sight again, and what has to go first.

    Attributes:
        version: The rewind that is reverted.
        shared: What both have in sight.
        newer: The rewind that takes out the rest of what is in sight now, if there is a rest.
    """

    version: int
    position: Position
    shared: Position
    newer: Rewinding | None


ONE_TARGET = "name one of turns, to_turn, before_message and to_version"


def rewinding(records: Records, head: Head, command: Rewind) -> Rewinding:
    """Return what `command` takes out.

    Raises:
        InvalidValue: it names no target, more than one, or a place inside a turn.
        NoSuchTurn, NoSuchMessage: the target is unknown, or not in sight.
        NothingToRewind: nothing in sight comes after it.
    """
    targets = (command.turns, command.to_turn, command.before_message, command.to_version)
    if sum(target is not None for target in targets) != 1:
        raise InvalidValue(ONE_TARGET)
    if command.turns is not None:
        turn = _counted(records, head, command.turns)
    elif command.to_turn is not None:
        turn = _named(records, head, command.to_turn)
    elif command.before_message is not None:
        turn = _holding(records, head, command.before_message)
    else:
        turn = _after(records, head, command.to_version or 0)
    return Rewinding(turn, before_turn(records, turn))


def restoring(records: Records, head: Head, command: Redo) -> Restoring:
    """Return what `command` brings back.

    Raises:
        NoSuchRewind: no rewind is at this version.
        NothingToRedo: nothing was rewound last, or all of it is in sight.
    """
    version = head.redo if command.rewind_version is None else command.rewind_version
    check_count(version, "rewind_version", least=1)
    if version is None:
        raise NothingToRedo
    move = records.move(version) if version <= head.version else None
    if move is None or move.kind != "rewound":
        raise NoSuchRewind(version)
    number, onward = meeting(records.branch, spot_of(move.before), spot_of(head))
    if onward is None:
        raise NothingToRedo
    restored = _standing(records, onward)
    newer = next_turn(records.branch, spot_of(head), number + 1)
    return Restoring(
        version=version,
        position=move.before,
        shared=restored.position,
        newer=None if newer is None else _standing(records, newer),
    )


def _standing(records: Records, number: int) -> Rewinding:
    turn = records.turn_numbered(number)
    if turn is None:
        raise NothingToRedo  # a damaged log has lost it
    return Rewinding(turn, before_turn(records, turn))


def _counted(records: Records, head: Head, turns: int) -> Turn:
    check_count(turns, "turns", least=1)
    if not head.turns:
        raise NothingToRewind
    number = turn_at(records.branch, spot_of(head), max(0, head.turns - turns))
    return _numbered(records, number)


def _named(records: Records, head: Head, turn_id: str) -> Turn:
    check_id(turn_id, "to_turn")
    turn = records.turn(turn_id)
    if turn is None or not turn_in_sight(records.branch, spot_of(head), turn.number):
        raise NoSuchTurn(turn_id, "to_turn")
    return turn


def _holding(records: Records, head: Head, message_id: str) -> Turn:
    message = message_with_id(records, message_id) if is_name(message_id) else None
    if message is None or not index_in_sight(records.branch, spot_of(head), message.index):
        raise NoSuchMessage("before_message")
    turn = records.turn(message.turn_id)
    if turn is None:
        raise NoSuchMessage("before_message")
    if message.versions[0] != turn.started_version:
        detail = "a rewind takes out whole turns; this message is inside one: name its first input"
        raise InvalidValue(detail, "before_message")
    return turn


def _after(records: Records, head: Head, version: int) -> Turn:
    check_count(version, "to_version", least=1)
    if version > head.version:
        raise InvalidValue("the log has no such version yet", "to_version")
    later = records.turn_started_after(version)
    found = None if later is None else next_turn(records.branch, spot_of(head), later.number)
    _check_boundary(records, head, version, found)
    if found is None:
        raise NothingToRewind
    return _numbered(records, found)


def _check_boundary(records: Records, head: Head, version: int, found: int | None) -> None:
    """A version is a boundary unless the last turn that stays had begun and not ended by then."""
    kept = head.turns
    if found is not None:
        kept = before_turn(records, _numbered(records, found)).turns
    last = kept and records.turn_numbered(turn_at(records.branch, spot_of(head), kept - 1))
    if last and (last.ended_version is None or last.ended_version > version):
        detail = f"version {version} is inside turn {last.turn_id}; name one between turns"
        raise InvalidValue(detail, "to_version")


def _numbered(records: Records, number: int) -> Turn:
    turn = records.turn_numbered(number)
    if turn is None:
        raise NothingToRewind  # a damaged log has lost it
    return turn
