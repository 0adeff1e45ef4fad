"""What does a user's message ask for, line by line?

A line that begins with one of the words below is an instruction; all other lines are plain text.
docs/demo-agent.md lists them.
"""

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, get_args

from domain.json_text import JsonValue, NotJson, parse
from infrastructure.demo_agent.acts import (
    QUESTION,
    REMOTE,
    Act,
    Fail,
    Failing,
    How,
    Keep,
    Name,
    Pause,
    Plain,
    Recall,
    Stream,
    Summarise,
    Think,
    Unclear,
    Use,
    Wanted,
)

MOST_CHUNKS: Final = 10_000
LONGEST_PAUSE_MS: Final = 600_000
SUMMARISE: Final = "Summarise this conversation"
"""How a text begins that asks for a summary; of the rest the instructions are followed first."""
_WORD: Final = re.compile(r"([a-z-]+): *(.*)")
_RECALL: Final = re.compile(r"what is ([\w.-]+)\?")
_REMEMBER: Final = re.compile(r"remember ([\w.-]+)=.+")
_NAME: Final = re.compile(r"[A-Za-z][\w.-]*")
_DIGITS: Final = 9
_SCANNER: Final = json.JSONDecoder()


def acts_of(text: str) -> list[Act]:
    """Return what `text` asks for, in order; lines of plain text that follow each other are one."""
    first, _, rest = text.strip().partition("\n")
    if first.startswith(SUMMARISE):
        told = [act for act in (acts_of(rest) if rest else []) if not isinstance(act, Plain)]
        return [*told, Summarise()]
    acts: list[Act] = []
    for line in text.strip().split("\n"):
        found = _acts_of_line(line.strip())
        match acts, found:
            case [*_, Plain(text=before)], [Plain(text=after)]:
                acts[-1] = Plain(text=f"{before}\n{after}")
            case _:
                acts += found
    return acts


def _acts_of_line(line: str) -> list[Act]:
    if (recall := _RECALL.fullmatch(line)) is not None:
        return [Recall(key=recall[1])]
    if (keep := _REMEMBER.fullmatch(line)) is not None:
        return [Keep(key=keep[1])]
    if line == "late-tool":
        return [Use(tools=(Wanted(name="slow", arguments={}),), how="late")]
    word = _WORD.fullmatch(line)
    if word is not None and word[1] in _READERS:
        return _instruction(word[1], word[2])
    return [Plain(text=line)]


def _instruction(word: str, rest: str) -> list[Act]:
    return _READERS[word](rest) or [Unclear(word=word)]


def _think(rest: str) -> list[Act]:
    return [Think(text=rest)]


def _title(rest: str) -> list[Act]:
    return [Name(title=rest)]


def _question(rest: str) -> list[Act]:
    return [Use(tools=(Wanted(name=QUESTION, arguments={"question": rest}),), how="free")]


def _stream(rest: str) -> list[Act]:
    chunks = _number(rest, MOST_CHUNKS)
    return [] if chunks is None else [Stream(chunks=chunks)]


def _delay(rest: str) -> list[Act]:
    text, _, then = rest.partition(" ")
    ms = _number(text, LONGEST_PAUSE_MS)
    if ms is None:
        return []
    return [Pause(ms=ms), *(_acts_of_line(then.strip()) if then.strip() else [])]


def _fail(rest: str) -> list[Act]:
    return [Fail(kind=kind) for kind in get_args(Failing) if kind == rest]


def _free(rest: str) -> list[Act]:
    return _use(rest, "free")


def _ask(rest: str) -> list[Act]:
    return _use(rest, "ask")


def _unannounced(rest: str) -> list[Act]:
    return _use(rest, "unannounced")


def _mcp(rest: str) -> list[Act]:
    return _use(rest, "free", REMOTE)


def _use(rest: str, how: How, prefix: str = "") -> list[Act]:
    tools = _tools(rest, prefix)
    return [Use(tools=tools, how=how)] if tools else []


_READERS: Final[Mapping[str, Callable[[str], list[Act]]]] = {
    "ask": _ask,
    "ask-unannounced": _unannounced,
    "delay": _delay,
    "fail": _fail,
    "mcp": _mcp,
    "question": _question,
    "stream": _stream,
    "think": _think,
    "title": _title,
    "tool": _free,
    "tools": _free,
}
"""What each word's rest of the line asks for; nothing if it cannot be followed."""


def _number(text: str, most: int) -> int | None:
    return (
        min(int(text), most) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
    )


def _tools(text: str, prefix: str) -> tuple[Wanted, ...]:
    """Return the tools of `A {..}; B {..}`; none if any of it cannot be read."""
    tools: list[Wanted] = []
    at = 0
    while True:
        name = _NAME.match(text, at)
        if name is None:
            return ()
        arguments, at = _arguments(text, _after_space(text, name.end()))
        if arguments is None:
            return ()
        tools.append(Wanted(name=prefix + name[0], arguments=arguments))
        at = _after_space(text, at)
        if at == len(text):
            return tuple(tools)
        if text[at] != ";":
            return ()
        at = _after_space(text, at + 1)


def _arguments(text: str, at: int) -> tuple[JsonValue, int]:
    """Return the object that begins at `at` (an empty one if none does), and where it ends."""
    if not text.startswith("{", at):
        return {}, at
    try:
        _, end = _SCANNER.raw_decode(text, at)
        return _doubles(parse(text[at:end].encode())), end
    except (NotJson, ValueError, RecursionError):
        return None, at


def _doubles(value: JsonValue) -> JsonValue:
    """Return `value` as every JSON library would read it: what is sent is what comes back."""
    match value:
        case Decimal():
            return float(value)
        case list():
            return [_doubles(item) for item in value]
        case dict():
            return {key: _doubles(item) for key, item in value.items()}
        case _:
            return value


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] == " ":
        at += 1
    return at
