"""`turnlog audit`: who did what in a session, when, and with which effect?"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final, Literal, TypeAlias

from api.cli.output import say, write, write_lines
from api.cli.showing import text_of
from api.cli.source import source
from api.cli.terminal_text import one_line
from api.cli.wanted import AuditFilter
from domain.json_text import JsonValue, parse
from projections.audit_csv import csv_header, csv_line

Form: TypeAlias = Literal["text", "json", "jsonl", "csv"]
_WHO_WIDTH: Final = 20
_TYPE_WIDTH: Final = 20


def show_audit(
    project: str, url: str | None, session_id: str, wanted: AuditFilter, form: Form
) -> None:
    """Write a session's audit, line by line as it is read."""
    with source(project, url) as found:
        lines = found.audit(session_id, wanted)
        match form:
            case "text":
                _write(lines)
            case "json":
                _write_array(lines)
            case "jsonl":
                write_lines(lines)
            case "csv":
                _write_table(lines)


def _write(lines: Iterator[bytes]) -> None:
    nothing = True
    for line in lines:
        nothing = False
        say(one_line(_line(parse(line))))
    if nothing:
        say("nothing of that was recorded")


def _line(line: JsonValue) -> str:
    columns = (
        text_of(line, "version").rjust(6),
        f"{text_of(line, 'at')[:19]}Z",
        _who(line).ljust(_WHO_WIDTH),
        text_of(line, "type").ljust(_TYPE_WIDTH),
        text_of(line, "what"),
        *(f"[{mark}]" for mark in _marks(line)),
    )
    return "  ".join(columns)


def _who(line: JsonValue) -> str:
    """Return who asked for it, and the program that it came from, if one sent it."""
    producer = line.get("producer") if isinstance(line, dict) else None
    return "/".join(filter(None, (text_of(line, "actor"), text_of(producer, "id")))) or "turnlog"


def _marks(line: JsonValue) -> Iterator[str]:
    if tool := text_of(line, "tool"):
        yield f"tool {tool}"
    if text_of(line, "effect") == "history":
        yield "history"
    if text_of(line, "late"):
        yield "late"
    if rewound_by := text_of(line, "rewound_by"):
        yield f"rewound by {rewound_by}"


def _write_array(lines: Iterator[bytes]) -> None:
    before = b"["
    for line in lines:
        write(before + line)
        before = b",\n"
    write(b"[]\n" if before == b"[" else b"]\n")


def _write_table(lines: Iterator[bytes]) -> None:
    first = next(lines, None)  # nothing is written of what is not there
    write(csv_header())
    for line in () if first is None else chain((first,), lines):
        shape = parse(line)
        write(csv_line(shape if isinstance(shape, Mapping) else {}))
