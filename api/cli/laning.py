"""`turnlog lanes`: where do conversations happen, and which session has each?

What a lane is called comes from other people: it is written so that it can only be read.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rich.table import Table

from api.cli.failures import Failure
from api.cli.lane_source import LaneSource
from api.cli.output import say, show, terminal_width, write, write_lines
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import cut, one_line
from api.cli.wanted import LaneWanted
from domain.identifiers import is_lane_id, is_readable
from domain.json_text import JsonValue, parse

COLUMNS: Final = ("LANE", "ACTIVE (UTC)", "STATE", "SESSION", "KEY")
SHOWN_ID: Final = 12
"""So many digits of a lane's id are written in a list, and name it."""
LEAST_KEY: Final = 20
GAP: Final = 2
_PREFIX: Final = re.compile("[0-9a-f]{6,31}")
_SEVERAL: Final = 6


def list_lanes(
    project: str, url: str | None, wanted: LaneWanted, limit: int, *, as_json: bool
) -> None:
    """Write up to `limit` lanes, newest activity first."""
    with source(project, url) as found:
        lanes = found.lanes.find(wanted)
        if as_json:
            write_lines(islice(lanes, limit))
        else:
            _write_table(lanes, limit)


def show_lane(project: str, url: str | None, name: str, limit: int, *, as_json: bool) -> None:
    """Write a lane, its newest sessions, and its newest facts."""
    with source(project, url) as found:
        lane_id = lane_named(found.lanes, name)
        told = found.lanes.read(lane_id)
        lane = parse(told)
        sessions = [*islice(found.lanes.sessions(lane_id), limit)]
        version = lane.get("version") if isinstance(lane, dict) else None
        before = max(0, version - limit) if isinstance(version, int) else 0
        events = [*islice(found.lanes.events(lane_id, before), limit)]
    if as_json:
        parts = (told, b",".join(sessions), b",".join(events))
        write(b'{"lane":%s,"sessions":[%s],"events":[%s]}\n' % parts)
        return
    for line in _about(lane):
        say(one_line(line))
    say("sessions:")
    for each in sessions:
        say(f"  {one_line(_session(parse(each)))}")
    say("facts:")
    for each in events:
        say(f"  {one_line(_fact(parse(each)))}")


def lane_named(lanes: LaneSource, name: str) -> str:
    """Return the id of the lane that somebody means, by its id, how that begins, or its key.

    Of several with one key it is the open one.

    Raises:
        Failure: there is none, or several could be meant.
    """
    if is_lane_id(name):
        return name
    fit: list[JsonValue] = []
    if _PREFIX.fullmatch(name):
        fit = _fitting(lanes, LaneWanted(status="all", id_prefix=name))
    elif is_readable(name):
        fit = _fitting(lanes, LaneWanted(key=name))
        fit = fit or _fitting(lanes, LaneWanted(status="all", key=name))
    if not fit:
        sentence = "no lane has this id or key; six digits of an id are enough"
        raise Failure("no-such-lane", sentence)
    ids = [text_of(each, "lane_id") for each in fit]
    if len(ids) > 1:
        raise Failure("ambiguous-lane", f"several lanes are called so: {', '.join(ids)}")
    return ids[0]


def state_of(lane: JsonValue) -> str:
    """Return in one or two words how a lane stands."""
    status = text_of(lane, "status")
    is_so = lane if isinstance(lane, dict) else {}
    turn = text_of(is_so.get("session"), "turn_id")
    if status == "open":
        if is_so.get("suspended") is True:
            status = "suspended"
        elif is_so.get("resume_pending") is True:
            status = "resume-pending"
        elif turn:
            status = "running"
    return f"{status}, pinned" if is_so.get("pinned") is True else status


def _fitting(lanes: LaneSource, wanted: LaneWanted) -> list[JsonValue]:
    return [parse(each) for each in islice(lanes.find(wanted), _SEVERAL)]


def _write_table(lanes: Iterator[bytes], limit: int) -> None:
    rows = [_row(parse(line)) for line in islice(lanes, limit)]
    if not rows:
        say("there are no such lanes")
        return
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    room = max(terminal_width() - sum(widths[:-1]) - GAP * len(widths), LEAST_KEY)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name, width in zip(COLUMNS, (*widths[:-1], room), strict=True):
        table.add_column(name, width=width, no_wrap=True)
    for *others, key in rows:
        table.add_row(*others, cut(key, room))
    show(table, width=sum(widths[:-1]) + room + GAP * len(widths))
    if next(lanes, None) is not None:
        say(f"and more: --limit is {limit}")


def _row(lane: JsonValue) -> tuple[str, ...]:
    updated = text_of(lane, "updated_at")
    return (
        text_of(lane, "lane_id")[:SHOWN_ID],
        f"{updated[:10]} {updated[11:16]}",
        state_of(lane),
        text_of(lane, "session_id"),
        text_of(lane, "lane_key"),
    )


def _about(lane: JsonValue) -> Iterator[str]:
    yield text_of(lane, "description") or "a lane of which nothing is known"
    yield f"lane {text_of(lane, 'lane_id')}  {state_of(lane)}"
    yield f"key {text_of(lane, 'lane_key')}"
    shared = "  shared by several people" if text_of(lane, "shared") == "true" else ""
    yield f"session {text_of(lane, 'session_id')}{shared}"
    for name, word in (
        ("suspended_reason", "suspended"),
        ("resume_reason", "can be gone on with"),
        ("moved_to", "moved to"),
        ("moved_from", "moved from"),
    ):
        if found := text_of(lane, name):
            yield f"{word}: {found}"
    since, last = text_of(lane, "created_at")[:19], text_of(lane, "updated_at")[:19]
    yield f"since {since}Z, active {last}Z, version {text_of(lane, 'version')}"


def _session(session: JsonValue) -> str:
    current = text_of(session, "current") == "true"
    words = [
        "*" if current else "-",
        text_of(session, "session_id"),
        f"since {text_of(session, 'bound_at')[:19]}Z",
        text_of(session, "reason"),
        text_of(session, "status"),
        text_of(session, "title"),
    ]
    return "  ".join(filter(None, words))


def _fact(event: JsonValue) -> str:
    data = event.get("data") if isinstance(event, dict) else None
    words = [
        text_of(event, "version"),
        f"{text_of(event, 'recorded_at')[:19]}Z",
        text_of(event, "type"),
        text_of(data, "session_id"),
        text_of(data, "reason"),
        f"by {text_of(event, 'actor')}" if text_of(event, "actor") else "",
    ]
    return "  ".join(filter(None, words))
