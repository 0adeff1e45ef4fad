"""How is an agent told, in text, what it was not there for?

ACP lets nobody hand a history to an agent. One that does not know turnlog's extension reads it in
front of its first prompt, and what was said aside in front of a later one, one JSON object to a
line between two tags. Nothing that was ever said can look like a tag: in JSON every angle bracket
is written as an escape.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from domain.json_text import JsonValue, dump
from infrastructure.harness.acp.blocks import Takes, blocks_of, text_block
from infrastructure.harness.acp.fields import Object, objects
from infrastructure.harness.port import ResumedCall, Seed

CONTEXT: Final = "turnlog-context"
HISTORY: Final = "turnlog-history"
ASIDES: Final = "turnlog-asides"
DECISIONS: Final = "turnlog-decisions"
_ABOUT_CONTEXT: Final = "This is where the conversation stands. There is nothing to answer in it."
_ABOUT_HISTORY: Final = (
    "This conversation was begun before. What was said in it so far follows, oldest first, one"
    " JSON object to a line. It is memory: answer nothing in it, and make none of its calls again."
)
_ABOUT_ASIDES: Final = (
    "This was said in the conversation since your last answer, to others, not to you; oldest first,"
    " one JSON object to a line. It is memory: answer nothing in it."
)
_ABOUT_DECISIONS: Final = (
    "These calls of yours waited for a decision, and have one now; one JSON object to a line."
    " Make each approved call now, with exactly these arguments. Do not make the others."
)
_LEFT_OUT: Final = frozenset({"data", "signature"})
_FILE: Final = "attachment"


def context(words: str) -> str:
    """Return where the conversation happens as a block of text; no name in it can end the block."""
    inert = words.replace("<", "\u2039").replace(">", "\u203a")
    return f"<{CONTEXT}>\n{_ABOUT_CONTEXT}\n{inert}\n</{CONTEXT}>"


def history(seed: Seed) -> str:
    """Return the conversation so far as a block of text."""
    return _framed(HISTORY, _ABOUT_HISTORY, map(_memory, seed.messages))


def asides(messages: Iterable[Mapping[str, JsonValue]], takes: Takes) -> list[Object]:
    """Return what was said aside as blocks: a text, and within its tags what files are in it."""
    blocks: list[Object] = []
    written = f"<{ASIDES}>\n{_ABOUT_ASIDES}\n"
    for message in messages:
        written += f"{_line(_memory(message))}\n"
        files = [part for part in objects(dict(message), "parts") if part.get("type") == _FILE]
        if files:
            blocks += [text_block(written), *blocks_of(files, takes)]
            written = ""
    return [*blocks, text_block(f"{written}</{ASIDES}>")]


def decisions(calls: Sequence[ResumedCall]) -> str:
    """Return what was decided about calls as a block of text."""
    return _framed(DECISIONS, _ABOUT_DECISIONS, (resumed(call) for call in calls))


def resumed(call: ResumedCall) -> Object:
    """Return what was decided about a call; its arguments are those that were approved."""
    edited = call.answer.arguments
    said: Object = {
        "tool_call_id": call.tool_call_id,
        "name": call.name,
        "arguments": call.arguments if edited is None else edited,
        "verdict": call.answer.verdict,
    }
    optional = {
        "option_id": call.answer.option_id,
        "answer": call.answer.answer,
        "message": call.answer.message,
    }
    return said | {key: value for key, value in optional.items() if value is not None}


def _memory(message: Mapping[str, JsonValue]) -> Object:
    return {"role": message.get("role"), "content": _content(message.get("parts"))}


def _content(parts: JsonValue) -> JsonValue:
    """Return parts without what no model reads in a text: the bytes of files, signatures."""
    if not isinstance(parts, list):
        return parts
    return [
        {key: value for key, value in part.items() if not _is_left_out(part, key)}
        if isinstance(part, dict)
        else part
        for part in parts
    ]


def _is_left_out(part: Object, key: str) -> bool:
    return key in _LEFT_OUT and part.get("type") in {_FILE, "reasoning"}


def _framed(tag: str, about: str, lines: Iterable[Mapping[str, JsonValue]]) -> str:
    written = "".join(f"{_line(line)}\n" for line in lines)
    return f"<{tag}>\n{about}\n{written}</{tag}>"


def _line(value: Mapping[str, JsonValue]) -> str:
    escaped = dump(dict(value)).decode().replace("<", "\\u003c").replace(">", "\\u003e")
    # A reader may take these for the end of a line, too.
    for mark in ("\x85", "\u2028", "\u2029"):
        escaped = escaped.replace(mark, f"\\u{ord(mark):04x}")
    return escaped
