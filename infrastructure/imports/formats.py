"""Which formats of other programs can be read, and which of them is this file in?

A file says it by its content, never by its name. What could be more than one thing, or none, is
refused with what would settle it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from domain.json_text import DEEPEST, JsonValue, NotJson, dump, parse
from infrastructure.imports import claude_code, codex_rollout, openai_chat, ui_messages
from infrastructure.imports.claude_lines import (
    JsonObject,
    text_or_none,
    without_lone_surrogates,
)
from infrastructure.imports.source_lines import within
from infrastructure.imports.translation import Translation

TranscriptFormat: TypeAlias = Literal["claude-code", "openai-chat", "codex", "ui-messages"]
AnyFormat: TypeAlias = Literal[TranscriptFormat, "rows", "turnlog"]

EXPORT: Final = "turnlog-export"
LOOKED_AT: Final = 50
ROW_COLUMNS: Final = frozenset({"session_id", "external_id", "role", "content"})
_BOM: Final = b"\xef\xbb\xbf"
_ROLES: Final = frozenset({"user", "assistant", "system", "developer", "tool", "function"})
_CHUNKS: Final = frozenset(
    {
        "start",
        "start-step",
        "text-start",
        "text-delta",
        "text-end",
        "reasoning-start",
        "reasoning-delta",
        "tool-input-start",
        "tool-input-delta",
        "tool-input-available",
        "tool-output-available",
        "finish-step",
        "finish",
        "error",
    }
)
_FOREIGN: Final = "foreign"  # a format that is known, and not read
_ANTHROPIC: Final = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_RESPONSES: Final = frozenset(
    {"function_call", "function_call_output", "reasoning", "custom_tool_call", "item_reference"}
)
_CLAUDE_LINES: Final = frozenset(
    {
        "summary",
        "file-history-snapshot",
        "queue-operation",
        "custom-title",
        "last-prompt",
        "progress",
        "attachment",
        "mode",
    }
)
UNSURE: Final = (
    "the file does not say what it is; name its format "
    "(claude-code, openai-chat, codex, ui-messages, rows or turnlog)"
)
A_STREAM: Final = (
    "these are the chunks of a UI message stream, and no messages; "
    "import the messages that were made of them"
)


class UnknownFormat(ValueError):
    """A file is in no format that can be read, or in one that cannot be told; the message says."""


class Translate(Protocol):
    """Makes events of a source's lines."""

    def __call__(
        self, lines: Sequence[bytes], *, source_name: str, flush_after: Sequence[int] = ()
    ) -> Translation:
        """Return what the lines hold; the same for the lines before each flush."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFormat:
    """A format of transcripts.

    Attributes:
        items: Gives the messages of a file that is one JSON document, if it is one.
    """

    name: TranscriptFormat
    translate: Translate
    items: Callable[[bytes], list[bytes] | None]


def items_of(content: bytes) -> list[bytes] | None:
    """Return the messages of a file that is one JSON document, each as a line; None for lines.

    A document with `messages` and more comes as one line, since what is beside them counts.
    """
    value = _document(content)
    if isinstance(value, list):
        return [dump(item) for item in value]
    if isinstance(value, dict):
        messages = value.get("messages")
        if isinstance(messages, list) and len(value) == 1:
            return [dump(item) for item in messages]
        return [dump(value)]
    return None


def _lines_only(_: bytes) -> list[bytes] | None:
    return None


FORMATS: Final[Mapping[TranscriptFormat, SourceFormat]] = {
    "claude-code": SourceFormat(
        name="claude-code", translate=claude_code.translate, items=_lines_only
    ),
    "openai-chat": SourceFormat(
        name="openai-chat", translate=openai_chat.translate, items=items_of
    ),
    "codex": SourceFormat(name="codex", translate=codex_rollout.translate, items=items_of),
    "ui-messages": SourceFormat(
        name="ui-messages", translate=ui_messages.translate, items=items_of
    ),
}


def format_of(beginning: bytes, *, whole: bool = True) -> AnyFormat:
    """Return which format a file is in, by its beginning.

    Args:
        beginning: The file's first bytes.
        whole: Whether they are all of it.

    Raises:
        UnknownFormat: it is none, or cannot be told.
    """
    if whole and (items := items_of(beginning)) is not None:
        return _agreed(_objects(items[:LOOKED_AT]))
    lines = beginning.removeprefix(_BOM).split(b"\n")
    if not whole:
        lines = lines[:-1]
    if _is_csv(lines[0] if lines else b""):
        return "rows"
    return _agreed(_objects([line for line in lines if line.strip()][:LOOKED_AT]))


def _document(content: bytes) -> JsonValue:
    """Return what a file says that is one JSON document; None if it is lines, or nothing."""
    text = content.removeprefix(_BOM).strip()
    first = text[:1]
    if first == b"{":
        line, newline, _ = text.partition(b"\n")
        if newline and _parsed(line) is not None:
            return None
    elif first != b"[":
        return None
    return _parsed(text)


def _parsed(text: bytes) -> JsonValue:
    try:
        return parse(without_lone_surrogates(text.strip())[0], max_depth=DEEPEST)
    except NotJson:
        return None


def _objects(lines: Sequence[bytes]) -> Iterator[JsonObject]:
    for line in lines:
        value = _parsed(line)
        if isinstance(value, dict):
            yield value


def _is_csv(line: bytes) -> bool:
    names = {name.strip().strip(b'"') for name in line.split(b",")}
    return {name.encode() for name in ROW_COLUMNS} <= names


def _agreed(objects: Iterator[JsonObject]) -> AnyFormat:
    """Return the format that the objects agree on."""
    found = {kind for kind in map(_kind, objects) if kind is not None}
    if "chunks" in found and found <= {"chunks"}:
        raise UnknownFormat(A_STREAM)
    named = [kind for kind in (*FORMATS, "rows", "turnlog") if kind in found]
    if len(found) == 1 and named:
        return named[0]  # type: ignore[return-value]  # pyright: ignore[reportReturnType]
    if "turnlog" in found:
        return "turnlog"  # its events quote anything
    raise UnknownFormat(UNSURE)


def _kind(value: JsonObject) -> str | None:
    """Return what an object is a part of, as far as it tells."""
    kind = text_or_none(value.get("type"))
    if str(value.get("format", "")).startswith(EXPORT):
        return "turnlog"
    if value.keys() >= ROW_COLUMNS:
        return "rows"
    if kind in codex_rollout.LINES and "payload" in value:
        return "codex"
    return _claude_kind(value) or _chat_kind(value)


def _claude_kind(value: JsonObject) -> str | None:
    kind = text_or_none(value.get("type"))
    if kind in _CLAUDE_LINES or (isinstance(kind, str) and value.keys() & {"sessionId", "uuid"}):
        message = value.get("message")
        return _FOREIGN if isinstance(message, dict) and "parts" in message else "claude-code"
    return None


def _chat_kind(value: JsonObject) -> str | None:
    kind, messages = text_or_none(value.get("type")), value.get("messages")
    if kind in _RESPONSES:
        return _FOREIGN
    if isinstance(messages, list):
        kinds = {_message_kind(each) for each in messages[:LOOKED_AT] if isinstance(each, dict)}
        return kinds.pop() if len(kinds) == 1 else _FOREIGN
    return _message_kind(value) or ("chunks" if kind in _CHUNKS else None)


def _message_kind(value: JsonObject) -> str | None:
    if text_or_none(value.get("role")) not in _ROLES:
        return None
    if isinstance(value.get("parts"), list):
        return "ui-messages"
    content = value.get("content")
    blocks = content if isinstance(content, list) else []
    if any(text_or_none(within(each, "type")) in _ANTHROPIC for each in blocks):
        return _FOREIGN
    return "openai-chat" if value.keys() & {"content", "tool_calls", "function_call"} else None
