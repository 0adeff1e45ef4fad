"""What is said in the midst of a turn: recorded first, once, and in its place."""

import asyncio
from collections.abc import Sequence

import pytest

from domain import events as e
from domain.messages import Message, Part
from domain.raw_json import RawJson
from domain.refusals import InputStarted
from infrastructure.harness.port import Answer
from infrastructure.hosting.hosted import Steered
from tests.infrastructure.hosting.stage import (
    Stage,
    calls,
    gave,
    kinds,
    may,
    on_a_loop,
    settle,
    stage,
    text,
)


def saying(words: str, queue_id: str = "q1") -> Steered:
    """Return an input that is told."""
    said: list[Part] = [{"type": "text", "text": words}]
    return Steered(queue_id=queue_id, message=Message(role="user", content=words), parts=said)


def waits(s: Stage, *inputs: Steered) -> None:
    """Have inputs wait to be told to the turn."""

    async def look(passed: set[str]) -> Steered | None:
        states = s.journal.state.queue
        for each in inputs:
            if each.queue_id not in passed and states[each.queue_id].status == "waiting":
                return each
        return None

    for each in inputs:
        request = RawJson(b"{}")
        s.journal.append(e.InputQueued(queue_id=each.queue_id, request=request, steers="t1"))
    s.look = look


async def between(s: Stage) -> Sequence[Part] | None:
    """Have the harness stand between two of its steps; return what it is told."""
    await settle()
    return await s.harness.offers.take()


@on_a_loop
async def test_what_is_told_stands_after_all_that_was_said_before_and_before_what_follows() -> None:
    s = stage()
    waits(s, saying("and now?"))
    await s.begin()
    s.run.steer("q1")
    await s.harness.tell(text("I think "), calls("c1"), gave("c1"), text("so"))

    assert await between(s) == [{"type": "text", "text": "and now?"}]

    assert s.journal.types[-1] == ["input-dequeued", "message-recorded"]
    await s.harness.tell(text(" well"))
    await s.finish()
    roles = [(role, [part.get("text") for part in said]) for role, said in s.journal.transcript()]
    assert roles == [
        ("assistant", ["I think ", None]),
        ("tool", [None]),
        ("assistant", ["so"]),
        ("user", ["and now?"]),
        ("assistant", [" well"]),
    ]
    assert kinds(s.journal)[-1] == "harness-parked"


@on_a_loop
async def test_nothing_is_told_twice_nor_what_was_taken_back() -> None:
    s = stage()
    waits(s, saying("never mind"), saying("this", "q2"))
    await s.begin()
    s.run.steer("q1")
    s.run.steer("q2")
    s.journal.append(e.InputRecalled(queue_id="q1", reason="recalled"))

    told = [await between(s) for _ in range(2)]

    assert told == [[{"type": "text", "text": "this"}], None]
    assert kinds(s.journal).count("input-dequeued") == 1


@on_a_loop
async def test_an_input_that_is_taken_back_at_the_last_moment_is_passed_by() -> None:
    s = stage()
    waits(s, saying("never mind"), saying("this", "q2"))
    await s.begin()
    s.run.steer("q1")
    s.journal.failing = [InputStarted("recalled", None)]

    assert await between(s) == [{"type": "text", "text": "this"}]

    await s.harness.tell(text("well"))
    assert (await s.finish()).parked  # type: ignore[union-attr]
    assert kinds(s.journal).count("message-recorded") == 2


@on_a_loop
async def test_an_input_is_offered_once_and_after_the_prompt_was_said() -> None:
    s = stage()
    waits(s, saying("this"))
    s.run.steer("q1")
    assert s.harness.calls == []
    await s.begin()
    s.run.steer("q1")
    await settle()
    assert s.harness.calls == ["prompt", "steer"]


@on_a_loop
async def test_a_turn_that_is_stopped_is_told_nothing_more() -> None:
    s = stage()
    waits(s, saying("this"))
    await s.begin()
    s.run.steer("q1")
    s.harness.deaf = True
    task = asyncio.create_task(s.run.cancel("cancelled"))
    await settle()
    assert await between(s) is None
    s.harness.end("cancelled")
    await task
    assert "input-dequeued" not in kinds(s.journal)


@on_a_loop
async def test_a_turn_that_waits_for_a_decision_is_told_nothing_before_it_goes_on() -> None:
    s = stage()
    waits(s, saying("this"))
    await s.begin()
    s.run.steer("q1")
    await s.harness.tell(calls("c1"))
    await s.harness.ask(may("c1"))
    (gate_id,) = s.journal.state.gates

    assert await between(s) is None

    s.decide(gate_id)
    await s.run.answer(gate_id, Answer(verdict="approved"))
    await s.harness.tell(gave("c1"))
    s.run.steer("q1")  # whoever looks for what waits finds it again
    assert await between(s) == [{"type": "text", "text": "this"}]


@pytest.mark.parametrize("ends", [True, False])
@on_a_loop
async def test_what_the_run_ends_before_is_left_waiting(ends: bool) -> None:
    s = stage()
    waits(s, saying("this"))
    await s.begin()
    if ends:
        s.run.steer("q1")
        await settle()
    await s.finish()
    assert s.journal.state.queue["q1"].status == "waiting"
    assert await between(s) is None
