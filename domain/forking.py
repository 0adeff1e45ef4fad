"""Where does a fork begin, with what, and how is it called?"""

import re
from typing import Final

from domain.fields import TITLE_LIMIT, check_count, check_id
from domain.keys import Keys
from domain.paths import spot_of, turn_in_sight
from domain.records import Records
from domain.refusals import InvalidValue, NoSuchTurn, TurnInProgress
from domain.state import Head, State

AT_FORK: Final = Keys(tail=True, open_calls=True)
"""What has to be known of a session that is forked where it stands."""
_NUMBERED: Final = re.compile(r"(.*\S) \(([1-9][0-9]{0,8})\)", re.DOTALL)


def fork_version(records: Records, head: Head, at: int | None, at_turn: str | None) -> int:
    """Return the last version that a fork shares: the one given, a turn's end, or the newest.

    Raises:
        InvalidValue: the log has no such version, or two are named.
        NoSuchTurn: the turn is unknown, or not in sight.
        TurnInProgress: it has not ended.
    """
    if at is not None and at_turn is not None:
        raise InvalidValue("name one of at_turn and at", "at")
    if at_turn is not None:
        return _end_of(records, head, at_turn)
    check_count(at, "at", least=1)
    if at is not None and at > head.version:
        raise InvalidValue("the log has no such version yet", "at")
    return head.version if at is None else at


def _end_of(records: Records, head: Head, turn_id: str) -> int:
    check_id(turn_id, "at_turn")
    turn = records.turn(turn_id)
    if turn is None or not turn_in_sight(records.branch, spot_of(head), turn.number):
        raise NoSuchTurn(turn_id, "at_turn")
    if turn.ended_version is None:
        raise TurnInProgress(turn_id)
    return turn.ended_version


def beginning(parent: State) -> State:
    """Return what a fork is before its first own fact: all of a history, and no life of its own.

    Producers count anew in it, it is nobody's sub-agent, and nothing of it runs or waits.
    """
    state = parent.copy()
    state.producers = {}
    state.seats = {}
    state.queue = {}
    state.head = parent.head._replace(
        status="absent",
        put_away=False,
        parent_session_id=None,
        parent_turn_id=None,
        parent_call_id=None,
        agent_id=None,
        forked_from=None,
        base_version=0,
        queued=0,
        cut_off=0,
        suspended=False,
        resume_turn=None,
        resume_reason=None,
        resume_at=0,
        archived_reason=None,
        pinned=False,
    )
    return state


def title_and_number(title: str) -> tuple[str, int]:
    """Return a title without its number, and the number: 1 for one that has none.

    >>> title_and_number("Trip (2)")
    ('Trip', 2)
    """
    match = _NUMBERED.fullmatch(title)
    return (title, 1) if match is None else (match[1], int(match[2]))


def numbered_title(title: str, number: int) -> str:
    """Return a title with a number, cut where it would be too long.

    >>> numbered_title("Trip", 3)
    'Trip (3)'
    """
    suffix = f" ({number})"
    return title[: TITLE_LIMIT - len(suffix)] + suffix
