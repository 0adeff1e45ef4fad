"""From where does a command read: the database, or a server?

Both give the JSON that the REST interface shows, so that a command is written once.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from api.cli.lane_source import LaneSource
from api.cli.opening import the_log
from api.cli.remote import Remote
from api.cli.stored import Stored
from api.cli.wanted import (
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


class Source(Protocol):
    """Where sessions are read from; every answer is one JSON document."""

    @property
    def lanes(self) -> LaneSource:
        """Return where lanes are read from."""
        ...

    def sessions(self, wanted: SessionFilter) -> Iterator[bytes]:
        """Yield sessions, newest activity first."""
        ...

    def session(self, session_id: str) -> bytes:
        """Return a session."""
        ...

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
        ...

    def subagents(self, session_id: str) -> Iterator[bytes]:
        """Yield the sub-agents of a session, the first one first."""
        ...

    def openai(self, session_id: str, *, at: str | None) -> bytes:
        """Return what the model sees as OpenAI chat messages."""
        ...

    def events(self, session_id: str, after: int, *, follow: bool) -> Iterator[bytes]:
        """Yield events after a version, and then, if told to `follow`, those that come."""
        ...

    def event(self, session_id: str, version: int) -> bytes:
        """Return one event."""
        ...

    def readiness(self, session_id: str, *, at: str | None) -> bytes:
        """Return whether a client may send only its newest message, or could have."""
        ...

    def verify(self, session_id: str, receipt: tuple[int, str] | None) -> bytes:
        """Verify a session."""
        ...

    def verify_all(self) -> Iterator[bytes]:
        """Verify each session."""
        ...

    def usage(self, wanted: UsageFilter) -> Iterator[bytes]:
        """Yield what was used, in the order of its keys."""
        ...

    def errors(self, wanted: ErrorFilter) -> Iterator[bytes]:
        """Yield errors, newest first."""
        ...

    def search(self, wanted: TextFilter) -> Iterator[bytes]:
        """Yield the texts that have the words, newest first."""
        ...

    def audit(self, session_id: str, wanted: AuditFilter) -> Iterator[bytes]:
        """Yield the lines of a session's audit, oldest first."""
        ...

    def explanation(self, session_id: str, turn_id: str | None) -> bytes:
        """Return why a turn, else the newest one, was warm or cold."""
        ...

    def pool(self, limit: int) -> bytes:
        """Return so many seats, the last changed first, and how turns went; `more` if so."""
        ...

    def approvals(self, session_id: str | None, limit: int) -> Sequence[bytes]:
        """Return so many gates that wait for an answer, the oldest first."""
        ...

    def approval(self, gate_id: str) -> bytes:
        """Return one gate."""
        ...

    def decide(self, gate_id: str, wanted: DecisionWanted) -> bytes:
        """Answer a gate; return the decision, and how the turn goes on."""
        ...

    def settings(self) -> bytes:
        """Return the project's policies, with the default of each that nobody set."""
        ...

    def change_settings(self, patch: bytes) -> bytes:
        """Apply a merge patch of the policies; return them."""
        ...

    def rewind(self, session_id: str, wanted: RewindWanted) -> bytes:
        """Take turns out of sight, or tell what that would do."""
        ...

    def redo(self, session_id: str, wanted: RedoWanted) -> bytes:
        """Bring turns back into sight, or tell what that would do."""
        ...

    def accept(self, session_id: str, wanted: AcceptWanted) -> bytes:
        """Accept that records of a session are missing."""
        ...

    def delete(self, session_id: str) -> None:
        """Take a session out of sight."""
        ...

    def undelete(self, session_id: str) -> bytes:
        """Bring a deleted session back; return it."""
        ...

    def purge(self, session_id: str, *, dry_run: bool) -> bytes:
        """Destroy what was said in a deleted session, or tell what would go."""
        ...

    def prune(self, wanted: PruneWanted) -> bytes:
        """Delete sessions that ended long ago, or tell which would go."""
        ...

    def fork(self, session_id: str, wanted: ForkWanted) -> bytes:
        """Begin a session with the history of another; return it."""
        ...

    def lineage(self, session_id: str) -> bytes:
        """Return whom a session shares its history with."""
        ...

    def diff(self, session_id: str, first: str, second: str | None, *, limit: int) -> bytes:
        """Return what differs between two moments, with so many messages that went, and came."""
        ...

    def blob(self, digest: str) -> Iterator[bytes]:
        """Yield a blob in pieces."""
        ...

    def export(self, session_id: str) -> Iterator[bytes]:
        """Yield a session's export in pieces; none is a document by itself."""
        ...


@contextmanager
def source(project_id: str, url: str | None) -> Generator[Source]:
    """Give the server at `url`, else the database of the settings."""
    if url is not None:
        yield Remote(url, project_id)
        return
    with the_log() as log:
        yield Stored(log, project_id)
