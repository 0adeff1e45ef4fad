"""`turnlog pool`: which harnesses are kept where, and how many turns were warm?"""

from api.cli.output import say, write
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import one_line
from domain.json_text import JsonValue, parse, raw_members


def show_pool(project: str, url: str | None, limit: int, *, as_json: bool) -> None:
    """Write the seats of a project, the last changed first, and how its turns went."""
    with source(project, url) as found:
        told = found.pool(limit)
    if as_json:
        write(told + b"\n")
        return
    members = {name: parse(raw) for name, raw in raw_members(told).items()}
    seats = members.get("seats")
    for seat in seats if isinstance(seats, list) else []:
        say(one_line(_seat(seat)))
    if not seats:
        say("no harness is kept")
    if members.get("more"):
        say("... and more: see --limit")
    counts = members.get("counts")
    if isinstance(counts, dict):
        say(one_line(f"turns of the last day: {_counted(counts.get('by_path'))}"))
        if counts.get("by_reason"):
            say(one_line(f"not warm, since: {_counted(counts.get('by_reason'))}"))
    process = members.get("process")
    memory = process.get("memory") if isinstance(process, dict) else None
    if isinstance(memory, dict) and memory.get("budget_mb") is not None:
        used, gone = memory.get("used_mb") or 0, memory.get("evicted")
        words = f"memory: {used:,} of {memory['budget_mb']:,} MiB, harnesses let go for it {gone}"
        say(one_line(words))


def _seat(seat: JsonValue) -> str:
    until = text_of(seat, "expires_at")[:19]
    words = [
        text_of(seat, "session_id"),
        text_of(seat, "state"),
        f"since {text_of(seat, 'since')[:19]}Z",
        f"until {until}Z" if until else "",
        f"turn {text_of(seat, 'turn_id')}" if text_of(seat, "state") == "busy" else "",
        f"seat {text_of(seat, 'seat_id')}",
        f"of {text_of(seat, 'owner')}",
    ]
    return "  ".join(filter(None, words))


def _counted(counts: JsonValue) -> str:
    found = counts.items() if isinstance(counts, dict) else ()
    return ", ".join(f"{name} {count}" for name, count in found)
