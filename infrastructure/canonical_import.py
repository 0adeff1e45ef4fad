"""How does an export become a session of this store, with its ids, times, salts and hashes?

In one transaction, line by line: nothing is seen of a file that turns out to be damaged. A session
that holds a prefix of the file gets the rest; one that holds something else stays as it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Final, TypeAlias

from domain.decide import SESSION_LIMIT
from domain.evolve import evolve, fold
from domain.recorded import Recorded
from domain.refusals import ImportConflict
from domain.state import Changes, State
from infrastructure.commit import Contended, Writing
from infrastructure.event_log import EventLog
from infrastructure.export_format import BadExport, Manifest, end_line, read_event, read_manifest
from infrastructure.mapper import StoredFact, recorded_of
from infrastructure.recorder import find_key
from infrastructure.runner import Attempt, Runner
from infrastructure.storable import is_storable
from infrastructure.stored_stream import Stream, find_stream, hash_at, last_version, stored_facts

PAGE: Final = 500
PAGE_BYTES: Final = 8 * 2**20
IN_MEMORY: Final = 8 * 2**20

File: TypeAlias = "SpooledTemporaryFile[bytes]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedExport:
    """What came of a file: `added` of its `events` are new."""

    session_id: str
    events: int
    added: int


def import_export(
    log: EventLog, runner: Runner, project_id: str, chunks: Iterable[bytes]
) -> ImportedExport:
    """Take an export, whose bytes come as lines or in any other pieces, into its own project.

    Raises:
        BadExport: the file is damaged, of another format, or of another project.
        ImportConflict: the session holds something else.
    """
    with SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        for chunk in chunks:
            file.write(chunk)
        taking = _Taking(log, project_id, file)
        return runner.run(taking.take)


class _Taking:
    """One file on its way in; it may be tried more than once."""

    def __init__(self, log: EventLog, project_id: str, file: File) -> None:
        self._log = log
        self._project_id = project_id
        self._file = file
        self._refused_once = False

    def take(self, attempt: Attempt) -> ImportedExport:
        self._file.seek(0)
        lines = _Lines(self._file)
        manifest = lines.manifest(self._project_id)
        try:
            added = self._append_new(attempt, lines, manifest)
        except Contended as error:
            if not self._is_fault(attempt, error):
                raise
            detail = "the events up to here name one thing twice, or one of another session"
            raise BadExport(lines.number, "contradiction", detail) from None
        return ImportedExport(session_id=manifest.session_id, events=manifest.events, added=added)

    def _append_new(self, attempt: Attempt, lines: "_Lines", manifest: Manifest) -> int:
        connection = attempt.connection
        key = find_key(connection, manifest.project_id, manifest.session_id)
        known = 0 if key is None else last_version(connection, key)
        facts = lines.facts(manifest)
        shared = min(known, manifest.events)
        end = None
        for fact in islice(facts, shared):
            end = fact.hash
        if key is not None and shared and hash_at(connection, key, shared) != end:
            raise ImportConflict("the session holds other events than the export")
        state = State()
        if key is not None and known < manifest.events:
            stream = find_stream(connection, manifest.project_id, manifest.session_id)
            state = _folded(attempt, stream)
        appending = _Appending(self._log, attempt, manifest, state)
        for page in _pages(facts):
            appending.append(page)
        return manifest.events - shared

    def _is_fault(self, attempt: Attempt, error: Contended) -> bool:
        """A taken key can be another writer's doing; not on SQLite, though, and hardly twice."""
        if error.__cause__ is None:
            return False
        again, self._refused_once = self._refused_once, True
        return again or attempt.connection.dialect.name == "sqlite"


class _Lines:
    """The lines of a file, checked one after another."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._digest = sha256()
        self._line = b""
        self.number = 0

    def manifest(self, project_id: str) -> Manifest:
        manifest = read_manifest(self._next())
        if manifest.project_id != project_id:
            detail = f"the export is of project {manifest.project_id}, and so are its hashes"
            raise BadExport(1, "other-project", detail)
        if manifest.events > SESSION_LIMIT:
            raise BadExport(1, "session-full", f"a session holds at most {SESSION_LIMIT} events")
        return manifest

    def facts(self, manifest: Manifest) -> Iterator[StoredFact]:
        """Yield each event, and raise `BadExport` at the end unless the file ends as it must."""
        previous = bytes(32)
        for _ in range(manifest.events):
            fact = read_event(self._next(), self.number, manifest, previous)
            previous = fact.hash
            yield fact
        if previous != manifest.hash:
            raise BadExport(self.number, "hash-mismatch", "the manifest names another last hash")
        line = self._next()
        if line != end_line(manifest.events, self._digest.hexdigest()):
            raise BadExport(self.number, "end", "the file does not end as its manifest says")
        if self._file.readline():
            raise BadExport(self.number + 1, "end", "something follows the end")

    def _next(self) -> bytes:
        """Return the next line; the digest is then that of the lines before it."""
        self._digest.update(self._line)
        self._line = self._file.readline()
        self.number += 1
        if not self._line:
            raise BadExport(self.number, "end", "the file was cut off before its end")
        return self._line


class _Appending:
    """Events of one session, written page by page in one transaction."""

    def __init__(self, log: EventLog, attempt: Attempt, manifest: Manifest, state: State) -> None:
        self._log = log
        self._attempt = attempt
        self._manifest = manifest
        self._state = state

    def append(self, page: list[Recorded]) -> None:
        seen = self._state.head.version
        changes: list[Changes] = []
        for fact in page:
            change = evolve(self._state, fact)
            if not is_storable(change):
                detail = "a name or a count in the data is more than a column holds"
                raise BadExport(fact.version + 1, "not-storable", detail)
            self._state.apply(change)
            changes.append(change)
        names = (self._manifest.project_id, self._manifest.session_id)
        self._log.append(
            Writing(
                commit=self._attempt.commit,
                session_key=find_key(self._attempt.connection, *names),
                project_id=names[0],
                session_id=names[1],
                seen=seen,
                facts=page,
                changes=changes,
                state=self._state,
            )
        )


def _folded(attempt: Attempt, stream: Stream) -> State:
    return fold(recorded_of(stored) for stored in stored_facts(attempt.connection, stream))


def _pages(facts: Iterator[StoredFact]) -> Iterator[list[Recorded]]:
    page: list[Recorded] = []
    size = 0
    for fact in facts:
        page.append(recorded_of(fact))
        size += len(fact.state)
        if len(page) == PAGE or size >= PAGE_BYTES:
            yield page
            page, size = [], 0
    if page:
        yield page
