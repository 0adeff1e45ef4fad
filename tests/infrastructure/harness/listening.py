"""A listener that keeps what it hears, answers what it is told to, and writes the transcript."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from domain.json_text import JsonValue
from domain.messages import Part
from infrastructure.harness.port import (
    Answer,
    Asked,
    CallAnnounced,
    CallEnded,
    Ended,
    Harness,
    Prompt,
    ResumedCall,
    Said,
    Seed,
    Shown,
    Start,
    Update,
)

Answers = Callable[[Asked], Answer | None]
APPROVED = Answer(verdict="approved")
DENIED = Answer(verdict="denied")
START = Start(project_id="default", session_id="s")


def nothing(_: Asked) -> Answer | None:
    """Leave every question open."""
    return None


def always(answer: Answer) -> Answers:
    """Give every question the same answer."""
    return lambda _: answer


class Heard:
    """What one harness did in one prompt."""

    def __init__(self, harness: Harness, answers: Answers = nothing) -> None:
        self._harness = harness
        self._answers = answers
        self._changed = asyncio.Event()
        self._answering: list[asyncio.Task[bool]] = []
        self.updates: list[Update] = []
        self.asked_for: list[Asked] = []
        self.order: list[Update | Asked] = []

    async def updated(self, update: Update) -> None:
        self.updates.append(update)
        self.order.append(update)
        self._changed.set()

    async def asked(self, asked: Asked) -> None:
        self.asked_for.append(asked)
        self.order.append(asked)
        self._changed.set()
        answer = self._answers(asked)
        if answer is not None:
            self._answering.append(
                asyncio.create_task(self._harness.answer(asked.permission_id, answer))
            )

    async def until(self, condition: Callable[["Heard"], bool]) -> None:
        while not condition(self):
            self._changed.clear()
            await self._changed.wait()

    async def until_asked(self, count: int = 1) -> None:
        await self.until(lambda heard: len(heard.asked_for) >= count)

    @property
    def text(self) -> str:
        return "".join(u.text for u in self.updates if isinstance(u, Said) and u.voice == "text")

    @property
    def announced(self) -> list[CallAnnounced]:
        return [update for update in self.updates if isinstance(update, CallAnnounced)]

    @property
    def ended(self) -> list[CallEnded]:
        return [update for update in self.updates if isinstance(update, CallEnded)]


async def say(
    harness: Harness, text: str, answers: Answers = nothing, *more: Part
) -> tuple[Heard, Ended]:
    """Prompt `harness` with a text, and with `more` parts before it."""
    heard = Heard(harness, answers)
    prompt = Prompt(parts=[*more, {"type": "text", "text": text}])
    return heard, await harness.prompt(prompt, heard)


class Transcript:
    """What turnlog would show of a conversation: built from what was heard, nothing else."""

    def __init__(self) -> None:
        self.messages: list[dict[str, JsonValue]] = []

    def user(self, *parts: Mapping[str, JsonValue]) -> None:
        self._add("user", [dict(part) for part in parts])

    def take(self, heard: Heard, denied: Sequence[str] = ()) -> None:
        """Add what was heard; `denied` are the calls that somebody said no to."""
        for each in heard.order:
            match each:
                case Said(voice=voice, text=text):
                    self._assistant({"type": voice, "text": text})
                case Shown(part=part):
                    self._assistant({key: str(value) for key, value in part.items()})
                case CallAnnounced(tool_call_id=call_id, name=name, arguments=arguments):
                    self._call(call_id, name, arguments)
                case Asked(tool_call_id=str(call_id), tool=str(name), arguments=arguments):
                    self._call(call_id, name, arguments)
                case CallEnded(tool_call_id=call_id, end=end, output=output):
                    self._result(
                        call_id, output, is_error=end == "failed", denied=call_id in denied
                    )
                case _:
                    pass

    @property
    def seed(self) -> Seed:
        return Seed(messages=[dict(message) for message in self.messages])

    def _call(self, call_id: str, name: str, arguments: JsonValue) -> None:
        known = [part.get("tool_call_id") for part in self._parts() if part["type"] == "tool_call"]
        if call_id not in known:
            self._assistant(
                {
                    "type": "tool_call",
                    "tool_call_id": call_id,
                    "name": name,
                    "arguments": arguments,
                    "status": "open",
                }
            )

    def _result(self, call_id: str, output: JsonValue, *, is_error: bool, denied: bool) -> None:
        self._add(
            "tool",
            [
                {
                    "type": "tool_result",
                    "tool_call_id": call_id,
                    "name": "shown beside it",
                    "output": output,
                    "is_error": is_error,
                    "denied": denied,
                }
            ],
        )

    def _parts(self) -> list[dict[str, JsonValue]]:
        return [
            part
            for message in self.messages
            if isinstance(parts := message["parts"], list)
            for part in parts
            if isinstance(part, dict)
        ]

    def _assistant(self, part: dict[str, JsonValue]) -> None:
        last = self.messages[-1] if self.messages else {}
        if last.get("role") == "assistant" and isinstance(parts := last["parts"], list):
            parts.append(part)
        else:
            self._add("assistant", [part])

    def _add(self, role: str, parts: Sequence[JsonValue]) -> None:
        self.messages.append(
            {
                "index": len(self.messages),
                "message_id": f"m{len(self.messages)}",
                "role": role,
                "state": "live",
                "parts": [*parts],
            }
        )


def resumed(asked: Asked, answer: Answer) -> ResumedCall:
    """Return the call that was asked for as one that was decided while nobody ran."""
    return ResumedCall(
        tool_call_id=str(asked.tool_call_id),
        name=str(asked.tool),
        arguments=asked.arguments if answer.arguments is None else answer.arguments,
        answer=answer,
    )
