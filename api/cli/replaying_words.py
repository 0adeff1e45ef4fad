"""How is a step told to a person?"""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from api.cli.showing import INDENT, message_lines, text_of
from api.cli.tailing import gist
from api.cli.terminal_text import cut, inert, one_line
from domain.json_text import JsonValue, parse
from domain.times import rfc3339
from projections.steps import Step

WORDS: Final = 40
LONGEST: Final = 20_000
_STYLES: Final = (
    (" taken out ", "red"),
    (" denied", "red"),
    (" failed", "red"),
    (" added", "green"),
    (" back in sight", "green"),
    (" started", "green"),
)


def step_lines(step: Step, event: bytes, width: int) -> Iterator[RenderableType]:
    """Yield a step: which event it is, what it says in short, and what it changed."""
    envelope = step.envelope
    about = [
        rfc3339(envelope.recorded_at)[:19].replace("T", " "),
        *([f"turn {envelope.turn_id}"] if envelope.turn_id else []),
        *([f"by {envelope.actor}"] if envelope.actor else []),
    ]
    yield Text.assemble(
        (f"{envelope.version:>5}", "dim"),
        "  ",
        (one_line(envelope.type), "bold"),
        ("  " + one_line("  ".join(about)), "dim"),
        overflow="fold",
    )
    room = width - INDENT * 2
    yield _line(step.what, room, "")
    said = gist(envelope.type, _data(event))
    if said not in {"", envelope.turn_id}:
        yield _line(said, room, "dim")
    for word in step.words[:WORDS]:
        yield _line(f"* {word}", room, _style(word))
    if len(step.words) > WORDS:
        yield _line(f"…and {len(step.words) - WORDS:,} more", room, "dim")
    if not step.words:
        yield _line("* nothing that a view shows", room, "dim")


def event_lines(event: bytes) -> Iterator[RenderableType]:
    """Yield the event as it was recorded, its members a line each."""
    read = parse(event)
    members = read.items() if isinstance(read, dict) else ()
    for name, value in members:
        text = text_of({name: value}, name)
        more = f"…(+{len(text) - LONGEST:,} chars)" if len(text) > LONGEST else ""
        shown = inert(text[:LONGEST]) + more
        yield Text.assemble((f"{one_line(name)}: ", "bold"), shown, overflow="fold")


def readiness_lines(readiness: JsonValue) -> Iterator[RenderableType]:
    """Yield whether a client may send only its newest message then, and why not."""
    reasons = readiness.get("reasons") if isinstance(readiness, dict) else None
    ready = isinstance(readiness, dict) and readiness.get("ready") is True
    yield Text("ready" if ready else "not ready", style="green" if ready else "yellow")
    for reason in reasons if isinstance(reasons, list) else []:
        code, detail = text_of(reason, "code"), text_of(reason, "detail")
        yield Text(one_line(f"  {code}: {detail}"), overflow="fold")


def transcript_lines(messages: Sequence[bytes]) -> Iterator[RenderableType]:
    """Yield messages as they stood."""
    turn = ""
    for message in map(parse, messages):
        began, turn = turn, text_of(message, "turn_id")
        yield from message_lines(message, "" if turn == began else turn, full=False)


def numbers(step: Step) -> str:
    """Return where the session stands after a step."""
    head = step.head
    return ", ".join(
        [
            f"messages {head.messages}",
            *([f"archived {head.archived}"] if head.archived else []),
            f"turns {head.turns}",
            *([f"open gates {head.open_gates}"] if head.open_gates else []),
            f"history version {head.history_version}",
            f"fingerprint {head.fingerprint.hex()[:12]}",
        ]
    )


def indented(lines: Iterator[RenderableType]) -> Iterator[RenderableType]:
    """Yield lines further in."""
    return (Padding(line, (0, 0, 0, 2 * INDENT)) for line in lines)


def _line(text: str, room: int, style: str) -> Padding:
    return Padding(Text(cut(text, room), style=style, overflow="fold"), (0, 0, 0, INDENT * 2))


def _style(word: str) -> str:
    return next((style for part, style in _STYLES if part in word), "")


def _data(event: bytes) -> JsonValue:
    read = parse(event)
    return read.get("data") if isinstance(read, dict) else None
