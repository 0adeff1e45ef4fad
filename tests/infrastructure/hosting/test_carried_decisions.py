"""Which decision of before answers what a harness asks that was started anew?"""

from dataclasses import replace

from domain import events as e
from domain.raw_json import RawJson
from domain.state import Gate
from infrastructure.harness.port import Answer, Asked, HarnessFailed, Prompt, ResumedCall
from infrastructure.hosting.binding import CarriedDecision
from infrastructure.hosting.outcomes import Paused
from tests.infrastructure.hosting.stage import (
    APPROVED,
    DENIED,
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

ANSWERED = Answer(verdict="answered", answer="blue")
YES = CarriedDecision(
    gate_id="g1",
    turn_id="t1",
    kind="permission",
    answer=APPROVED,
    tool="read",
    arguments={"path": "x"},
    tool_call_id="c1",
)
RESUMED = ResumedCall(tool_call_id="c1", name="read", arguments={"path": "x"}, answer=APPROVED)


def opened(gate_id: str, call_id: str, path: str = "x") -> list[e.SessionEvent]:
    """Return a call that waited, and what was decided of it."""
    arguments = RawJson(b'{"path":"%b"}' % path.encode())
    return [
        e.ToolCallRequested(turn_id="t1", tool_call_id=call_id, name="read", arguments=arguments),
        e.GateOpened(
            gate_id=gate_id,
            turn_id="t1",
            kind="permission",
            tool_call_id=call_id,
            tool="read",
            arguments=arguments,
        ),
        e.GateDecided(gate_id=gate_id, verdict="approved", decided_by="person", via="out-of-band"),
    ]


def cold(*decided: CarriedDecision, before: list[e.SessionEvent] | None = None) -> Stage:
    return stage(decided=decided, before=opened("g1", "c1") if before is None else before)


@on_a_loop
async def test_a_resumed_call_is_consumed_before_the_harness_hears_of_it() -> None:
    s = cold(YES)

    await s.begin(Prompt(resumed_calls=(RESUMED,)))
    assert s.journal.types == [["gate-consumed"]]
    await s.harness.tell(calls("c1", path="x"), gave("c1"), text("Done."))
    await s.finish()

    assert kinds(s.journal) == [
        "gate-consumed",
        "tool-call-completed",
        "message-recorded",
        "turn-completed",
        "harness-parked",
    ]
    assert [role for role, _ in s.journal.transcript()] == ["assistant", "tool", "assistant"]


@on_a_loop
async def test_a_harness_that_asks_again_for_a_resumed_call_is_answered_at_once() -> None:
    s = cold(YES)
    await s.begin(Prompt(resumed_calls=(RESUMED,)))

    await s.harness.tell(calls("other", path="x"))
    await s.harness.ask(may("other", path="x"))
    await s.harness.tell(gave("other"))
    await s.finish()

    assert s.harness.answered == [("p-other", APPROVED)]
    assert kinds(s.journal) == [
        "gate-consumed",
        "tool-call-completed",
        "turn-completed",
        "harness-parked",
    ]
    assert s.journal.transcript()[1][1][0]["tool_call_id"] == "c1"


@on_a_loop
async def test_a_call_that_is_asked_for_unannounced_is_the_one_that_was_decided() -> None:
    s = cold(YES)
    await s.begin(Prompt(resumed_calls=(RESUMED,)))

    await s.harness.ask(may("other", path="x"))
    await s.harness.tell(gave("other"))
    await s.finish()

    assert s.harness.answered == [("p-other", APPROVED)]
    assert kinds(s.journal)[1:2] == ["tool-call-completed"]


@on_a_loop
async def test_a_decision_is_used_once() -> None:
    s = cold(YES)
    await s.begin(Prompt(resumed_calls=(RESUMED,)))

    await s.harness.ask(may("c2", path="x"))
    await s.harness.tell(gave("c2"))
    await s.harness.ask(may("c3", path="x"))

    assert s.harness.answered == [("p-c2", APPROVED)]
    assert isinstance(await s.outcome(), Paused)


@on_a_loop
async def test_other_arguments_are_another_question() -> None:
    s = cold(YES)
    await s.begin(Prompt(resumed_calls=(RESUMED,)))

    await s.harness.ask(may("c2", path="y"))

    assert s.harness.answered == []
    assert "gate-opened" in kinds(s.journal)


@on_a_loop
async def test_equal_arguments_are_the_same_however_they_are_written() -> None:
    s = cold(replace(YES, arguments={"b": 1.0, "a": "x"}))
    await s.begin()

    await s.harness.ask(may("c2", a="x", b=1))

    assert s.harness.answered == [("p-c2", APPROVED)]
    assert kinds(s.journal) == ["tool-call-requested", "gate-consumed"]


@on_a_loop
async def test_of_two_decisions_that_fit_the_older_one_is_used_first() -> None:
    no = replace(YES, gate_id="g2", tool_call_id="c2", answer=DENIED)
    s = cold(YES, no, before=[*opened("g1", "c1"), *opened("g2", "c2")])
    await s.begin()

    await s.harness.ask(may("d1", path="x"))
    await s.harness.ask(may("d2", path="x"))

    assert s.harness.answered == [("p-d1", APPROVED), ("p-d2", DENIED)]


@on_a_loop
async def test_a_decision_about_the_same_call_goes_before_an_older_one() -> None:
    no = replace(YES, gate_id="g2", tool_call_id="c2", answer=DENIED)
    s = cold(YES, no, before=[*opened("g1", "c1"), *opened("g2", "c2")])
    await s.begin()

    await s.harness.ask(may("c2", path="x"))

    assert s.harness.answered == [("p-c2", DENIED)]


@on_a_loop
async def test_a_permission_of_an_earlier_turn_still_holds_and_an_answer_does_not() -> None:
    question = CarriedDecision(
        gate_id="g2", turn_id="t0", kind="input", answer=ANSWERED, tool="ask", arguments={}
    )
    s = cold(replace(YES, turn_id="t0", consumed=True), question)
    await s.begin()

    await s.harness.ask(may("c5", path="x"))
    await s.harness.ask(replace(may("c6", "ask"), kind="input"))

    assert s.harness.answered == [("p-c5", APPROVED)]
    assert kinds(s.journal) == ["tool-call-requested", "gate-opened"]


@on_a_loop
async def test_an_answer_of_this_turn_answers_the_same_question() -> None:
    question = CarriedDecision(
        gate_id="g1", turn_id="t1", kind="input", answer=ANSWERED, message="Which?", consumed=True
    )
    s = cold(question)
    await s.begin()
    asked = Asked(kind="input", permission_id="p1", message="Which?")

    await s.harness.ask(replace(asked, permission_id="p0", message="Why?"))
    await s.harness.ask(asked)

    assert s.harness.answered == [("p1", ANSWERED)]


@on_a_loop
async def test_what_names_nothing_is_never_taken_for_the_same() -> None:
    nothing = CarriedDecision(gate_id="g1", turn_id="t1", kind="permission", answer=APPROVED)
    s = cold(nothing)
    await s.begin()

    await s.harness.ask(may(None, None))

    assert s.harness.answered == []


@on_a_loop
async def test_a_call_that_was_denied_before_is_denied_when_it_ends() -> None:
    s = cold(replace(YES, answer=DENIED))
    await s.begin(Prompt(resumed_calls=(replace(RESUMED, answer=DENIED),)))

    await s.harness.tell(gave("c1", None, failed=True))
    await s.finish()

    ended = s.journal.recorded[1]
    assert isinstance(ended, e.ToolCallCompleted)
    assert (ended.is_error, ended.denied) == (True, True)


@on_a_loop
async def test_a_call_of_an_earlier_turn_gets_its_result_in_this_one() -> None:
    s = cold(replace(YES, turn_id="t0"), before=[])
    s.journal.state.gates["g1"] = Gate(
        gate_id="g1",
        turn_id="t0",
        kind="permission",
        opened_version=1,
        opened_at=0,
        status="allowed",
    )
    await s.begin(Prompt(resumed_calls=(RESUMED,)))

    await s.harness.tell(gave("c1"))
    await s.finish()

    assert kinds(s.journal)[:2] == ["gate-consumed", "tool-call-completed"]


@on_a_loop
async def test_a_harness_that_was_given_a_decision_is_not_tried_again() -> None:
    s = stage(decided=(YES,), before=opened("g1", "c1"), may_retry=True)
    await s.begin(Prompt(resumed_calls=(RESUMED,)))
    await settle()

    s.harness.fail(HarnessFailed("process-died", "the agent is gone"))

    assert (await s.outcome()).status == "failed"  # type: ignore[union-attr]
    assert s.journal.recorded[1] == e.ToolCallCompleted(
        turn_id="t1",
        tool_call_id="c1",
        output=RawJson(b'{"turnlog":"outcome-unknown"}'),
        is_error=True,
    )
