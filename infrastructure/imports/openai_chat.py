"""Which sessions do OpenAI chat messages hold, and which events are they?

One message a line, or one conversation a line (`{"messages": [...]}`). Results without an id are
paired with the calls before them by position, never by name, and the report says that this is
unsure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from domain.json_text import JsonValue, NotJson, parse
from infrastructure.imports.chat_content import extra_parts, parts_of, reasoning_parts
from infrastructure.imports.claude_lines import JsonObject, id_for, name_for, text_or_none
from infrastructure.imports.conversation import Conversation
from infrastructure.imports.source_lines import Read, read_lines, time_of, within
from infrastructure.imports.summing import Summed, stem_of, summed
from infrastructure.imports.translation import Loss, Translation

SOURCE: Final = "openai-chat"
_ID_FIELDS: Final = ("session_id", "conversation_id", "thread_id", "chat_id", "id")
_CARRIED: Final = frozenset(
    {
        "role",
        "content",
        "name",
        "id",
        "message_id",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "refusal",
        "audio",
        "reasoning_content",
        "reasoning",
        "timestamp",
        "created_at",
    }
)


def translate(
    lines: Sequence[bytes], *, source_name: str, flush_after: Sequence[int] = ()
) -> Translation:
    """Return the sessions that the lines hold; arguments as `claude_code.translate`."""
    file = _File(stem_of(source_name))
    ends = {count for count in flush_after if 0 < count < len(lines)}
    for read in read_lines(lines, file.losses):
        while ends and min(ends) < read.number:
            ends.remove(min(ends))
            file.settle()
        file.take(read)
    file.settle()
    return file.translation(len(lines))


class _File:
    """One file's lines so far."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._sessions: dict[str, _Chat] = {}
        self.losses: list[Loss] = []
        self._unused: set[str] = set()

    def take(self, read: Read) -> None:
        value = read.value
        if value is None:
            self._chat(self._stem).unreadable(read)
        elif isinstance(value.get("messages"), list):
            self._conversation(read.number, value)
        else:
            self._chat(self._stem).take(read.number, value)

    def settle(self) -> None:
        for chat in self._sessions.values():
            chat.told.settle()

    def translation(self, line_count: int) -> Translation:
        for chat in self._sessions.values():
            for line in chat.told.held:
                self.losses.append(Loss(line=line, code="waits-for-input", detail=""))
            self._unused |= chat.unused
        return summed(
            [Summed(session_id=key, told=chat.told) for key, chat in self._sessions.items()],
            line_count,
            self.losses,
            self._unused,
        )

    def _conversation(self, number: int, value: JsonObject) -> None:
        given = next((text_or_none(value.get(name)) for name in _ID_FIELDS if value.get(name)), "")
        name = id_for(given or f"{self._stem}-{number}", prefix="session", otherwise="")
        if name in self._sessions:
            name = id_for(f"{name}-line-{number}", prefix="session", otherwise="")
        chat = self._chat(name)
        messages = value["messages"]
        for message in messages if isinstance(messages, list) else []:
            if isinstance(message, dict):
                chat.take(number, message)
            else:
                chat.told.stand(number)
                chat.odd(message)
        self._unused |= {key for key in value if key not in {"messages", *_ID_FIELDS}}

    def _chat(self, name: str) -> "_Chat":
        return self._sessions.setdefault(name, _Chat())


@dataclass(slots=True)
class _Chat:
    """One conversation, message by message.

    Attributes:
        waiting: Ids of the calls that no result was paired with yet, in their order.
    """

    told: Conversation = field(default_factory=lambda: Conversation(SOURCE))
    unused: set[str] = field(default_factory=set[str])
    waiting: list[str] = field(default_factory=list[str])
    count: int = 0

    def take(self, line: int, message: JsonObject) -> None:
        self.count += 1
        at = time_of(message.get("timestamp", message.get("created_at")))
        self.told.stand(line, at)
        self.unused |= {key for key in message if key not in _CARRIED}
        match message.get("role"):
            case "user":
                self._user(message)
            case "system" | "developer":
                self._configuration(message)
            case "assistant":
                self._assistant(message)
            case "tool" | "function":
                self._result(message)
            case _:
                self.odd(message)

    def unreadable(self, read: Read) -> None:
        self.told.stand(read.number)
        self.told.keep("unreadable-line", {"base64": read.raw})

    def odd(self, value: JsonValue) -> None:
        """Keep what is no message that has a known role."""
        self.told.lose("not-a-message")
        self.told.keep("message", value)

    def _named(self, message: JsonObject) -> str:
        given = text_or_none(message.get("message_id")) or text_or_none(message.get("id"))
        return self.told.message_id(given, f"{self.count}")

    def _content(self, message: JsonObject) -> JsonValue:
        content = message.get("content")
        return content if isinstance(content, str) else parts_of(content)

    def _user(self, message: JsonObject) -> None:
        said: JsonObject = {
            "role": "user",
            "content": self._content(message),
            "message_id": self._named(message),
        }
        author = text_or_none(message.get("name"))
        if author is not None:
            said["author"] = {"subject_id": name_for(author, prefix="person", otherwise="unnamed")}
        self.waiting.clear()
        self.told.prompt(said, None, f"{self.count}")

    def _configuration(self, message: JsonObject) -> None:
        self.told.configure(
            {
                "role": message["role"],
                "content": self._content(message),
                "message_id": self._named(message),
            }
        )

    def _assistant(self, message: JsonObject) -> None:
        parts = [
            *reasoning_parts(message),
            *parts_of(message.get("content")),
            *extra_parts(message),
        ]
        calls = _calls_of(message)
        name = self._named(message)
        if parts or not calls:
            self.told.say(parts, name)
            if not parts:
                self.told.lose("empty-message")
        self.waiting = self.waiting if calls == [] else []
        for number, call in enumerate(calls, 1):
            self._call(call, number)

    def _call(self, call: JsonValue, number: int) -> None:
        match call:
            case {"function": {"name": str(name)}}:
                arguments = _arguments(within(call, "function", "arguments"))
            case {"custom": {"name": str(name)}}:
                arguments = within(call, "custom", "input")
            case {"name": str(name)}:
                arguments = _arguments(within(call, "arguments"))
            case _:
                self.told.lose("not-a-call")
                self.told.keep("tool-call", call)
                return
        given = text_or_none(within(call, "id"))
        if given is None:
            self.told.lose("call-without-id")
        call_id = name_for(given, prefix="call", otherwise=f"{self.count}-{number}")
        self.told.call(call_id, name, arguments)
        self.waiting.append(call_id)

    def _result(self, message: JsonObject) -> None:
        given = text_or_none(message.get("tool_call_id"))
        if given is not None:
            call_id = name_for(given, prefix="call", otherwise="")
            if call_id in self.waiting:
                self.waiting.remove(call_id)
            self.told.result(call_id, message.get("content"))
            return
        self.told.lose("paired-by-position")
        call_id = self.waiting.pop(0) if self.waiting else f"call-{self.count}"
        self.told.result(call_id, message.get("content"))
        self.told.keep("unsure-result", message)


def _calls_of(message: JsonObject) -> list[JsonValue]:
    calls = message.get("tool_calls")
    found = list(calls) if isinstance(calls, list) else []
    legacy = message.get("function_call")
    return [*found, legacy] if isinstance(legacy, dict) else found


def _arguments(text: JsonValue) -> JsonValue:
    """Return the object that the arguments' text writes, else what the model wrote."""
    if not isinstance(text, str):
        return {} if text is None else text
    try:
        value = parse(text.encode())
    except (NotJson, UnicodeEncodeError):
        return text
    return value if isinstance(value, dict) else text
