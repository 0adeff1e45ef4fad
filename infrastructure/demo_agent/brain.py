"""What does the model do next, given all that it remembers?

A function of the memory and nothing else: no clock, no chance, no state. The same conversation gets
the same answer and the same ids, by whichever process, and wherever its memory comes from.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from domain.canonical import canonical
from domain.json_text import JsonValue
from infrastructure.demo_agent.acts import (
    QUESTION,
    Act,
    Fail,
    How,
    Keep,
    Name,
    Pause,
    Plain,
    Recall,
    Stream,
    Summarise,
    Think,
    Unclear,
    Use,
)
from infrastructure.demo_agent.memory import Memory, Message, Part, calls_of, results_of
from infrastructure.demo_agent.script import acts_of

_REMEMBERED: Final = re.compile(r'remember ([\w.-]+)=([^\n"\\<]+)')
_BRIEF: Final = 80
_SUMMED_UP: Final = 20
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Say something, in these pieces; `voice` is `text` or `reasoning`."""

    voice: str
    chunks: tuple[str, ...]
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a tool."""

    tool_call_id: str
    name: str
    arguments: JsonValue
    how: How


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Call these tools; the model is asked again once it can see what came out."""

    calls: tuple[Call, ...]


Step: TypeAlias = Say | Name | Pause | Fail | Calls


def next_steps(memory: Memory) -> list[Step]:
    """Return what the model does now; unless it ends with calls, its turn is over."""
    asked, since = memory.since_input()
    answer = _Answer(memory)
    if asked is None:
        return [answer.text("Nothing was said yet.")]
    if since and since[-1].role == "assistant":
        return [answer.text("There is nothing left to do.")]
    rounds = [message for message in since if any(calls_of([message]))]
    if rounds:
        return [answer.text(_report(since)), *answer.steps(_after(acts_of(_said(asked)), rounds))]
    return answer.steps(acts_of(_said(asked)))


def _after(acts: list[Act], rounds: list[Message]) -> list[Act]:
    """Return the acts that come after as many rounds of calls."""
    left = len(rounds)
    for at, act in enumerate(acts):
        left -= isinstance(act, Use)
        if left == 0:
            return acts[at + 1 :]
    return []


def _said(message: Message) -> str:
    """Return the last text: what a client puts before it, as a frame, is no instruction."""
    texts = [part["text"] for part in message.parts if part.get("type") == "text"]
    return str(texts[-1]) if texts else ""


class _Answer:
    """One output of the model; its ids follow from how long the memory is."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._place = f"{len(memory.messages)}-{memory.size}"

    def text(self, *chunks: str) -> Say:
        return Say(voice="text", chunks=chunks, message_id=f"msg-{self._place}")

    def steps(self, acts: Sequence[Act]) -> list[Step]:
        steps: list[Step] = []
        for act in acts:
            steps += self._steps(act)
            if isinstance(act, Use):
                break
        return steps

    def _steps(self, act: Act) -> list[Step]:  # noqa: C901, PLR0911 - one for each kind of act
        match act:
            case Plain(text=text):
                return [self.text(self._reply(text))]
            case Keep(key=key):
                return [self.text(f"I will remember {key}.")]
            case Recall(key=key):
                value = _recalled(self._memory, key)
                return [
                    self.text(f"I do not know {key}." if value is None else f"{key} is {value}.")
                ]
            case Think(text=text):
                thought = Say(voice="reasoning", chunks=(text,), message_id=f"msg-{self._place}")
                return [thought, self.text("I thought about it.")]
            case Summarise():
                return [self.text(_summed_up(self._memory))]
            case Stream(chunks=chunks):
                return [self.text(*(f"{n} of {chunks}. " for n in range(1, chunks + 1)))]
            case Unclear(word=word):
                return [self.text(f"I cannot follow this {word}.")]
            case Name():
                return [act, self.text("I gave it a title.")]
            case Pause():
                return [act]
            case Fail(kind=kind):
                return [act, self.text(f"I went on after {kind}.")]
            case Use(tools=tools, how=how):
                calls = [
                    Call(
                        tool_call_id=f"call-{self._place}-{n}",
                        name=tool.name,
                        arguments=tool.arguments,
                        how=how,
                    )
                    for n, tool in enumerate(tools, 1)
                ]
                return [Calls(calls=tuple(calls))]

    def _reply(self, text: str) -> str:
        asked, _ = self._memory.since_input()
        files = [_file(part) for part in (asked.parts if asked else ()) if _is_file(part)]
        said = [f'you said "{_brief(text)}"'] if text else []
        sent = [f"you sent {', '.join(files)}"] if files else []
        return f"Message {self._memory.heard}: {' and '.join([*said, *sent])}."


def _report(since: Sequence[Message]) -> str:
    """Return what the model makes of the last results."""
    last = max(at for at, message in enumerate(since) if message.role == "assistant")
    results = {str(part.get("tool_call_id")): part for part in results_of(since[last:])}
    return " ".join(_outcome(call, results) for call in calls_of(since[last : last + 1]))


def _outcome(call: Part, results: dict[str, Part]) -> str:
    name, result = call.get("name"), results.get(str(call.get("tool_call_id")))
    if result is None:
        return f"{name} has no result."
    output = result.get("output")
    if name == QUESTION:
        return _answered(output)
    if result.get("denied"):
        return f"{name} was denied."
    verb = "failed:" if result.get("is_error") else "gave"
    return f"{name} {verb} {_brief(canonical(output).decode())}."


def _answered(output: JsonValue) -> str:
    match output:
        case {"answer": str(answer)}:
            return f'You answered "{_brief(answer)}".'
        case {"declined": True}:
            return "You did not want to answer."
        case _:
            return "You did not answer."


def _recalled(memory: Memory, key: str) -> str | None:
    found = [
        value.strip()
        for message in memory.messages
        if message.role == "user"
        for part in message.parts
        if isinstance(text := part.get("text"), str)
        for name, value in _REMEMBERED.findall(text)
        if name == key
    ]
    return found[-1] if found else None


def _summed_up(memory: Memory) -> str:
    """Return what was said to it, in short, and each thing that it took note of."""
    asked, _ = memory.since_input()
    heard = [
        message for message in memory.messages if message.role == "user" and message is not asked
    ]
    texts = [_brief(said) for message in heard if (said := _said(message))]
    kept = dict(
        found
        for message in heard
        for part in message.parts
        if isinstance(text := part.get("text"), str)
        for found in _REMEMBERED.findall(text)
    )
    lines = [f"- {text}" for text in texts[-_SUMMED_UP:]]
    notes = [f"remember {key}={value.strip()}" for key, value in kept.items()]
    return "\n".join([f"Summary of {len(heard)} messages:", *lines, *notes])


def _is_file(part: Part) -> bool:
    return part.get("type") == "attachment"


def _file(part: Part) -> str:
    name = str(part["sha256"])[:_DIGITS] if "sha256" in part else str(part.get("attachment_id"))
    return f"{part.get('media_type', 'a file')} {name}"


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _BRIEF else f"{flat[:_BRIEF]}..."
