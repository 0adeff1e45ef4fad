"""`turnlog search`: where has something been said?"""

from collections.abc import Iterator
from itertools import islice

from api.cli.output import say, write_lines
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import one_line
from api.cli.wanted import TextFilter
from domain.json_text import JsonValue, parse


def search_texts(
    project: str, url: str | None, wanted: TextFilter, limit: int, *, as_json: bool
) -> None:
    """Write up to `limit` texts, newest first."""
    with source(project, url) as found:
        texts = found.search(wanted)
        if as_json:
            write_lines(islice(texts, limit))
        else:
            _write(texts, limit)


def _write(texts: Iterator[bytes], limit: int) -> None:
    shown = 0
    for line in islice(texts, limit):
        text = parse(line)
        place = f"{text_of(text, 'session_id')}  version {text_of(text, 'version')}"
        say(f"{place}  {text_of(text, 'role')}  {text_of(text, 'at')[:19]}Z")
        say(f"    {one_line(_snippet(text))}")
        shown += 1
    if not shown:
        say("nothing was said with these words")
    elif next(texts, None) is not None:
        say(f"and more: --limit is {limit}")


def _snippet(text: JsonValue) -> str:
    snippet = text.get("snippet") if isinstance(text, dict) else None
    return " ".join(text_of(snippet, "text").split())
