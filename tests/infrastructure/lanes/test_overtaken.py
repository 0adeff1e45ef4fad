"""What happens in a session between two looks at it changes what follows, and refuses nothing.

Only where several write at once: on PostgreSQL, another process commits in the middle of what this
one writes, which remembers nothing of the session.
"""

from collections.abc import Callable, Iterator

import pytest

from domain import commands as c
from domain.keys import NO_KEYS, Keys
from domain.state import State
from infrastructure.command_handler import CommandHandler, Target
from infrastructure.lanes.changing import LaneChanges
from infrastructure.lanes.leaving import Departure, Left
from infrastructure.lanes.lookup import the_lane
from infrastructure.lanes.resolving import Beginning, Lanes, Resolved
from infrastructure.runner import Attempt
from tests.conftest import NewDatabase
from tests.infrastructure.lanes.arrivals import TELEGRAM, resolve
from tests.infrastructure.writing import NOBODY, Store, opened, target, turn

BECAUSE = Departure(because="lane-reset", interrupt=True, caller=NOBODY)


class Overtaken(CommandHandler):
    """Looks at a session only after another writer was there, the first time that it does."""

    def meanwhile(self, session_id: str, happens: Callable[[], object]) -> None:
        """Have this happen before the next look at that session."""
        self._session_id, self._happens = session_id, happens

    def state(
        self, attempt: Attempt, target: Target, wanted: Keys = NO_KEYS
    ) -> tuple[int | None, State]:
        """Look after it has happened."""
        if target.session_id == self._session_id:
            self._session_id = ""
            self._happens()
        return super().state(attempt, target, wanted)


@pytest.fixture
def two(new_database: NewDatabase) -> Iterator[tuple[Store, Store]]:
    """Give two processes' worth of one PostgreSQL database."""
    url = new_database("postgresql")
    with opened(url) as store, opened(url) as other:
        yield store, other


def overtaken(store: Store) -> Overtaken:
    return Overtaken(store.log, store.clock, unverified_turns=False)


def test_a_turn_that_ends_in_the_moment_of_a_reset_is_not_stopped(
    two: tuple[Store, Store],
) -> None:
    store, other = two
    first = resolve(other)
    started, *rest = turn("t1")
    other.append([started], first.session_id)
    handler = overtaken(store)
    handler.meanwhile(first.session_id, lambda: other.append(rest, first.session_id))
    changes = LaneChanges(Lanes(handler, store.log), handler)

    def reset(attempt: Attempt) -> tuple[Resolved, Left]:
        found = the_lane(attempt.connection, "default", first.found.lane_id)
        return changes.reset(attempt, found, BECAUSE, Beginning())

    after, left = store.runner.run(reset)

    assert after.previous_session_id == first.session_id
    assert (left.ended, left.interrupted) == (True, None)
    assert after.session_id == resolve(other).session_id


@pytest.mark.parametrize("because", ["agent-close", "lane-reset"])
def test_a_session_that_is_deleted_in_the_moment_of_a_message_is_left(
    two: tuple[Store, Store], because: str
) -> None:
    store, other = two
    first = resolve(other)
    where = target(first.session_id)
    heals = because == "agent-close"

    def carry_out(command: c.SessionCommand) -> None:
        other.runner.run(
            lambda attempt: other.handler.carry_out(attempt, where, [command], caller=NOBODY)
        )

    if heals:
        carry_out(c.ArchiveSession(reason="agent-close"))
    store.handler = handler = overtaken(store)
    handler.meanwhile(first.session_id, lambda: carry_out(c.DeleteSession()))

    after = resolve(store, TELEGRAM, force_new=not heals)

    assert after.created
    assert after.previous_session_id == first.session_id
    assert after.reason == ("session-ended" if heals else "forced")
