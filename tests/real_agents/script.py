"""What does the stand-in for a model say to a conversation? What the newest instruction asks for.

An instruction is a line of a user's message:

- `remember NAME=VALUE`: says `Noted.`
- `what is NAME?`: says the value, if the conversation it was sent holds it anywhere.
- `run: COMMAND`: has the agent's shell run it, and then says `It is done.`
- `plan: ONE; TWO`: has the agent's list of things to do hold these, and then says `It is planned.`

It knows nothing but what it was sent, so whoever forgets anything on the way is found out. Where it
is told that a call of its was approved, it follows the last instruction of the history once more.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Json: TypeAlias = dict[str, Any]
Tools: TypeAlias = Mapping[str, Collection[str]]
"""The tools that a model may call, and the names of each one's arguments."""
_TOLD: Final = re.compile(r"<turnlog-(history|decisions)>.*?</turnlog-\1>", re.DOTALL)
_INSTRUCTION: Final = re.compile(
    r"^(?:(?P<remember>remember) \w+=\w+|what is (?P<name>\w+)\?"
    r"|run: (?P<run>.+)|plan: (?P<plan>.+))$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One message of what a model was sent; a call is an assistant's, its result a tool's."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model says to it: words, and perhaps a call of a tool."""

    words: str
    tool: str | None = None
    arguments: Json | None = None


def reply(heard: Sequence[Heard], tools: Tools) -> Reply:
    """Return what is said next to a conversation, by a model that has these tools."""
    found: re.Match[str] | None = None
    results = 0
    for message in heard:
        if message.role == "tool":
            results += 1
        elif message.role == "user" and (told := _newest(message.text)) is not None:
            found, results = told, 0
    if found is None:
        return Reply(words="Very well.")
    if found["remember"]:
        return Reply(words="Noted.")
    if found["name"]:
        return Reply(words=_recalled(heard, found["name"]))
    if results:
        return Reply(words="It is done." if found["run"] else "It is planned.")
    if found["run"]:
        return _call("I run it.", _SHELLS, tools, found["run"].strip())
    return _call("I plan it.", _LISTS, tools, found["plan"].strip())


def shell_of(tools: Tools) -> str | None:
    """Return the tool that runs commands; None if there is none."""
    return next((tool for tool in tools if tool in _SHELLS), None)


def _newest(text: str) -> re.Match[str] | None:
    """Return the last instruction of a message; what turnlog tells in front of it is none."""
    if any(line.get("verdict") == "approved" for line in _lines("decisions", text)):
        users = [line["content"] for line in _lines("history", text) if line["role"] == "user"]
        text = "\n".join(part["text"] for content in users for part in content)
    said = [*_INSTRUCTION.finditer(_TOLD.sub("", text))]
    return said[-1] if said else None


def _lines(tag: str, text: str) -> list[Json]:
    """Return the JSON that turnlog tells of something, a line each."""
    told = re.search(rf"<turnlog-{tag}>\n.*?\n(.*?)</turnlog-{tag}>", text, re.DOTALL)
    return [] if told is None else [json.loads(line) for line in told[1].splitlines()]


def _recalled(heard: Sequence[Heard], name: str) -> str:
    values = re.findall(rf"\b{name}=(\w+)", "\n".join(message.text for message in heard))
    return f"{name} is {values[-1]}." if values else f"I do not know {name}."


def _call(words: str, known: Mapping[str, "_Asks"], tools: Tools, what: str) -> Reply:
    tool = next((tool for tool in tools if tool in known), None)
    if tool is None:
        return Reply(words="I have no tool for it.")
    arguments = {key: value for key, value in known[tool](what).items() if key in tools[tool]}
    return Reply(words=words, tool=tool, arguments=arguments)


def _steps(what: str) -> list[str]:
    return [step.strip() for step in what.split(";")]


_Asks: TypeAlias = Callable[[str], Json]
_ESCALATED: Final = {
    "sandbox_permissions": "require_escalated",
    "justification": "It writes a file.",
}
_SHELLS: Final[Mapping[str, _Asks]] = {
    "exec_command": lambda command: (
        {"cmd": command} | ({} if command.startswith("echo ") else _ESCALATED)
    ),
    "shell_command": lambda command: {"command": command},
    "bash": lambda command: {"command": command, "description": "Runs it"},
    "run_shell_command": lambda command: {
        "command": command,
        "description": "Runs it",
        "is_background": False,
    },
}
_LISTS: Final[Mapping[str, _Asks]] = {
    "update_plan": lambda what: {
        "plan": [{"step": step, "status": "pending"} for step in _steps(what)]
    },
    "todowrite": lambda what: {
        "todos": [
            {"content": step, "status": "pending", "priority": "medium"} for step in _steps(what)
        ]
    },
    "todo_write": lambda what: {
        "todos": [
            {"id": f"{number}", "content": step, "status": "pending"}
            for number, step in enumerate(_steps(what))
        ]
    },
    "todo": lambda what: {
        "action": "write",
        "todos": [
            {"id": f"{number}", "content": step, "status": "pending", "priority": "medium"}
            for number, step in enumerate(_steps(what))
        ],
    },
}
