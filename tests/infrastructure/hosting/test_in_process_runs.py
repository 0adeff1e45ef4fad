"""Does a run go with the demo agent as it does with a harness that is moved by hand?"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from domain import events as e
from domain.json_text import JsonValue
from domain.messages import Message
from infrastructure.harness.in_process import InProcessHarnesses
from infrastructure.harness.port import Answer, Harness, Prompt, ResumedCall, Seed, Start
from infrastructure.hosting.binding import CarriedDecision
from infrastructure.hosting.hosted import Hosted, Surroundings
from infrastructure.hosting.outcomes import Finished, Outcome, Paused
from infrastructure.hosting.turn_run import TurnRun
from tests.infrastructure.hosting.stage import PARKING, HandJournal, kinds, on_a_loop, settle
from tests.scenario import parts

YES, NO = Answer(verdict="approved"), Answer(verdict="denied")
Said = list[tuple[str, list[dict[str, object]]]]


@dataclass(eq=False)
class Scene:
    """A turn with this input, on as many harnesses as it takes."""

    text: str
    harnesses: InProcessHarnesses = field(default_factory=InProcessHarnesses)
    journal: HandJournal = field(default_factory=HandJournal)
    deltas: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    ids: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        said = Message(role="user", content=self.text)
        self.journal.append(e.SessionOpened(), e.TurnStarted(turn_id="t1", messages=(said,)))

    async def start(self, *, seeded: bool = False) -> Harness:
        """Start a harness, perhaps with the conversation so far."""
        messages: list[Mapping[str, JsonValue]] = [
            {"role": placed.role, "parts": parts(self.journal.facts, placed)}  # type: ignore[dict-item]
            for _, placed in sorted(self.journal.state.messages.items())
        ]
        seed = Seed(messages=messages) if seeded else None
        return await self.harnesses.start(Start(project_id="default", session_id="s", seed=seed))

    def run(self, harness: Harness, *decided: CarriedDecision) -> TurnRun:
        """Return a run on this harness."""
        return TurnRun(
            Hosted(
                turn_id="t1", seat_id="seat-1", owner="host-1", parking=PARKING, decided=decided
            ),
            harness,
            self.journal,
            Surroundings(
                mint=lambda: f"id-{next(self.ids)}",
                clock=lambda: time.monotonic() * 1000,
                fan_out=self.deltas.append,
            ),
        )

    @property
    def prompt(self) -> Prompt:
        return Prompt(parts=[{"type": "text", "text": self.text}])

    def decide(self, gate_id: str, answer: Answer) -> None:
        verdict = answer.verdict
        assert verdict != "cancelled"
        self.journal.append(
            e.GateDecided(gate_id=gate_id, verdict=verdict, decided_by="person", via="in-band")
        )


async def warm(scene: Scene, *answers: Answer) -> Outcome:
    """Answer the gates of a turn in the order in which they were asked, as it waits."""
    run = scene.run(await scene.start())
    outcome = await run.begin(scene.prompt)
    for answer in answers:
        assert isinstance(outcome, Paused)
        gate = outcome.gates[0].gate_id
        scene.decide(gate, answer)
        assert await run.answer(gate, answer)
        outcome = await run.going_on()
    return outcome


async def cold(scene: Scene, *answers: Answer) -> Outcome:
    """Answer them all while no harness runs, and go on with one that knows the conversation."""
    first = await scene.start()
    paused = await scene.run(first).begin(scene.prompt)
    assert isinstance(paused, Paused)
    await first.close()
    decided: list[CarriedDecision] = []
    resumed: list[ResumedCall] = []
    for gate, answer in zip(paused.gates, answers, strict=True):
        scene.decide(gate.gate_id, answer)
        asked = gate.asked
        assert asked.tool_call_id is not None
        assert asked.tool is not None
        decided.append(
            CarriedDecision(
                gate_id=gate.gate_id,
                turn_id="t1",
                kind=asked.kind,
                answer=answer,
                tool=asked.tool,
                arguments=asked.arguments,
                tool_call_id=asked.tool_call_id,
                message=asked.message,
            )
        )
        resumed.append(
            ResumedCall(
                tool_call_id=asked.tool_call_id,
                name=asked.tool,
                arguments=asked.arguments,
                answer=answer,
            )
        )
    run = scene.run(await scene.start(seeded=True), *decided)
    return await run.begin(Prompt(resumed_calls=tuple(resumed)))


@on_a_loop
async def test_a_turn_of_plain_text_is_one_commit() -> None:
    scene = Scene("think: about it\nhello\nstream: 20")

    outcome = await warm(scene)

    assert isinstance(outcome, Finished)
    assert outcome.parked
    assert scene.journal.types == [
        ["message-recorded", "usage-recorded", "turn-completed", "harness-parked"]
    ]
    assert "20 of 20" in str(scene.journal.transcript())


@on_a_loop
async def test_what_the_log_says_is_what_the_model_saw() -> None:
    scene = Scene('tools: add {"a":1,"b":2}; echo {"text":"x"}\nask: add {"a":3,"b":4}\nbye')

    assert isinstance(await warm(scene, YES), Finished)

    seeded = await scene.start(seeded=True)
    again = Scene("what do you know", harnesses=scene.harnesses)
    await again.run(seeded).begin(Prompt(parts=[{"type": "text", "text": "next"}]))
    told = scene.harnesses.received
    before, after = told[-2].parsed(), told[-1].parsed()
    assert isinstance(before, list)
    assert isinstance(after, list)
    assert after[: len(before)] == before


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ('I read.\nask: add {"a":1,"b":2}', [YES]),
        ('ask: add {"a":1,"b":2}', [NO]),
        ('ask: add {"a":1,"b":2}; add {"a":1,"b":2}', [YES, NO]),
        ('ask-unannounced: echo {"text":"x"}\nthen', [YES]),
        ("question: which colour?", [Answer(verdict="answered", answer={"answer": "red"})]),
    ],
    ids=["approved", "denied", "partial", "unannounced", "question"],
)
def test_a_decision_gives_the_same_conversation_warm_and_cold(
    text: str, answers: list[Answer]
) -> None:
    @on_a_loop
    async def both() -> None:
        one, other = Scene(text), Scene(text)

        assert isinstance(await warm(one, *answers), Finished)
        assert isinstance(await cold(other, *answers), Finished)

        assert one.journal.transcript() == other.journal.transcript()
        assert one.journal.state.head.fingerprint == other.journal.state.head.fingerprint
        assert _seen(one) == _seen(other)
        assert [made.arguments for made in one.harnesses.made] == [
            made.arguments for made in other.harnesses.made
        ]

    both()


@on_a_loop
async def test_a_turn_is_stopped_in_the_middle_of_a_call() -> None:
    scene = Scene("before\ntool: wait")
    run = scene.run(await scene.start())
    begun = asyncio.create_task(run.begin(scene.prompt))
    await settle()
    assert scene.deltas[-1]["type"] == "tool_call"

    outcome = await run.cancel("user")

    assert isinstance(outcome, Finished)
    assert await begun == outcome
    assert kinds(scene.journal) == [
        "message-recorded",
        "tool-call-requested",
        "tool-call-completed",
        "usage-recorded",
        "turn-interrupted",
    ]


@pytest.mark.parametrize(("failing", "code"), [("error", "agent-error"), ("die", "process-died")])
def test_an_agent_that_fails_fails_the_turn_and_keeps_what_it_said(failing: str, code: str) -> None:
    @on_a_loop
    async def fails() -> None:
        scene = Scene(f"hello\nfail: {failing}")

        outcome = await warm(scene)

        assert isinstance(outcome, Finished)
        assert outcome.error is not None
        assert outcome.error.code == code
        assert kinds(scene.journal) == ["message-recorded", "turn-failed"]

    fails()


@on_a_loop
async def test_a_harness_that_is_let_go_while_it_waits_leaves_the_gate_open() -> None:
    scene = Scene('ask: add {"a":1,"b":2}')
    harness = await scene.start()
    run = scene.run(harness)
    paused = await run.begin(scene.prompt)
    assert isinstance(paused, Paused)

    await harness.close()
    await settle()

    outcome = await run.going_on()
    assert isinstance(outcome, Paused)
    assert not outcome.parked
    assert scene.journal.state.gates["id-1"].status == "open"


def _seen(scene: Scene) -> JsonValue:
    """Return what the model saw last."""
    return scene.harnesses.received[-1].parsed()
