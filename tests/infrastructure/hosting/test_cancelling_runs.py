"""What is left of a turn that somebody stops?"""

import asyncio

from domain import events as e
from infrastructure.harness.port import Answer, Ended, HarnessFailed, Listener, Prompt, Said
from infrastructure.hosting.outcomes import Finished, Outcome, Paused
from tests.infrastructure.hosting.stage import (
    APPROVED,
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

NOT_RUN = b'{"turnlog":"not-run"}'
UNKNOWN = b'{"turnlog":"outcome-unknown"}'


def interrupted(outcome: Outcome) -> tuple[str | None, str | None]:
    assert isinstance(outcome, Finished)
    assert outcome.status == "interrupted"
    assert not outcome.parked
    return outcome.reason, outcome.by


@on_a_loop
async def test_what_was_said_is_kept_and_calls_get_an_outcome() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(text("half"), calls("c1"), text("of it"))

    outcome = await s.run.cancel("user", "ada")

    assert interrupted(outcome) == ("user", "ada")
    assert await s.outcome() == outcome
    assert s.journal.recorded[0] == message(("text", "half"))
    assert s.journal.recorded[2:4] == [
        message(("text", "of it")),
        result("c1", UNKNOWN, is_error=True),
    ]
    assert kinds(s.journal)[4:] == ["turn-interrupted"]
    assert s.journal.released == [True]
    assert s.journal.state.turns["t1"].status == "interrupted"


@on_a_loop
async def test_open_gates_are_withdrawn_before_the_harness_is_told_to_stop() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"))
    await s.harness.ask(may("c1"))
    assert isinstance(await s.outcome(), Paused)

    outcome = await s.run.cancel("user")

    assert interrupted(outcome) == ("user", None)
    assert s.journal.types[1:] == [
        ["gate-withdrawn"],
        ["tool-call-completed", "turn-interrupted"],
    ]
    assert s.journal.released == [True, False, True]
    assert s.journal.recorded[-2] == result("c1", NOT_RUN, is_error=True)
    assert not await s.run.answer("id-1", APPROVED)


@on_a_loop
async def test_a_turn_that_still_runs_withdraws_its_gates_before_the_harness_is_told_to_stop() -> (
    None
):
    class Stopping(HandHarness):
        async def cancel(self) -> None:
            told.extend(s.journal.types)
            await super().cancel()

    told: list[list[str]] = []
    s = stage(harness=Stopping())
    await s.begin()
    await s.harness.tell(calls("c1"), calls("c2"))
    await s.harness.ask(may("c1"))

    outcome = await s.run.cancel("shutdown")

    assert interrupted(outcome) == ("shutdown", None)
    assert told[-1] == ["gate-withdrawn"]
    assert s.journal.types[-1] == [
        "tool-call-completed",
        "tool-call-completed",
        "turn-interrupted",
    ]
    assert result("c1", NOT_RUN, is_error=True) in s.journal.recorded
    assert result("c2", UNKNOWN, is_error=True) in s.journal.recorded


@on_a_loop
async def test_what_the_harness_still_does_while_it_stops_is_recorded() -> None:
    class Winding(HandHarness):
        async def cancel(self) -> None:
            await self.tell(gave("c1"), text("stopped"))
            await super().cancel()

    s = stage(harness=Winding())
    await s.begin()
    await s.harness.tell(calls("c1"))

    await s.run.cancel("user")

    assert kinds(s.journal) == [
        "tool-call-requested",
        "tool-call-completed",
        "message-recorded",
        "turn-interrupted",
    ]


@on_a_loop
async def test_what_it_asks_while_it_stops_is_cancelled() -> None:
    class Asking(HandHarness):
        async def cancel(self) -> None:
            await self.ask(may("c1"))
            await super().cancel()

    s = stage(harness=Asking())
    await s.begin()

    await s.run.cancel("user")

    assert s.harness.answered == [("p-c1", Answer(verdict="cancelled"))]
    assert kinds(s.journal) == ["turn-interrupted"]


@on_a_loop
async def test_the_first_to_ask_says_why_and_all_hear_the_same() -> None:
    s = stage()
    await s.begin()
    s.harness.deaf = True

    first = asyncio.create_task(s.run.cancel("user", "ada"))
    second = asyncio.create_task(s.run.cancel("shutdown"))
    await settle()
    s.harness.end("cancelled")

    assert await first == await second
    assert interrupted(await first) == ("user", "ada")
    assert s.harness.calls == ["prompt", "cancel"]


@on_a_loop
async def test_a_harness_that_does_not_stop_is_given_up() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(text("half"))
    s.harness.deaf = True

    waiting = asyncio.create_task(s.run.cancel("user"))
    await s.time.let_pass(4_999)
    assert s.harness.calls == ["prompt", "cancel"]
    await s.time.let_pass(1)
    assert s.harness.calls == ["prompt", "cancel", "close"]
    await s.time.let_pass(5_000)

    assert interrupted(await waiting) == ("user", None)
    said = [each for each in s.journal.recorded if isinstance(each, e.MessageRecorded)]
    assert said[-1].message.status == "complete"
    await s.harness.tell(text("too late"))
    await s.harness.ask(may("c1"))
    assert kinds(s.journal)[-1] == "turn-interrupted"


@on_a_loop
async def test_a_harness_that_fails_to_stop_is_no_other_matter() -> None:
    class Failing(HandHarness):
        async def cancel(self) -> None:
            self.fail(HarnessFailed("process-died", "the agent is gone"))
            raise HarnessFailed("process-died", "the agent is gone")

    s = stage(harness=Failing())
    await s.begin()

    assert interrupted(await s.run.cancel("user")) == ("user", None)


@on_a_loop
async def test_a_turn_can_be_stopped_before_anything_was_said() -> None:
    s = stage()

    outcome = await s.run.cancel("user")

    assert interrupted(outcome) == ("user", None)
    assert await s.run.begin(PROMPT) == outcome
    assert s.harness.calls == []


@on_a_loop
async def test_a_prompt_that_ends_by_itself_meanwhile_is_interrupted_all_the_same() -> None:
    class Ending(HandHarness):
        async def cancel(self) -> None:
            self.end("completed")

    s = stage(harness=Ending())
    await s.begin()

    assert interrupted(await s.run.cancel("user")) == ("user", None)


@on_a_loop
async def test_an_answer_that_comes_while_the_turn_stops_is_not_passed_on() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"), calls("c2"))
    await s.harness.ask(may("c1"))
    s.harness.deaf = True
    stopping = asyncio.create_task(s.run.cancel("user"))
    await settle()

    assert not await s.run.answer("id-1", APPROVED)

    s.harness.end("cancelled")
    await stopping
    assert s.harness.answered == []


@on_a_loop
async def test_a_harness_that_speaks_from_its_own_task_is_heard_in_order() -> None:
    class Speaking(HandHarness):
        async def prompt(self, prompt: Prompt, listener: Listener) -> Ended:
            self.listener = listener
            for word in ("a", "b", "c"):
                await listener.updated(Said(voice="text", text=word))
            assert prompt is PROMPT
            return Ended(stop_reason="completed")

    s = stage(harness=Speaking())
    await s.begin()

    assert isinstance(await s.outcome(), Finished)
    assert s.journal.recorded[0] == message(("text", "abc"))
