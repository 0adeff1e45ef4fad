"""Facts about tool calls: asked for, and come back."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequested:
    """The model asked for a tool.

    `arguments` is an object, or the text that the model wrote when it is no JSON.
    """

    turn_id: str
    tool_call_id: str
    name: str
    arguments: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallCompleted:
    """A tool call came to its one result."""

    turn_id: str
    tool_call_id: str
    output: object
    is_error: bool = False
    denied: bool = False
