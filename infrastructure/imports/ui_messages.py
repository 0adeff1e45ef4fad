"""Which events are AI SDK UIMessages, whose parts change state in place?

A step's calls come first, with the approvals that were asked for, then the decisions, then the
results: so a later state of the same messages only adds to an earlier one. What a message says of
itself as a whole (usage, metadata) is told once it is over.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from domain.json_text import JsonValue
from infrastructure.imports.claude_lines import JsonObject, name_for, text_or_none
from infrastructure.imports.conversation import Conversation
from infrastructure.imports.source_lines import Read, read_lines, time_of
from infrastructure.imports.summing import Summed, stem_of, summed
from infrastructure.imports.translation import Loss, Translation
from infrastructure.imports.ui_parts import ToolPart, said_part, tool_part, usage_in

SOURCE: Final = "ui-messages"
_CARRIED: Final = frozenset({"id", "role", "parts", "metadata", "createdAt"})
_ROLES: Final = frozenset({"user", "assistant", "system"})


def translate(
    lines: Sequence[bytes], *, source_name: str, flush_after: Sequence[int] = ()
) -> Translation:
    """Return the session of the messages, one a line; arguments as `claude_code.translate`."""
    losses: list[Loss] = []
    chat = _Chat()
    ends = {count for count in flush_after if 0 < count < len(lines)}
    for read in read_lines(lines, losses):
        while ends and min(ends) < read.number:
            ends.remove(min(ends))
            chat.settle()
        chat.take(read)
    chat.settle()
    losses += [Loss(line=line, code="waits-for-input", detail="") for line in chat.told.held]
    session = Summed(session_id=stem_of(source_name), told=chat.told)
    return summed([session], len(lines), losses, chat.unused)


class _Chat:
    """The messages so far."""

    def __init__(self) -> None:
        self.told: Final = Conversation(SOURCE)
        self.unused: Final[set[str]] = set()
        self._count = 0
        self._metadata: JsonObject = {}
        self._is_over = False

    def take(self, read: Read) -> None:
        self._conclude()
        self._count += 1
        message = read.value
        if message is None:
            self.told.stand(read.number)
            self.told.keep("unreadable-line", {"base64": read.raw})
            return
        metadata, parts = message.get("metadata"), message.get("parts")
        about = metadata if isinstance(metadata, dict) else {}
        at = message.get("createdAt", about.get("createdAt"))
        self.told.stand(read.number, time_of(at))
        role = text_or_none(message.get("role"))
        if role not in _ROLES or not isinstance(parts, list):
            self.told.lose("not-a-message")
            self.told.keep("message", message)
            return
        self.unused.update(key for key in message if key not in _CARRIED)
        name = self.told.message_id(text_or_none(message.get("id")), f"{self._count}")
        self._metadata = about
        if role == "assistant":
            self._assistant(parts, name)
        else:
            said: list[JsonValue] = [said_part(part) for part in parts]
            self._input({"role": str(role), "content": said, "message_id": name})

    def settle(self) -> None:
        """End the turn if the last message is over."""
        if self._is_over:
            self._conclude()

    def _input(self, message: JsonObject) -> None:
        if message["role"] == "system":
            self.told.configure(message)
        else:
            self.told.prompt(message, None, f"{self._count}")
        self._tell_metadata()

    def _assistant(self, parts: Sequence[JsonValue], name: str) -> None:
        first: str | None = name
        last: ToolPart | None = None
        for step in _steps(parts):
            calls: list[tuple[str, ToolPart]] = []
            said: list[JsonValue] = []
            for number, part in step:
                last = tool_part(part) if isinstance(part, dict) else None
                if last is None:
                    said.append(said_part(part))
                    continue
                first = self._speak(said, first)
                said = []
                calls.append((self._call(last, number), last))
            first = self._speak(said, first)
            self._outcomes(calls)
        if not parts:
            self.told.lose("empty-message")
            self.told.say([], name)
            self.told.end("turn-failed", {"error": {"code": "no-answer", "message": ""}})
        self._is_over = last is None and not self.told.open_calls

    def _speak(self, said: list[JsonValue], name: str | None) -> str | None:
        if not said:
            return name
        self.told.say(said, name, counts=name is not None)
        return None

    def _call(self, part: ToolPart, number: int) -> str:
        if part.call_id is None:
            self.told.lose("call-without-id")
        call_id = name_for(part.call_id, prefix="call", otherwise=f"{self._count}-{number}")
        turn = self.told.call(call_id, part.name, part.arguments)
        if part.state == "input-streaming":
            self.told.lose("partial-arguments")
        if part.rest:
            self.told.keep("tool-part", {"tool_call_id": call_id, **part.rest})
        if part.approval_id is not None:
            self.told.record("gate-opened", _gate(part, call_id, turn))
        return call_id

    def _outcomes(self, calls: Sequence[tuple[str, ToolPart]]) -> None:
        for _, part in calls:
            if part.approval_id is not None and part.approved is not None:
                self.told.record("gate-decided", _decision(part))
        for call_id, part in calls:
            if part.has_output:
                self.told.result(call_id, part.output, is_error=part.is_error, denied=part.denied)

    def _conclude(self) -> None:
        """Tell what the message before says as a whole, and end the turn that it ended."""
        self._tell_metadata()
        if self._is_over:
            self.told.settle()
        self._is_over = False

    def _tell_metadata(self) -> None:
        metadata, self._metadata = self._metadata, {}
        usage = usage_in(metadata)
        if usage is not None and self.told.in_turn:
            self.told.record("usage-recorded", usage)
        rest = {
            key: value
            for key, value in metadata.items()
            if key not in {"model", "createdAt"}
            and (usage is None or key not in {"usage", "totalUsage"})
        }
        if rest:
            self.told.keep("metadata", rest)


def _steps(parts: Sequence[JsonValue]) -> Iterator[list[tuple[int, JsonValue]]]:
    """Yield the parts of each step of the model, with their numbers."""
    step: list[tuple[int, JsonValue]] = []
    for number, part in enumerate(parts, 1):
        if isinstance(part, dict) and part.get("type") == "step-start":
            yield step
            step = []
        else:
            step.append((number, part))
    yield step


def _gate(part: ToolPart, call_id: str, turn_id: str) -> JsonObject:
    data: JsonObject = {
        "turn_id": turn_id,
        "kind": "permission",
        "permission_id": name_for(part.approval_id, prefix="approval", otherwise="unnamed"),
        "tool_call_id": call_id,
        "tool": name_for(part.name, prefix="tool", otherwise="unnamed"),
    }
    if isinstance(part.arguments, dict | str):
        data["arguments"] = part.arguments
    return data


def _decision(part: ToolPart) -> JsonObject:
    data: JsonObject = {
        "permission_id": name_for(part.approval_id, prefix="approval", otherwise="unnamed"),
        "verdict": "approved" if part.approved else "denied",
        "decided_by": "person",
        "via": "in-band",
    }
    return data if part.reason is None else {**data, "message": part.reason}
