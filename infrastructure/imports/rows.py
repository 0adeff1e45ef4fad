"""Which events is one row of somebody's own table of messages?

`session_id, external_id, role, content, occurred_at, author?, usage?`: the external id becomes the
message's id. Content is a text or our own parts, calls and results among them. A row that cannot
be read is named by its line, and no other row suffers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias, cast

from domain.graphemes import shortened
from domain.json_text import JsonValue, NotJson, parse
from infrastructure.imports.claude_lines import JsonObject, id_for, name_for, text_or_none
from infrastructure.imports.conversation import Conversation
from infrastructure.imports.source_lines import count_of, time_of

SOURCE: Final = "rows"
COLUMNS: Final = frozenset(
    {"session_id", "external_id", "role", "content", "occurred_at", "author", "usage"}
)
EXTRA: Final = frozenset({"tool_call_id"})
RowRole: TypeAlias = Literal["user", "assistant", "system", "developer", "tool"]
_ROLES: Final = frozenset({"user", "assistant", "system", "developer", "tool"})
_OWN_PARTS: Final = frozenset({"text", "reasoning", "attachment", "data"})
_STRUCTURED: Final = ("content", "author", "usage")
_TOKENS: Final = ("cache_read_tokens", "cache_write_tokens")


class BadRow(ValueError):
    """A row cannot be taken; the message is a code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One message of one session."""

    line: int
    session_id: str
    external_id: str
    role: RowRole
    content: JsonValue
    at: datetime | None
    author: JsonObject | None
    usage: JsonObject | None
    tool_call_id: str | None
    faults: tuple[str, ...]


def row_of(value: JsonObject, line: int) -> Row:
    """Return what an object says as a row.

    Raises:
        BadRow: with why it cannot be one.
    """
    session, external = _key(value.get("session_id")), _key(value.get("external_id"))
    role = text_or_none(value.get("role"))
    if session is None:
        raise BadRow("no-session-id")
    if external is None:
        raise BadRow("no-external-id")
    if role not in _ROLES:
        raise BadRow("unknown-role")
    at = _time(value.get("occurred_at"))
    faults = ["unreadable-time"] if at is None and value.get("occurred_at") else []
    usage = _usage(value.get("usage"))
    if usage is None and value.get("usage"):
        faults.append("unreadable-usage")
    return Row(
        line=line,
        session_id=id_for(session, prefix="session", otherwise=""),
        external_id=name_for(external, prefix="row", otherwise=""),
        role=cast("RowRole", role),
        content=value.get("content"),
        at=at,
        author=_author(value.get("author")),
        usage=usage,
        tool_call_id=_key(value.get("tool_call_id")),
        faults=tuple(faults),
    )


def row_of_cells(cells: Mapping[str, str]) -> JsonObject:
    """Return the object that a row of CSV stands for: JSON in a cell is read, empty is absent."""
    value: JsonObject = {}
    for name, cell in cells.items():
        if cell:
            value[name] = _cell(cell) if name in _STRUCTURED else cell
    if "content" in cells:
        value.setdefault("content", "")
    return value


@dataclass(slots=True)
class RowsOfSession:
    """One session, row by row.

    Attributes:
        waiting: Calls that no result came for, oldest first.
    """

    told: Conversation = field(default_factory=lambda: Conversation(SOURCE))
    waiting: list[str] = field(default_factory=list[str])

    def take(self, row: Row) -> None:
        """Tell one row."""
        told = self.told
        told.stand(row.line, row.at)
        for fault in row.faults:
            told.lose(fault)
        if row.role == "user":
            self._user(row)
        elif row.role == "assistant":
            self._assistant(row)
        elif row.role == "tool":
            self._tool(row)
        else:
            told.configure(self._message(row, _said(_parts(row.content))))
        if row.usage is not None:
            told.record("usage-recorded", row.usage)

    def _message(self, row: Row, parts: list[JsonValue]) -> JsonObject:
        content = row.content if isinstance(row.content, str) else parts
        message: JsonObject = {
            "role": row.role,
            "content": content,
            "message_id": row.external_id,
        }
        return message if row.author is None else {**message, "author": row.author}

    def _user(self, row: Row) -> None:
        parts = _parts(row.content)
        results = [part for part in parts if _type(part) == "tool_result"]
        for part in results:
            self._result(part, row)
        rest = _said([part for part in parts if _type(part) != "tool_result"])
        if rest or not results:
            self.waiting.clear()
            self.told.prompt(self._message(row, rest), f"turn-{row.external_id}", "")

    def _assistant(self, row: Row) -> None:
        name: str | None = row.external_id
        said: list[JsonValue] = []
        parts = _parts(row.content)
        for number, part in enumerate(parts, 1):
            kind = _type(part)
            if kind not in {"tool_call", "tool_result"}:
                said += _said([part])
                continue
            name, said = self._speak(said, name), []
            if kind == "tool_call":
                self._call(part, row, number)
            else:
                self._result(part, row)
        if said or not parts:
            self._speak(said, name, empty=not parts)

    def _speak(self, said: list[JsonValue], name: str | None, *, empty: bool = False) -> str | None:
        if not said and not empty:
            return name
        if empty:
            self.told.lose("empty-message")
        self.told.say(said, name, counts=name is not None)
        return None

    def _call(self, part: JsonObject, row: Row, number: int) -> None:
        given = text_or_none(part.get("tool_call_id"))
        if given is None:
            self.told.lose("call-without-id")
        call_id = name_for(given, prefix="call", otherwise=f"{row.external_id}-{number}")
        arguments = part.get("arguments")
        self.told.call(call_id, text_or_none(part.get("name")), arguments or {})
        self.waiting.append(call_id)

    def _tool(self, row: Row) -> None:
        parts = _parts(row.content)
        if parts and all(_type(part) == "tool_result" for part in parts):
            for part in parts:
                self._result(part, row)
            return
        output: JsonObject = {"output": row.content}
        if row.tool_call_id is not None:
            output["tool_call_id"] = row.tool_call_id
        self._result(output, row)

    def _result(self, part: JsonObject, row: Row) -> None:
        given = text_or_none(part.get("tool_call_id"))
        if given is None:
            self.told.lose("paired-by-position")
            given = self.waiting[0] if self.waiting else None
        call_id = name_for(given, prefix="call", otherwise=row.external_id)
        if call_id in self.waiting:
            self.waiting.remove(call_id)
        self.told.result(
            call_id,
            part.get("output"),
            is_error=part.get("is_error") is True,
            denied=part.get("denied") is True,
        )


def _key(value: JsonValue) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_or_none(value)


def _time(value: JsonValue) -> datetime | None:
    if isinstance(value, str):
        try:
            return time_of(float(value))
        except ValueError:
            pass  # then it is written as a date
    return time_of(value)


def _cell(cell: str) -> JsonValue:
    """Return what a cell says as JSON if it is an object or parts, else its text."""
    if cell.lstrip()[:1] not in {"[", "{"}:
        return cell
    try:
        value = parse(cell.encode())
    except (NotJson, UnicodeEncodeError):
        return cell
    if isinstance(value, list) and not all(_type_in(item) for item in value):
        return cell
    return value


def _type_in(item: JsonValue) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str)


def _parts(content: JsonValue) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if content is None:
        return []
    items: Sequence[JsonValue] = content if isinstance(content, list) else [content]
    return [
        item if isinstance(item, dict) and _type_in(item) else _opaque("unknown", item)
        for item in items
    ]


def _said(parts: Sequence[JsonObject]) -> list[JsonValue]:
    """Return parts as a message of ours can hold them."""
    return [part if _type(part) in _OWN_PARTS else _opaque(_type(part), part) for part in parts]


def _type(part: JsonObject) -> str:
    return str(part.get("type"))


def _opaque(kind: str, value: JsonValue) -> JsonObject:
    return {
        "type": "data",
        "kind": name_for(f"{SOURCE}/{kind}", prefix=SOURCE, otherwise="unknown"),
        "data": value,
    }


def _author(value: JsonValue) -> JsonObject | None:
    if isinstance(value, dict):
        subject, display = _key(value.get("subject_id")), text_or_none(value.get("display"))
    else:
        subject, display = _key(value), None
    if subject is None:
        return None
    author: JsonObject = {"subject_id": name_for(subject, prefix="person", otherwise="")}
    return author if display is None else {**author, "display": shortened(display, 256)}


def _usage(value: JsonValue) -> JsonObject | None:
    if not isinstance(value, dict):
        return None
    given, made = count_of(value.get("input_tokens")), count_of(value.get("output_tokens"))
    if given is None and made is None:
        return None
    model = text_or_none(value.get("model"))
    usage: JsonObject = {
        "model": name_for(model, prefix="model", otherwise="unknown") if model else "unknown",
        "input_tokens": given or 0,
        "output_tokens": made or 0,
    }
    for name in _TOKENS:
        tokens = count_of(value.get(name))
        if tokens is not None:
            usage[name] = tokens
    if value.get("cost") is not None:
        usage["cost"] = value["cost"]
    return usage
