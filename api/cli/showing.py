"""`turnlog show`: what was said in a session, for reading?

Written message by message, as it comes: who, text, tools with what they were given and gave back,
and what state things are in. What is too long is cut, with how much is missing; nothing that was
said can steer the terminal.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Final, Literal, TypeAlias, cast

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from api.cli.output import show, terminal_width, write, write_lines
from api.cli.showing_below import Below, header
from api.cli.source import Source, source
from api.cli.terminal_text import cut, cut_lines, inert, one_line
from domain.json_text import JsonValue, dump, parse

Form: TypeAlias = Literal["text", "openai", "json"]
OUTPUT_LINES: Final = 8
REASONING_LINES: Final = 4
ALL_LINES: Final = 10_000_000
INDENT: Final = 2
_COLOURS: Final = {"user": "bold cyan", "assistant": "bold green", "tool": "bold yellow"}


def show_session(  # noqa: PLR0913
    project: str,
    url: str | None,
    session_id: str,
    *,
    at: str | None,
    limit: int | None,
    form: Form,
    archived: bool,
    rewound: bool,
    subagents: bool,
    full: bool,
) -> None:
    """Write a session's transcript."""
    with source(project, url) as found:
        if form == "openai":
            write(found.openai(session_id, at=at) + b"\n")
            return
        messages = found.messages(
            session_id, at=at, newest=limit, archived=archived, rewound=rewound
        )
        match form:
            case "json":
                write_lines(messages)
            case "text":
                first = list(islice(messages, 1))  # nothing is written of what is not there
                _write_head(found, session_id, at)
                below = Below(found, session_id) if subagents else None
                _write_messages(map(parse, chain(first, messages)), below, full=full)


def _write_messages(
    messages: Iterator[JsonValue], below: Below | None, *, full: bool, indent: int = 0
) -> None:
    """Write messages, and after each what those said that it called."""
    turn = ""
    for message in messages:
        began, turn = turn, text_of(message, "turn_id")
        lines = message_lines(message, "" if turn == began else turn, full=full)
        show(*(Padding(line, (0, 0, 0, indent)) for line in lines) if indent else lines)
        for child, inner in () if below is None else below.of(message):
            _write_below(child, inner, indent, full=full)
    for child, inner in () if below is None else below.rest():
        _write_below(child, inner, indent, full=full)


def _write_below(
    child: Mapping[str, JsonValue], inner: Below | None, indent: int, *, full: bool
) -> None:
    show(header(child, inner, indent))
    if inner is not None:
        _write_messages(inner.messages(), inner, full=full, indent=inner.indent)


def text_of(value: JsonValue, name: str) -> str:
    """Return a member as text; empty if it is not there."""
    found = value.get(name) if isinstance(value, dict) else None
    if found is None:
        return ""
    return found if isinstance(found, str) else dump(found).decode()


def _write_head(found: Source, session_id: str, at: str | None) -> None:
    session = parse(found.session(session_id))
    title = one_line(text_of(session, "title")) or "(no title)"
    state = text_of(session, "turn_status") or text_of(session, "status")
    counts = f"messages {text_of(session, 'messages')}, turns {text_of(session, 'turns')}"
    parent = text_of(session, "parent_session_id")
    about = [
        session_id,
        state,
        f"{counts}, version {text_of(session, 'through_version')}",
        *([f"under {parent}"] if parent else []),
        *([f"shown as of {at}"] if at else []),
    ]
    show(Text(title, style="bold"), Text(" · ".join(about), style="dim"), "")


def message_lines(message: JsonValue, turn: str, *, full: bool) -> Iterator[RenderableType]:
    """Yield a message of a transcript; with the turn that it is the first one of, if any."""
    if not isinstance(message, dict):
        return
    role = text_of(message, "role")
    marks = [
        f"[{mark}]"
        for mark in (
            text_of(message, "state").replace("live", ""),
            text_of(message, "status"),
            "summary" if message.get("summary") else "",
        )
        if mark
    ]
    who = one_line(text_of(message.get("author"), "display")) or role
    about = " ".join(
        ["", f"#{text_of(message, 'index')}", *([f"turn {turn}"] if turn else []), *marks]
    )
    yield Text.assemble((who, _COLOURS.get(role, "bold")), (one_line(about), "dim"))
    parts = message.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict):
            for line in (*_part(part, full=full), *_rest(part)):
                yield _indented(line)
    yield Text("")


def _rest(part: Mapping[str, JsonValue]) -> Iterator[Text]:
    """Yield where the rest is of what a part shows only the beginning of."""
    blobs = part.get("blobs")
    for blob in blobs if isinstance(blobs, list) else []:
        size, digest = text_of(blob, "size"), text_of(blob, "sha256")
        told = f"… {text_of(blob, 'at')} has {size} bytes: turnlog blob {digest}"
        yield Text(one_line(told), style="dim", overflow="fold")


def _indented(line: RenderableType) -> RenderableType:
    return Padding(line, (0, 0, 0, INDENT))  # a line that is folded stays indented


def _part(part: Mapping[str, JsonValue], *, full: bool) -> Iterator[RenderableType]:
    value = cast("dict[str, JsonValue]", part)
    match part.get("type"):
        case "text":
            yield from _block(text_of(value, "text"))
        case "reasoning":
            lines = ALL_LINES if full else REASONING_LINES
            yield from _lines(f"(thinks) {text_of(value, 'text')}", lines, "dim italic", full=full)
        case "tool_call":
            yield _call(value, full=full)
        case "tool_result":
            yield from _result(value, full=full)
        case "attachment":
            named = text_of(value, "filename") or text_of(value, "attachment_id")
            facts = [
                named,
                text_of(value, "media_type"),
                _size(text_of(value, "size")),
                text_of(value, "sha256"),
            ]
            yield Text(f"[attachment {one_line(', '.join(filter(None, facts)))}]", style="magenta")
        case "missing":
            yield Text(f"[not stored any more: {one_line(text_of(value, 'reason'))}]", style="red")
        case type_:
            rest = {name: item for name, item in value.items() if name != "type"}
            shown = f"[{type_ if isinstance(type_, str) else '?'}] {dump(rest).decode()}"
            yield from _lines(shown, 1, "dim", full=full)


def _call(call: dict[str, JsonValue], *, full: bool) -> Text:
    name = one_line(text_of(call, "name")) or "(unnamed tool)"
    status = text_of(call, "status")
    gate = text_of(call.get("gate"), "status")
    marks = f" [{status}{f', gate {gate}' if gate else ''}]" if status or gate else ""
    given = text_of(call, "arguments")
    room = terminal_width() - INDENT - len(name) - len(marks) - 3
    arguments = inert(given) if full else cut(given, max(room, 20))
    return Text.assemble(
        ("→ ", "yellow"), (name, "bold"), " ", arguments, (one_line(marks), "dim"), overflow="fold"
    )


def _result(result: dict[str, JsonValue], *, full: bool) -> Iterator[RenderableType]:
    marks = [name for name in ("is_error", "denied") if result.get(name) is True]
    about = " ".join([one_line(text_of(result, "name")), *(f"[{mark}]" for mark in marks)])
    style = "red" if marks else ""
    yield Text.assemble(("← ", "yellow"), (about.strip() or "result", style or "bold"))
    lines = ALL_LINES if full else OUTPUT_LINES
    for line in _lines(_output_text(result.get("output")), lines, style, full=full):
        yield _indented(line)


def _output_text(output: JsonValue) -> str:
    """Return an output as text: what providers wrap in parts of text is unwrapped."""
    if output is None or isinstance(output, str):
        return output or ""
    texts = [
        part["text"]
        for part in (output if isinstance(output, list) else [])
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part["text"], str)
    ]
    whole = isinstance(output, list) and len(texts) == len(output)
    return "\n".join(texts) if whole else dump(output).decode()


def _block(text: str) -> Iterator[Text]:
    for line in inert(text).rstrip("\n").split("\n"):
        yield Text(line, overflow="fold")


def _lines(text: str, lines: int, style: str, *, full: bool) -> Iterator[Text]:
    if full:
        shown = inert(text).rstrip("\n").split("\n")
    else:
        shown = cut_lines(text.rstrip("\n"), terminal_width() - 2 * INDENT, lines)
    for line in shown:
        yield Text(line, style=style, overflow="fold")


def _size(size: str) -> str:
    return f"{size} bytes" if size else ""
