"""What is remembered of a session goes when nobody wrote to it for long, and costs a look-up."""

import pytest

from domain.state import Head, State
from infrastructure.idle import IDLE_S, Idle
from infrastructure.remembered import Memory
from tests.infrastructure.writing import Store, propose

MINUTE = 60


def known(memory: Memory) -> list[str]:
    return [session_id for (_, session_id), _ in memory.sessions()]


def remembering(**heads: Head) -> Memory:
    memory = Memory(lambda: 0)
    for name, head in heads.items():
        memory.keep("default", name, 1, State(head=head), 0)
    return memory


def test_a_session_goes_half_an_hour_after_it_was_seen_last_to_change() -> None:
    memory = remembering(s1=Head(version=1), s2=Head(version=1))
    idle = Idle(memory)

    assert idle.look(0) == 0
    memory.keep("default", "s2", 1, State(head=Head(version=2)), 1)
    assert idle.look(IDLE_S - MINUTE) == 0
    assert (idle.look(IDLE_S), known(memory)) == (1, ["s2"])
    assert (idle.look(2 * IDLE_S - MINUTE), known(memory), idle.reclaimed) == (1, [], 2)


@pytest.mark.parametrize(
    "head", [Head(turn_id="t1"), Head(open_gates=1), Head(queued=1)], ids=["turn", "gate", "input"]
)
def test_a_session_that_waits_for_something_stays(head: Head) -> None:
    memory = remembering(s1=head)
    idle = Idle(memory)

    assert [idle.look(n * IDLE_S) for n in range(4)] == [0, 0, 0, 0]
    memory.keep("default", "s1", 1, State(head=Head(version=2)), head.version)
    assert [idle.look(n * IDLE_S) for n in range(4, 6)] == [0, 1]


def test_what_changes_while_it_is_looked_at_stays() -> None:
    memory = remembering(s1=Head(version=1))
    (((name, before)),) = memory.sessions()
    memory.keep("default", "s1", 1, State(head=Head(version=2)), 1)

    assert not memory.forget_if(name, before)
    assert known(memory) == ["s1"]


def test_the_next_request_looks_up_what_was_forgotten(store: Store) -> None:
    store.append([propose("data-recorded", b'{"kind":"note","data":1}')])
    idle = Idle(store.runner.memory)
    idle.look(0)
    assert idle.look(IDLE_S) == 1

    store.append([propose("data-recorded", b'{"kind":"note","data":2}')])
    assert known(store.runner.memory) == ["s1"]
