"""A conversation that goes on elsewhere, from its transcript alone, is the same conversation.

Each is run warm in one harness, and cold: a new harness before every turn, and one more after every
question that was asked in it. The model sees the same, the same is said, and no tool runs twice.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from infrastructure.demo_agent.acts import QUESTION
from infrastructure.harness.in_process import InProcessHarnesses
from infrastructure.harness.port import Answer, Prompt, ResumedCall, Start
from tests.infrastructure.harness.listening import (
    APPROVED,
    DENIED,
    START,
    Heard,
    Transcript,
    always,
    resumed,
    say,
)

TURNS = st.sampled_from(
    [
        "hello",
        "remember colour=green",
        "what is colour?",
        "think: of it",
        "stream: 4",
        'tool: add {"a":1,"b":2.50}',
        'tools: echo {"x":"\\u00e9"}; fail; read_note {"name":"colours"}',
        "tool: echo\ntool: add\nhello\nask: echo",
        'ask: echo {"x":1}; add {"a":1,"b":1}',
        "ask-unannounced: echo; fail",
        "question: Which colour?",
        'mcp: add {"a":1,"b":1}',
        "ask: mcp.echo",
        "think: a\nquestion: Why?\nstream: 2",
    ]
)
ANSWERS = st.sampled_from(
    [
        APPROVED,
        DENIED,
        Answer(verdict="approved", arguments={"x": 2}),
        Answer(verdict="answered", answer={"answer": "blue"}),
    ]
)
Turns = Sequence[tuple[str, Answer]]


async def warm(harnesses: InProcessHarnesses, turns: Turns) -> Transcript:
    harness = await harnesses.start(replace(START, session_id="warm"))
    transcript = Transcript()
    for text, answer in turns:
        transcript.user({"type": "text", "text": text})
        heard, _ = await say(harness, text, always(answer))
        transcript.take(heard, denied(heard, answer))
    return transcript


async def cold(harnesses: InProcessHarnesses, turns: Turns) -> Transcript:
    transcript = Transcript()
    for text, answer in turns:
        seed = transcript.seed
        transcript.user({"type": "text", "text": text})
        prompt = Prompt(parts=[{"type": "text", "text": text}])
        while True:
            heard = await until_asked(
                harnesses, replace(START, session_id="cold", seed=seed), prompt
            )
            transcript.take(heard, [call.tool_call_id for call in prompt.resumed_calls if no(call)])
            if not heard.asked_for:
                break
            seed = transcript.seed
            decided = tuple(resumed(asked, answer) for asked in heard.asked_for)
            prompt = Prompt(resumed_calls=decided)
    return transcript


async def until_asked(harnesses: InProcessHarnesses, start: Start, prompt: Prompt) -> Heard:
    """Return what a new harness did until it was done, or asked something and was killed."""
    harness = await harnesses.start(start)
    heard = Heard(harness)
    running = asyncio.create_task(harness.prompt(prompt, heard))
    asking = asyncio.create_task(heard.until_asked())
    await asyncio.wait([running, asking], return_when=asyncio.FIRST_COMPLETED)
    asking.cancel()
    harness.kill()
    await asyncio.gather(running, asking, return_exceptions=True)
    return heard


def no(call: ResumedCall) -> bool:
    return call.answer.verdict == "denied" and call.name != QUESTION


def denied(heard: Heard, answer: Answer) -> list[str]:
    decided = [resumed(asked, answer) for asked in heard.asked_for]
    return [call.tool_call_id for call in decided if no(call)]


@given(st.lists(st.tuples(TURNS, ANSWERS), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_the_model_sees_the_same_warm_and_cold(turns: Turns) -> None:
    async def journey() -> None:
        harnesses = InProcessHarnesses()
        kept, told = await warm(harnesses, turns), await cold(harnesses, turns)
        seen: dict[str, list[bytes]] = {"warm": [], "cold": []}
        made: dict[str, list[tuple[str, str, object]]] = {"warm": [], "cold": []}
        for each in harnesses.received:
            seen[each.session_id].append(each.messages)
        for call in harnesses.made:
            made[call.session_id].append((call.tool_call_id, call.name, call.arguments))
        assert seen["cold"] == seen["warm"]
        assert made["cold"] == made["warm"]
        assert told.messages == kept.messages

    asyncio.run(journey())


def test_a_fact_of_the_first_turn_is_known_sixty_turns_later() -> None:
    turns = [("remember colour=green", APPROVED)]
    turns += [(f"turn {n}", APPROVED) for n in range(2, 60)]
    turns += [("what is colour?", APPROVED)]

    async def journey() -> None:
        told = await cold(InProcessHarnesses(), turns)
        assert told.messages[-1]["parts"] == [{"type": "text", "text": "colour is green."}]

    asyncio.run(journey())
