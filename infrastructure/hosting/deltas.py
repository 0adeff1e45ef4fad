"""What are watchers told of a turn while it runs?

Small objects with a `type`: `text` and `reasoning` with a piece of `text`; `part` of a message that
is no text; `tool_call` and `tool_result` as in a transcript; `gate` once it is recorded; `note`.
They are not kept, and say nothing that will not be in the log. A long value is left out, and its
name is in `left_out`.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from domain import events as e
from domain.json_text import JsonValue
from domain.raw_json import RawJson
from infrastructure.harness.port import Said, Shown
from infrastructure.hosting.writable import text_of

Delta: TypeAlias = Mapping[str, JsonValue]
LONGEST: Final = 16 * 1024


def piece(said: Said | Shown) -> Delta:
    """Return a piece of a message."""
    if isinstance(said, Said):
        return {"type": said.voice, "text": text_of(said.text)}
    kind, media_type = said.part.get("type"), said.part.get("media_type")
    shape: dict[str, JsonValue] = {"type": "part", "part": str(kind)}
    if isinstance(media_type, str):
        shape["media_type"] = media_type
    return shape


def call(tool_call_id: str, name: str, arguments: RawJson) -> Delta:
    """Return a call."""
    shape: dict[str, JsonValue] = {"type": "tool_call", "tool_call_id": tool_call_id, "name": name}
    return _with(shape, "arguments", arguments)


def result(completed: e.ToolCallCompleted, output: RawJson) -> Delta:
    """Return what came of a call."""
    shape: dict[str, JsonValue] = {
        "type": "tool_result",
        "tool_call_id": completed.tool_call_id,
        "is_error": completed.is_error,
        "denied": completed.denied,
    }
    return _with(shape, "output", output)


def gate(opened: e.GateOpened) -> Delta:
    """Return a question that waits."""
    shape: Delta = {
        "type": "gate",
        "gate_id": opened.gate_id,
        "kind": opened.kind,
        "permission_id": opened.permission_id,
        "tool_call_id": opened.tool_call_id,
        "tool": opened.tool,
    }
    if opened.subagent_session_id is not None:
        shape = {**shape, "subagent_session_id": opened.subagent_session_id}
    for name in ("arguments", "options", "answer_schema"):
        shape = _with(shape, name, getattr(opened, name))
    return shape


def note(kind: str, data: RawJson) -> Delta:
    """Return something else that the agent tells."""
    return _with({"type": "note", "kind": kind}, "data", data)


def _with(shape: Delta, name: str, value: RawJson | None) -> Delta:
    if value is None:
        return shape
    if len(value) <= LONGEST:
        return {**shape, name: value.parsed()}
    before = shape.get("left_out")
    return {**shape, "left_out": [*(before if isinstance(before, list) else []), name]}
