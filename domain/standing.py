"""Is there such a turn, and does it still run?"""

from domain.fields import check_id
from domain.refusals import NoSuchTurn, TurnOver
from domain.state import State, Turn


def known_turn(state: State, turn_id: str) -> Turn:
    """Return the turn of this id.

    Raises:
        InvalidValue: no turn can have this id.
        NoSuchTurn: none has.
    """
    turn = state.turns.get(turn_id)
    if turn is None:
        check_id(turn_id, "turn_id")
        raise NoSuchTurn(turn_id)
    return turn


def running_turn(state: State, turn_id: str) -> Turn:
    """Return the turn of this id.

    Raises:
        InvalidValue, NoSuchTurn: as `known_turn`.
        TurnOver: it has ended.
    """
    turn = known_turn(state, turn_id)
    if turn.status != "running":
        raise TurnOver(turn_id)
    return turn
