"""Which calls does an agent make during a prompt, and what has been told of each?

Each is announced once, as soon as its arguments are known or it can wait no longer, and ended once.
A call that its prompt left open, or that was cancelled with it, is not heard of again: what comes
later about it belongs to no later prompt.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from domain.approval_modes import ToolKind, tool_kind
from domain.json_text import JsonValue
from infrastructure.harness.acp.fields import (
    Object,
    as_arguments,
    as_name,
    extension,
    member,
    objects,
    text,
)
from infrastructure.harness.port import CallAnnounced, CallEnd, CallEnded, OwnUpdate, ResumedCall

_ENDS: Final[dict[str, CallEnd]] = {"completed": "completed", "failed": "failed"}
_PENDING: Final = "pending"
_SAY_NOTHING: Final = frozenset({"other"})
_TOOL_NAMES: Final = ("toolName", "tool_name")
_TERMINAL: Final = ("terminal_output", "terminal_output_delta")


@dataclass(slots=True, kw_only=True)
class Call:
    """One call, as far as the agent has told.

    Attributes:
        refused: Whether a person said that it is not to be made.
        terminal: What it wrote to a terminal that the agent has itself.
    """

    call_id: str
    said: Object = field(default_factory=dict[str, JsonValue])
    announced: bool = False
    ended: bool = False
    refused: bool = False
    terminal: str = ""

    @property
    def name(self) -> str:
        """Return the tool's name: its own if the agent tells it, else its kind, else its title.

        The protocol has no name of a tool. Titles are for people, and differ from call to call.
        """
        return as_name(
            _own_name(self.said)
            or _kind(self.said)
            or text(self.said, "title")
            or text(self.said, "kind")
            or "tool"
        )

    @property
    def kind(self) -> ToolKind:
        """Return what the agent claims that the tool does."""
        return tool_kind(text(self.said, "kind"))

    @property
    def arguments(self) -> JsonValue:
        """Return what it is called with."""
        return as_arguments(self.said.get("rawInput"))

    @property
    def title(self) -> str | None:
        """Return what a person is told about it."""
        return text(self.said, "title")


class Calls:
    """The calls of one conversation."""

    def __init__(self, *, eager: bool = False) -> None:
        """Begin; an `eager` agent announces no call before it knows all its arguments.

        Others begin a call with some of them, or none, and tell the rest as the model writes it.
        """
        self._eager = eager
        self._now: dict[str, Call] = {}
        self._earlier: set[str] = set()
        self._left_open: set[str] = set()

    def resume(self, calls: Iterable[ResumedCall]) -> None:
        """Know calls that were announced by a conversation before this one."""
        for each in calls:
            said: Object = {"title": each.name, "rawInput": each.arguments}
            self._now[each.tool_call_id] = Call(
                call_id=each.tool_call_id, said=said, announced=True
            )

    def told(self, update: Object) -> Iterator[OwnUpdate]:
        """Yield what is new in a `tool_call` or a `tool_call_update`."""
        call_id = text(update, "toolCallId")
        if call_id is None:
            return
        begins = update.get("sessionUpdate") == "tool_call"
        if call_id not in self._now and not self._is_new(call_id, update, begins=begins):
            return
        call = self._call(call_id, update)
        status = text(call.said, "status")
        if self._is_whole(call, status):
            yield from announcement(call)
        if status in _ENDS:
            yield from _end(call, _ENDS[status])

    def asked(self, tool_call: Object) -> Call | None:
        """Return the call that a person is asked about; None if its prompt is over."""
        call_id = text(tool_call, "toolCallId") or f"asked-{uuid4().hex}"
        if call_id not in self._now and call_id in self._left_open:
            return None
        return self._call(call_id, tool_call)

    def known(self, call_id: str | None) -> Call | None:
        """Return a call of this prompt."""
        return None if call_id is None else self._now.get(call_id)

    def over(self, *, cancelled: bool) -> Iterator[OwnUpdate]:
        """Yield what is left to tell when the prompt ends, and forget its calls."""
        for call in self._now.values():
            yield from announcement(call)
            if call.refused:
                yield from _end(call, "failed")
        self._earlier |= self._now.keys()
        self._left_open |= {
            call.call_id for call in self._now.values() if cancelled or not call.ended
        }
        self._now = {}

    def _is_whole(self, call: Call, status: str | None) -> bool:
        """Tell whether a call's arguments are those that it is made with."""
        given = call.said.get("rawInput")
        if self._eager:
            return given is not None or status not in {None, _PENDING}
        return bool(given) if status is None else status != _PENDING

    def _is_new(self, call_id: str, update: Object, *, begins: bool) -> bool:
        """Tell whether a call that is not running begins by this; ids may come again."""
        if call_id not in self._earlier:
            return True
        late = call_id in self._left_open and text(update, "status") in _ENDS
        return begins and not late

    def _call(self, call_id: str, update: Object) -> Call:
        call = self._now.get(call_id)
        if call is None:
            call = self._now[call_id] = Call(call_id=call_id)
        meta = member(call.said, "_meta") | member(update, "_meta")
        call.said |= {key: value for key, value in update.items() if value is not None}
        call.said["_meta"] = meta
        for key in _TERMINAL:
            call.terminal += text(member(member(update, "_meta"), key), "data") or ""
        return call


def announcement(call: Call) -> Iterator[OwnUpdate]:
    """Yield that a call is made, unless that was told."""
    if not call.announced:
        call.announced = True
        yield CallAnnounced(
            tool_call_id=as_name(call.call_id), name=call.name, arguments=call.arguments
        )


def _end(call: Call, end: CallEnd) -> Iterator[OwnUpdate]:
    if not call.ended:
        call.ended = True
        yield CallEnded(tool_call_id=as_name(call.call_id), end=end, output=_output(call))


def _output(call: Call) -> JsonValue:
    """Return what came out: the raw output, else a terminal's, else the text, else all content."""
    said = call.said
    if said.get("rawOutput") is not None:
        return said["rawOutput"]
    left = member(member(said, "_meta"), "terminal_exit")
    if call.terminal or left:
        return {"output": call.terminal, "exit_code": left.get("exit_code")}
    shown = objects(said, "content")
    inner = [member(item, "content") for item in shown]
    if len(inner) == 1 and inner[0].get("type") == "text":
        return inner[0].get("text")
    return list[JsonValue](shown) if shown else None


def _own_name(said: Object) -> str | None:
    own = extension(said, "tool")
    if isinstance(own, str) and own:
        return own
    if text(said, "name") is not None:
        return text(said, "name")
    meta = member(said, "_meta")
    for holder in (meta, *(member(meta, key) for key in meta)):
        for key in _TOOL_NAMES:
            name = text(holder, key)
            if name is not None:
                return name
    return None


def _kind(said: Object) -> str | None:
    kind = text(said, "kind")
    return None if kind in _SAY_NOTHING else kind
