"""How does a turn end, and when may its harness be kept, or the turn be tried again?"""

import asyncio

import pytest

from domain import events as e
from domain.raw_json import RawJson
from infrastructure.harness.port import Ended, HarnessFailed, Listener, Prompt, StopReason, Used
from infrastructure.hosting.hosted import Parking
from infrastructure.hosting.outcomes import Finished, Outcome, Retriable
from tests.infrastructure.hosting.stage import (
    APPROVED,
    DENIED,
    PARKED,
    PROMPT,
    HandHarness,
    calls,
    gave,
    kinds,
    may,
    message,
    on_a_loop,
    result,
    settle,
    stage,
    text,
)

UNKNOWN = b'{"turnlog":"outcome-unknown"}'
USED = Used(model="m", input_tokens=1, output_tokens=1)


def finished(outcome: Outcome) -> Finished:
    assert isinstance(outcome, Finished)
    return outcome


@pytest.mark.parametrize(
    ("stop", "recorded", "kept"),
    [
        ("completed", "end_turn", True),
        ("max-tokens", "max_tokens", True),
        ("max-requests", "max_turn_requests", True),
        ("refused", "refusal", False),
    ],
)
def test_a_prompt_that_ends_completes_the_turn(
    stop: StopReason, recorded: str, *, kept: bool
) -> None:
    @on_a_loop
    async def ends() -> None:
        s = stage()
        await s.begin()
        await s.harness.tell(text("a"))
        s.harness.end(stop)

        outcome = finished(await s.outcome())

        assert (outcome.status, outcome.stop_reason) == ("completed", recorded)
        assert outcome.parked is kept
        assert (s.journal.recorded[-1] == PARKED) is kept
        assert s.journal.state.turns["t1"].status == "completed"
        assert outcome.head == s.journal.state.head

    ends()


@on_a_loop
async def test_an_agent_that_cancels_by_itself_interrupts_the_turn() -> None:
    s = stage()
    await s.begin()

    s.harness.end("cancelled", USED)

    outcome = finished(await s.outcome())
    assert (outcome.status, outcome.reason, outcome.parked) == (
        "interrupted",
        "agent-cancelled",
        False,
    )
    assert kinds(s.journal) == ["usage-recorded", "turn-interrupted"]


@pytest.mark.parametrize("alive", [True, False])
def test_only_a_harness_that_lives_and_may_be_kept_is_parked(*, alive: bool) -> None:
    @on_a_loop
    async def ends() -> None:
        s = stage(parking=Parking(idle_ttl_s=0 if alive else 60))
        await s.begin()
        s.harness.alive = alive

        assert not finished(await s.finish()).parked
        assert kinds(s.journal) == ["turn-completed"]

    ends()


@on_a_loop
async def test_a_harness_that_knows_of_a_result_that_the_log_does_not_is_not_kept() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(text("a"), calls("c1"))

    outcome = finished(await s.finish(USED))

    assert (outcome.status, outcome.parked) == ("completed", False)
    assert s.journal.recorded[0] == message(("text", "a"))
    assert s.journal.recorded[2] == result("c1", UNKNOWN, is_error=True)
    assert kinds(s.journal)[3:] == ["usage-recorded", "turn-completed"]


@on_a_loop
async def test_a_prompt_that_ends_while_gates_are_open_takes_them_with_it() -> None:
    s = stage()
    await s.begin()
    await s.harness.ask(may("c1"))

    s.harness.end()
    await settle()

    assert finished(await s.run.going_on()).status == "completed"
    assert s.journal.state.gates["id-1"].status == "withdrawn"
    assert result("c1", b'{"turnlog":"not-run"}', is_error=True) in s.journal.recorded


@on_a_loop
async def test_a_harness_that_fails_fails_the_turn_in_our_words() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(text("half"), calls("c1"), calls("c2"), calls("c3"))
    await s.harness.ask(may("c1"))
    await s.harness.ask(may("c2"))
    s.decide("id-1")
    s.decide("id-2", "denied")
    await s.run.answer("id-1", APPROVED)
    await s.run.answer("id-2", DENIED)

    s.harness.fail(HarnessFailed("process-died", "secret words", received=True))

    outcome = finished(await s.outcome())
    error = e.TurnError(code="process-died", message="The harness ended before the turn did.")
    assert (outcome.status, outcome.error, outcome.parked) == ("failed", error, False)
    assert s.journal.recorded[-4:-1] == [
        result("c1", UNKNOWN, is_error=True),
        result("c2", b'{"turnlog":"denied"}', is_error=True, denied=True),
        result("c3", UNKNOWN, is_error=True),
    ]
    assert "half" in str(s.journal.transcript())
    assert "secret" not in str(s.journal.recorded)
    assert s.run.received


@on_a_loop
async def test_a_code_that_we_have_no_words_for_is_kept() -> None:
    s = stage()
    await s.begin()

    s.harness.fail(HarnessFailed("out-of-luck", "x"))

    assert finished(await s.outcome()).error == e.TurnError(
        code="out-of-luck", message="The harness failed."
    )


@on_a_loop
async def test_a_failure_before_anything_came_leaves_the_turn_for_another_attempt() -> None:
    s = stage(may_retry=True)
    await s.begin()

    s.harness.fail(HarnessFailed("process-died", "the agent is gone"))

    assert await s.outcome() == Retriable(code="process-died")
    assert s.journal.commits == []
    assert not s.run.received
    assert s.journal.state.turns["t1"].status == "running"


@pytest.mark.parametrize("sign", ["told", "said so", "asked", "not asked to"])
def test_a_failure_is_tried_again_only_if_nothing_came_and_nothing_was_answered(
    sign: str,
) -> None:
    @on_a_loop
    async def fails() -> None:
        s = stage(may_retry=sign != "not asked to")
        await s.begin()
        if sign == "told":
            await s.harness.tell(text(""))
        if sign == "asked":
            await s.harness.tell(calls("c1"))
            await s.harness.ask(may("c1"))
            s.decide("id-1")
            await s.run.answer("id-1", APPROVED)

        received = sign == "said so"
        s.harness.fail(HarnessFailed("idle-timeout", "x", received=received))

        assert finished(await s.run.going_on()).status == "failed"
        assert s.run.received is (sign != "not asked to")

    fails()


@on_a_loop
async def test_what_goes_wrong_in_ourselves_fails_the_turn_too() -> None:
    class Broken(HandHarness):
        async def prompt(self, prompt: Prompt, listener: Listener) -> Ended:
            await super().answer("p", APPROVED)
            raise KeyError(prompt, listener)

    s = stage(harness=Broken())
    await s.begin()

    outcome = finished(await s.outcome())

    assert outcome.error == e.TurnError(
        code="internal-error", message="Something went wrong in turnlog; its log says what."
    )


@on_a_loop
async def test_a_harness_that_repeats_itself_is_taken_at_its_first_word() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(
        calls("c1"), calls("c1"), gave("c1", 1), gave("c1", 2), gave("c9"), calls("c1"), gave("c1")
    )
    await s.finish()

    assert kinds(s.journal) == [
        "tool-call-requested",
        "tool-call-completed",
        "tool-call-requested",
        "tool-call-completed",
        "turn-completed",
        "harness-parked",
    ]
    assert s.journal.recorded[1] == result("c1", b"1")


@on_a_loop
async def test_names_that_are_none_are_recorded_as_such_that_are() -> None:
    s = stage()
    await s.begin()
    long = "c\n" + "x" * 300

    await s.harness.tell(calls(long, ""), gave(long, float("nan")))
    await s.finish()

    name = "c\ufffd" + "x" * 254
    assert s.journal.recorded[:2] == [
        e.ToolCallRequested(turn_id="t1", tool_call_id=name, name="tool", arguments=RawJson(b"{}")),
        result(name, b"null"),
    ]


@on_a_loop
async def test_whoever_comes_late_hears_how_it_ended() -> None:
    s = stage()
    await s.begin()
    s.harness.end()
    first = await s.outcome()

    assert await s.run.going_on() == first
    assert await s.run.begin(PROMPT) == first
    assert await s.run.cancel("user") == first
    assert s.harness.calls == ["prompt"]


@on_a_loop
async def test_a_run_that_is_cut_off_leaves_nobody_waiting() -> None:
    s = stage()
    await s.begin()
    task = s.run._task  # pyright: ignore[reportPrivateUsage]
    assert task is not None

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await s.run.going_on()
    assert s.journal.commits == []
