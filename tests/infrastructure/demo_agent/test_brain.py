"""What the model does next follows from what it remembers, and from nothing else."""

import pytest

from infrastructure.demo_agent.acts import Fail, Pause
from infrastructure.demo_agent.brain import Call, Calls, Say, Step, next_steps
from infrastructure.demo_agent.memory import Memory, Part

ASKED: Part = {"type": "text", "text": "tools: echo; add\nand now?"}


def said(memory: Memory) -> list[str]:
    return ["".join(step.chunks) for step in next_steps(memory) if isinstance(step, Say)]


def heard(*texts: str) -> Memory:
    memory = Memory()
    for text in texts:
        memory.hear([{"type": "text", "text": text}])
    return memory


def call(call_id: str, name: str) -> Part:
    return {"type": "tool_call", "tool_call_id": call_id, "name": name, "arguments": {}}


def result(call_id: str, output: Part, **more: bool) -> Part:
    return {"type": "tool_result", "tool_call_id": call_id, "output": output, **more}


@pytest.mark.parametrize(
    ("memory", "text"),
    [
        (Memory(), "Nothing was said yet."),
        (heard("a", "b"), 'Message 2: you said "b".'),
        (heard("x" * 81), f'Message 1: you said "{"x" * 80}...".'),
        (heard("remember k=v"), "I will remember k."),
        (heard("remember k=v", "what is k?"), "k is v."),
        (heard("remember k=v", "remember k=w ", "what is k?"), "k is w."),
        (heard("what is k?"), "I do not know k."),
        (heard("fail: somehow"), "I cannot follow this fail."),
    ],
)
def test_it_answers_what_was_said_last(memory: Memory, text: str) -> None:
    assert said(memory) == [text]


def test_a_file_is_told_by_its_type_and_digest() -> None:
    memory = Memory()
    memory.hear(
        [
            {"type": "attachment", "attachment_id": "f"},
            {"type": "attachment", "data": "dGVzdA==", "media_type": "application/octet-stream"},
        ]
    )
    assert said(memory) == ["Message 1: you sent a file f, a file 9f86d081884c."]


def test_delays_and_failures_are_steps() -> None:
    steps: list[Step] = [
        Pause(ms=3),
        Fail(kind="garbage"),
        Say(voice="text", chunks=("I went on after garbage.",), message_id="msg-1-22"),
    ]
    assert next_steps(heard("delay: 3 fail: garbage")) == steps


def test_nothing_is_done_after_a_call_before_its_result_is_known() -> None:
    assert next_steps(heard("tools: echo; add\nand now?")) == [
        Calls(
            calls=(
                Call(tool_call_id="call-1-25-1", name="echo", arguments={}, how="free"),
                Call(tool_call_id="call-1-25-2", name="add", arguments={}, how="free"),
            )
        )
    ]


def test_results_are_told_and_then_the_message_goes_on() -> None:
    memory = Memory()
    memory.hear([ASKED])
    memory.say(call("1", "echo"))
    memory.say(call("2", "add"))
    memory.take_result(result("2", {"error": "no"}, is_error=True))
    memory.take_result(result("1", {}))
    assert said(memory) == [
        'echo gave {}. add failed: {"error":"no"}.',
        'Message 1: you said "and now?".',
    ]


def test_a_call_that_was_denied_or_never_ended_is_told_as_that() -> None:
    memory = Memory()
    memory.hear([ASKED])
    memory.say(call("1", "echo"))
    memory.say(call("2", "add"))
    memory.take_result(result("1", {}, denied=True))
    assert said(memory)[0] == "echo was denied. add has no result."


def test_more_rounds_than_were_asked_for_end_the_turn() -> None:
    memory = heard("hello")
    memory.say(call("1", "echo"))
    memory.take_result(result("1", {}))
    assert said(memory) == ["echo gave {}."]


def test_after_an_answer_there_is_nothing_to_do() -> None:
    memory = heard("hello")
    memory.say({"type": "text", "text": "Hello."})
    assert said(memory) == ["There is nothing left to do."]
