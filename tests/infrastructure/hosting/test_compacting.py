"""What a harness says last is the summary; it uses no tools, and one that says nothing has none."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from infrastructure.harness.port import (
    Answer,
    Asked,
    CallAnnounced,
    CallEnded,
    Ended,
    Give,
    HarnessFailed,
    Listener,
    Prompt,
    Said,
    StopReason,
    Update,
    Used,
)
from infrastructure.hosting.compacting_summary import (
    ASKED,
    LONGEST,
    Stopped,
    summary_of,
)
from infrastructure.hosting.deltas import Delta

CALL = CallAnnounced(tool_call_id="c1", name="read", arguments={})
RESULT = CallEnded(tool_call_id="c1", end="completed", output="x")
USED = Used(model="m", input_tokens=5, output_tokens=2)


@dataclass
class Scripted:
    """A harness that does what it was written to do, or waits until it is cancelled."""

    does: Sequence[Update | Asked]
    stop_reason: StopReason = "completed"
    waits: bool = False
    alive: bool = True
    prompts: list[Prompt] = field(default_factory=list[Prompt])
    answers: list[Answer] = field(default_factory=list[Answer])
    prompted: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def prompt(self, prompt: Prompt, listener: Listener) -> Ended:
        self.prompts.append(prompt)
        self.prompted.set()
        for each in self.does:
            if isinstance(each, Asked):
                await listener.asked(each)
            else:
                await listener.updated(each)
        if self.waits:
            await self.cancelled.wait()
            return Ended(stop_reason="cancelled")
        return Ended(stop_reason=self.stop_reason, used=USED)

    async def answer(self, permission_id: str, answer: Answer) -> bool:
        self.answers.append(answer)
        return bool(permission_id)

    async def steer(self, give: Give) -> bool:
        return give is None

    async def cancel(self) -> None:
        self.cancelled.set()

    async def close(self) -> None:
        self.alive = False


def says(*texts: str, message_id: str = "m1") -> list[Said]:
    """Return pieces of one message."""
    return [Said(voice="text", text=text, message_id=message_id) for text in texts]


def summary(harness: Scripted, told: list[Delta] | None = None) -> tuple[str, Used | None]:
    """Return what comes of asking."""
    heard = [] if told is None else told

    async def ask() -> tuple[str, Used | None]:
        return await summary_of(harness, ASKED, asyncio.Event(), heard.append)

    return asyncio.run(ask())


def failure(harness: Scripted) -> str:
    """Return what asking fails by."""
    with pytest.raises(HarnessFailed) as failed:
        summary(harness)
    return failed.value.code


def test_what_it_says_is_the_summary_and_it_was_asked_for_it() -> None:
    told: list[Delta] = []
    harness = Scripted([Said(voice="reasoning", text="Hm."), *says("They ", "met.\n")])

    assert summary(harness, told) == ("They met.", USED)
    assert harness.prompts == [Prompt(parts=[{"type": "text", "text": ASKED}])]
    assert told == [
        {"kind": "compaction", "type": "reasoning", "text": "Hm."},
        {"kind": "compaction", "type": "text", "text": "They "},
        {"kind": "compaction", "type": "text", "text": "met.\n"},
    ]


def test_what_it_said_before_a_call_is_no_part_of_it() -> None:
    harness = Scripted([*says("I look."), CALL, RESULT, *says("They met.", message_id="m2")])

    assert summary(harness)[0] == "They met."


def test_several_messages_are_one_summary() -> None:
    harness = Scripted([*says("They met."), *says("They left.", message_id="m2")])

    assert summary(harness)[0] == "They met.\n\nThey left."


def test_whatever_it_asks_is_denied() -> None:
    asks = Asked(kind="permission", permission_id="p1", tool_call_id="c1", tool="write")
    harness = Scripted([asks, *says("They met.")])

    assert summary(harness)[0] == "They met."
    assert [answer.verdict for answer in harness.answers] == ["denied"]


@pytest.mark.parametrize("said", [[], says(" \n"), [*says("I look."), CALL, RESULT]])
def test_one_that_says_nothing_has_none(said: list[Update]) -> None:
    assert failure(Scripted(said)) == "empty-summary"


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("refused", "refused"),
        ("max-tokens", "max-tokens"),
        ("max-requests", "max-requests"),
        ("cancelled", "agent-cancelled"),
    ],
)
def test_half_a_summary_is_none(how: StopReason, code: str) -> None:
    assert failure(Scripted(says("They"), stop_reason=how)) == code


def test_one_that_does_not_come_to_its_end_is_stopped() -> None:
    harness = Scripted(says("a" * LONGEST, "b"), waits=True)

    assert failure(harness) == "output-too-long"
    assert harness.cancelled.is_set()


def test_it_stops_when_it_is_to() -> None:
    harness = Scripted(says("They"), waits=True)

    async def ask() -> None:
        stop = asyncio.Event()
        asking = asyncio.create_task(summary_of(harness, ASKED, stop, lambda _: None))
        await harness.prompted.wait()
        stop.set()
        with pytest.raises(Stopped):
            await asking

    asyncio.run(ask())
    assert harness.cancelled.is_set()
