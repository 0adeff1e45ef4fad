"""How does an export become a session of this store, with its ids, times, salts and hashes?

In one transaction, line by line: nothing is seen of a file that turns out to be damaged. A session
that holds a prefix of the file gets the rest; one that holds something else stays as it is.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Final, TypeAlias

from sqlalchemy import Connection

from domain.attachments import named_blobs
from domain.decide import SESSION_LIMIT
from domain.decide_history import LINEAGE_LIMIT
from domain.events import ForkPoint, SessionForked
from domain.evolve import evolve
from domain.forking import beginning
from domain.recorded import Recorded
from domain.refusals import ImportConflict, LineageTooDeep
from domain.registry import NAMES
from domain.state import Changes, State
from infrastructure import clock
from infrastructure.ancestry import folded_on, folded_to
from infrastructure.blobs import Entangled, completed, keep
from infrastructure.commit import Contended
from infrastructure.event_log import EventLog
from infrastructure.export_format import (
    BadExport,
    Manifest,
    end_line,
    is_blob,
    read_blob,
    read_event,
    read_manifest,
)
from infrastructure.lineages import NOBODY, Lineage, forked_from
from infrastructure.mapper import StoredFact, recorded_of
from infrastructure.recorder import find_key, purged_at
from infrastructure.runner import Attempt, Runner
from infrastructure.storable import is_storable
from infrastructure.stored_stream import find_stream, hash_at, last_version
from infrastructure.writing import Writing

PAGE: Final = 500
PAGE_BYTES: Final = 8 * 2**20
IN_MEMORY: Final = 8 * 2**20
FORKED: Final = NAMES[SessionForked]

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
        if key is not None and purged_at(connection, key) is not None:
            raise ImportConflict("what was said in the session was destroyed, for ever")
        known = 0 if key is None else max(0, last_version(connection, key) - manifest.shared)
        facts = lines.facts(manifest, attempt)
        shared = min(known, manifest.events)
        end = None
        for fact in islice(facts, shared):
            end = fact.hash
        here = None if key is None else hash_at(connection, key, manifest.shared + shared)
        if key is not None and manifest.events and (not shared or here != end):
            raise ImportConflict("the session holds other events than the export")
        state, lineage = State(), NOBODY
        if key is not None and known < manifest.events:
            stream = find_stream(connection, manifest.project_id, manifest.session_id)
            state = folded_to(connection, stream)
        elif key is None and manifest.base is not None:
            state, lineage = _forked(connection, manifest.project_id, manifest.base)
        appending = _Appending(self._log, attempt, lines, manifest, state, lineage)
        for page in _pages(attempt, facts):
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
        self._told: set[str] = set()
        self._before: list[int] = []  # for each blob, the version that it came before
        self.number = 0
        self.shared = 0

    def manifest(self, project_id: str) -> Manifest:
        manifest = read_manifest(self._next())
        if manifest.project_id != project_id:
            detail = f"the export is of project {manifest.project_id}, and so are its hashes"
            raise BadExport(1, "other-project", detail)
        if manifest.events > SESSION_LIMIT:
            raise BadExport(1, "session-full", f"a session holds at most {SESSION_LIMIT} events")
        return manifest

    def facts(self, manifest: Manifest, attempt: Attempt) -> Iterator[StoredFact]:
        """Yield each event, and raise `BadExport` at the end unless the file ends as it must.

        The blobs on the way are kept before the events that name them.
        """
        self.shared = manifest.shared
        previous = bytes(32) if manifest.base is None else bytes.fromhex(manifest.base.hash)
        for version in range(self.shared + 1, self.shared + manifest.events + 1):
            line, kept = self._next(), set[str]()
            while is_blob(line):
                kept.add(self._kept(line, manifest, attempt))
                self._before.append(version)
                line = self._next()
            fact = read_event(line, self.number, version, manifest, previous)
            if (fact.topic == FORKED) != (version == self.shared + 1 > 1):
                detail = "a fork begins with its one session-forked, and nothing else has any"
                raise BadExport(self.number, "contradiction", detail)
            if not kept <= {blob.sha256 for blob in named_blobs(fact.state)}:
                detail = "the event after a blob does not name it"
                raise BadExport(self.number, "contradiction", detail)
            previous = fact.hash
            yield fact
        if previous != manifest.hash:
            raise BadExport(self.number, "hash-mismatch", "the manifest names another last hash")
        line = self._next()
        if line != end_line(manifest.events, self._digest.hexdigest()):
            raise BadExport(self.number, "end", "the file does not end as its manifest says")
        if self._file.readline():
            raise BadExport(self.number + 1, "end", "something follows the end")

    def line_of(self, version: int) -> int:
        """Return the line of an event that was read."""
        return version - self.shared + 1 + bisect_right(self._before, version)

    def _kept(self, line: bytes, manifest: Manifest, attempt: Attempt) -> str:
        blob = read_blob(line, self.number)
        if blob.sha256 in self._told:
            raise BadExport(self.number, "contradiction", "the blob came before")
        self._told.add(blob.sha256)
        try:
            keep(attempt.connection, manifest.project_id, blob, clock.now())
        except Entangled as error:
            raise Contended from error
        return blob.sha256

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

    def __init__(
        self,
        log: EventLog,
        attempt: Attempt,
        lines: _Lines,
        manifest: Manifest,
        state: State,
        lineage: Lineage,
    ) -> None:
        self._log = log
        self._attempt = attempt
        self._lines = lines
        self._manifest = manifest
        self._state = state
        self._lineage = lineage

    def append(self, page: list[Recorded]) -> None:
        seen = self._state.head.version
        changes: list[Changes] = []
        for fact in page:
            change = evolve(self._state, fact)
            if not is_storable(change):
                detail = "a name or a count in the data is more than a column holds"
                raise BadExport(self._lines.line_of(fact.version), "not-storable", detail)
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
                lineage=self._lineage,
            )
        )


def _forked(connection: Connection, project_id: str, base: ForkPoint) -> tuple[State, Lineage]:
    """Return what a fork goes on from.

    Raises:
        ImportConflict: its parent is not here, or has another history up to there.
    """
    key = find_key(connection, project_id, base.session_id)
    found = None if key is None else hash_at(connection, key, base.version)
    if key is None or found is None or found.hex() != base.hash:
        detail = f"session {base.session_id} is not here with version {base.version}, from which"
        raise ImportConflict(f"{detail} this one was forked: import it first")
    parent = replace(find_stream(connection, project_id, base.session_id), last=base.version)
    _, lineage = folded_on(connection, parent)
    state = folded_to(connection, parent)
    if len(lineage) >= LINEAGE_LIMIT:
        raise LineageTooDeep(LINEAGE_LIMIT)
    return beginning(state), forked_from(key, base.version, state.head, lineage)


def _pages(attempt: Attempt, facts: Iterator[StoredFact]) -> Iterator[list[Recorded]]:
    page: list[Recorded] = []
    size = 0
    for fact in facts:
        whole = completed(attempt.connection, fact)
        named = tuple(named_blobs(fact.state))
        page.append(recorded_of(whole)._replace(blobs=named))
        size += len(fact.state) + sum(blob.size or 0 for blob in whole.blobs)
        if len(page) == PAGE or size >= PAGE_BYTES:
            yield page
            page, size = [], 0
    if page:
        yield page
