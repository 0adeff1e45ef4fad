"""What every way to run the demo agent behind the port has to do.

A class that inherits `HarnessContract` and says how to open its harnesses gets the cases as tests.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest

from domain.json_text import JsonValue
from domain.messages import Part
from infrastructure.harness.port import (
    Answer,
    Asked,
    CallEnded,
    Harnesses,
    HarnessFailed,
    OfSubagent,
    Prompt,
    Said,
    Titled,
)
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

Journey = Callable[[Harnesses], Awaitable[None]]
LONGEST_S = 60
ADD: JsonValue = {"a": 2, "b": 3}


class HarnessContract(ABC):
    """The cases; each runs in a loop of its own."""

    @abstractmethod
    def harnesses(self) -> AbstractAsyncContextManager[Harnesses]:
        """Open what starts harnesses, and close it afterwards."""

    @abstractmethod
    def arrays(self, harnesses: Harnesses, session_id: str) -> list[JsonValue]:
        """Return each array that the session's model saw, oldest first."""

    def run(self, journey: Journey) -> None:
        async def whole() -> None:
            async with self.harnesses() as harnesses, asyncio.timeout(LONGEST_S):
                await journey(harnesses)

        asyncio.run(whole())

    def test_a_harness_answers_and_says_that_it_is_done(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            heard, ended = await say(harness, "hello")
            assert heard.text == 'Message 1: you said "hello".'
            assert ended.stop_reason == "completed"
            assert ended.used is not None
            assert ended.used.input_tokens > 0
            assert harness.alive

        self.run(journey)

    def test_a_harness_remembers_what_was_said_to_it(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            await say(harness, "remember colour=dark green")
            await say(harness, "and now something else")
            heard, _ = await say(harness, "what is colour?")
            assert heard.text == "colour is dark green."

        self.run(journey)

    def test_two_harnesses_know_nothing_of_each_other(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            one = await harnesses.start(START)
            other = await harnesses.start(replace(START, session_id="other"))
            await asyncio.gather(say(one, "remember colour=green"), say(other, "hello"))
            heard, _ = await say(other, "what is colour?")
            assert heard.text == "I do not know colour."

        self.run(journey)

    def test_what_it_thinks_comes_before_what_it_says(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            heard, _ = await say(await harnesses.start(START), "think: two and two")
            said = [update for update in heard.updates if isinstance(update, Said)]
            assert [(each.voice, each.text) for each in said] == [
                ("reasoning", "two and two"),
                ("text", "I thought about it."),
            ]

        self.run(journey)

    def test_what_a_subagent_does_and_asks_is_told_as_its_own(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            inner = json.dumps({"agent": "nested", "prompt": 'ask: add {"a":2,"b":3}'})
            outer = json.dumps({"agent": "scout", "prompt": f"tool: task {inner}"})
            harness = await harnesses.start(START)
            heard, ended = await say(harness, f"tool: task {outer}", always(APPROVED))

            assert ended.stop_reason == "completed"
            assert [call.name for call in heard.announced] == ["task"]
            below = [each for each in heard.updates if isinstance(each, OfSubagent)]
            names = {each.subagent.name: each.subagent for each in below}
            assert names["scout"].tool_call_id == heard.announced[0].tool_call_id
            assert names["nested"].above == names["scout"].subagent_id
            (asked,) = heard.asked_for
            assert (asked.tool, asked.subagent) == ("add", names["nested"])
            told = [(each.subagent.name, type(each.update).__name__) for each in below]
            assert [each for each in told if each[1] != "Said"] == [
                ("scout", "CallAnnounced"),
                ("nested", "CallAnnounced"),
                ("nested", "CallEnded"),
                ("nested", "Used"),
                ("scout", "CallEnded"),
                ("scout", "Used"),
            ]
            assert ("nested", "Said") in told

        self.run(journey)

    def test_a_title_is_proposed_as_it_is_given(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            heard, _ = await say(await harnesses.start(START), "title: A trip\x1b to Rome")
            assert heard.updates[0] == Titled(title="A trip\x1b to Rome")
            assert heard.text == "I gave it a title."

        self.run(journey)

    def test_pieces_of_one_text_come_in_order(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            heard, _ = await say(await harnesses.start(START), "stream: 50")
            assert heard.text == "".join(f"{n} of 50. " for n in range(1, 51))

        self.run(journey)

    def test_a_call_is_announced_once_and_ends_once(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            heard, _ = await say(await harnesses.start(START), 'tool: add {"a":2,"b":3}')
            [announced], [ended] = heard.announced, heard.ended
            assert (announced.name, announced.arguments) == ("add", ADD)
            assert ended == CallEnded(
                tool_call_id=announced.tool_call_id, end="completed", output={"sum": 5}
            )
            assert heard.text == 'add gave {"sum":5}.'
            assert heard.asked_for == []

        self.run(journey)

    def test_a_call_that_failed_says_so(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            heard, _ = await say(await harnesses.start(START), 'tool: fail {"reason":"no luck"}')
            assert [(each.end, each.output) for each in heard.ended] == [
                ("failed", {"error": "no luck"})
            ]

        self.run(journey)

    def test_parallel_calls_are_announced_before_any_ends(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            heard, _ = await say(
                await harnesses.start(START), 'tools: add {"a":2,"b":3}; echo {"x":1}'
            )
            kinds = [type(update).__name__ for update in heard.updates]
            assert kinds == ["CallAnnounced", "CallAnnounced", "CallEnded", "CallEnded", "Said"]
            assert len({each.tool_call_id for each in heard.announced}) == 2

        self.run(journey)

    def test_calls_of_the_tool_server_are_calls(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            heard, _ = await say(harness, 'mcp: add {"a":2,"b":3}')
            assert [each.name for each in heard.announced] == ["mcp.add"]
            assert [each.output for each in heard.ended] == [{"sum": 5}]
            heard, _ = await say(harness, "mcp: fail")
            assert [each.end for each in heard.ended] == ["failed"]

        self.run(journey)

    def test_no_call_id_comes_twice(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            seen: list[str] = []
            for _ in range(3):
                heard, _ = await say(harness, "tools: echo; echo\ntool: echo")
                seen += [each.tool_call_id for each in heard.announced]
            assert len(set(seen)) == 9

        self.run(journey)

    def test_an_approved_call_is_made(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            heard, ended = await say(harness, 'ask: add {"a":2,"b":3}', always(APPROVED))
            [announced], [asked] = heard.announced, heard.asked_for
            assert asked.kind == "permission"
            assert asked.tool_call_id == announced.tool_call_id
            assert (asked.tool, asked.arguments) == ("add", ADD)
            assert {option.kind for option in asked.options} == {
                "allow_once",
                "allow_always",
                "reject_once",
            }
            assert [each.output for each in heard.ended] == [{"sum": 5}]
            assert ended.stop_reason == "completed"
            assert not await harness.answer(asked.permission_id, APPROVED)

        self.run(journey)

    def test_a_denied_call_is_not_made_and_the_model_knows(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            heard, ended = await say(
                await harnesses.start(START), 'ask: add {"a":2,"b":3}', always(DENIED)
            )
            assert [each.end for each in heard.ended] == ["failed"]
            assert heard.text == "add was denied."
            assert ended.stop_reason == "completed"

        self.run(journey)

    def test_a_call_is_made_with_the_arguments_as_edited(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            edited = Answer(verdict="approved", arguments={"a": 40, "b": 2})
            heard, _ = await say(
                await harnesses.start(START), 'ask: add {"a":2,"b":3}', always(edited)
            )
            assert [each.output for each in heard.ended] == [{"sum": 42}]

        self.run(journey)

    def test_a_call_that_was_never_announced_is_asked_for(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            heard, _ = await say(
                await harnesses.start(START),
                'ask-unannounced: add {"a":2,"b":3}',
                always(APPROVED),
            )
            [asked] = heard.asked_for
            assert (asked.tool, asked.arguments) == ("add", ADD)
            assert [each.tool_call_id for each in heard.ended] == [asked.tool_call_id]
            assert heard.text == 'add gave {"sum":5}.'

        self.run(journey)

    def test_two_questions_are_open_at_once_and_answered_in_any_order(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            heard = Heard(harness)
            text = 'ask: add {"a":2,"b":3}; echo {"x":1}'
            prompt = Prompt(parts=[{"type": "text", "text": text}])
            running = asyncio.create_task(harness.prompt(prompt, heard))
            await heard.until_asked(2)
            first, second = heard.asked_for
            assert await harness.answer(second.permission_id, DENIED)
            await heard.until(lambda heard: len(heard.ended) == 1)
            assert [each.tool_call_id for each in heard.ended] == [second.tool_call_id]
            assert not running.done()
            assert await harness.answer(first.permission_id, APPROVED)
            await running
            assert heard.text == 'add gave {"sum":5}. echo was denied.'

        self.run(journey)

    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            (Answer(verdict="answered", answer={"answer": "blue"}), 'You answered "blue".'),
            (DENIED, "You did not want to answer."),
            (Answer(verdict="cancelled"), "You did not answer."),
        ],
    )
    def test_an_answer_to_a_question_is_used(self, answer: Answer, text: str) -> None:
        async def journey(harnesses: Harnesses) -> None:
            heard, _ = await say(
                await harnesses.start(START), "question: Which colour?", always(answer)
            )
            [asked] = heard.asked_for
            assert (asked.kind, asked.message) == ("input", "Which colour?")
            assert asked.answer_schema is not None
            assert heard.text == text

        self.run(journey)

    def test_an_answer_to_what_nobody_asked_is_not_taken(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            assert not await harness.answer("nobody", APPROVED)
            heard, _ = await say(harness, "hello")
            assert heard.text == 'Message 1: you said "hello".'

        self.run(journey)

    def test_a_seeded_harness_knows_what_was_said(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            transcript = Transcript()
            transcript.user({"type": "text", "text": "remember colour=green"})
            harness = await harnesses.start(replace(START, seed=transcript.seed))
            heard, _ = await say(harness, "what is colour?")
            assert heard.text == "colour is green."

        self.run(journey)

    @pytest.mark.parametrize(
        ("text", "answer"),
        [
            ('ask: add {"a":2,"b":3}', APPROVED),
            ('ask: add {"a":2,"b":3}', Answer(verdict="approved", arguments={"a": 1, "b": 1})),
            ('ask: add {"a":2,"b":3}', DENIED),
            ('ask-unannounced: echo {"x":1}', APPROVED),
            ('ask: add {"a":2,"b":3}; echo {"x":1}', APPROVED),
            ("question: Which colour?", Answer(verdict="answered", answer={"answer": "blue"})),
        ],
    )
    def test_a_decided_call_goes_on_in_another_harness_as_in_its_own(
        self, text: str, answer: Answer
    ) -> None:
        async def journey(harnesses: Harnesses) -> None:
            warm = await harnesses.start(replace(START, session_id="warm"))
            kept, _ = await say(warm, text, always(answer))

            left = await harnesses.start(replace(START, session_id="cold"))
            heard = Heard(left)
            prompt = Prompt(parts=[{"type": "text", "text": text}])
            running = asyncio.create_task(left.prompt(prompt, heard))
            await heard.until_asked(len(kept.asked_for))
            await left.close()
            with pytest.raises(HarnessFailed):
                await running
            transcript = Transcript()
            transcript.user({"type": "text", "text": text})
            transcript.take(heard)
            again = await harnesses.start(replace(START, session_id="cold", seed=transcript.seed))
            went_on = Heard(again)
            calls = tuple(resumed(asked, answer) for asked in heard.asked_for)
            ended = await again.prompt(Prompt(resumed_calls=calls), went_on)

            assert ended.stop_reason == "completed"
            assert went_on.asked_for == []
            assert went_on.announced == []
            assert went_on.ended == kept.ended
            assert went_on.text == kept.text
            assert self.arrays(harnesses, "cold") == self.arrays(harnesses, "warm")

        self.run(journey)

    def test_what_was_said_aside_is_remembered_as_by_a_harness_that_is_told_everything(
        self,
    ) -> None:
        async def journey(harnesses: Harnesses) -> None:
            text = {"type": "text", "text": "remember colour=green"}
            asides: list[dict[str, JsonValue]] = [{"role": "user", "parts": [{**text}]}] * 2
            question = [{"type": "text", "text": "what is colour?"}]
            transcript = Transcript()
            transcript.user({"type": "text", "text": "hello"})
            harness = await harnesses.start(replace(START, session_id="warm"))
            before, _ = await say(harness, "hello")
            heard = Heard(harness)
            await harness.prompt(Prompt(parts=question, asides=asides), heard)
            transcript.take(before)
            for _ in asides:
                transcript.user(text)
            again = await harnesses.start(replace(START, session_id="cold", seed=transcript.seed))
            cold, _ = await say(again, "what is colour?")

            assert heard.text == cold.text == "colour is green."
            assert self.arrays(harnesses, "cold")[-1] == self.arrays(harnesses, "warm")[-1]

        self.run(journey)

    def test_a_decided_call_that_the_seed_does_not_hold_is_asked_for_again(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            transcript = Transcript()
            transcript.user({"type": "text", "text": "ask: add"})
            harness = await harnesses.start(replace(START, seed=transcript.seed))
            asked = Asked(
                kind="permission", permission_id="p", tool_call_id="c", tool="add", arguments=ADD
            )
            heard = Heard(harness, always(APPROVED))
            await harness.prompt(Prompt(resumed_calls=(resumed(asked, APPROVED),)), heard)
            assert [each.tool_call_id for each in heard.asked_for] == ["c"]
            assert [each.output for each in heard.ended] == [{"sum": 5}]

        self.run(journey)

    def test_the_model_sees_a_file_by_its_digest(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
            file = {
                "type": "attachment",
                "attachment_id": "f",
                "media_type": "image/png",
                "data": "dGVzdA==",
            }
            harness = await harnesses.start(START)
            heard, _ = await say(harness, "look", lambda _: None, file)
            assert heard.text == 'Message 1: you said "look" and you sent image/png 9f86d081884c.'
            [array] = self.arrays(harnesses, "s")
            assert array == [
                {
                    "role": "user",
                    "parts": [
                        {"type": "attachment", "sha256": digest, "media_type": "image/png"},
                        {"type": "text", "text": "look"},
                    ],
                }
            ]

        self.run(journey)

    def test_a_cancelled_prompt_ends_its_running_call_and_the_harness_goes_on(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            heard = Heard(harness)
            prompt = Prompt(parts=[{"type": "text", "text": "tool: wait"}])
            running = asyncio.create_task(harness.prompt(prompt, heard))
            await heard.until(lambda heard: bool(heard.announced))
            await harness.cancel()
            assert (await running).stop_reason == "cancelled"
            assert [each.end for each in heard.ended] == ["failed"]
            heard, _ = await say(harness, "hello")
            assert heard.text == 'Message 2: you said "hello".'

        self.run(journey)

    def test_a_cancelled_prompt_takes_back_what_it_asked(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            heard = Heard(harness)
            prompt = Prompt(parts=[{"type": "text", "text": 'ask: add {"a":2,"b":3}'}])
            running = asyncio.create_task(harness.prompt(prompt, heard))
            await heard.until_asked()
            await harness.cancel()
            assert (await running).stop_reason == "cancelled"
            assert not await harness.answer(heard.asked_for[0].permission_id, APPROVED)

        self.run(journey)

    def test_a_permission_that_nobody_decided_ends_the_prompt(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            _, ended = await say(
                await harnesses.start(START), "ask: echo", always(Answer(verdict="cancelled"))
            )
            assert ended.stop_reason == "cancelled"

        self.run(journey)

    def test_what_comes_late_of_a_cancelled_call_is_dropped(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            heard = Heard(harness)
            prompt = Prompt(parts=[{"type": "text", "text": "late-tool"}])
            running = asyncio.create_task(harness.prompt(prompt, heard))
            await heard.until(lambda heard: bool(heard.announced))
            await harness.cancel()
            assert (await running).stop_reason == "cancelled"
            later, _ = await say(harness, "hello")
            assert [type(update) for update in later.updates] == [Said]

        self.run(journey)

    def test_an_error_fails_the_prompt_and_not_the_harness(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            with pytest.raises(HarnessFailed) as failed:
                await say(harness, "fail: error")
            assert (failed.value.code, failed.value.received) == ("agent-error", False)
            heard, _ = await say(harness, "hello")
            assert heard.text == 'Message 2: you said "hello".'

        self.run(journey)

    @pytest.mark.parametrize(
        ("text", "received"), [("fail: die", False), ("think: hm\nfail: die", True)]
    )
    def test_a_harness_that_dies_says_whether_anything_came(
        self, text: str, received: bool
    ) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            with pytest.raises(HarnessFailed) as failed:
                await say(harness, text)
            assert (failed.value.code, failed.value.received) == ("process-died", received)
            assert not harness.alive
            with pytest.raises(HarnessFailed):
                await say(harness, "hello")

        self.run(journey)

    @pytest.mark.parametrize("kind", ["garbage", "bigline", "stderr"])
    def test_noise_is_survived(self, kind: str) -> None:
        async def journey(harnesses: Harnesses) -> None:
            heard, _ = await say(await harnesses.start(START), f"fail: {kind}")
            assert heard.text == f"I went on after {kind}."

        self.run(journey)

    def test_it_is_told_something_between_two_of_its_steps(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            heard = Heard(harness)
            told: list[list[str]] = []
            words = iter(["remember a=1", "what is a?", None])

            async def give() -> list[Part] | None:
                told.append([type(each).__name__ for each in heard.order])
                said = next(words)
                return None if said is None else [{"type": "text", "text": said}]

            prompt = Prompt(parts=[{"type": "text", "text": 'tool: wait {"for": "steer"}'}])
            running = asyncio.create_task(harness.prompt(prompt, heard))
            await heard.until(lambda heard: bool(heard.announced))
            steers = [harness.steer(give) for _ in range(3)]
            assert await asyncio.gather(*steers) == [True, True, True]
            assert (await running).stop_reason == "completed"
            # The call was over before it was told anything, and nothing was said in between.
            assert told == [["CallAnnounced", "CallEnded"]] * 3
            assert heard.text == "a is 1."
            seen = self.arrays(harnesses, START.session_id)[-1]
            assert isinstance(seen, list)
            roles = [message["role"] for message in seen if isinstance(message, dict)]
            assert roles == ["user", "assistant", "tool", "user", "user"]

        self.run(journey)

    def test_what_comes_after_the_last_step_is_not_told(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)

            async def give() -> list[Part] | None:
                raise AssertionError

            assert not await harness.steer(give)
            heard = Heard(harness)
            prompt = Prompt(parts=[{"type": "text", "text": "tool: wait {}"}])
            running = asyncio.create_task(harness.prompt(prompt, heard))
            await heard.until(lambda heard: bool(heard.announced))
            steering = asyncio.create_task(harness.steer(give))
            await asyncio.sleep(0)
            await harness.cancel()
            assert not await steering
            assert (await running).stop_reason == "cancelled"
            assert not await harness.steer(give)
            assert (await say(harness, "hello"))[0].text.endswith('you said "hello".')

        self.run(journey)

    def test_a_closed_harness_is_not_alive_and_closing_again_is_nothing(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            await harness.close()
            await harness.close()
            assert not harness.alive
            with pytest.raises(HarnessFailed):
                await say(harness, "hello")

        self.run(journey)

    def test_closing_all_closes_each(self) -> None:
        async def journey(harnesses: Harnesses) -> None:
            harness = await harnesses.start(START)
            await harnesses.close()
            assert not harness.alive

        self.run(journey)
