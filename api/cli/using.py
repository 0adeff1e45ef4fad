"""`turnlog usage`: what did the models use, and what did it cost?"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from rich.table import Table

from api.cli.output import say, show, write_lines
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import cut
from api.cli.wanted import UsageFilter
from domain.json_text import JsonValue, parse

LONGEST: Final = 48
COLUMNS: Final = ("RECORDS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "UNPRICED", "COST")
NAMES: Final = (
    "records",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "unpriced",
)


def show_usage(
    project: str, url: str | None, wanted: UsageFilter, limit: int, *, as_json: bool
) -> None:
    """Write up to `limit` sums."""
    with source(project, url) as found:
        items = found.usage(wanted)
        if as_json:
            write_lines(islice(items, limit))
        else:
            _write_table(items, wanted.by, limit)


def _write_table(items: Iterator[bytes], by: str, limit: int) -> None:
    rows = [parse(line) for line in islice(items, limit)]
    if not rows:
        say("no usage was recorded there")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(by.upper(), no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = (text_of(row, name) for name in NAMES)
        table.add_row(cut(text_of(row, by), LONGEST), *cells, cut(_costs(row), LONGEST))
    show(table)
    if next(items, None) is not None:
        say(f"and more: --limit is {limit}")


def _costs(row: JsonValue) -> str:
    costs = row.get("costs") if isinstance(row, dict) else None
    told = costs if isinstance(costs, list) else []
    return ", ".join(
        f"{text_of(each, 'amount')} {text_of(each, 'currency')}".strip() for each in told
    )
