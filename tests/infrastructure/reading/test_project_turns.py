"""Turns of a project, seats and explanations are looked up by indexes, however many there are."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter

import pytest
from sqlalchemy import Connection, insert, literal, select, text, true

from infrastructure import tables as t
from infrastructure.reading.explaining import around
from infrastructure.reading.moment import moment
from infrastructure.reading.project_turns import (
    ProjectTurnQuery,
    path_counts,
    project_turns,
)
from infrastructure.reading.seats import SeatQuery, seats, seats_by_state
from infrastructure.reading.turns import turn
from tests.infrastructure.reading.asking import counted
from tests.infrastructure.writing import NEW_YEAR, Store, propose, target

MANY = 100_000
ENOUGH_S = 0.25
MILLISECOND = 1_000
Look = Callable[[Connection], object]


def harnessed(store: Store) -> None:
    """Record a warm turn, and one whose harness had another history."""
    seat = b'"seat_id":"s1","owner":"a"'
    parked = propose("harness-parked", b'{%s,"state":"idle"}' % seat)
    for name in (b"t1", b"t2", b"t3"):
        start = b'{"turn_id":"%s","messages":[{"role":"user","content":"go"}]}' % name
        how = propose("harness-resumed", b'{%s,"turn_id":"%s"}' % (seat, name))
        if name == b"t3":
            evicted = b'{%s,"turn_id":"t3","path":"evicted","reason":"history"}' % seat
            how = propose("harness-started", evicted)
        end = propose("turn-completed", b'{"turn_id":"%s","timings":{"total":5}}' % name)
        store.append([propose("turn-started", start), how, end, parked])


def multiplied(connection: Connection, times: int) -> None:
    """Have the session's first turn there so many times."""
    c = t.turns.c
    more = select(literal(4).label("number")).cte("more", recursive=True)
    more = more.union_all(select(more.c.number + 1).where(more.c.number < times))
    fresh = {
        "turn_id": literal("m-").concat(text("CAST(more.number AS varchar)")),
        "number": more.c.number,
        "started_at": c.started_at - more.c.number * MILLISECOND,
    }
    columns = [fresh.get(column.name, column) for column in t.turns.columns]
    copies = select(*columns).join_from(t.turns, more, true()).where(c.turn_id == "t1")
    connection.execute(insert(t.turns).from_select([col.name for col in t.turns.columns], copies))


QUERIES: dict[str, ProjectTurnQuery] = {
    "all": ProjectTurnQuery(project_id="default"),
    "path": ProjectTurnQuery(project_id="default", path="cold"),
    "reason": ProjectTurnQuery(project_id="default", reason="config"),
    "slow": ProjectTurnQuery(project_id="default", min_ms=1_000),
    "status": ProjectTurnQuery(project_id="default", status="failed"),
    "later": ProjectTurnQuery(project_id="default", path="warm", after=(NEW_YEAR, 1, 3)),
    "since": ProjectTurnQuery(project_id="default", since=NEW_YEAR + MANY, until=2 * NEW_YEAR),
}
LOOKS: dict[str, Look] = {
    **{name: partial(project_turns, query=query) for name, query in QUERIES.items()},
    "counts": lambda c: path_counts(c, "default", 0),
    "seats": lambda c: seats(c, SeatQuery(project_id="default", after=(NEW_YEAR, 1, "s1"))),
    "states": seats_by_state,
}


def explained(connection: Connection) -> object:
    found = moment(connection, target("s1"))
    return around(connection, found, turn(connection, found, "t3"))


def plan(store: Store, look: Look) -> Sequence[str]:
    """Return how SQLite finds what is asked for."""
    with counted(store) as (connection, seen):
        seen.clear()
        look(connection)
        return [
            row.detail
            for statement in tuple(seen)
            for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")
        ]


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("name", QUERIES)
def test_turns_of_a_project_are_read_in_the_order_of_an_index(store: Store, name: str) -> None:
    harnessed(store)
    steps = plan(store, LOOKS[name])

    assert any("turns USING INDEX ix_turns_project (project_id=?" in step for step in steps), steps
    assert not any(step.startswith(("SCAN", "USE TEMP")) for step in steps if "page" not in step)


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_counts_are_read_from_the_index_alone(store: Store) -> None:
    harnessed(store)
    steps = plan(store, LOOKS["counts"])
    assert "SEARCH turns USING COVERING INDEX ix_turns_project" in steps[0], steps


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("name", ["seats", "states"])
def test_seats_are_read_by_the_index_of_those_that_are_not_gone(store: Store, name: str) -> None:
    harnessed(store)
    steps = plan(store, LOOKS[name])
    assert any("seats USING INDEX ix_seats_" in step for step in steps), steps
    assert name == "states" or not any(step.startswith(("SCAN", "USE TEMP")) for step in steps)


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_what_explains_a_turn_is_looked_up_by_version_alone(store: Store) -> None:
    harnessed(store)
    steps = plan(store, explained)
    assert sum("events USING INDEX ix_events_dispatched" in step for step in steps) == 3, steps
    scans = [step for step in steps if step.startswith(("SCAN", "USE TEMP"))]
    assert scans == ["SCAN store"]  # which has one row


def test_a_hundred_thousand_turns_are_looked_through_in_milliseconds(store: Store) -> None:
    harnessed(store)
    with store.database.write() as connection:
        multiplied(connection, MANY)
    with store.database.read() as connection:
        for name in ("all", "path", "reason", "slow", "status", "later", "counts"):
            took: list[float] = []
            for _ in range(5):
                began = perf_counter()
                LOOKS[name](connection)
                took.append(perf_counter() - began)
            assert min(took) < ENOUGH_S, (name, took)
