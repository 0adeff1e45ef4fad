"""Which times of a turn are told?"""

from infrastructure.hosting.outcomes import Finished
from infrastructure.hosting.timing import Timing
from tests.infrastructure.hosting.stage import (
    APPROVED,
    HandTime,
    calls,
    gave,
    may,
    on_a_loop,
    settle,
    stage,
    text,
)


@on_a_loop
async def test_a_turn_tells_how_long_it_waited_for_what() -> None:
    s = stage(timings={"queued": 5, "dispatch": 1, "harness_start": 300, "replay": 7})
    await s.begin()

    await s.time.let_pass(150)
    await s.harness.tell(text("a"), calls("c1"), calls("c2"))
    await s.time.let_pass(200)
    await s.harness.tell(gave("c2"))
    await s.harness.ask(may("c1"))
    await s.time.let_pass(5_000)
    s.decide("id-1")
    await s.run.answer("id-1", APPROVED)
    await s.time.let_pass(30)
    await s.harness.tell(gave("c1"))
    await s.time.let_pass(400)
    outcome = await s.finish()

    assert isinstance(outcome, Finished)
    assert outcome.timings == {
        "queued": 5,
        "dispatch": 1,
        "harness_start": 300,
        "replay": 7,
        "first_output": 150,
        "tools": 230,
        "gate_wait": 5_000,
        "record": 0,
        "total": 5_780,
    }


@on_a_loop
async def test_what_goes_on_counts_and_what_was_recorded_slowly_too() -> None:
    time = HandTime()
    timing = Timing(time.clock, {}, started=400.0)
    timing.during("tools", lasts=True)
    timing.during("tools", lasts=True)
    timing.during("gate_wait", lasts=False)
    await time.let_pass(25)
    timing.recorded(time.ms - 10.4)
    await settle()

    assert timing.shape() == {"tools": 25, "record": 10, "total": 625}
