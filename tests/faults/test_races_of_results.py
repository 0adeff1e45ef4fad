"""Results that arrive at the same time are all kept, each beside its call."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from domain.commands import Proposal
from domain.events import ToolCallCompleted
from infrastructure import tables as t
from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify
from tests.infrastructure.writing import Store, opened, propose

ROUNDS = 200
CALLS = ("a", "b", "c")
MANY = [f"c{number}" for number in range(30)]


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with opened(database_url) as store:
        yield store


def begun(turn_id: str) -> Proposal:
    said = '"messages":[{"role":"user","content":"go"}]'
    return propose("turn-started", f'{{"turn_id":"{turn_id}",{said}}}'.encode())


def called(turn_id: str, call_id: str) -> Proposal:
    what = f'"tool_call_id":"{call_id}","name":"ls","arguments":{{}}'
    return propose("tool-call-requested", f'{{"turn_id":"{turn_id}",{what}}}'.encode())


def returned(turn_id: str, call_id: str) -> Proposal:
    what = f'"tool_call_id":"{call_id}","output":"of {call_id}"'
    return propose("tool-call-completed", f'{{"turn_id":"{turn_id}",{what}}}'.encode())


def ended(turn_id: str) -> Proposal:
    return propose("turn-completed", f'{{"turn_id":"{turn_id}"}}'.encode())


def results_by_turn(store: Store) -> dict[str, set[str]]:
    """Return the calls that have a result, by their turns; no version is missing on the way."""
    facts = store.facts()
    assert [fact.version for fact in facts] == list(range(1, len(facts) + 1))
    found: dict[str, set[str]] = {}
    for fact in facts:
        if isinstance(fact.event, ToolCallCompleted):
            mine = found.setdefault(fact.event.turn_id, set())
            assert fact.event.tool_call_id not in mine
            mine.add(fact.event.tool_call_id)
    return found


def assert_sound(store: Store) -> None:
    assert verify(store.database, "default", "s1").ok
    assert rebuild(store.database, store.runner, check_only=True).differences == ()
    with store.database.read() as connection:
        statuses = connection.execute(t.calls.select().where(t.calls.c.status != "completed"))
        assert statuses.all() == []


def test_in_two_hundred_rounds_three_results_at_once_are_three_results(store: Store) -> None:
    before: list[Proposal] = []
    barrier = Barrier(len(CALLS))

    def give(call_id: str, turn_id: str) -> None:
        barrier.wait(30)
        store.append([returned(turn_id, call_id)], "s1", call_id)

    with ThreadPoolExecutor(len(CALLS)) as threads:
        for number in range(ROUNDS):
            turn_id = f"t{number}"
            calls = [called(turn_id, call_id) for call_id in CALLS]
            store.append([*before, begun(turn_id), *calls])
            list(threads.map(give, CALLS, [turn_id] * len(CALLS)))
            before = [ended(turn_id)]
    store.append(before)

    assert results_by_turn(store) == {f"t{number}": set(CALLS) for number in range(ROUNDS)}
    assert_sound(store)


def test_thirty_results_of_one_step_at_once_are_all_kept(store: Store) -> None:
    store.append([begun("t1"), *(called("t1", call_id) for call_id in MANY)])
    barrier = Barrier(len(MANY))

    def give(call_id: str) -> None:
        barrier.wait(30)
        store.append([returned("t1", call_id)], "s1", call_id)

    with ThreadPoolExecutor(len(MANY)) as threads:
        list(threads.map(give, MANY))

    assert results_by_turn(store) == {"t1": set(MANY)}
    assert_sound(store)
