"""What does the database say of a session, as the REST interface would?"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Event
from typing import Final, TypeVar

from sqlalchemy import Connection

from api.cli.failures import Failure
from api.cli.stored_approvals import stored_approval, stored_approvals, stored_decision
from api.cli.stored_forks import stored_fork, stored_lineage
from api.cli.stored_gaps import stored_accept
from api.cli.stored_harnesses import stored_explanation, stored_pool
from api.cli.stored_lanes import StoredLanes
from api.cli.stored_moves import stored_redo, stored_rewind
from api.cli.stored_removing import (
    stored_delete,
    stored_prune,
    stored_purge,
    stored_undelete,
)
from api.cli.stored_settings import stored_policies, stored_policy_change
from api.cli.stored_views import stored_errors, stored_texts, stored_usage
from api.cli.wanted import (
    NO_PARENT,
    AcceptWanted,
    AuditFilter,
    DecisionWanted,
    ErrorFilter,
    ForkWanted,
    PruneWanted,
    RedoWanted,
    RewindWanted,
    SessionFilter,
    TextFilter,
    UsageFilter,
)
from api.diffing import Page, diff_shape
from api.session_shapes import event_json, session_shape
from api.shapes import head_shape, readiness_shape
from api.subagent_shapes import subagent_shape
from api.verification_shapes import verification_shape
from domain.blobs import is_digest
from domain.json_text import parse
from domain.raw_json import dumped
from domain.readiness import readiness
from domain.times import microseconds
from infrastructure.command_handler import Target
from infrastructure.composition import Turnlog
from infrastructure.export import export_session
from infrastructure.lineages import Lineage, lineage
from infrastructure.reading.audit import AuditQuery, line_shape, whole_audit
from infrastructure.reading.blobs import find_blob, stretch
from infrastructure.reading.events import history
from infrastructure.reading.files import with_files
from infrastructure.reading.moment import At, Moment, moment
from infrastructure.reading.readiness import judged
from infrastructure.reading.sessions import (
    ANY_PARENT,
    SessionQuery,
    SessionView,
    session,
    session_head,
    sessions,
)
from infrastructure.reading.subagents import subagents
from infrastructure.reading.transcript import extent, extent_placed, live_view
from infrastructure.reading.transcript_json import page_json
from infrastructure.verification import Receipt, verify, verify_all
from projections.openai_chat import ChatExport, openai_chat

PAGE: Final = 200
PIECE: Final = 2 * 1024 * 1024
LOOK_S: Final = 0.25

Answer = TypeVar("Answer")


class Stored:
    """One project of an open log; see `Source`."""

    def __init__(self, log: Turnlog, project_id: str) -> None:
        self._log: Final = log
        self._project_id: Final = project_id
        self.lanes: Final = StoredLanes(log, project_id)

    def sessions(self, wanted: SessionFilter) -> Iterator[bytes]:
        """Yield sessions, newest activity first."""
        after: tuple[int, int] | None = None
        anybodys = ANY_PARENT if wanted.subagents else None
        while True:
            query = SessionQuery(
                project_id=self._project_id,
                status=wanted.status,
                title=wanted.title,
                parent={NO_PARENT: None, None: anybodys}.get(wanted.parent, wanted.parent),
                after=after,
                limit=PAGE,
            )
            found = self._read(partial(sessions, query=query))
            known_after = self._read(self._log.known_after)
            for _, view in found:
                yield self._session_json(view, known_after, whole=False)
            if len(found) < PAGE:
                return
            after = (found[-1][1].head.updated_at, found[-1][0])

    def session(self, session_id: str) -> bytes:
        """Return a session."""
        target = self._target(session_id)
        view = self._read(lambda connection: session(connection, target))
        return self._session_json(view, self._read(self._log.known_after), whole=True)

    def messages(
        self,
        session_id: str,
        *,
        at: str | None,
        newest: int | None,
        archived: bool,
        rewound: bool = False,
    ) -> Iterator[bytes]:
        """Yield the transcript's messages, or its `newest` ones, in their order."""
        found = self._moment(session_id, at)
        if rewound:
            shown = self._read(lambda connection: extent_placed(connection, found))
        else:
            shown = extent(found, with_archived=archived)
        slot = shown.first if newest is None else max(shown.first, shown.end - newest)
        while slot < shown.end:
            window = shown.after(slot, PAGE)
            messages = self._read(partial(page_json, moment=found, window=window))
            yield from (message.encode() for message in messages)
            slot = window.high

    def subagents(self, session_id: str) -> Iterator[bytes]:
        """Yield the sub-agents of a session, the first one first."""
        target, after = self._target(session_id), 0
        while True:
            page = partial(subagents, target=target, after=after, limit=PAGE)
            found = self._read(page)
            yield from (dumped(subagent_shape(each)) for each in found)
            if len(found) < PAGE:
                return
            after = found[-1].key

    def openai(self, session_id: str, *, at: str | None) -> bytes:
        """Return what the model sees as OpenAI chat messages."""
        found = self._moment(session_id, at)

        def look(connection: Connection) -> ChatExport:
            live = live_view(connection, found)
            messages = with_files(connection, self._project_id, live.messages)
            return openai_chat(list(messages), live.earlier_calls)

        form = self._read(look)
        losses = [loss.shape() for loss in form.losses]
        return dumped(
            {"messages": form.messages, "losses": losses, "through_version": found.through}
        )

    def events(self, session_id: str, after: int, *, follow: bool) -> Iterator[bytes]:
        """Yield events after a version, and then, if told to `follow`, those that come."""
        target = self._target(session_id)
        stream, shared = self._stream(target)
        never = Event()
        while True:
            page = partial(history, stream=stream, lineage=shared, after=after, limit=PAGE)
            found = self._read(page)
            yield from map(event_json, found)
            after = found[-1].envelope.version if found else after
            if len(found) < PAGE:
                if not follow:
                    return
                never.wait(LOOK_S)

    def event(self, session_id: str, version: int) -> bytes:
        """Return one event."""
        target = self._target(session_id)
        stream, shared = self._stream(target)
        page = partial(history, stream=stream, lineage=shared, after=version - 1, limit=1)
        found = self._read(page)
        if not found or found[0].envelope.version != version:
            raise Failure("no-such-event", f"the session has no version {version}")
        return event_json(found[0])

    def readiness(self, session_id: str, *, at: str | None) -> bytes:
        """Return whether a client may send only its newest message, or could have."""
        found = self._moment(session_id, at)
        policy = self._log.policy(found.known_after)
        then, head = self._read(partial(judged, moment=found, policy=policy))
        return dumped(readiness_shape(then, head))

    def verify(self, session_id: str, receipt: tuple[int, str] | None) -> bytes:
        """Verify a session."""
        told = receipt and Receipt(version=receipt[0], hash=bytes.fromhex(receipt[1]))
        found = verify(self._log.database, self._project_id, session_id, told)
        return dumped(verification_shape(found))

    def verify_all(self) -> Iterator[bytes]:
        """Verify each session, also one that has lost its place in the views."""
        found = verify_all(self._log.database, self._project_id)
        return (dumped(verification_shape(each)) for each in found)

    def usage(self, wanted: UsageFilter) -> Iterator[bytes]:
        """Yield what was used, in the order of its keys."""
        return stored_usage(self._log, self._project_id, wanted)

    def errors(self, wanted: ErrorFilter) -> Iterator[bytes]:
        """Yield errors, newest first."""
        return stored_errors(self._log, self._project_id, wanted)

    def search(self, wanted: TextFilter) -> Iterator[bytes]:
        """Yield the texts that have the words, newest first."""
        return stored_texts(self._log, self._project_id, wanted)

    def audit(self, session_id: str, wanted: AuditFilter) -> Iterator[bytes]:
        """Yield the lines of a session's audit, oldest first."""
        found = self._moment(session_id, wanted.at)
        query = AuditQuery(
            types=wanted.types,
            actor=wanted.actor,
            turn_id=wanted.turn_id,
            tool=wanted.tool,
            effect=wanted.effect,
            since=microseconds(wanted.since),
            until=microseconds(wanted.until),
        )
        lines = whole_audit(self._log.database, found, query)
        return (dumped(line_shape(line)) for line in lines)

    def explanation(self, session_id: str, turn_id: str | None) -> bytes:
        """Return why a turn, else the newest one, was warm or cold."""
        return stored_explanation(self._log, self._target(session_id), turn_id)

    def pool(self, limit: int) -> bytes:
        """Return so many seats, the last changed first, and how turns went; `more` if so."""
        return stored_pool(self._log, self._project_id, limit)

    def approvals(self, session_id: str | None, limit: int) -> Sequence[bytes]:
        """Return so many gates that wait for an answer, the oldest first."""
        return stored_approvals(self._log, self._project_id, session_id, limit)

    def approval(self, gate_id: str) -> bytes:
        """Return one gate."""
        return stored_approval(self._log, self._project_id, gate_id)

    def decide(self, gate_id: str, wanted: DecisionWanted) -> bytes:
        """Answer a gate; return the decision, and how the turn goes on."""
        return stored_decision(self._log, self._project_id, gate_id, wanted)

    def settings(self) -> bytes:
        """Return the project's policies."""
        return stored_policies(self._log, self._project_id)

    def change_settings(self, patch: bytes) -> bytes:
        """Apply a merge patch of the policies; return them."""
        return stored_policy_change(self._log, self._project_id, parse(patch))

    def rewind(self, session_id: str, wanted: RewindWanted) -> bytes:
        """Take turns out of sight, or tell what that would do."""
        return stored_rewind(self._log, self._target(session_id), wanted)

    def redo(self, session_id: str, wanted: RedoWanted) -> bytes:
        """Bring turns back into sight, or tell what that would do."""
        return stored_redo(self._log, self._target(session_id), wanted)

    def accept(self, session_id: str, wanted: AcceptWanted) -> bytes:
        """Accept that records of a session are missing."""
        return stored_accept(self._log, self._target(session_id), wanted)

    def delete(self, session_id: str) -> None:
        """Take a session out of sight."""
        stored_delete(self._log, self._target(session_id))

    def undelete(self, session_id: str) -> bytes:
        """Bring a deleted session back; return it."""
        stored_undelete(self._log, self._target(session_id))
        return self.session(session_id)

    def purge(self, session_id: str, *, dry_run: bool) -> bytes:
        """Destroy what was said in a deleted session, or tell what would go."""
        return stored_purge(self._log, self._target(session_id), dry_run=dry_run)

    def prune(self, wanted: PruneWanted) -> bytes:
        """Delete sessions that ended long ago, or tell which would go."""
        return stored_prune(self._log, self._project_id, wanted)

    def fork(self, session_id: str, wanted: ForkWanted) -> bytes:
        """Begin a session with the history of another; return it."""
        return self.session(stored_fork(self._log, self._target(session_id), wanted))

    def lineage(self, session_id: str) -> bytes:
        """Return whom a session shares its history with."""
        return stored_lineage(self._log, self._target(session_id))

    def diff(self, session_id: str, first: str, second: str | None, *, limit: int) -> bytes:
        """Return what differs between two moments, with so many messages that went, and came."""
        policy = self._log.policy(self._read(self._log.known_after))

        def look(connection: Connection) -> bytes:
            target = self._target(session_id)
            a = moment(connection, target, _when(first))
            b = moment(connection, target, None if second is None else _when(second))
            page = Page(limit=limit, cursor=None)
            judged = readiness(b.head, b.open_turn, policy, b.agreements)
            now = {"head": head_shape(b.head), "readiness": readiness_shape(judged, b.head)}
            return dumped(now | diff_shape(connection, (a, b), policy, page))

        return self._read(look)

    def blob(self, digest: str) -> Iterator[bytes]:
        """Yield a blob in pieces."""
        name = partial(find_blob, project_id=self._project_id, digest=digest)
        found = self._read(name) if is_digest(digest) else None
        if found is None:
            raise Failure("no-such-blob", "the project has nothing of this digest")
        for start in range(0, found.size, PIECE):
            look = partial(
                stretch, project_id=self._project_id, digest=digest, start=start, length=PIECE
            )
            yield self._read(look) or b""

    def export(self, session_id: str) -> Iterator[bytes]:
        """Yield a session's export in pieces; none is a document by itself."""
        target = self._target(session_id)
        self._read(lambda connection: session_head(connection, target))
        return export_session(self._log.database, self._project_id, session_id)

    def _target(self, session_id: str) -> Target:
        return Target(project_id=self._project_id, session_id=session_id)

    def _stream(self, target: Target) -> tuple[tuple[str, str, int], Lineage]:
        """Return where a session's events are, and with whom it shares those before."""

        def look(connection: Connection) -> tuple[int, Lineage]:
            key, head, _ = session_head(connection, target)
            return key, lineage(connection, key, head)

        key, shared = self._read(look)
        return (target.project_id, target.session_id, key), shared

    def _read(self, look: Callable[[Connection], Answer]) -> Answer:
        return self._log.read_now(look)

    def _moment(self, session_id: str, at: str | None) -> Moment:
        target = self._target(session_id)
        when = None if at is None else _when(at)
        return self._read(lambda connection: moment(connection, target, when))

    def _session_json(self, view: SessionView, known_after: int, *, whole: bool) -> bytes:
        judged = readiness(
            view.head, view.open_turn, self._log.policy(known_after), view.agreed_in_a_row
        )
        return dumped(session_shape(view, judged, whole=whole))


def _when(at: str) -> At:
    return At(version=int(at)) if at.isdigit() else At(time=microseconds(at))
