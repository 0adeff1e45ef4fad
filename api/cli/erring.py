"""`turnlog errors`: what went wrong, and does a person have to step in?"""

from itertools import islice
from typing import Final

from rich.table import Table

from api.cli.output import say, show, write_lines
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import cut
from api.cli.wanted import ErrorFilter
from domain.json_text import parse

LONGEST: Final = 40
_NAMES: Final = ("last_at", "count", "kind", "source", "code", "session_id", "turn_id")
_HEADS: Final = ("LAST", "COUNT", "KIND", "SOURCE", "CODE", "SESSION", "TURN")


def show_errors(
    project: str, url: str | None, wanted: ErrorFilter, limit: int, *, as_json: bool
) -> None:
    """Write up to `limit` errors, newest first."""
    with source(project, url) as found:
        items = found.errors(wanted)
        if as_json:
            write_lines(islice(items, limit))
            return
        rows = [parse(line) for line in islice(items, limit)]
        if not rows:
            say("no errors there")
            return
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in _HEADS:
            table.add_column(name, no_wrap=True, justify="right" if name == "COUNT" else "left")
        for row in rows:
            table.add_row(*(cut(text_of(row, name), LONGEST) for name in _NAMES))
        show(table)
        if next(items, None) is not None:
            say(f"and more: --limit is {limit}")
