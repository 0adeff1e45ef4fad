"""How do the rows of one's own table come into the log, once each, whichever file they come in?

Session by session, in pieces that are each a transaction: the events, and the ids of the rows that
they came from. A row that is there already is left out; a session that went on here, or began
elsewhere, is refused, and the others go on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import BinaryIO, Final

from sqlalchemy import Connection, bindparam, select

from domain.commands import OpenSession
from domain.refusals import ImportConflict, Refusal
from infrastructure import tables as t
from infrastructure.command_handler import CommandHandler
from infrastructure.database import Database
from infrastructure.import_planning import Known, find_known
from infrastructure.import_writing import PIECE, PIECE_BYTES, Addition, Piece, write_piece
from infrastructure.importing import FileImport, OnConflict
from infrastructure.imports.rows import SOURCE, Row, RowsOfSession
from infrastructure.imports.summing import not_carried
from infrastructure.imports.translation import Loss, Report
from infrastructure.lookup import find_head
from infrastructure.prepared import Prepared, PreparedRows, copy_rows
from infrastructure.recorder import find_key
from infrastructure.row_spool import RowSpool, Spooled
from infrastructure.runner import Attempt, Runner
from infrastructure.writing import COPIED_FROM

KEPT: Final = 1_000
LOOKED_UP: Final = 500
_NEW_ROW: Final = PreparedRows(
    lambda _: t.imported_rows.insert(), [column.name for column in t.imported_rows.columns]
)
_OPEN_CALLS: Final = Prepared(
    lambda _: (
        select(t.calls.c.turn_id, t.calls.c.tool_call_id)
        .where(t.calls.c.session_key == bindparam("session_key"), t.calls.c.status == "open")
        .order_by(t.calls.c.requested_version)
    )
)
_LAST_ROLE: Final = Prepared(
    lambda _: (
        select(t.messages.c.role)
        .where(t.messages.c.session_key == bindparam("session_key"))
        .order_by(t.messages.c.index.desc())
        .limit(1)
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One piece of one session, and the rows that it came from."""

    adding: Addition
    piece: Piece
    rows: Sequence[tuple[str, bytes]]


@dataclass(slots=True, kw_only=True)
class _Session:
    """A session on its way in."""

    adding: Addition
    told: RowsOfSession
    rows: list[tuple[int, str, bytes]] = field(default_factory=list[tuple[int, str, bytes]])


@dataclass(slots=True)
class _Outcome:
    """What has come of the file so far; lists are cut where they would grow with it."""

    report: Report = field(default_factory=Report)
    losses: list[Loss] = field(default_factory=list[Loss])
    losses_in_all: int = 0
    sessions: list[str] = field(default_factory=list[str])
    facts: int = 0
    known: int = 0
    refused: int = 0

    def lose(self, loss: Loss) -> None:
        self.losses_in_all += 1
        if len(self.losses) < KEPT:
            self.losses.append(loss)


class RowImport:
    """Takes rows into one project."""

    def __init__(
        self,
        database: Database,
        runner: Runner,
        handler: CommandHandler,
        project_id: str,
        heard: Callable[[int, int], None] = lambda _lines, _events: None,
    ) -> None:
        self._database: Final = database
        self._runner: Final = runner
        self._handler: Final = handler
        self._project_id: Final = project_id
        self._heard: Final = heard
        self._outcome = _Outcome()
        self._waiting: list[_Part] = []
        self._name = ""
        self._lines = 0

    def take(self, name: str, file: BinaryIO, on_conflict: OnConflict) -> FileImport:
        """Take a file: what is new of it.

        Raises:
            ImportConflict: rows are to be forked, which have ids of their own.
        """
        if on_conflict == "fork":
            raise ImportConflict("rows cannot fork: each has an id, and is in one session")
        self._name, self._outcome, self._waiting = name, _Outcome(), []
        with RowSpool(self._outcome.lose) as spool:
            spool.read(file, lambda lines: self._heard(lines, 0))
            self._lines = spool.lines
            for spooled in spool.sessions():
                try:
                    self._session(spool, spooled)
                except Refusal as refusal:
                    self._refuse(spooled.session_id, refusal, on_conflict)
            self._write_waiting()
            return self._file(spool)

    def _session(self, spool: RowSpool, spooled: Spooled) -> None:
        """Take one session's rows.

        Raises:
            Refusal: none of those that are still to be written are taken.
        """
        session_id = spooled.session_id
        with self._database.read() as connection:
            known = find_known(connection, self._project_id, session_id, SOURCE)
            key = find_key(connection, self._project_id, session_id)
            told = RowsOfSession()
            if known is not None and key is not None:
                self._resume(connection, session_id, key, told)
        session = _Session(adding=self._adding(spool, spooled, known), told=told)
        fresh = self._fresh(spool, session_id, key if known is not None else None)
        left = spooled.rows
        wrote = False
        for row, digest, is_new in fresh:
            left -= 1
            if not is_new:
                self._outcome.known += 1
                continue
            if known is not None and not wrote:
                _check(known)
            told.take(row)
            session.rows.append((row.line, row.external_id, digest))
            if left and _is_full(told):
                wrote = True
                session = self._cut(session, left)
        told.told.settle()
        if told.told.events or session.adding.loss_version is not None:
            self._cut(session, 0)
        for line in told.told.held:
            self._outcome.lose(Loss(line=line, code="waits-for-input", detail=""))
        self._count(session_id, told)

    def _adding(self, spool: RowSpool, spooled: Spooled, known: Known | None) -> Addition:
        counts = {spooled.rows}
        unfinished = None
        if known is not None and known.markers and known.markers[-1].remaining:
            unfinished = known.markers[-1]
            counts.add(unfinished.lines)
        digests = spool.digests(spooled.session_id, counts)
        if unfinished is not None and digests.get(unfinished.lines) != unfinished.digest:
            raise ImportConflict("an import of other rows did not come to its end")
        opening = OpenSession(
            title_by="import",
            source={
                "format": SOURCE,
                "name": self._name,
                "session_id": spooled.session_id,
            },
        )
        return Addition(
            session_id=spooled.session_id,
            seen=0 if known is None else known.version,
            events=(),
            open=opening if known is None else None,
            loss_version=None if unfinished is None else unfinished.loss_version,
            format=SOURCE,
            source_name=self._name,
            lines=spooled.rows,
            digest=digests[spooled.rows],
        )

    def _resume(
        self, connection: Connection, session_id: str, key: int, told: RowsOfSession
    ) -> None:
        """Have the session go on in the turn that is open, with the calls that wait."""
        _, state = find_head(connection, self._project_id, session_id)
        turn_id = state.head.turn_id
        if turn_id is None:
            return
        calls = [
            row.tool_call_id
            for row in _OPEN_CALLS.run(connection, {"session_key": key})
            if row.turn_id == turn_id
        ]
        role = _LAST_ROLE.run(connection, {"session_key": key}).scalar_one_or_none()
        last = {"assistant": "text", "tool": "result"}.get(str(role), "input")
        told.told.resume(turn_id, state.head.messages, calls, last)  # type: ignore[arg-type]
        told.waiting.extend(calls)

    def _fresh(
        self, spool: RowSpool, session_id: str, key: int | None
    ) -> Iterator[tuple[Row, bytes, bool]]:
        """Yield each row, and whether the log does not have it yet."""
        seen: set[str] = set()
        rows = spool.rows(session_id)
        while some := list(islice(rows, LOOKED_UP)):
            known: Mapping[str, bytes] = {} if key is None else self._known_rows(key, some)
            for row, digest in some:
                before = known.get(row.external_id)
                if before is not None and before != digest:
                    self._outcome.lose(Loss(line=row.line, code="changed-row", detail=""))
                elif row.external_id in seen:
                    self._outcome.lose(Loss(line=row.line, code="repeated-row", detail=""))
                is_new = before is None and row.external_id not in seen
                seen.add(row.external_id)
                yield row, digest, is_new

    def _known_rows(self, key: int, rows: Sequence[tuple[Row, bytes]]) -> Mapping[str, bytes]:
        wanted = select(t.imported_rows.c.external_id, t.imported_rows.c.digest).where(
            t.imported_rows.c.session_key == key,
            t.imported_rows.c.external_id.in_([row.external_id for row, _ in rows]),
        )
        with self._database.read() as connection:
            return {row.external_id: bytes(row.digest) for row in connection.execute(wanted)}

    def _cut(self, session: _Session, left: int) -> _Session:
        """Have what was told so far written, and go on after it; the last piece may wait."""
        told = session.told.told
        held = set(told.held)
        events = tuple(told.events)
        told.events.clear()
        ready = [(name, digest) for line, name, digest in session.rows if line not in held]
        piece = Piece(events=events, remaining=left)
        part = _Part(adding=session.adding, piece=piece, rows=ready)
        kept = [row for row in session.rows if row[0] in held]
        if left == 0:
            self._waiting.append(part)
            if sum(len(each.piece.events) for each in self._waiting) >= PIECE:
                self._write_waiting()
            return replace(session, rows=kept)
        adding = self._write_alone(part)
        return replace(session, adding=adding, rows=kept)

    def _write_alone(self, part: _Part) -> Addition:
        adding, facts, losses = self._runner.run(lambda attempt: self._write(attempt, part))
        self._wrote(facts, losses)
        return adding

    def _write_waiting(self) -> None:
        """Write the last pieces of several sessions together; alone, if one is refused."""
        parts, self._waiting = self._waiting, []
        if not parts:
            return
        try:
            done = self._runner.run(
                lambda attempt: [self._write(attempt, part)[1:] for part in parts]
            )
        except Refusal:
            for part in parts:
                try:
                    self._write_alone(part)
                except Refusal as refusal:
                    self._refuse(part.adding.session_id, refusal, "refuse")
        else:
            for facts, losses in done:
                self._wrote(facts, losses)

    def _write(self, attempt: Attempt, part: _Part) -> tuple[Addition, int, Sequence[Loss]]:
        written = write_piece(self._handler, attempt, self._project_id, part.adding, part.piece)
        key = find_key(attempt.connection, self._project_id, part.adding.session_id)
        rows = [(key, name, digest) for name, digest in part.rows]
        if len(rows) >= COPIED_FROM and attempt.connection.dialect.name == "postgresql":
            copy_rows(attempt.connection, t.imported_rows, rows)
        else:
            _NEW_ROW.rows(attempt.connection, rows)
        adding = replace(
            part.adding, seen=written.version, loss_version=written.loss_version, open=None
        )
        return adding, written.facts, written.losses

    def _wrote(self, facts: int, losses: Sequence[Loss]) -> None:
        self._outcome.facts += facts
        for loss in losses:
            self._outcome.lose(loss)
        self._heard(self._lines, self._outcome.facts)

    def _refuse(self, session_id: str, refusal: Refusal, on_conflict: OnConflict) -> None:
        self._outcome.refused += 1
        code = "session-skipped" if on_conflict == "skip" else "session-refused"
        self._outcome.lose(Loss(line=None, code=code, detail=f"{session_id}: {refusal.detail}"))

    def _count(self, session_id: str, told: RowsOfSession) -> None:
        counts, outcome = told.told.told, self._outcome
        for loss in told.told.losses:
            outcome.lose(loss)
        if len(outcome.sessions) < KEPT:
            outcome.sessions.append(session_id)
        outcome.report = outcome.report.plus(
            Report(
                sessions=1,
                turns=counts.turns,
                messages=counts.messages,
                tool_calls=counts.tool_calls,
                tool_results=counts.tool_results,
                kept_as_data=counts.kept_as_data,
            )
        )

    def _file(self, spool: RowSpool) -> FileImport:
        outcome = self._outcome
        losses = sorted(outcome.losses, key=lambda loss: (loss.line or 0, loss.code))
        left_out = outcome.losses_in_all - len(losses)
        if left_out:
            losses.append(Loss(line=None, code="more-losses", detail=str(left_out)))
        report = replace(
            outcome.report,
            files=1,
            lines=spool.lines,
            events=outcome.facts,
            repeats_dropped=outcome.known,
            losses=(*losses, *not_carried(spool.unused)),
        )
        status = "imported" if outcome.facts else "unchanged"
        if not outcome.sessions:
            status = "refused" if outcome.refused else "no-conversation"
        return FileImport(
            name=self._name,
            status=status,  # type: ignore[arg-type]
            detail="" if outcome.sessions or not outcome.refused else "every session was refused",
            sessions=tuple(outcome.sessions),
            facts=outcome.facts,
            report=report,
        )


def _check(known: Known) -> None:
    if not known.markers:
        raise ImportConflict("a session of this id is here, and was not imported from rows")
    if known.deleted:
        raise ImportConflict("the session was deleted")
    if known.went_on:
        raise ImportConflict("the session went on here since it was imported")


def _is_full(told: RowsOfSession) -> bool:
    events = told.told.events
    if len(events) >= PIECE:
        return True
    return len(events) % 16 == 15 and sum(len(e.data) for e in events) > PIECE_BYTES  # noqa: PLR2004
