"""What does another harness do at the inputs of a recorded session?

It is started as for a session, told each input in turn, and heard; nothing of it is recorded. Tools
give what they gave before, or are denied, or really run.
"""

import base64
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from domain.canonical import canonical
from domain.json_text import JsonValue
from infrastructure.harness.port import (
    Answer,
    Asked,
    CallAnnounced,
    CallEnded,
    Harness,
    Harnesses,
    HarnessFailed,
    Prompt,
    RecordedCall,
    Said,
    Start,
    Update,
)
from projections.rerun import Exchange, Message, Step, add

Tools: TypeAlias = Literal["recorded", "denied", "live"]
Content: TypeAlias = Callable[[str], bytes | None]
"""Gives the bytes of a file by its digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What a harness did about an input.

    Attributes:
        ended: How: its stop reason, or the code by which it failed.
    """

    exchange: Exchange
    steps: Sequence[Step]
    ended: str


async def run_again(
    harnesses: Harnesses,
    start: Start,
    inputs: Sequence[Exchange],
    tools: Tools,
    content: Content,
) -> AsyncGenerator[Again]:
    """Yield what a harness does at each of `inputs`, until one fails.

    Raises:
        HarnessFailed: it could not be started.
    """
    harness = await harnesses.start(start)
    try:
        for exchange in inputs:
            heard = _Heard(harness, tools, exchange.steps)
            parts = [_with_data(part, content) for part in exchange.parts]
            try:
                ended = await harness.prompt(Prompt(parts=parts), heard)
            except HarnessFailed as failed:
                yield Again(exchange=exchange, steps=heard.steps, ended=failed.code)
                return
            yield Again(exchange=exchange, steps=heard.steps, ended=ended.stop_reason)
    finally:
        await harness.close()


def recorded_calls(inputs: Iterable[Exchange]) -> tuple[RecordedCall, ...]:
    """Return the calls that have a result, in order."""
    found: list[RecordedCall] = []
    for exchange in inputs:
        given = {step.tool_call_id: step for step in exchange.steps if step.kind == "gave"}
        for call in exchange.steps:
            result = given.get(call.tool_call_id) if call.kind == "called" else None
            if result is not None:
                found.append(
                    RecordedCall(
                        name=call.name,
                        arguments=call.value,
                        output=result.value,
                        is_error=result.is_error,
                        denied=result.denied,
                    )
                )
    return tuple(found)


@dataclass(slots=True)
class _Heard:
    """Hears one prompt, and answers what is asked."""

    harness: Harness
    tools: Tools
    recorded: Sequence[Step]
    steps: list[Step] = field(default_factory=list[Step])

    async def updated(self, update: Update) -> None:
        """Keep what was done."""
        match update:
            case Said(voice="text", text=text):
                add(self.steps, {"type": "text", "text": text})
            case CallAnnounced():
                add(
                    self.steps,
                    {
                        "type": "tool_call",
                        "tool_call_id": update.tool_call_id,
                        "name": update.name,
                        "arguments": update.arguments,
                    },
                )
            case CallEnded():
                add(
                    self.steps,
                    {
                        "type": "tool_result",
                        "tool_call_id": update.tool_call_id,
                        "output": update.output,
                        "is_error": update.end == "failed",
                    },
                )
            case _:
                pass

    async def asked(self, asked: Asked) -> None:
        """Answer as the tools are to be dealt with; a question as it was answered before."""
        await self.harness.answer(asked.permission_id, self._answer(asked))

    def _answer(self, asked: Asked) -> Answer:
        if asked.kind == "input":
            return self._said_before(asked)
        if self.tools == "denied":
            return Answer(verdict="denied")
        if self.tools == "live":
            return Answer(verdict="approved")
        before = self._before(asked)
        return Answer(verdict="denied" if before is None or before.denied else "approved")

    def _said_before(self, asked: Asked) -> Answer:
        before = self._before(asked)
        match None if before is None else before.value:
            case {"answer": answer}:
                return Answer(verdict="answered", answer={"answer": answer})
            case _:
                return Answer(verdict="denied")

    def _before(self, asked: Asked) -> Step | None:
        """Return what the call gave that is asked about, when it was recorded."""
        name, arguments = asked.tool, asked.arguments
        for step in self.steps:
            if step.kind == "called" and step.tool_call_id == asked.tool_call_id:
                name, arguments = step.name, step.value
        wanted = (name, canonical(arguments))
        made = {
            step.tool_call_id
            for step in self.recorded
            if step.kind == "called" and (step.name, canonical(step.value)) == wanted
        }
        given = (s for s in self.recorded if s.kind == "gave" and s.tool_call_id in made)
        return next(given, None)


def _with_data(part: Message, content: Content) -> dict[str, JsonValue]:
    found = {**part}
    match part:
        case {"type": "attachment", "sha256": str(digest)}:
            data = content(digest)
            if data is not None:
                found["data"] = base64.b64encode(data).decode()
        case _:
            pass
    return found
