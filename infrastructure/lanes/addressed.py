"""In which turns of a session did somebody speak to the agent, the newest first?

What people only said to each other is a turn too, but none that anybody would take back or repeat.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from sqlalchemy import Connection

from domain import commands as c
from domain import events as e
from domain.paths import spot_of, turn_at
from domain.refusals import NothingToRewind
from domain.restarts import NOT_ADDRESSED
from domain.state import Turn
from infrastructure.command_handler import Target
from infrastructure.fork_records import records_of
from infrastructure.reading.inputs import shared_fact
from infrastructure.reading.sessions import session_head

MOST_OVERHEARD: Final = 1_000
"""So many turns at most are passed over that nothing ran in."""


def addressed_turns(
    connection: Connection, target: Target, *, oldest_first: bool = False
) -> Iterator[Turn]:
    """Yield the turns in sight in which somebody spoke to the agent, the newest first.

    Raises:
        NoSuchSession: it is gone.
    """
    key, head, _ = session_head(connection, target)
    records = records_of(connection, key, head)
    passed = 0
    depths = range(head.turns)
    for depth in depths if oldest_first else reversed(depths):
        turn = records.turn_numbered(turn_at(records.branch, spot_of(head), depth))
        if turn is None:
            continue
        if not _is_aside(connection, key, turn):
            yield turn
        elif (passed := passed + 1) == MOST_OVERHEARD:
            return


def counted(connection: Connection, target: Target, command: c.Rewind) -> c.Rewind:
    """Return what takes back as many turns in which somebody spoke to the agent.

    What was said to others after the first of them goes with it; what was said before it stays. If
    there are not as many, all that there are go.

    Raises:
        NothingToRewind: nobody spoke to the agent.
        NoSuchSession: it is gone.
    """
    wanted = command.turns or 0
    _, head, _ = session_head(connection, target)
    first = None
    if wanted >= head.turns:  # not all of them have to be looked at
        first = next(addressed_turns(connection, target, oldest_first=True), None)
    if first is None:
        turns = addressed_turns(connection, target)
        for _, first in zip(range(wanted), turns, strict=False):  # noqa: B007 - the last of them
            pass
    if first is None:
        raise NothingToRewind
    return replace(command, turns=None, to_turn=first.turn_id)


def _is_aside(connection: Connection, key: int, turn: Turn) -> bool:
    if turn.ended_version is None or turn.path is not None:
        return False
    ended = shared_fact(connection, key, turn.ended_version)
    return isinstance(ended, e.TurnCompleted) and ended.stop_reason == NOT_ADDRESSED
