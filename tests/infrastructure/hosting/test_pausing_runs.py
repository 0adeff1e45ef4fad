"""When does a turn wait, what is recorded of it, and how does it go on?"""

import asyncio
from dataclasses import replace

import pytest

from domain import events as e
from domain.raw_json import RawJson
from infrastructure.harness.port import Answer, Asked, HarnessFailed, Noted, Option
from infrastructure.hosting.hosted import Parking
from infrastructure.hosting.outcomes import Finished, Paused
from tests.infrastructure.hosting.stage import (
    APPROVED,
    DENIED,
    WAITS,
    Stage,
    calls,
    gave,
    kinds,
    may,
    message,
    on_a_loop,
    settle,
    stage,
    text,
)

REQUESTED = e.ToolCallRequested(
    turn_id="t1", tool_call_id="c1", name="read", arguments=RawJson(b'{"path":"x"}')
)


async def paused(s: Stage) -> Paused:
    outcome = await s.run.going_on()
    assert isinstance(outcome, Paused)
    return outcome


@on_a_loop
async def test_a_call_that_is_asked_for_pauses_the_turn_in_one_commit() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(text("I read."), calls("c1", path="x"))
    assert s.journal.commits == []
    await s.harness.ask(
        replace(
            may("c1", path="x"),
            options=(Option(option_id="o", name="Yes", kind="allow_once"),),
        )
    )

    opened = e.GateOpened(
        gate_id="id-1",
        turn_id="t1",
        kind="permission",
        permission_id="p-c1",
        tool_call_id="c1",
        tool="read",
        arguments=RawJson(b'{"path":"x"}'),
        options=RawJson(b'[{"option_id":"o","name":"Yes","kind":"allow_once"}]'),
    )
    assert s.journal.commits == [((message(("text", "I read.")), REQUESTED, opened, WAITS), True)]
    assert s.journal.state.turns["t1"].paused
    outcome = await s.outcome()
    assert isinstance(outcome, Paused)
    assert [gate.gate_id for gate in outcome.gates] == ["id-1"]
    assert outcome.parked
    assert outcome.head == s.journal.state.head
    assert s.deltas[-1] == {
        "type": "gate",
        "gate_id": "id-1",
        "kind": "permission",
        "permission_id": "p-c1",
        "tool_call_id": "c1",
        "tool": "read",
        "arguments": {"path": "x"},
        "options": [{"option_id": "o", "name": "Yes", "kind": "allow_once"}],
    }


@on_a_loop
async def test_an_answer_is_consumed_before_the_harness_has_it_and_the_turn_goes_on() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"))
    await s.harness.ask(may("c1"))
    await paused(s)
    s.decide("id-1")
    seen: list[list[str]] = []
    s.harness.before_answer = lambda: seen.append(kinds(s.journal))

    assert await s.run.answer("id-1", APPROVED)

    assert s.harness.answered == [("p-c1", APPROVED)]
    assert seen == [["tool-call-requested", "gate-opened", "harness-parked", "gate-consumed"]]
    assert s.journal.released == [True, False]
    going_on = asyncio.create_task(s.run.going_on())
    await settle()
    assert not going_on.done()
    await s.harness.tell(gave("c1"), text("Done."))
    s.harness.end()
    assert isinstance(await going_on, Finished)
    assert kinds(s.journal)[4:] == [
        "tool-call-completed",
        "message-recorded",
        "turn-completed",
        "harness-parked",
    ]
    assert len(s.journal.commits) == 3


@on_a_loop
async def test_a_consumption_that_is_recorded_already_costs_no_commit() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"))
    await s.harness.ask(may("c1"))
    s.decide("id-1")

    assert await s.run.answer("id-1", APPROVED, consumed=True)

    assert len(s.journal.commits) == 1


@on_a_loop
async def test_a_call_that_was_never_announced_is_told_of_by_its_gate() -> None:
    s = stage()
    await s.begin()

    await s.harness.ask(may("c1", path="x"))
    s.decide("id-1")
    await s.run.answer("id-1", APPROVED)
    await s.harness.tell(calls("c1", path="x"), calls("c1", path="x"), gave("c1"))
    await s.finish()

    assert kinds(s.journal) == [
        "gate-opened",
        "harness-parked",
        "gate-consumed",
        "tool-call-requested",
        "tool-call-completed",
        "turn-completed",
        "harness-parked",
    ]
    assert [role for role, _ in s.journal.transcript()] == ["assistant", "tool"]


@on_a_loop
async def test_a_call_that_does_something_holds_the_pause_back_but_not_the_gate() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(calls("c1"), calls("c2"))
    await s.harness.ask(may("c1"))

    assert kinds(s.journal) == ["tool-call-requested", "tool-call-requested", "gate-opened"]
    assert s.journal.released == [False]
    assert s.waiting is not None
    assert not s.waiting.done()
    await s.harness.tell(gave("c2"))
    await paused(s)
    assert kinds(s.journal)[3:] == ["tool-call-completed", "harness-parked"]
    assert s.journal.released == [False, True]


@on_a_loop
async def test_two_calls_that_are_asked_for_together_pause_once_with_both_gates() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(calls("c1"), calls("c2"))
    await s.harness.ask(may("c1"))
    await s.harness.ask(may("c2"))

    assert [gate.gate_id for gate in (await paused(s)).gates] == ["id-1", "id-2"]
    assert kinds(s.journal).count("harness-parked") == 1


@on_a_loop
async def test_what_is_asked_while_the_turn_waits_parks_the_harness_anew() -> None:
    s = stage()
    await s.begin()

    await s.harness.ask(may("c1"))
    await paused(s)
    await s.harness.ask(may("c2"))

    assert s.journal.types == [["gate-opened", "harness-parked"]] * 2
    assert s.journal.released == [True, True]
    assert [gate.gate_id for gate in (await paused(s)).gates] == ["id-1", "id-2"]


@on_a_loop
async def test_of_partial_answers_the_rest_waits_on() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"), calls("c2"))
    await s.harness.ask(may("c1"))
    await s.harness.ask(may("c2"))
    await paused(s)
    s.decide("id-2")

    await s.run.answer("id-2", APPROVED)
    await settle()
    await s.harness.tell(gave("c2"))

    assert [gate.gate_id for gate in (await paused(s)).gates] == ["id-1"]
    assert s.journal.types[2:] == [["gate-consumed"], ["tool-call-completed", "harness-parked"]]
    assert s.journal.state.turns["t1"].paused
    s.decide("id-1", "denied")
    await s.run.answer("id-1", DENIED)
    await s.harness.tell(gave("c1", None, failed=True))
    await s.finish()
    assert [
        (each.tool_call_id, each.is_error, each.denied)
        for each in s.journal.recorded
        if isinstance(each, e.ToolCallCompleted)
    ] == [("c2", False, False), ("c1", True, True)]


@on_a_loop
async def test_a_harness_that_waits_for_all_answers_pauses_again() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"), calls("c2"))
    await s.harness.ask(may("c1"))
    await s.harness.ask(may("c2"))
    await paused(s)
    await s.time.let_pass(600_000)
    s.decide("id-1")

    await s.run.answer("id-1", APPROVED)
    going_on = asyncio.create_task(s.run.going_on())
    await s.time.let_pass(1_999)
    assert not going_on.done()
    await s.time.let_pass(1)

    outcome = await going_on
    assert isinstance(outcome, Paused)
    assert [gate.gate_id for gate in outcome.gates] == ["id-2"]


@on_a_loop
async def test_a_harness_that_asks_for_one_call_after_the_other_pauses_once_it_is_quiet() -> None:
    s = stage()
    await s.begin()

    await s.harness.tell(calls("c1"), calls("c2"))
    await s.harness.ask(may("c1"))
    await s.harness.tell(text("Meanwhile"))
    await s.time.let_pass(2_000)

    await paused(s)
    assert kinds(s.journal)[2:] == ["gate-opened", "message-recorded", "harness-parked"]
    assert s.journal.released == [False, True]


@on_a_loop
async def test_what_is_told_while_the_turn_waits_parks_the_harness_anew_soon() -> None:
    s = stage()
    await s.begin()
    await s.harness.ask(may("c1"))
    await paused(s)

    await s.harness.tell(Noted(kind="plan", data=[]))
    await s.time.let_pass(2_000)

    assert s.journal.types[1:] == [["data-recorded", "harness-parked"]]
    assert s.journal.released == [True, True]


@on_a_loop
async def test_a_question_keeps_what_it_asks_and_what_an_answer_looks_like() -> None:
    s = stage()
    await s.begin()

    await s.harness.ask(
        Asked(
            kind="input",
            permission_id="p1",
            message="Which?",
            answer_schema={"type": "object"},
        )
    )

    opened = s.journal.recorded[0]
    assert opened == e.GateOpened(
        gate_id="id-1",
        turn_id="t1",
        kind="input",
        permission_id="p1",
        options=RawJson(b'{"message":"Which?","options":[]}'),
        answer_schema=RawJson(b'{"type":"object"}'),
    )
    await paused(s)
    s.decide("id-1", "answered")
    answer = Answer(verdict="answered", answer={"answer": "that"})
    assert await s.run.answer("id-1", answer)
    assert s.harness.answered == [("p1", answer)]


@on_a_loop
async def test_a_question_that_is_declined_is_no_call_that_is_denied() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1", "ask"))
    await s.harness.ask(replace(may("c1", "ask"), kind="input"))
    s.decide("id-1", "denied")

    await s.run.answer("id-1", DENIED)
    await s.harness.tell(gave("c1", {"declined": True}))
    await s.finish()

    (ended,) = [each for each in s.journal.recorded if isinstance(each, e.ToolCallCompleted)]
    assert not ended.denied


@on_a_loop
async def test_a_gate_that_expired_is_told_to_the_harness_and_not_consumed() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"))
    await s.harness.ask(may("c1"))

    assert await s.run.answer("id-1", Answer(verdict="cancelled"))

    assert kinds(s.journal) == ["tool-call-requested", "gate-opened", "harness-parked"]


@on_a_loop
async def test_an_answer_to_nothing_is_told_so_and_leaves_everything() -> None:
    s = stage()
    await s.begin()
    await s.harness.ask(may("c1"))
    before = await paused(s)

    assert not await s.run.answer("id-9", APPROVED)

    assert await paused(s) == before
    assert s.harness.answered == []


@on_a_loop
async def test_an_answer_for_a_harness_that_is_gone_is_not_consumed() -> None:
    s = stage()
    await s.begin()
    await s.harness.ask(may("c1"))
    s.harness.alive = False

    assert not await s.run.answer("id-1", APPROVED)

    assert "gate-consumed" not in kinds(s.journal)


@on_a_loop
async def test_gates_outlive_the_harness_that_waits_for_them() -> None:
    s = stage()
    await s.begin()
    await s.harness.ask(may("c1"))
    await paused(s)
    await s.harness.tell(text("still"))

    s.harness.fail(HarnessFailed("process-died", "the agent is gone"))
    await settle()

    outcome = await paused(s)
    assert [gate.gate_id for gate in outcome.gates] == ["id-1"]
    assert not outcome.parked
    assert s.journal.types[1:] == [["message-recorded"]]
    assert s.journal.released == [True, True]
    assert s.journal.state.turns["t1"].status == "running"
    assert not await s.run.answer("id-1", APPROVED)
    assert await s.run.cancel("user") == outcome


@on_a_loop
async def test_a_harness_that_may_not_be_kept_pauses_without_being_parked() -> None:
    s = stage(parking=Parking(idle_ttl_s=60))
    await s.begin()

    await s.harness.ask(may("c1"))

    assert not (await paused(s)).parked
    assert s.journal.types == [["gate-opened"]]
    assert s.journal.released == [True]


@on_a_loop
async def test_a_harness_that_does_not_wait_for_its_gate_withdraws_it() -> None:
    s = stage()
    await s.begin()
    await s.harness.tell(calls("c1"))
    await s.harness.ask(may("c1"))

    await s.harness.tell(gave("c1", failed=True))
    s.harness.end()
    await settle()

    assert isinstance(await s.run.going_on(), Finished)
    assert e.GateWithdrawn(gate_id="id-1", reason="not-awaited") in s.journal.recorded
    assert not await s.run.answer("id-1", APPROVED)


@pytest.mark.parametrize("reaches", [True, False])
def test_whether_an_answer_reached_the_harness_is_told(*, reaches: bool) -> None:
    @on_a_loop
    async def answered() -> None:
        s = stage()
        await s.begin()
        await s.harness.ask(may("c1"))
        s.decide("id-1")
        s.harness.waits = reaches
        assert await s.run.answer("id-1", APPROVED) is reaches

    answered()


@on_a_loop
async def test_whoever_waits_may_go_away() -> None:
    s = stage()
    await s.begin()
    assert s.waiting is not None

    s.waiting.cancel()
    await settle()
    await s.harness.tell(text("a"))

    assert isinstance(await s.finish(), Finished)
    assert s.journal.recorded[0] == message(("text", "a"))
