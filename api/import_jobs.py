"""How does an import run beside the requests, and how does anybody know how far it has come?

On a thread of its own; every second it writes into its record that it is still there. A server that
stops lets it end between two transactions, and the record says that it was interrupted.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event, Thread
from typing import BinaryIO, Final

from api.errors import UNREACHABLE, problem_of
from api.problems import ProblemError
from api.taking import Format, import_shape, take
from domain.raw_json import dumped
from domain.refusals import Refusal
from infrastructure.composition import Turnlog
from infrastructure.export_format import BadExport
from infrastructure.import_records import ImportRecord, keep_record
from infrastructure.importing import FileImport, OnConflict

BEAT_S: Final = 1.0
PATIENCE_S: Final = 10.0
_LOGGER: Final = logging.getLogger("turnlog")


class Interrupted(Exception):
    """The server stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request wants imported."""

    name: str
    format: Format
    on_conflict: OnConflict


@dataclass(slots=True)
class Progress:
    """How far an import has come."""

    stopping: Event
    lines: int = 0
    events: int = 0

    def hear(self, lines: int, events: int) -> None:
        """Note it; raise `Interrupted` if the server stops."""
        self.lines, self.events = max(self.lines, lines), events
        if self.stopping.is_set():
            raise Interrupted


class ImportJobs:
    """The imports that run beside the requests of one application."""

    def __init__(self) -> None:
        self._threads: Final[set[Thread]] = set()

    def start(self, log: Turnlog, record: ImportRecord, file: BinaryIO, asked: Asked) -> None:
        """Begin to import a file, which is closed at the end; `record` is kept already."""
        self._threads.difference_update({each for each in self._threads if not each.is_alive()})
        job = _Job(log, record, file, asked)
        thread = Thread(target=job.run, name=f"import-{record.import_id[:8]}", daemon=True)
        self._threads.add(thread)
        thread.start()

    async def ended(self) -> None:
        """Wait until each has come to the end of its transaction, since the server stops."""
        for thread in tuple(self._threads):
            await asyncio.to_thread(thread.join, PATIENCE_S)


def taken(
    log: Turnlog,
    project_id: str,
    file: BinaryIO,
    asked: Asked,
    heard: Callable[[int, int], None] = lambda _lines, _events: None,
) -> FileImport:
    """Import a file now.

    Raises:
        ProblemError: it holds nothing, or is damaged.
        Refusal: the log has something else.
    """
    try:
        found = take(
            log,
            project_id,
            asked.name,
            file,
            format_=asked.format,
            on_conflict=asked.on_conflict,
            heard=heard,
        )
    except BadExport as error:
        extra = {"line": error.line, "reason": error.code}
        raise ProblemError("bad-export", str(error), extra=extra) from None
    if found.status == "no-conversation":
        detail = f"none of the file's {found.report.lines} lines belongs to a conversation"
        raise ProblemError("nothing-to-import", detail)
    log.arrivals.announce({(project_id, session_id) for session_id in found.sessions})
    return found


@dataclass(slots=True)
class _Job:
    log: Turnlog
    record: ImportRecord
    file: BinaryIO
    asked: Asked
    over: Event = field(default_factory=Event)

    def run(self) -> None:
        progress = Progress(self.log.stopping)
        beating = Thread(target=self._beat, args=(progress,), daemon=True)
        beating.start()
        try:
            record = self._imported(progress)
        finally:
            self.over.set()
            beating.join()
            self.file.close()
        now = self.log.now()
        self._keep(
            replace(
                record,
                lines=max(record.lines, progress.lines),
                events=max(record.events, progress.events),
                seen_at=now,
                finished_at=now,
            )
        )

    def _imported(self, progress: Progress) -> ImportRecord:
        record = self.record
        try:
            found = taken(self.log, record.project_id, self.file, self.asked, progress.hear)
        except Interrupted:
            return replace(record, status="interrupted")
        except (ProblemError, Refusal) as error:
            problem = problem_of(error) if isinstance(error, Refusal) else error
            told = {"problem": {"code": problem.code, "detail": problem.detail}}
            return replace(record, status="failed", report=dumped(told))
        except Exception as error:  # noqa: BLE001 - the outermost edge of its thread
            _LOGGER.warning("an import broke off: %s", type(error).__qualname__)
            return replace(record, status="interrupted")
        return completed(record, found)

    def _beat(self, progress: Progress) -> None:
        while not self.over.wait(BEAT_S):
            self._keep(
                replace(
                    self.record,
                    seen_at=self.log.now(),
                    lines=progress.lines,
                    events=progress.events,
                )
            )

    def _keep(self, record: ImportRecord) -> None:
        """Keep it if the database can be reached; else it is silent, and so interrupted."""
        with suppress(*UNREACHABLE, RuntimeError):
            self.log.runner.run(lambda attempt: keep_record(attempt.connection, record))


def completed(record: ImportRecord, found: FileImport) -> ImportRecord:
    """Return the record of an import that came to its end."""
    return replace(
        record,
        status="completed",
        lines=found.report.lines,
        events=found.facts,
        report=dumped(import_shape(found)),
    )
