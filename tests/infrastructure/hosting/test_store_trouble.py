"""What becomes of a turn when the log is away, has another owner, or takes something not?"""

import asyncio

import pytest

from domain import events as e
from domain.refusals import (
    InvalidValue,
    NoSuchSession,
    Refusal,
    SessionFull,
    TurnFenced,
    TurnOver,
)
from infrastructure.harness.port import Answer, HarnessFailed
from infrastructure.hosting.journal_port import StoreAway
from infrastructure.hosting.outcomes import Finished, Lost, Paused
from tests.infrastructure.hosting.stage import (
    APPROVED,
    HandHarness,
    calls,
    gave,
    kinds,
    may,
    on_a_loop,
    settle,
    stage,
    text,
)

FENCED = TurnFenced(1, current=2, turn_id="t1", owner="other", lease_until=0)


@on_a_loop
async def test_while_the_log_is_away_the_turn_waits_and_nothing_is_lost() -> None:
    s = stage()
    await s.begin()
    s.journal.failing = [StoreAway(), StoreAway(), StoreAway()]

    await s.harness.tell(calls("c1"))
    asking = asyncio.create_task(s.harness.ask(may("c1")))
    await settle()
    telling = asyncio.create_task(s.harness.tell(text("more")))
    await settle()
    assert s.journal.commits == []
    assert not asking.done()
    assert not telling.done()
    await s.time.let_pass(1_000)

    await asking
    await telling
    assert s.journal.types == [["tool-call-requested", "gate-opened", "harness-parked"]]
    assert isinstance(await s.outcome(), Paused)
    first = s.journal.asked[0]
    assert all(each is first for each in s.journal.asked[:4])


@on_a_loop
async def test_a_log_that_stays_away_loses_the_turn() -> None:
    s = stage()
    await s.begin()
    s.journal.failing = [StoreAway()] * 100

    await s.harness.tell(text("a"))
    s.harness.end()
    await s.time.let_pass(19_000)
    assert s.waiting is not None
    assert not s.waiting.done()
    await s.time.let_pass(2_000)

    assert await s.outcome() == Lost(reason="store-away")
    assert s.journal.commits == []


@on_a_loop
async def test_a_log_that_comes_back_takes_the_end() -> None:
    s = stage()
    await s.begin()
    s.journal.failing = [StoreAway()] * 5

    await s.harness.tell(text("a"))
    s.harness.end()
    await s.time.let_pass(9_000)

    assert isinstance(await s.outcome(), Finished)
    assert len(s.journal.types) == 1


@pytest.mark.parametrize(
    "refusal", [FENCED, NoSuchSession(), TurnOver("t1")], ids=lambda r: type(r).__name__
)
def test_a_turn_that_is_anothers_is_left_alone(refusal: Refusal) -> None:
    @on_a_loop
    async def refused() -> None:
        s = stage()
        await s.begin()
        s.journal.failing = [refusal]

        await s.harness.tell(calls("c1"))
        await s.harness.ask(may("c1"))
        outcome = await s.outcome()

        assert outcome == Lost(reason=type(refusal).__name__)
        assert s.harness.calls == ["prompt", "cancel"]
        await s.harness.tell(text("late"))
        await s.harness.ask(may("c2"))
        assert not await s.run.answer("id-1", APPROVED)
        assert await s.run.cancel("user") == outcome
        assert s.journal.commits == []
        assert [each["type"] for each in s.deltas] == ["tool_call"]

    refused()


@on_a_loop
async def test_an_owner_that_lost_its_turn_notices_by_what_waits() -> None:
    s = stage()
    await s.begin()
    s.journal.failing = [FENCED]

    await s.harness.tell(text("a"))
    await s.time.let_pass(2_000)

    assert await s.outcome() == Lost(reason="TurnFenced")
    assert s.harness.calls == ["prompt", "cancel"]


@on_a_loop
async def test_an_owner_that_lost_its_turn_at_the_end_says_so() -> None:
    s = stage()
    await s.begin()
    s.journal.failing = [FENCED]

    assert await s.finish() == Lost(reason="TurnFenced")


@on_a_loop
async def test_a_decision_that_cannot_be_consumed_is_not_passed_on() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"))
    await s.harness.ask(may("c1"))
    s.decide("id-1")
    s.journal.failing = [FENCED]

    assert not await s.run.answer("id-1", APPROVED)

    assert s.harness.answered == []
    await settle()
    assert await s.run.going_on() == Lost(reason="TurnFenced")


@on_a_loop
async def test_a_waiting_turn_that_is_lost_with_its_harness_is_lost() -> None:
    s = stage()
    await s.begin()
    await s.harness.ask(may("c1"))
    await s.harness.tell(text("more"))
    s.journal.failing = [FENCED]

    s.harness.fail(ConnectionError())
    await settle()

    assert await s.run.going_on() == Lost(reason="TurnFenced")


@on_a_loop
async def test_what_cannot_be_recorded_fails_the_turn() -> None:
    s = stage()
    await s.begin()
    s.journal.failing = [InvalidValue("no", "data")]

    await s.harness.tell(calls("c1"), text("a"), gave("c1"))
    await s.time.let_pass(2_000)
    outcome = await s.outcome()

    assert isinstance(outcome, Finished)
    assert outcome.error == e.TurnError(
        code="record-refused", message="Something that the harness did could not be recorded."
    )
    assert kinds(s.journal) == ["turn-failed"]
    assert s.journal.released == [True]
    assert s.harness.calls == ["prompt", "cancel"]


@on_a_loop
async def test_a_log_that_takes_no_end_either_loses_the_turn() -> None:
    s = stage()
    await s.begin()
    s.journal.failing = [SessionFull(1), SessionFull(1)]

    assert await s.finish() == Lost(reason="SessionFull")


@on_a_loop
async def test_a_commit_goes_on_when_whoever_waits_for_it_goes_away() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"))
    s.journal.held = asyncio.Event()
    asking = asyncio.create_task(s.harness.ask(may("c1")))
    await settle()

    asking.cancel()
    await settle()
    s.journal.held.set()
    await settle()

    assert kinds(s.journal) == ["tool-call-requested", "gate-opened", "harness-parked"]


@pytest.mark.parametrize("when", ["telling", "waiting", "answering"])
def test_a_log_that_breaks_fails_the_turn(when: str) -> None:
    @on_a_loop
    async def breaks() -> None:
        s = stage()
        await s.begin()
        await s.harness.tell(calls("c1"), calls("c2"))
        if when == "answering":
            await s.harness.ask(may("c1"))
            s.decide("id-1")
        s.journal.failing = [KeyError("secret")]

        if when == "waiting":
            await s.time.let_pass(2_000)
        elif when == "telling":
            with pytest.raises(KeyError):
                await s.harness.ask(may("c1"))
        else:
            with pytest.raises(KeyError):
                await s.run.answer("id-1", APPROVED)
        outcome = await s.outcome()

        assert isinstance(outcome, Finished)
        assert outcome.status == "failed"
        assert s.harness.answered == []

    breaks()


@on_a_loop
async def test_a_log_that_breaks_at_the_end_tells_whoever_waits() -> None:
    s = stage()
    await s.begin()
    s.journal.failing = [KeyError("secret")]
    s.harness.end()

    with pytest.raises(KeyError):
        await s.outcome()
    assert not await s.run.answer("id-1", APPROVED)


@on_a_loop
async def test_a_harness_that_fails_at_an_answer_does_not_take_the_answerer_with_it() -> None:
    class Failing(HandHarness):
        async def answer(self, permission_id: str, answer: Answer) -> bool:
            raise HarnessFailed("process-died", f"{permission_id} {answer.verdict}")

    s = stage(harness=Failing())
    await s.begin()
    await s.harness.ask(may("c1"))
    s.decide("id-1")

    assert not await s.run.answer("id-1", APPROVED)


@on_a_loop
async def test_a_pause_that_is_still_being_recorded_is_waited_for_when_its_harness_goes() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"), calls("c2"))
    await s.harness.ask(may("c1"))
    s.journal.failing = [StoreAway()] * 3
    await s.time.let_pass(2_000)

    s.harness.fail(HarnessFailed("process-died", "the agent is gone"))
    await settle()
    assert len(s.journal.commits) == 1
    await s.time.let_pass(1_000)

    outcome = await s.outcome()
    assert isinstance(outcome, Paused)
    assert not outcome.parked
    assert s.journal.released == [False, True]
