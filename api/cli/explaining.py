"""`turnlog why`: why was a turn warm or cold, and where did its time go?"""

from collections.abc import Iterator, Mapping

from api.cli.output import say, write
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import one_line
from domain.json_text import JsonValue, parse


def show_why(
    project: str, url: str | None, session_id: str, turn_id: str | None, *, as_json: bool
) -> None:
    """Write why a turn, else the newest one, went which way."""
    with source(project, url) as found:
        told = found.explanation(session_id, turn_id)
    if as_json:
        write(told + b"\n")
        return
    for line in _lines(parse(told)):
        say(one_line(line))


def _lines(told: JsonValue) -> Iterator[str]:
    found: Mapping[str, JsonValue] = told if isinstance(told, dict) else {}
    way = " ".join(filter(None, (text_of(told, "path") or "unknown", text_of(told, "reason"))))
    yield f"{text_of(told, 'turn_id')}  {way}"
    yield text_of(told, "explain")
    seat = found.get("seat")
    if seat is not None:
        yield f"  seat before    {_seat(seat)}"
    for moved in _items(found.get("moved_by")):
        who = text_of(moved, "producer") or text_of(moved, "actor") or "turnlog"
        what = f"version {text_of(moved, 'version')}  {text_of(moved, 'type')}"
        yield f"  moved by       {what}  {who}  {text_of(moved, 'at')[:19]}Z"
    if found.get("before") or found.get("after"):
        yield f"  configuration  {text_of(told, 'before')} -> {text_of(told, 'after')}"
    for refused in _items(found.get("refused")):
        reasons = ", ".join(
            filter(None, (text_of(refused, "seat"), *_names(_member(refused, "reasons"))))
        )
        at = f"version {text_of(refused, 'version')}"
        yield f"  refused        {at}  {text_of(refused, 'code')}  {reasons}"


def _seat(seat: JsonValue) -> str:
    pinned, gone = _member(seat, "pinned"), _member(seat, "gone")
    words = [text_of(seat, "seat_id"), f"of {text_of(seat, 'owner')}", text_of(seat, "state")]
    if gone is not None:
        words.append(f"({text_of(gone, 'reason')}, version {text_of(gone, 'version')})")
    if pinned is not None:
        words.append(f"history version {text_of(pinned, 'history_version')}")
        words.append(f"parked {text_of(seat, 'parked_at')[:19]}Z")
    return "  ".join(words)


def _member(value: JsonValue, name: str) -> JsonValue:
    return value.get(name) if isinstance(value, dict) else None


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _names(value: JsonValue) -> list[str]:
    return [item for item in _items(value) if isinstance(item, str)]
