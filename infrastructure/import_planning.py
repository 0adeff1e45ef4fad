"""What of a transcript does the log not have yet, and may it be appended?

The newest `history-imported` of a session tells how many lines it covers and what they were. A
file that begins with those lines adds what comes after them. Anything else is a conflict: other
lines, a session that went on here, or a user who went back to before what was imported.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from sqlalchemy import Connection, exists, select

from domain.commands import OpenSession
from domain.events import HistoryImported
from domain.events.session import Parent
from domain.fields import TITLE_LIMIT
from domain.graphemes import shortened
from domain.identifiers import is_line, is_name
from domain.refusals import ImportConflict
from domain.state import GONE
from infrastructure import tables as t
from infrastructure.import_recall import Recalled, shared
from infrastructure.import_sources import Lines
from infrastructure.imports.formats import SourceFormat
from infrastructure.imports.translation import (
    Loss,
    Report,
    TranslatedEvent,
    TranslatedSession,
    Translation,
)
from infrastructure.lookup import find_head
from infrastructure.recorder import WITH_BODIES
from infrastructure.serialization import decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """An earlier import: the version of its `history-imported`, and what it covered.

    Attributes:
        remaining: How many of the events of these lines were still to come.
        loss_version: Where the loss stands that their coming heals.
    """

    version: int
    lines: int
    digest: str
    remaining: int = 0
    loss_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A session that the log has.

    Attributes:
        markers: Earlier imports of this format, oldest first.
        went_on: Whether the history changed since the newest of them.
    """

    version: int
    deleted: bool
    title: str | None
    title_by: str | None
    markers: tuple[Marker, ...]
    went_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """What to append to one session; nothing at all if there are no `events` and no `open`.

    Attributes:
        seen: The version that this was planned on; 0 for a new session.
        title: The title that the transcript has by now, if it differs and no person gave another.
        loss_version: The loss of an import that did not come to its end, which this one heals.
    """

    session_id: str
    seen: int
    open: OpenSession | None = None
    title: str | None = None
    events: Sequence[TranslatedEvent] = ()
    loss_version: int | None = None

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is to be appended."""
        return self.open is None and not self.events


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """What to append for one transcript.

    Attributes:
        is_new: Whether the log has none of the sessions.
        report: What the new lines amount to, and what of them was lost.
    """

    name: str
    format: str
    sessions: tuple[SessionPlan, ...]
    is_new: bool
    lines: int
    digest: str
    report: Report = field(default_factory=Report)


class Transcript:
    """One file's lines and their translations, made once each."""

    def __init__(self, name: str, lines: Lines, format_: SourceFormat) -> None:
        self.name: Final = name
        self.format: Final = format_
        self.lines: Final = lines
        self._made: dict[tuple[int, tuple[int, ...]], Translation] = {}
        self._digests: dict[int, str] = {}

    @property
    def digest(self) -> str:
        """Return the SHA-256 of all lines, in hex."""
        return self._digest(len(self.lines.lines)) or ""

    def has(self, marker: Marker) -> bool:
        """Tell whether this begins with the lines that an earlier import covered."""
        return self._digest(marker.lines) == marker.digest

    def _digest(self, count: int) -> str | None:
        if count not in self._digests:
            self._digests |= self.lines.digests((count,))
        return self._digests.get(count)

    def translated(self, flush_after: Sequence[int] = (), count: int | None = None) -> Translation:
        """Return the translation of the first `count` lines, after those of the earlier counts."""
        end = len(self.lines.lines) if count is None else count
        earlier = tuple(number for number in sorted(flush_after) if number < end)
        made = self._made.get((end, earlier))
        if made is None:
            lines = self.lines.lines[:end]
            made = self.format.translate(lines, source_name=self.name, flush_after=earlier)
            if self.lines.cut_off and count is None:
                made = _with_cut_off_line(made, end + 1)
            self._made[end, earlier] = made
        return made


def _with_cut_off_line(made: Translation, line: int) -> Translation:
    loss = Loss(line=line, code="incomplete-last-line", detail="")
    return replace(made, report=replace(made.report, losses=(*made.report.losses, loss)))


Find: TypeAlias = Callable[[str], Known | None]
Tell: TypeAlias = Callable[[str], Iterable[Recalled]]


def find_known(
    connection: Connection, project_id: str, session_id: str, format_: str
) -> Known | None:
    """Return what the log knows of a session, or None if it has none of this id.

    Only imports of the same format count as earlier ones.
    """
    key, state = find_head(connection, project_id, session_id)
    head = state.head
    if key is None or head.version == 0:
        return None
    markers = tuple(_markers(connection, key, format_))
    went_on = select(
        exists().where(
            t.events.c.session_key == key,
            t.events.c.version > (markers[-1].version if markers else 0),
            t.events.c.history,
        )
    )
    return Known(
        version=head.version,
        deleted=head.status in GONE,
        title=head.title,
        title_by=head.title_by,
        markers=markers,
        went_on=bool(connection.execute(went_on).scalar_one()),
    )


def plan(transcript: Transcript, suffix: str, find: Find, told: Tell) -> FilePlan:
    """Return what to append of a transcript to its sessions, whose ids get `suffix`.

    `told` gives what earlier imports appended to a session.

    Raises:
        ImportConflict: a session holds something else than the earlier part of the transcript.
    """
    first = transcript.translated()
    known = {s.session_id: find(suffixed(s.session_id, suffix)) for s in first.sessions}
    counts = _shared_counts(transcript, known)
    translation = transcript.translated(counts)
    places = [
        _Place(transcript, session, suffix, counts, translation, told)
        for session in translation.sessions
    ]
    sessions = tuple(
        place.plan(known.get(place.session.session_id) or find(place.session_id))
        for place in places
    )
    return FilePlan(
        name=transcript.name,
        format=transcript.format.name,
        sessions=sessions,
        is_new=all(session.seen == 0 for session in sessions),
        lines=len(transcript.lines.lines),
        digest=transcript.digest,
        report=_fresh(transcript, translation, counts, sessions),
    )


def suffixed(session_id: str, suffix: str) -> str:
    """Return the id of a session's other telling, which is an id too."""
    return session_id[: _ID_LIMIT - len(suffix)] + suffix


def _markers(connection: Connection, key: int, format_: str) -> Iterator[Marker]:
    columns = (t.events.c.version, t.events.c.type, t.events.c.schema, t.bodies.c.body)
    rows = connection.execute(
        select(*columns)
        .select_from(WITH_BODIES)
        .where(t.events.c.session_key == key, t.events.c.type == "history-imported")
        .order_by(t.events.c.version)
    )
    for row in rows:
        event = decode(row.type, row.schema, row.body)
        if isinstance(event, HistoryImported) and event.format == format_:
            yield Marker(
                version=row.version,
                lines=event.lines,
                digest=event.digest,
                remaining=event.remaining,
                loss_version=event.loss_version,
            )


def _shared_counts(transcript: Transcript, known: Mapping[str, Known | None]) -> tuple[int, ...]:
    """Return at which lines earlier imports of these very lines ended."""
    markers = [m for session in known.values() if session for m in session.markers]
    return tuple(sorted({m.lines for m in markers if transcript.has(m)}))


class _Place:
    """One session of a transcript, and what the log has of it."""

    def __init__(
        self,
        transcript: Transcript,
        session: TranslatedSession,
        suffix: str,
        counts: tuple[int, ...],
        translation: Translation,
        told: Tell,
    ) -> None:
        self.session: Final = session
        self._told: Final = told
        self.session_id: Final = suffixed(session.session_id, suffix)
        self._transcript: Final = transcript
        self._suffix: Final = suffix
        self._counts: Final = counts
        self._translation: Final = translation

    def plan(self, known: Known | None) -> SessionPlan:
        if known is None:
            return SessionPlan(
                session_id=self.session_id, seen=0, open=self._opening(), events=self.session.events
            )
        events = self._events_after(known)
        plan = SessionPlan(
            session_id=self.session_id,
            seen=known.version,
            events=events,
            loss_version=known.markers[-1].loss_version if known.markers[-1].remaining else None,
        )
        if not events:
            return plan
        if known.deleted:
            raise ImportConflict("the session was deleted")
        if known.went_on:
            raise ImportConflict("the session went on here since it was imported")
        if self._translation.diverged_at is not None:
            line = self._translation.diverged_at
            raise ImportConflict(f"line {line} was imported and has left the conversation since")
        title = _title(self.session.title)
        if title is None or title == known.title or known.title_by == "person":
            return plan
        return replace(plan, title=title)

    def _opening(self) -> OpenSession:
        session, transcript = self.session, self._transcript
        here = {s.session_id for s in self._translation.sessions}
        parent = None
        if session.parent is not None:
            suffix = self._suffix if session.parent in here else ""
            agent = session.agent_id
            parent = Parent(
                session_id=suffixed(session.parent, suffix),
                agent_id=agent if agent is not None and is_name(agent) else None,
            )
        return OpenSession(
            title=_title(session.title),
            title_by="import",
            source={
                "format": transcript.format.name,
                "name": transcript.name,
                "session_id": session.session_id,
            },
            parent=parent,
        )

    def _events_after(self, known: Known) -> Sequence[TranslatedEvent]:
        """Return the events that the session does not have yet."""
        if not known.markers:
            raise ImportConflict("a session of this id is here, and was not imported from a file")
        newest = known.markers[-1]
        total = len(self._transcript.lines.lines)
        covered = [m for m in known.markers if not m.remaining]
        if any(m.lines == total and self._transcript.has(m) for m in covered):
            return ()
        if not self._transcript.has(newest):
            return self._events_beyond()
        before = self._transcript.translated(self._counts, newest.lines)
        told = [s for s in before.sessions if s.session_id == self.session.session_id]
        return self.session.events[sum(len(s.events) for s in told) - newest.remaining :]

    def _events_beyond(self) -> Sequence[TranslatedEvent]:
        """Return the events after those that the log has, whichever lines those came from.

        An older copy of the file has the first of them, and nothing more.
        """
        found = shared(self._told(self.session_id), self.session.events)
        if found is None:
            raise ImportConflict("the session was imported from other lines")
        return self.session.events[found:]


def _title(title: str | None) -> str | None:
    """Return a title that the log takes, as near as can be to what the transcript has."""
    if title is None:
        return None
    shown = "".join(c if is_line(c) else "\N{REPLACEMENT CHARACTER}" for c in title).strip()
    return shortened(shown, TITLE_LIMIT) or None


def _fresh(
    transcript: Transcript,
    translation: Translation,
    counts: tuple[int, ...],
    sessions: Sequence[SessionPlan],
) -> Report:
    """Return the report on the lines that no earlier import covered."""
    if all(session.is_empty for session in sessions):
        return Report(files=1)
    whole = translation.report
    if not counts:
        return whole
    before = transcript.translated(counts, counts[-1]).report
    return Report(
        files=1,
        lines=whole.lines - before.lines,
        sessions=whole.sessions,
        turns=whole.turns - before.turns,
        messages=whole.messages - before.messages,
        tool_calls=whole.tool_calls - before.tool_calls,
        tool_results=whole.tool_results - before.tool_results,
        events=whole.events - before.events,
        kept_as_data=whole.kept_as_data - before.kept_as_data,
        repeats_dropped=whole.repeats_dropped - before.repeats_dropped,
        losses=tuple(x for x in whole.losses if x.line is None or x.line > counts[-1]),
    )


_ID_LIMIT: Final = 128
