"""What do the tools do?

Each is a function of its arguments. Those that take time or ask a person are not here: `wait` lets
time pass, `ask_user` asks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final

from domain.json_text import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came out of a call."""

    output: JsonValue
    is_error: bool = False
    denied: bool = False


CANCELLED: Final = Outcome(output={"cancelled": True}, is_error=True)
DENIED: Final = Outcome(output={"denied": True}, is_error=True, denied=True)
NOTES: Final[Mapping[str, str]] = {
    "colours": "The door is green, the roof is red.",
    "groceries": "Bread, olives, two lemons.",
}


def run(name: str, arguments: JsonValue) -> Outcome:
    """Return what the tool `name` gives for `arguments`."""
    tool = TOOLS.get(name)
    if tool is None:
        return failed("there is no such tool")
    if not isinstance(arguments, dict):
        return failed("arguments are an object")
    return tool(arguments)


def failed(reason: str) -> Outcome:
    """Return an outcome that is an error."""
    return Outcome(output={"error": reason}, is_error=True)


def _add(arguments: dict[str, JsonValue]) -> Outcome:
    match arguments:
        case {"a": int() | float() as a, "b": int() | float() as b} if isfinite(a + b):
            return Outcome(output={"sum": a + b})
        case _:
            return failed("a and b are numbers")


def _read_note(arguments: dict[str, JsonValue]) -> Outcome:
    note = NOTES.get(str(arguments.get("name")))
    return failed("there is no such note") if note is None else Outcome(output={"note": note})


def _echo(arguments: dict[str, JsonValue]) -> Outcome:
    return Outcome(output=arguments)


def _fail(arguments: dict[str, JsonValue]) -> Outcome:
    return failed(str(arguments.get("reason", "it was asked to")))


TOOLS: Final[Mapping[str, Callable[[dict[str, JsonValue]], Outcome]]] = {
    "add": _add,
    "echo": _echo,
    "fail": _fail,
    "read_note": _read_note,
}
KINDS: Final[Mapping[str, str]] = {
    "fail": "execute",
    "read_note": "read",
    "wait": "think",
}


def kind_of(name: str) -> str:
    """Return what a tool does, in one word of the protocol's."""
    return KINDS.get(name, "other")
