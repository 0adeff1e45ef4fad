"""Was the log able to stand in for a history, at any version?"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection

from domain.evolve import evolve
from domain.readiness import Policy, Readiness, readiness
from domain.recorded import Recorded
from domain.state import Head, State, Turn
from infrastructure.blobs import completed
from infrastructure.mapper import recorded_of
from infrastructure.reading.moment import Moment
from infrastructure.recorder import stream_facts

FACTS_AT_ONCE: Final = 5_000


def judged(connection: Connection, moment: Moment, policy: Policy) -> tuple[Readiness, Head]:
    """Return whether the log was ready at the moment, and the head that it then had."""
    head, turn = state_at(connection, moment)
    return readiness(head, turn, policy, moment.agreements), head


def state_at(connection: Connection, moment: Moment) -> tuple[Head, Turn | None]:
    """Return the head of a moment and the turn that had not ended.

    What is past is folded again: nothing else knows what a head was.
    """
    if moment.is_now:
        return moment.head, moment.open_turn
    state = State()
    for fact in _facts(connection, moment):
        state.apply(evolve(state, fact))
    head = state.head
    return head, None if head.turn_id is None else state.turns.get(head.turn_id)


def _facts(connection: Connection, moment: Moment) -> Iterator[Recorded]:
    stream = (moment.target.project_id, moment.target.session_id, moment.key)
    after = 0
    while after < moment.through:
        through = min(after + FACTS_AT_ONCE, moment.through)
        for stored in stream_facts(connection, stream, gt=after, lte=through):
            yield recorded_of(completed(connection, stored))
        after = through
