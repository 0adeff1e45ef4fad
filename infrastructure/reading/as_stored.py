"""Which messages can be shown as they are stored, and what do they look like?

Those of plain facts: complete text, calls that have an outcome and waited for no gate, results. Of
such a body nothing has to be changed, so what it says passes through: no fact is made of it.
Every other message is folded. Both ways give the same bytes; a law, and tested as one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from typing import Any, Final, TypeAlias

from pydantic_core import from_json

from domain.raw_json import opaque_members
from infrastructure.reading.places import Span

Members: TypeAlias = dict[str, Any]
StoredMessage: TypeAlias = tuple[int, str, int, int, str | None, bytes | None]
"""Index, message id, item, version, versions; and the body of that version. The body knows more."""
StoredCall: TypeAlias = tuple[int | None, int | None, int, str | None, str, bool]
"""Requested and completed version, occurrence, name, status; and whether it ever had a gate."""


class NotPlain(ValueError):
    """A fact has to be folded to be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What else a stretch of the transcript is stored as, looked at from a version.

    Attributes:
        calls: Those that were asked for or answered in it.
        joined: The bodies of facts that joined a message after its first, by version.
        old: The versions whose bodies have another schema than the first.
        archived: Messages in sight before this depth are archived.
        others: What is said of that which began in a message's place, by its index.
    """

    calls: Iterable[StoredCall]
    joined: Mapping[int, bytes]
    old: frozenset[int]
    archived: int
    at: int
    others: Mapping[int, str]


def as_stored(
    spans: Iterable[tuple[Span, Iterable[StoredMessage]]], stretch: Stretch
) -> list[str | None]:
    """Return each message's JSON; None for one that has to be folded."""
    reader, archived, others = _Reader(stretch), stretch.archived, stretch.others
    shown: list[str | None] = []
    for span, messages in spans:
        further, states = span.depth - span.first, _STATES[span.rewound]
        for index, message_id, item, version, versions, body in messages:
            depth = index + further
            try:
                turn_id, role, parts = reader.fact(body, item, version)
                if versions is not None:
                    parts = reader.with_joined(parts, versions)
                shown.append(
                    f'{{"index":{depth},"message_id":{quoted(message_id)},'
                    f'"turn_id":{quoted(turn_id)},"version":{version},"role":{quoted(role)},'
                    f'"state":{states[depth < archived]}{others.get(index, "")},'
                    f'"parts":[{parts}]}}'
                )
            except (ValueError, TypeError, LookupError):
                shown.append(None)  # what cannot be read is for the fold to show
    return shown


class _Reader:
    """Reads facts that are plain; may raise what reading JSON of any shape can raise."""

    def __init__(self, stretch: Stretch) -> None:
        self._at: Final = stretch.at
        self._old: Final = stretch.old
        self._joined: Final = stretch.joined
        self._asked: Final[dict[int | None, StoredCall]] = {}
        self._answered: Final[dict[int | None, StoredCall]] = {}
        for call in stretch.calls:
            self._asked[call[0]] = self._answered[call[1]] = call

    def fact(self, body: bytes | None, item: int, version: int) -> tuple[str, str, str]:
        """Return turn id, role and parts; a fact's members tell which kind of fact it is."""
        if body is None or version in self._old:
            raise NotPlain
        members: Members = from_json(body, allow_inf_nan=False)
        if "message" in members and len(members) == 2:  # noqa: PLR2004
            message = members["message"]
        elif "messages" in members and members.keys() <= _STARTS:
            message = members["messages"][item]
        elif "output" in members:
            return members["turn_id"], "tool", self._result(members, body, version)
        else:
            return members["turn_id"], "assistant", self._call(members, body, version)
        content = message["content"]
        if len(message) != 2 or content.__class__ is not str:  # noqa: PLR2004
            parts = _said(message)
        elif b"\\" in body:
            parts = f'{{"type":"text","text":{quoted(content)}}}'
        else:  # it is written as it reads; to look for escapes in it would take longer
            parts = f'{{"type":"text","text":"{content}"}}'
        return members["turn_id"], message["role"], parts

    def with_joined(self, parts: str, versions: str) -> str:
        """Return a message's parts with those of the facts that joined it."""
        every = [parts]
        for version in map(int, versions.split(",")[1:]):
            if version > self._at:
                raise NotPlain
            every.append(self.fact(self._joined[version], 0, version)[2])
        return ",".join(filter(None, every))

    def _call(self, members: Members, body: bytes, version: int) -> str:
        _, completed, occurrence, _, status, has_gate = self._asked[version]
        if has_gate or status not in _OUTCOMES or completed is None or completed > self._at:
            raise NotPlain
        if len(members) != 4:  # noqa: PLR2004
            raise NotPlain
        return (
            f'{{"type":"tool_call","tool_call_id":{quoted(members["tool_call_id"])},'
            f'"name":{quoted(members["name"])},"arguments":{_opaque(members, body, "arguments")},'
            f'"status":"{status}"{_occurrence(occurrence)}}}'
        )

    def _result(self, members: Members, body: bytes, version: int) -> str:
        _, _, occurrence, name, _, _ = self._answered[version]
        flags = '"is_error":false,"denied":false'
        if len(members) != 3:  # noqa: PLR2004
            flags = _flags(members)
        named = "" if name is None else f',"name":{quoted(name)}'
        return (
            f'{{"type":"tool_result","tool_call_id":{quoted(members["tool_call_id"])},'
            f'"output":{_opaque(members, body, "output")},{flags}{named}{_occurrence(occurrence)}}}'
        )


def _said(message: Members) -> str:
    """Return the parts of a whole message that names no author: texts and reasoning."""
    content = message["content"]
    if len(message) != 2 + ("message_id" in message) + (message.get("status") == "complete"):
        raise NotPlain
    if isinstance(content, str):
        return f'{{"type":"text","text":{quoted(content)}}}'
    if any(part["type"] not in _WORDS for part in content):
        raise NotPlain
    parts = [",".join(f"{quoted(k)}:{quoted(v)}" for k, v in part.items()) for part in content]
    return ",".join(f"{{{part}}}" for part in parts)


def _flags(members: Members) -> str:
    """Return what a result says of itself besides its output."""
    if len(members) != 3 + ("is_error" in members) + ("denied" in members):
        raise NotPlain
    is_error, denied = members.get("is_error", False), members.get("denied", False)
    return f'"is_error":{_FLAGS[is_error]},"denied":{_FLAGS[denied]}'


def _occurrence(number: int) -> str:
    return "" if number == 1 else f',"occurrence":{number}'


def _opaque(members: Members, body: bytes, name: str) -> str:
    """Return a member's value as it is written; before it stand names only."""
    value = members[name]
    if isinstance(value, str) and b"\\" not in body:
        return f'"{value}"'
    found = _MARKS[name].search(body) if next(reversed(members)) == name else None
    if found is None:
        return opaque_members(body)[name].decode()
    return body[found.end() :].rstrip()[:-1].rstrip().decode()


_STARTS: Final = frozenset({"turn_id", "messages", "history_sent", "lane_id", "reply_to"})
_STATES: Final = (('"live"', '"archived"'), ('"rewound"', '"rewound"'))
_FLAGS: Final = {False: "false", True: "true"}
_OUTCOMES: Final = frozenset({"completed", "failed", "denied"})
_WORDS: Final = frozenset({"text", "reasoning"})
_MARKS: Final = {
    name: re.compile(rb'"%b"[ \t\r\n]*+:[ \t\r\n]*+' % name.encode())
    for name in ("arguments", "output")
}
