"""`turnlog fork` and `turnlog lineage`: a session goes on twice, and who is of whose family."""

from collections.abc import Iterator

from api.cli.failures import DONE
from api.cli.output import say, write
from api.cli.source import source
from api.cli.terminal_text import one_line
from api.cli.wanted import ForkWanted
from domain.json_text import JsonValue, parse


def fork(
    project: str, url: str | None, session_id: str, wanted: ForkWanted, *, as_json: bool
) -> int:
    """Begin a session with the history of another; return the exit code."""
    with source(project, url) as found:
        answer = found.fork(session_id, wanted)
    if as_json:
        write(answer + b"\n")
        return DONE
    made = parse(answer)
    if isinstance(made, dict):
        base = made.get("forked_from")
        shared = f"{_text(base, 'session_id')} up to version {_text(base, 'version')}"
        say(f"{_text(made, 'session_id')}{_titled(made)} shares the history of {shared}")
    return DONE


def lineage(project: str, url: str | None, session_id: str, *, as_json: bool) -> int:
    """Tell whom a session shares its history with; return the exit code."""
    with source(project, url) as found:
        answer = found.lineage(session_id)
    if as_json:
        write(answer + b"\n")
        return DONE
    told = parse(answer)
    for line in _lines(told, session_id) if isinstance(told, dict) else ():
        say(line)
    return DONE


def _lines(told: dict[str, JsonValue], session_id: str) -> Iterator[str]:
    """Yield the ancestors, the session, and what was forked from it, each further to the right."""
    depth = 0
    older, children = told.get("ancestors"), told.get("children")
    for ancestor in older if isinstance(older, list) else ():
        yield f"{'  ' * depth}{_relative(ancestor)}"
        depth += 1
    yield f"{'  ' * depth}{session_id}  <- this one"
    items = children.get("items") if isinstance(children, dict) else None
    for child in items if isinstance(items, list) else ():
        yield f"{'  ' * (depth + 1)}{_relative(child)}"
    if isinstance(children, dict) and children.get("next_cursor"):
        yield f"{'  ' * (depth + 1)}and older ones"


def _relative(relative: JsonValue) -> str:
    status = _text(relative, "status")
    state = "" if status == "open" else f", {status}"
    name, version = _text(relative, "session_id"), _text(relative, "version")
    return f"{name}{_titled(relative)}  shared up to version {version}{state}"


def _titled(session: JsonValue) -> str:
    title = _text(session, "title")
    return f'  "{title}"' if title else ""


def _text(value: JsonValue, name: str) -> str:
    found = value.get(name) if isinstance(value, dict) else None
    return "" if found is None else one_line(str(found))
