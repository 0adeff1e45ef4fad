"""Which messages can be shown as they are stored, and what do they look like?

Those of plain facts: complete text, calls that have an outcome and waited for no gate, results. Of
such a body nothing has to be changed, so its JSON passes through without an object being built.
Every other message is folded. Both ways give the same bytes; a law, and tested as one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from typing import Any, Final, TypeAlias

from pydantic_core import from_json

from domain.raw_json import opaque_members

Members: TypeAlias = dict[str, Any]
StoredMessage: TypeAlias = tuple[int, str, str, str, int, int, str | None, bytes | None]
"""Index, message id, turn id, role, item, version, versions; and the body of that version."""
StoredCall: TypeAlias = tuple[int | None, int | None, int, str | None, str, bool]
"""Requested and completed version, occurrence, name, status; and whether it ever had a gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What else a stretch of the transcript is stored as, looked at from a version.

    Attributes:
        calls: Those that were asked for or answered in it.
        joined: The bodies of facts that joined a message after its first, by version.
        old: The versions whose bodies have another schema than the first.
        archived: Messages before this index are archived.
    """

    calls: Iterable[StoredCall]
    joined: Mapping[int, bytes]
    old: frozenset[int]
    archived: int
    at: int


def as_stored(messages: Iterable[StoredMessage], stretch: Stretch) -> list[str | None]:
    """Return each message's JSON; None for one that has to be folded."""
    shown: list[str | None] = []
    read, archived = _Reader(stretch), stretch.archived
    for index, message_id, turn_id, role, item, version, versions, body in messages:
        parts = read.parts(body, version, item)
        if versions is not None and parts is not None:
            parts = read.with_joined(parts, versions)
        shown.append(
            None
            if parts is None
            else f'{{"index":{index},"message_id":{quoted(message_id)},"turn_id":"{turn_id}",'
            f'"version":{version},"role":"{role}",'
            f'"state":{_STATES[index < archived]},"parts":[{parts}]}}'
        )
    return shown


class _Reader:
    """Reads facts as parts; None where one is not plain."""

    def __init__(self, stretch: Stretch) -> None:
        self._at: Final = stretch.at
        self._old: Final = stretch.old
        self._joined: Final = stretch.joined
        self._asked: Final[dict[int | None, StoredCall]] = {}
        self._answered: Final[dict[int | None, StoredCall]] = {}
        for call in stretch.calls:
            self._asked[call[0]] = self._answered[call[1]] = call

    def parts(self, body: bytes | None, version: int, item: int) -> str | None:
        """Return the parts that a fact brings; its members tell which kind of fact it is."""
        if body is None or version in self._old:
            return None
        try:
            text = body.decode()
            found = None if "\\" in text else _PLAINEST(text)
            if found is None:
                return self._read(body, version, item)
            match found.lastgroup:
                case "said":
                    return f'{{"type":"text","text":{found["said"]}}}'
                case "output":
                    return self._result(version, *found.group("call_id", "output"))
                case _:
                    return self._call(version, *found.group("call_id", "name", "arguments"))
        except (ValueError, TypeError, LookupError):
            return None  # what cannot be read is for the fold to show

    def with_joined(self, parts: str, versions: str) -> str | None:
        """Return a message's parts with those of the facts that joined it."""
        every: list[str | None] = [parts]
        for version in map(int, versions.split(",")[1:]):
            body = self._joined.get(version) if version <= self._at else None
            every += [self.parts(body, version, 0)]
        return None if None in every else ",".join(filter(None, every))

    def _read(self, body: bytes, version: int, item: int) -> str | None:
        """Return the parts of a fact that is plain, but not so plainly written."""
        members = from_json(body)
        if "message" in members:
            return _said(members["message"]) if len(members) == 2 else None  # noqa: PLR2004
        if "messages" in members:
            known = 2 + ("history_sent" in members)
            return _said(members["messages"][item]) if len(members) == known else None
        call_id = quoted(members["tool_call_id"])
        if "output" in members:
            flags = {
                name: _FLAGS[members[name]] for name in ("is_error", "denied") if name in members
            }
            if len(members) != 3 + len(flags):
                return None
            return self._result(version, call_id, _opaque(members, body, "output"), **flags)
        name, arguments = quoted(members["name"]), _opaque(members, body, "arguments")
        return self._call(version, call_id, name, arguments) if len(members) == 4 else None  # noqa: PLR2004

    def _call(self, version: int, call_id: str, name: str, arguments: str) -> str | None:
        _, completed, occurrence, _, status, has_gate = self._asked[version]
        if has_gate or status not in _OUTCOMES or completed is None or completed > self._at:
            return None
        return (
            f'{{"type":"tool_call","tool_call_id":{call_id},"name":{name},"arguments":{arguments},'
            f'"status":"{status}"{_occurrence(occurrence)}}}'
        )

    def _result(
        self,
        version: int,
        call_id: str,
        output: str,
        is_error: str = "false",
        denied: str = "false",
    ) -> str:
        _, _, occurrence, name, _, _ = self._answered[version]
        named = "" if name is None else f',"name":{quoted(name)}'
        return (
            f'{{"type":"tool_result","tool_call_id":{call_id},"output":{output},'
            f'"is_error":{is_error},"denied":{denied}{named}{_occurrence(occurrence)}}}'
        )


def _said(message: Members) -> str | None:
    """Return the parts of a whole message that names no author: texts and reasoning."""
    known = 2 + ("message_id" in message) + (message.get("status") == "complete")
    if len(message) != known:
        return None
    content = message["content"]
    if isinstance(content, str):
        return f'{{"type":"text","text":{quoted(content)}}}'
    if any(part["type"] not in _WORDS for part in content):
        return None
    parts = [",".join(f"{quoted(k)}:{quoted(v)}" for k, v in part.items()) for part in content]
    return ",".join(f"{{{part}}}" for part in parts)


def _occurrence(number: int) -> str:
    return "" if number == 1 else f',"occurrence":{number}'


def _opaque(members: Members, body: bytes, name: str) -> str:
    """Return a member's value as it is written; before it stand names only."""
    found = _MARKS[name].search(body) if next(reversed(members)) == name else None
    if found is None:
        return opaque_members(body)[name].decode()
    return body[found.end() :].rstrip()[:-1].rstrip().decode()


_STATES: Final = ('"live"', '"archived"')
_FLAGS: Final = {False: "false", True: "true"}
_OUTCOMES: Final = frozenset({"completed", "failed", "denied"})
_WORDS: Final = frozenset({"text", "reasoning"})
_MARKS: Final = {
    name: re.compile(rb'"%b"[ \t\r\n]*+:[ \t\r\n]*+' % name.encode())
    for name in ("arguments", "output")
}
_PLAINEST: Final = re.compile(
    r"""\{"turn_id":[ ]?"[^"]*+",[ ]?(?:
        (?:"message":[ ]?|"messages":[ ]?(?P<list>\[))
            \{"role":[ ]?"[^"]*+",[ ]?"content":[ ]?(?P<said>"[^"]*+")\}(?(list)\])
      | "tool_call_id":[ ]?(?P<call_id>"[^"]*+"),[ ]?(?:
            "output":[ ]?(?P<output>"[^"]*+")
          | "name":[ ]?(?P<name>"[^"]*+"),[ ]?"arguments":[ ]?(?P<arguments>"[^"]*+"|\{[^{}]*+\})
        )
    )\}""",
    re.VERBOSE,
).fullmatch
"""What most facts look like when nothing in them is escaped: a quotation mark ends a text."""
