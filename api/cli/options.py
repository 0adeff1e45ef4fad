"""What do many commands take?"""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from api.cli.wanted import NO_PARENT
from domain.identifiers import ID_RULE, NAME_RULE, is_id, is_name
from domain.retention import MOST_AT_ONCE
from domain.times import microseconds
from projections.audit import shown_tool


def _id(value: str) -> str:
    if not is_id(value):
        raise typer.BadParameter(ID_RULE)
    return value


def _maybe_id(value: str | None) -> str | None:
    return None if value is None else _id(value)


def _parent(value: str | None) -> str | None:
    return value if value == NO_PARENT else _maybe_id(value)


def _moment(value: str | None) -> str | None:
    if value is None or (value.isascii() and value.isdigit() and len(value) < 10):  # noqa: PLR2004
        return value
    if microseconds(value) is None:
        raise typer.BadParameter("a version, or an RFC 3339 time with an offset")
    return value


def _time(value: str | None) -> str | None:
    if value is not None and microseconds(value) is None:
        raise typer.BadParameter("an RFC 3339 time with an offset")
    return value


def _day(value: str | None) -> str | None:
    if value is not None and (len(value) != len("2026-01-31") or _time_of(value) is None):
        raise typer.BadParameter("a day, as 2026-01-31")
    return value


def _time_of(day: str) -> int | None:
    return microseconds(f"{day}T00:00:00Z")


def _types(values: list[str] | None) -> list[str]:
    names = sorted({name.strip() for value in values or () for name in value.split(",")} - {""})
    if not all(map(is_id, names)):
        raise typer.BadParameter("names of event types")
    return names


def _tool(value: str | None) -> str | None:
    if value is not None and shown_tool(value) is None:
        raise typer.BadParameter(f"an audit tells plain names of tools only: {ID_RULE}")
    return value


def _name(value: str | None) -> str | None:
    if value is not None and not is_name(value):
        raise typer.BadParameter(NAME_RULE)
    return value


Session: TypeAlias = Annotated[
    str, typer.Argument(metavar="SESSION", help="A session's id.", callback=_id)
]
MaybeSession: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[SESSION]", help="A session's id.", callback=_maybe_id)
]
All: TypeAlias = Annotated[bool, typer.Option("--all", help="Every session of the project.")]
Parent: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--parent",
        metavar="SESSION|-",
        help="Its children; -: those of no session.",
        callback=_parent,
    ),
]
Project: TypeAlias = Annotated[
    str, typer.Option("--project", metavar="ID", help="The tenant.", callback=_id)
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Machine-readable: a JSON document, or one on each line.")
]
Url: TypeAlias = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="Ask this server instead of the database."),
]
At: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="VERSION|TIME", help="As it stood then (RFC 3339).", callback=_moment
    ),
]
FromMoment: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="FROM", help="A version, or an RFC 3339 time.", callback=_moment),
]
ToMoment: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="[TO]", help="The same; not given: now.", callback=_moment),
]
WithSession: TypeAlias = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", help="Only in this session.", callback=_maybe_id),
]
Since: TypeAlias = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Only since then (RFC 3339).", callback=_time),
]
Until: TypeAlias = Annotated[
    str | None,
    typer.Option("--to", metavar="TIME", help="Only before (RFC 3339).", callback=_time),
]
RecordedSince: TypeAlias = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Recorded since then (RFC 3339).", callback=_time),
]
RecordedUntil: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="TIME", help="Recorded before then (RFC 3339).", callback=_time
    ),
]
Types: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--type", metavar="NAME", help="Only this event type; several, too.", callback=_types
    ),
]
Tool: TypeAlias = Annotated[
    str | None,
    typer.Option("--tool", metavar="NAME", help="Only what is about it.", callback=_tool),
]
Turn: TypeAlias = Annotated[
    str | None, typer.Option("--turn", metavar="ID", help="Only this turn.", callback=_maybe_id)
]
MaybeTurn: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="[TURN]", help="A turn's id; none: the newest.", callback=_maybe_id),
]
Actor: TypeAlias = Annotated[
    str | None, typer.Option("--actor", metavar="NAME", help="Only what they did.", callback=_name)
]
FirstDay: TypeAlias = Annotated[
    str | None,
    typer.Option("--from", metavar="DAY", help="The first day, in UTC.", callback=_day),
]
LastDay: TypeAlias = Annotated[
    str | None,
    typer.Option("--to", metavar="DAY", help="The last day, in UTC.", callback=_day),
]
MaybeGate: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[GATE]", help="A gate's id.", callback=_name)
]
Interrupt: TypeAlias = Annotated[
    bool, typer.Option("--interrupt", help="Also if a turn runs, which is interrupted for it.")
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Tell what would change, and change nothing.")
]
IncludePinned: TypeAlias = Annotated[
    bool, typer.Option("--include-pinned", help="Pinned ones too.")
]
AtOnce: TypeAlias = Annotated[
    int, typer.Option("--limit", min=1, max=MOST_AT_ONCE, help="How many at most.")
]
Output: TypeAlias = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Not standard output.")
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
