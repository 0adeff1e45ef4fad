"""How do transcripts of other programs come into the log, once each, however often they are given?

File by file: translated, compared with what the log has, appended session by session. A file that
cannot be taken is named with the reason, and the others go on.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count
from typing import Final, Literal, TypeAlias

from domain.refusals import ImportConflict, Refusal, VersionMoved
from infrastructure.command_handler import CommandHandler
from infrastructure.database import Database
from infrastructure.import_planning import (
    FilePlan,
    Known,
    SessionPlan,
    Transcript,
    find_known,
    plan,
)
from infrastructure.import_recall import Recalled, recalled
from infrastructure.import_sources import Source, split
from infrastructure.import_writing import Written, addition, write_session
from infrastructure.imports.formats import FORMATS, TranscriptFormat
from infrastructure.imports.translation import Loss, Report
from infrastructure.runner import Runner

OnConflict: TypeAlias = Literal["refuse", "fork", "skip"]
FileStatus: TypeAlias = Literal[
    "imported",
    "unchanged",
    "no-conversation",
    "unknown-format",
    "skipped",
    "refused",
    "unreadable",
]
Progress: TypeAlias = Callable[[int, int, int], None]
ATTEMPTS: Final = 5
_RESTLESS: Final = "the session kept changing while it was compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImport:
    """What came of one file.

    Attributes:
        detail: Why it was not taken, if it was not.
        sessions: The sessions that it is in.
        facts: How many facts were appended.
        report: What the new lines amount to, and what of them was lost.
    """

    name: str
    status: FileStatus
    detail: str = ""
    sessions: tuple[str, ...] = ()
    facts: int = 0
    report: Report = field(default_factory=Report)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What came of all of them."""

    files: tuple[FileImport, ...]

    @property
    def facts(self) -> int:
        """Return how many facts were appended."""
        return sum(file.facts for file in self.files)

    @property
    def total(self) -> Report:
        """Return the sum of the files' reports."""
        return reduce(Report.plus, (file.report for file in self.files), Report())

    def counted(self, status: FileStatus) -> int:
        """Return how many files came out so."""
        return sum(file.status == status for file in self.files)


class TranscriptImport:
    """Takes transcripts of one format into one project."""

    def __init__(
        self,
        database: Database,
        runner: Runner,
        handler: CommandHandler,
        project_id: str,
        format_: TranscriptFormat = "claude-code",
        heard: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._database: Final = database
        self._runner: Final = runner
        self._handler: Final = handler
        self._project_id: Final = project_id
        self._format: Final = FORMATS[format_]
        self._heard: Final = heard

    def take_all(
        self,
        sources: Sequence[Source],
        on_conflict: OnConflict = "refuse",
        progress: Progress = lambda _done, _of, _facts: None,
    ) -> ImportReport:
        """Take each file that can be taken; `progress` hears files done, of all, and facts."""
        taken: list[FileImport] = []
        facts = 0
        for source in sources:
            taken.append(self._take_or_say_why(source, on_conflict))
            facts += taken[-1].facts
            progress(len(taken), len(sources), facts)
        return ImportReport(files=tuple(taken))

    def take(self, source: Source, on_conflict: OnConflict = "refuse") -> FileImport:
        """Take one file: what is new of it.

        A fork goes to sessions of new ids, `<id>-2` and so on; earlier forks are looked at first,
        since the file may simply go on in one of them.

        Raises:
            ImportConflict: the log has something else under the same ids, and may not fork.
            Refusal: the session is full.
            OSError: the file cannot be read.
        """
        transcript = Transcript(source.name, split(source.read(), self._format.items), self._format)
        report = transcript.translated().report
        if report.turns == 0:
            return FileImport(name=source.name, status="no-conversation", report=report)
        conflict: ImportConflict | None = None
        for number in count(1):
            suffix = "" if number == 1 else f"-{number}"
            may_begin = conflict is None or on_conflict == "fork"
            try:
                taken = self._take_as(transcript, suffix, may_begin=may_begin)
            except ImportConflict as error:
                conflict = conflict or error
                continue
            if taken is not None:
                return taken
            break
        if on_conflict == "skip" and conflict is not None:
            return FileImport(name=source.name, status="skipped", detail=conflict.detail)
        raise conflict or ImportConflict(_RESTLESS)

    def _take_or_say_why(self, source: Source, on_conflict: OnConflict) -> FileImport:
        try:
            return self.take(source, on_conflict)
        except Refusal as refusal:
            return FileImport(name=source.name, status="refused", detail=refusal.detail)
        except OSError as error:
            detail = error.strerror or "the file cannot be read"
            return FileImport(name=source.name, status="unreadable", detail=detail)

    def _take_as(
        self, transcript: Transcript, suffix: str, *, may_begin: bool
    ) -> FileImport | None:
        """Append what is new under the ids with `suffix`; None if that would begin a fork."""
        facts = 0
        losses: list[Loss] = []
        for _ in range(ATTEMPTS):
            file = plan(transcript, suffix, self._known, self._recalled)
            if file.is_new and not may_begin:
                return None
            try:
                for session in file.sessions:
                    if not session.is_empty:
                        written = self._write(file, session)
                        facts += written.facts
                        losses += written.losses
            except VersionMoved:
                continue
            return FileImport(
                name=transcript.name,
                status="imported" if facts else "unchanged",
                sessions=tuple(session.session_id for session in file.sessions),
                facts=facts,
                report=replace(file.report, losses=(*file.report.losses, *losses)),
            )
        raise ImportConflict(_RESTLESS)

    def _write(self, file: FilePlan, session: SessionPlan) -> Written:
        adding = addition(file, session)
        return write_session(self._handler, self._runner, self._project_id, adding, self._heard)

    def _known(self, session_id: str) -> Known | None:
        with self._database.read() as connection:
            return find_known(connection, self._project_id, session_id, self._format.name)

    def _recalled(self, session_id: str) -> Iterator[Recalled]:
        with self._database.read() as connection:
            yield from recalled(connection, self._project_id, session_id)
