"""Was the log able to stand in for a history, at any version?"""

from sqlalchemy import Connection

from domain.readiness import Policy, Readiness, readiness
from domain.state import Head, Turn
from infrastructure.reading.moment import Moment
from infrastructure.reading.past import known_at


def judged(connection: Connection, moment: Moment, policy: Policy) -> tuple[Readiness, Head]:
    """Return whether the log was ready at the moment, and the head that it then had."""
    head, turn = state_at(connection, moment)
    return readiness(head, turn, policy, moment.agreements), head


def state_at(connection: Connection, moment: Moment) -> tuple[Head, Turn | None]:
    """Return the head of a moment and the turn that had not ended."""
    if moment.is_now:
        return moment.head, moment.open_turn
    state = known_at(connection, moment)
    turn_id = state.head.turn_id
    return state.head, None if turn_id is None else state.turns.get(turn_id)
