"""`turnlog sessions`: which sessions are there?"""

from collections.abc import Iterator
from itertools import islice

from rich.table import Table

from api.cli.output import say, show, write_lines
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import one_line
from api.cli.wanted import SessionFilter
from domain.json_text import JsonValue, parse


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
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("SESSION", no_wrap=True, overflow="fold")
    table.add_column("UPDATED (UTC)", no_wrap=True)
    for name in ("MESSAGES", "TURNS"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("STATE", no_wrap=True)
    table.add_column("TITLE", no_wrap=True, overflow="ellipsis", ratio=1)
    for line in islice(sessions, limit):
        table.add_row(*_row(parse(line)))
    if not table.row_count:
        say("there are no such sessions; turnlog import PATH brings some in")
        return
    show(table)
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
        one_line(text_of(session, "title")),
    )
