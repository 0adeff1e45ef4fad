"""`turnlog import`: what came of each file, and what was lost on the way?"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import Final

from api.cli.failures import DONE, NOT_SO, UNFIT, Failure
from api.cli.opening import the_log
from api.cli.output import say, write
from api.cli.progress import Bar, bar
from api.cli.terminal_text import one_line
from api.shapes import Shape
from api.taking import AskedFormat, UnknownFormat, format_in, import_shape, take
from domain.raw_json import dumped
from domain.refusals import Refusal
from infrastructure.composition import Turnlog
from infrastructure.export_format import BadExport
from infrastructure.import_sources import Source, files
from infrastructure.importing import FileImport, ImportReport, OnConflict
from infrastructure.imports.translation import Loss

EXAMPLES: Final = 3
_TURNED_DOWN: Final = ("refused", "unreadable")
_HAS_SESSIONS: Final = ("imported", "unchanged", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How files are to be taken; with `auto`, each says its own format."""

    project: str
    format: AskedFormat
    on_conflict: OnConflict


def import_paths(paths: Sequence[Path], wanted: Wanted, *, as_json: bool) -> int:
    """Take all files, newest first, and report; return the exit code."""
    sources = _sources(paths)
    with the_log() as log:
        report = _take_all(log, sources, wanted)
    if as_json:
        write(dumped(_report_shape(report)) + b"\n")
    else:
        for line in report_lines(report):
            say(one_line(line))
    turned_down = any(file.status in _TURNED_DOWN for file in report.files)
    found_any = any(file.status in _HAS_SESSIONS for file in report.files)
    return DONE if found_any and not turned_down else NOT_SO


def report_lines(report: ImportReport) -> Iterator[str]:
    """Yield a report for people."""
    for status, count in Counter(file.status for file in report.files).items():
        yield f"{status}: {count} {'file' if count == 1 else 'files'}"
    for file in report.files:
        if file.detail:
            yield f"  {file.name}: {file.status}, {file.detail}"
    total = report.total
    if report.facts:
        sessions = {session for file in report.files for session in file.sessions}
        yield (
            f"recorded: {report.facts} events, sessions: {len(sessions)}, turns: {total.turns}, "
            f"messages: {total.messages}, tool calls: {total.tool_calls}, "
            f"results: {total.tool_results}, kept as data: {total.kept_as_data}"
        )
    yield from _loss_lines([(file, loss) for file in report.files for loss in file.report.losses])


def _sources(paths: Sequence[Path]) -> list[Source]:
    try:
        sources = files(paths)
    except FileNotFoundError as error:
        missing = error.filename or "a path"
        raise Failure("no-such-file", f"there is nothing at {missing}", UNFIT) from error
    if not sources:
        raise Failure("nothing-to-import", "no .jsonl file is in what was named")
    return sources


def _take_all(log: Turnlog, sources: Sequence[Source], wanted: Wanted) -> ImportReport:
    taken: list[FileImport] = []
    with bar("importing", total=len(sources)) as shown:
        for source in sources:
            taken.append(_take(log, source, wanted, shown))
            shown.advance()
    return ImportReport(files=tuple(taken))


def _take(log: Turnlog, source: Source, wanted: Wanted, shown: Bar) -> FileImport:
    name = source.name
    try:
        with source.open() as file:
            size = file.seek(0, SEEK_END)
            file.seek(0)
            return take(
                log,
                wanted.project,
                name,
                file,
                format_=format_in(file, size, wanted.format, limit=size),
                on_conflict=wanted.on_conflict,
                heard=shown.heard,
            )
    except OSError as error:
        detail = error.strerror or "the file cannot be read"
        return FileImport(name=name, status="unreadable", detail=detail)
    except Refusal as refusal:
        return FileImport(name=name, status="refused", detail=refusal.detail)
    except UnknownFormat as error:
        return FileImport(name=name, status="unknown-format", detail=str(error))
    except BadExport as error:
        return FileImport(name=name, status="unreadable", detail=str(error))


def _loss_lines(losses: Sequence[tuple[FileImport, Loss]]) -> Iterator[str]:
    if not losses:
        return
    yield f"not carried as it was: {len(losses)}"
    by_code: dict[str, list[tuple[FileImport, Loss]]] = {}
    for file, loss in losses:
        by_code.setdefault(loss.code, []).append((file, loss))
    for code, found in sorted(by_code.items()):
        yield f"  {code}: {len(found)}"
        for file, loss in found[:EXAMPLES]:
            place = file.name if loss.line is None else f"{file.name}:{loss.line}"
            yield f"    {place} {loss.detail}".rstrip()
        if len(found) > EXAMPLES:
            yield f"    and {len(found) - EXAMPLES} more; --json lists all"


def _report_shape(report: ImportReport) -> Shape:
    return {
        "files": [import_shape(file) for file in report.files],
        "counts": Counter(file.status for file in report.files),
        "events": report.facts,
    }
