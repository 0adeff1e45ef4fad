"""In which turns of a session did somebody speak to the agent, the newest first?

What people only said to each other is a turn too, but none that anybody would take back or repeat.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from sqlalchemy import Connection

from domain import commands as c
from domain import events as e
from domain.paths import spot_of, turn_at
from domain.refusals import NothingToRewind
from domain.restarts import NOT_ADDRESSED
from domain.state import Head, Turn
from infrastructure.command_handler import Target
from infrastructure.fork_records import records_of
from infrastructure.reading.inputs import shared_fact
from infrastructure.reading.sessions import session_head

MOST_OVERHEARD: Final = 1_000
"""So many turns at most are passed over that nothing ran in."""


def addressed_turns(connection: Connection, target: Target) -> Iterator[Turn]:
    """Yield the turns in sight in which somebody spoke to the agent, the newest first.

    Raises:
        NoSuchSession: it is gone.
    """
    key, head, _ = session_head(connection, target)
    yield from _turns_at(connection, key, head, reversed(range(head.turns)))


def counted(connection: Connection, target: Target, command: c.Rewind) -> c.Rewind:
    """Return what takes back as many turns in which somebody spoke to the agent.

    What was said to others after the first of them goes with it; what was said before it stays. If
    there are not as many, all that there are go.

    Raises:
        NothingToRewind: nobody spoke to the agent.
        NoSuchSession: it is gone.
    """
    wanted = command.turns or 0
    key, head, _ = session_head(connection, target)
    depths = range(head.turns)
    first = None
    if wanted >= head.turns:  # not all of them have to be looked at
        first = next(_turns_at(connection, key, head, depths), None)
    if first is None:
        turns = _turns_at(connection, key, head, reversed(depths))
        for _, first in zip(range(wanted), turns, strict=False):  # noqa: B007 - the last of them
            pass
    if first is None:
        raise NothingToRewind
    return replace(command, turns=None, to_turn=first.turn_id)


def _turns_at(
    connection: Connection, key: int, head: Head, depths: Iterable[int]
) -> Iterator[Turn]:
    """Yield those of the turns at these depths in which somebody spoke to the agent."""
    records = records_of(connection, key, head)
    passed = 0
    for depth in depths:
        turn = records.turn_numbered(turn_at(records.branch, spot_of(head), depth))
        if turn is None:
            continue
        if not _is_aside(connection, key, turn):
            yield turn
        elif (passed := passed + 1) == MOST_OVERHEARD:
            return


def _is_aside(connection: Connection, key: int, turn: Turn) -> bool:
    if turn.ended_version is None or turn.path is not None:
        return False
    ended = shared_fact(connection, key, turn.ended_version)
    return isinstance(ended, e.TurnCompleted) and ended.stop_reason == NOT_ADDRESSED
