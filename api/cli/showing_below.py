"""`turnlog show --subagents`: what did those say that a session's calls began, where they were?

A sub-agent is shown below the message that called it, as deep as four sessions, and never within
itself; what is not shown for that is named.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from api.cli.failures import Failure
from api.cli.source import Source
from api.cli.terminal_text import one_line
from domain.json_text import JsonValue, parse

DEEPEST: Final = 4
STEP: Final = 4
_Call = tuple[str, str]


class Below:
    """The sub-agents of a session, as they are shown."""

    def __init__(self, source: Source, session_id: str, above: tuple[str, ...] = ()) -> None:
        """Take a session, and those that it is shown within."""
        self._source: Final = source
        self._path: Final = (*above, session_id)
        self._by_call: Final[dict[_Call, dict[str, JsonValue]]] = {}
        self._others: Final[list[dict[str, JsonValue]]] = []
        for line in source.subagents(session_id):
            child = parse(line)
            if isinstance(child, dict):
                call = (str(child.get("turn_id")), str(child.get("tool_call_id")))
                if child.get("tool_call_id") is None:
                    self._others.append(child)
                else:
                    self._by_call[call] = child

    def of(self, message: JsonValue) -> Iterator[tuple[Mapping[str, JsonValue], "Below | None"]]:
        """Yield what a message's calls began, with what is below each; None: not to be shown."""
        if not isinstance(message, dict):
            return
        parts = message.get("parts")
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict) and part.get("type") == "tool_call":
                call = (str(message.get("turn_id")), str(part.get("tool_call_id")))
                child = self._by_call.pop(call, None)
                if child is not None:
                    yield child, self._below(child)

    def rest(self) -> Iterator[tuple[Mapping[str, JsonValue], "Below | None"]]:
        """Yield those of which no call is shown."""
        for child in (*self._by_call.values(), *self._others):
            yield child, self._below(child)

    def messages(self) -> Iterator[JsonValue]:
        """Yield what was said in it."""
        session_id = self._path[-1]
        found = self._source.messages(session_id, at=None, newest=None, archived=False)
        yield from map(parse, found)

    @property
    def indent(self) -> int:
        """Return how far to the right it is shown."""
        return STEP * (len(self._path) - 1)

    def _below(self, child: Mapping[str, JsonValue]) -> "Below | None":
        session_id = str(child.get("session_id"))
        if session_id in self._path or len(self._path) > DEEPEST:
            return None
        try:
            return Below(self._source, session_id, self._path)
        except Failure:  # it is gone meanwhile
            return None


def header(child: Mapping[str, JsonValue], shown: Below | None, indent: int) -> RenderableType:
    """Return who comes now, or is not shown."""
    name = one_line(str(child.get("agent_id") or "sub-agent"))
    session_id = one_line(str(child.get("session_id")))
    left = "" if shown is not None else " (not shown here)"
    return Padding(
        Text.assemble(("⤷ ", "yellow"), (name, "bold"), (f" · {session_id}{left}", "dim")),
        (0, 0, 0, indent + STEP // 2),
    )
