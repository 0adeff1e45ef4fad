"""Whatever a harness does, in whatever order: is it recorded by the rules, once, and to its end?"""

import asyncio
from dataclasses import replace
from typing import Final, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from infrastructure.harness.port import Answer, HarnessFailed, Noted
from infrastructure.hosting.journal_port import StoreAway
from infrastructure.hosting.outcomes import Finished, Outcome, Paused, Retriable
from tests.infrastructure.hosting.stage import (
    Stage,
    calls,
    gave,
    may,
    on_a_loop,
    settle,
    stage,
    text,
    thought,
)

Step: TypeAlias = tuple[str, int]
STEPS: Final = (
    "say",
    "think",
    "call",
    "end",
    "ask",
    "inquire",
    "answer",
    "note",
    "wait",
    "trouble",
)


@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11)), max_size=30),
    end=st.sampled_from(("completes", "fails", "stops", "does not stop")),
)
def test_a_run_keeps_the_rules_and_every_word(steps: list[Step], end: str) -> None:
    @on_a_loop
    async def runs() -> None:
        around = asyncio.all_tasks()
        s = stage(may_retry=True)
        await s.begin()
        for step in steps:
            await in_time(s, asyncio.create_task(act(s, *step)))
        s.journal.failing = []
        outcome = await leave(s, end, len(steps))

        assert isinstance(outcome, Finished | Paused | Retriable)
        if isinstance(outcome, Finished):
            turn = s.journal.state.turns["t1"]
            assert outcome.error is None or outcome.error.code == "process-died"
            assert (turn.status, turn.open_calls, turn.open_gates) == (outcome.status, 0, 0)
            assert s.journal.released[-1]
            assert said(s) == "".join(f"{n}." for kind, n in steps if kind == "say")
        else:
            assert end == "fails"
        assert asyncio.all_tasks() - around <= {s.waiting}

    runs()


async def act(s: Stage, kind: str, n: int) -> None:
    """Let the harness, the person or the log do one thing."""
    call = f"c{n % 4}"
    match kind:
        case "say":
            await s.harness.tell(text(f"{n}.", (None, "m1", "m2")[n % 3]))
        case "think":
            await s.harness.tell(thought("hm"))
        case "call":
            await s.harness.tell(calls(call, n=n % 2))
        case "end":
            await s.harness.tell(gave(call, n, failed=n > 8))
            await s.time.let_pass(2_000)  # what it had asked about the call waits no more
        case "ask":
            await s.harness.ask(may((call, None)[n % 5 == 0], ("read", None)[n > 9], n=n % 2))
        case "inquire":
            await s.harness.ask(replace(may(call), kind="input", message="Which?"))
        case "answer":
            await answer(s, n)
        case "note":
            await s.harness.tell(Noted(kind="plan", data=n % 3))
        case "wait":
            await s.time.let_pass((10, 1_000, 2_000, 9_000)[n % 4])
        case _:
            s.journal.failing = [StoreAway()] * (n % 4)


async def answer(s: Stage, n: int) -> None:
    """Answer one of the gates that are open."""
    waiting = [gate for gate in s.journal.state.gates.values() if gate.status == "open"]
    if waiting:
        gate = waiting[n % len(waiting)]
        yes = Answer(verdict="approved" if gate.kind == "permission" else "answered")
        given_ = (yes, Answer(verdict="denied"))[n % 2]
        s.decide(gate.gate_id, given_.verdict)
        assert await s.run.answer(gate.gate_id, given_)


async def leave(s: Stage, end: str, n: int) -> Outcome:
    """Bring the turn to its end, and return what became of it."""
    s.harness.deaf = end == "does not stop"
    stopping: asyncio.Task[Outcome] | None = None
    match end:
        case "completes":
            s.harness.end(("completed", "refused", "cancelled")[n % 3])
        case "fails":
            s.harness.fail(HarnessFailed("process-died", "the agent is gone"))
        case _:
            stopping = asyncio.create_task(s.run.cancel("user"))
    await s.time.let_pass(20_000)
    if stopping is not None:
        return await stopping
    return await s.run.going_on()


async def in_time(s: Stage, acting: "asyncio.Task[None]") -> None:
    """Let time pass as long as something needs it."""
    await settle()
    while not acting.done():
        await s.time.let_pass(200)
    acting.result()


def said(s: Stage) -> str:
    """Return all text of the turn's transcript."""
    return "".join(
        str(part["text"])
        for _, said_parts in s.journal.transcript()
        for part in said_parts
        if part["type"] == "text"
    )
