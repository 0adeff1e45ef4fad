"""What is different of a session between two points, for a person to read?

A line each, `+` for what came, `-` for what went, `~` for what is another. What was said is cut to
a line, and can do nothing but be read.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from api.cli.terminal_text import cut, one_line
from api.shapes import Shape
from domain.json_text import JsonValue, dump, parse
from domain.raw_json import dumped

Json: TypeAlias = Mapping[str, Any]
WIDTH: Final = 160
_SIGNS: Final = (("removed", "-"), ("added", "+"))
_TOLD: Final = frozenset(
    {
        "fingerprint",
        "history_version",
        "messages",
        "model_fingerprint",
        "open_gates",
        "ready",
        "archived",
        "title_by",
        "turn_id",
        "turns",
    }
)
"""What other lines say, or nobody reads."""


def diff_text(shape: Shape) -> str:
    """Return a diff as lines; nothing if there is no difference that a person would look for."""
    return "".join(f"{line}\n" for line in lines(dumped(shape)))


def lines(sent: bytes) -> Iterator[str]:
    """Yield the lines of a diff as it is sent."""
    told = cast("Json", parse(sent))
    yield from _state(told["state"])
    yield from _turns(told["turns"])
    yield from _waiting("call", told["calls"])
    yield from _waiting("gate", told["gates"])
    yield from _messages(told["messages"])


def _state(state: Json) -> Iterator[str]:
    for name, change in state.items():
        if name in _TOLD:
            continue
        was, now = (_value(change[point]) for point in ("from", "to"))
        yield f"~ {name.replace('_', ' ')}: {was} -> {now}"


def _turns(turns: Json) -> Iterator[str]:
    for name, sign in _SIGNS:
        items = turns[name]["items"]
        for turn in items:
            about = f"turn {turn['number']} {one_line(turn['turn_id'])}"
            yield f"{sign} {about} ({turn['status']}): {turn['change']}"
        yield from _rest(sign, turns[name]["count"] - len(items), "turn")
    for turn in turns["changed"]:
        was, now = turn["from"], turn["to"]
        changes = [
            f"{name.replace('_', ' ')} {was[name]} -> {now[name]}"
            for name in was
            if was[name] != now[name]
        ]
        yield f"~ turn {turn['number']} {one_line(turn['turn_id'])}: {', '.join(changes)}"


def _waiting(kind: str, found: Json) -> Iterator[str]:
    for each in found["closed"]:
        yield f"- {_about(kind, each)}: {each['status']}"
    for each in found["opened"]:
        yield f"+ {_about(kind, each)} waits"


def _about(kind: str, each: Json) -> str:
    if kind == "call":
        name = f" ({one_line(each['name'])})" if each["name"] else ""
        return f"call {one_line(each['tool_call_id'])}{name}"
    return f"gate {one_line(each['gate_id'])} ({each['kind']})"


def _messages(messages: Json) -> Iterator[str]:
    for name, sign in _SIGNS:
        items = messages[name]["items"]
        for each in items:
            yield f"{sign} {_message(each['message'])}"
        yield from _rest(sign, messages[name]["count"] - len(items), "message")
    for change in messages["changed"]:
        yield f"~ {_message(change['from'])}"
        yield f"~ {_message(change['to'])}"
    for name, words in (("archived", "archived by a summary"), ("unarchived", "live again")):
        if messages[name]:
            yield f"~ messages {words}: {messages[name]}"


def _rest(sign: str, more: int, thing: str) -> Iterator[str]:
    if more > 0:
        yield f"{sign} ... {more} more {thing}{'s' if more > 1 else ''}"


def _message(message: Json) -> str:
    said = " ".join(filter(None, map(_part, message["parts"])))
    about = f"#{message['index']} {message['role']}"
    return f"{about}: {cut(said, WIDTH)}" if said else about


def _part(part: Json) -> str:
    match part["type"]:
        case "text":
            return str(part["text"])
        case "reasoning":
            return f"(thinks) {part['text']}"
        case "tool_call":
            return f"[calls {part['name']}] {_compact(part['arguments'])}"
        case "tool_result":
            return f"[result] {_compact(part['output'])}"
        case "attachment":
            return f"[attachment {part.get('filename') or part.get('attachment_id') or ''}]"
        case type_:
            return f"[{type_}]"


def _compact(value: JsonValue) -> str:
    return value if isinstance(value, str) else dump(value).decode()


def _value(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return cut(value, WIDTH)
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value))) or "none"
    return str(value)
