"""`turnlog tail`: what is happening in a session?"""

from typing import Final

from rich.text import Text

from api.cli.output import show, terminal_width, write_lines
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import cut, one_line
from domain.json_text import JsonValue, dump, parse

SHOWN_BEFORE: Final = 10
_TYPE_WIDTH: Final = 20
_PLACES: Final = frozenset({"turn_id", "record_count"})


def tail(
    project: str,
    url: str | None,
    session_id: str,
    *,
    after: int | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Write a session's events after a version, and then what comes."""
    with source(project, url) as found:
        if after is None:
            head = parse(found.session(session_id))
            after = max(0, int(text_of(head, "through_version")) - SHOWN_BEFORE)
        events = found.events(session_id, after, follow=follow)
        if as_json:
            write_lines(events)
            return
        for event in events:
            show(_line(parse(event)))


def _line(event: JsonValue) -> Text:
    version = text_of(event, "version").rjust(5)
    time = text_of(event, "recorded_at")[11:19]
    type_ = one_line(text_of(event, "type")).ljust(_TYPE_WIDTH)
    room = terminal_width() - len(version) - len(time) - len(type_) - 6
    data = event.get("data") if isinstance(event, dict) else None
    return Text.assemble(
        (version, "dim"),
        "  ",
        (time, "dim"),
        "  ",
        (type_, "bold"),
        "  ",
        cut(gist(text_of(event, "type"), data), max(room, 20)),
        overflow="fold",
    )


def gist(type_: str, data: JsonValue) -> str:
    """Return what an event says, in short; not inert yet."""
    if not isinstance(data, dict):
        return "(not stored any more)"
    match type_:
        case "turn-started":
            messages = data.get("messages")
            first = messages[0] if isinstance(messages, list) and messages else None
            return f"{text_of(data, 'turn_id')} {_said(first)}"
        case "message-recorded":
            return _said(data.get("message"))
        case "tool-call-requested":
            return f"{text_of(data, 'name')} {text_of(data, 'arguments')}"
        case "tool-call-completed":
            return f"{text_of(data, 'tool_call_id')} {text_of(data, 'output')}"
        case _:
            rest = {name: value for name, value in data.items() if name not in _PLACES}
            return f"{text_of(data, 'turn_id')} {dump(rest).decode() if rest else ''}".strip()


def _said(message: JsonValue) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        texts = [text_of(part, "text") or f"[{text_of(part, 'type')}]" for part in content]
        return f"{text_of(message, 'role')}: {' '.join(texts)}"
    return f"{text_of(message, 'role')}: {text_of(message, 'content')}"
