"""How long does a prompt wait, for what, and what is it called when that is over?"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from infrastructure.harness.acp.patience import CANCEL_S, Patience
from infrastructure.harness.definitions import Timeouts
from infrastructure.harness.port import Answer, HarnessFailed, Start
from tests.infrastructure.harness.stage import (
    OPTIONS,
    TIMEOUTS,
    Ear,
    harness,
    harnesses,
    play,
    puppet,
    steps,
)

pytestmark = pytest.mark.anyio

SHORT = 0.3
ASK = {"toolCall": {"toolCallId": "c"}, "options": OPTIONS}
LIMITS = Timeouts(first_output_s=5, idle_s=20, total_s=60)
LONG = 10_000.0


def let_pass(seconds: float) -> None:
    """Have the loop's clock go on: how long an agent really takes must not matter."""
    loop = asyncio.get_running_loop()
    time = loop.time
    loop.time = lambda: time() + seconds  # type: ignore[method-assign]


@pytest.mark.parametrize("how", [{"init": "hang"}, {"new": "hang"}])
async def test_an_agent_that_does_not_begin_is_ended(
    tmp_path: Path, how: dict[str, object]
) -> None:
    definition = puppet(how=how, timeouts=replace(TIMEOUTS, start_s=SHORT))

    async with harnesses(tmp_path, definition) as opened:
        with pytest.raises(HarnessFailed) as failed:
            await opened.start(Start(project_id="p", session_id="s"))

    assert failed.value.code == "start-timeout"


@pytest.mark.parametrize(
    ("limit", "first", "code"),
    [
        ("first_output_s", [], "first-output-timeout"),
        ("idle_s", [{"say": "a"}], "idle-timeout"),
        ("total_s", [{"say": "a"}], "total-timeout"),
    ],
)
async def test_a_silent_agent_is_given_up_and_what_came_is_known(
    tmp_path: Path, limit: str, first: list[dict[str, object]], code: str
) -> None:
    long = Timeouts(start_s=60, first_output_s=LONG, idle_s=LONG, total_s=LONG)
    definition = puppet(timeouts=replace(long, **{limit: LONG / 100}))

    async with harness(tmp_path, definition) as agent:
        ear = Ear()
        playing = asyncio.create_task(agent.prompt(steps(*first, {"hang": True}), ear))
        await ear.until(lambda: len(ear.heard) == len(first))
        while not playing.done():
            let_pass(LONG / 50)
            await asyncio.sleep(0.01)
        with pytest.raises(HarnessFailed) as failed:
            await playing
        assert not agent.alive

    assert (failed.value.code, failed.value.received) == (code, bool(first))


async def test_a_steady_agent_is_not_idle(tmp_path: Path) -> None:
    definition = puppet(timeouts=replace(TIMEOUTS, idle_s=LONG, total_s=9 * LONG))
    script = [{"pause": 0.1, "say": "x"} for _ in range(5)]

    async with harness(tmp_path, definition) as agent:
        ear = Ear()
        playing = asyncio.create_task(agent.prompt(steps(*script), ear))
        while (seen := len(ear.said)) < len(script):
            await ear.until(lambda: len(ear.said) > seen)
            let_pass(LONG / 2)
        await playing

    assert ear.said == "xxxxx"


async def test_the_time_that_a_person_takes_does_not_count(tmp_path: Path) -> None:
    async with harness(tmp_path, puppet()) as agent:
        ear = Ear()
        playing = asyncio.create_task(agent.prompt(steps({"ask": ASK}, {"say": "on"}), ear))
        await ear.until(lambda: len(ear.questions) == 1)
        let_pass(LONG)
        await asyncio.sleep(0.01)
        assert not playing.done()
        assert await agent.answer(ear.questions[0].permission_id, Answer(verdict="approved"))
        ended = await playing

    assert ended.stop_reason == "completed"


async def test_after_the_answer_the_clock_runs_again(tmp_path: Path) -> None:
    definition = puppet(timeouts=replace(TIMEOUTS, idle_s=SHORT))

    async with harness(tmp_path, definition) as agent:
        ear = Ear()
        playing = asyncio.create_task(play(agent, {"ask": ASK}, {"hang": True}, ear=ear))
        await ear.until(lambda: len(ear.questions) == 1)
        await agent.answer(ear.questions[0].permission_id, Answer(verdict="approved"))
        with pytest.raises(HarnessFailed) as failed:
            await playing

    assert failed.value.code == "idle-timeout"


def test_the_first_output_is_waited_for_and_then_each_next() -> None:
    patience = Patience(LIMITS, 100.0)
    before = patience.limit()
    patience.hear(103.0)

    assert before == (105.0, "first-output-timeout")
    assert patience.limit() == (123.0, "idle-timeout")


def test_the_whole_is_limited_without_the_time_in_which_somebody_is_asked() -> None:
    patience = Patience(LIMITS, 100.0)
    patience.hear(150.0)
    before = patience.limit()
    patience.hold(150.0)
    patience.hold(152.0)
    asked = patience.limit()
    patience.go_on(190.0)
    patience.go_on(191.0)
    patience.hear(199.0)

    assert before == (160.0, "total-timeout")
    assert asked is None
    assert patience.limit() == (200.0, "total-timeout")


def test_a_cancelled_prompt_has_to_end_soon() -> None:
    patience = Patience(replace(LIMITS, idle_s=100, total_s=1000), 100.0)
    patience.hear(110.0)
    patience.cancel(120.0)
    patience.cancel(130.0)

    assert patience.limit() == (120.0 + CANCEL_S, "idle-timeout")
