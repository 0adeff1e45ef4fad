"""`turnlog sessions`: which sessions are there?"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from rich.table import Table

from api.cli.output import say, show, terminal_width, write_lines
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import cut
from api.cli.wanted import SessionFilter
from domain.json_text import JsonValue, parse

COLUMNS: Final = ("SESSION", "UPDATED (UTC)", "MESSAGES", "TURNS", "STATE", "TITLE")
LEAST_TITLE: Final = 20
GAP: Final = 2


def list_sessions(
    project: str, url: str | None, wanted: SessionFilter, limit: int, *, as_json: bool
) -> None:
    """Write up to `limit` sessions, newest activity first."""
    with source(project, url) as found:
        sessions = found.sessions(wanted)
        if as_json:
            write_lines(islice(sessions, limit))
        else:
            _write_table(sessions, limit)


def _write_table(sessions: Iterator[bytes], limit: int) -> None:
    rows = [_row(parse(line)) for line in islice(sessions, limit)]
    if not rows:
        say("there are no such sessions; turnlog import PATH brings some in")
        return
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    room = max(terminal_width() - sum(widths[:-1]) - GAP * len(widths), LEAST_TITLE)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name, width in zip(COLUMNS, (*widths[:-1], room), strict=True):
        counted = name in {"MESSAGES", "TURNS"}
        table.add_column(name, justify="right" if counted else "left", width=width, no_wrap=True)
    for *others, title in rows:
        table.add_row(*others, cut(title, room))
    show(table, width=sum(widths[:-1]) + room + GAP * len(widths))
    if next(sessions, None) is not None:
        say(f"and more: --limit is {limit}")


def _row(session: JsonValue) -> tuple[str, ...]:
    updated = text_of(session, "updated_at")
    return (
        text_of(session, "session_id"),
        f"{updated[:10]} {updated[11:16]}",
        text_of(session, "messages"),
        text_of(session, "turns"),
        text_of(session, "turn_status") or text_of(session, "status"),
        text_of(session, "title"),
    )
