"""Why was a command turned down?

A refusal is an answer, not a fault: it is raised before any event exists, and the edge translates
it. `at` is the place in the command that it is about, as path tokens; no refusal knows of HTTP and
none holds what was said.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

NothingBecause: TypeAlias = Literal["empty", "already-compacted", "no-summariser"]
_NOTHING: Final[dict[NothingBecause, str]] = {
    "empty": "no turn is over that could be summed up",
    "already-compacted": "nothing came since the last summary but what is kept",
    "no-summariser": "the session's harness is none of this server's",
}


class Refusal(Exception):
    """The command was understood and declined; nothing was recorded."""

    def __init__(self, detail: str, *at: str | int) -> None:
        super().__init__(detail)
        self.detail = detail
        self.at: tuple[str | int, ...] = at

    def inside(self, *prefix: str | int) -> "Refusal":
        """Return this refusal with its place seen from further outside."""
        self.at = (*prefix, *self.at)
        return self


class InvalidValue(Refusal):
    """A value has no meaning here."""


class NoSuchSession(Refusal):
    """The session does not exist in this project."""

    def __init__(self) -> None:
        super().__init__("there is no such session in this project")


class SessionDamaged(Refusal):
    """The session's facts are there, and its head is lost."""

    def __init__(self) -> None:
        super().__init__("the session's head is lost; an operator runs: turnlog rebuild SESSION")


class SessionUnrecoverable(Refusal):
    """Nothing can run in the session: what is known of it is damaged."""

    def __init__(self) -> None:
        super().__init__("what the log keeps at hand of the session is lost; nothing can run in it")


class SessionExists(Refusal):
    """A session of this id was opened with another body."""

    def __init__(self) -> None:
        super().__init__("a session of this id exists and was opened differently", "session_id")


class NoSuchParent(Refusal):
    """The session that another is to be a sub-agent's of does not exist in this project."""

    def __init__(self) -> None:
        super().__init__("there is no such parent in this project", "parent", "session_id")


class ParentIsBelow(Refusal):
    """A session would be a sub-agent's of itself."""

    def __init__(self) -> None:
        super().__init__("the parent is the session itself, or below it", "parent", "session_id")


class TooDeepBelow(Refusal):
    """A sub-agent's session is below as many others as there may be."""

    def __init__(self, most: int) -> None:
        super().__init__(f"at most {most} sessions are above one", "parent", "session_id")
        self.most = most


class SessionIsArchived(Refusal):
    """The session is archived; unarchive it first."""

    def __init__(self) -> None:
        super().__init__("the session is archived")


class SessionIsSuspended(Refusal):
    """A suspended session takes no turns."""

    def __init__(self) -> None:
        super().__init__("the session is suspended")


class SessionNotDeleted(Refusal):
    """Only a deleted session can be restored."""

    def __init__(self) -> None:
        super().__init__("the session is not deleted")


class HasForks(Refusal):
    """Other sessions share the history that is to be destroyed."""

    def __init__(self) -> None:
        super().__init__(
            "the session has forks that share its history; they have to be purged first"
        )


class SessionDeleting(Refusal):
    """The session is about to be deleted; nothing begins in it any more."""

    def __init__(self) -> None:
        super().__init__("the session is being deleted")


class SessionFull(Refusal):
    """The session has as many events as a session can hold."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"a session holds at most {limit} events")
        self.limit = limit


class VersionMoved(Refusal):
    """The session, or what is set, is not at the version that the caller saw."""

    def __init__(self, expected: int, actual: int, what: str = "the session") -> None:
        super().__init__(f"expected version {expected}; {what} is at {actual}")
        self.expected = expected
        self.actual = actual


class SettingsUnreadable(Refusal):
    """What a project has set is nothing that this build can read."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} cannot be read: a later turnlog set it, or it is damaged")


class HeadAheadOfLog(Refusal):
    """The caller knows of history that this log does not have."""

    def __init__(self, claimed: int, actual: int) -> None:
        super().__init__(f"claimed history version {claimed}; the log's is {actual}", "head")
        self.claimed = claimed
        self.actual = actual


class HeadMismatch(Refusal):
    """The caller's history and the log's differ at the same version."""

    def __init__(self) -> None:
        super().__init__("the claimed fingerprint is not the log's at this version", "head")


class HeadBehind(Refusal):
    """The history moved on since the caller looked."""

    def __init__(self, claimed: int, actual: int) -> None:
        super().__init__(f"claimed history version {claimed}; the log's is {actual}", "head")
        self.claimed = claimed
        self.actual = actual


class Fenced(Refusal):
    """A newer epoch of this producer exists; this one may not write."""

    def __init__(self, epoch: int, current: int) -> None:
        super().__init__(f"epoch {epoch} is fenced; the current one is {current}")
        self.epoch = epoch
        self.current = current


class TurnFenced(Refusal):
    """Somebody else holds the turn by now, or whoever writes does not say that it is theirs.

    Attributes:
        fence: What the caller said.
        current: What a write has to say; 0 if nobody ever held a turn of this session.
        turn_id, owner: Which turn was given to whom last.
        lease_until: Microseconds since 1970; 0 if it is not held at this moment.
    """

    def __init__(
        self,
        fence: int | None,
        *,
        current: int,
        turn_id: str | None,
        owner: str | None,
        lease_until: int,
    ) -> None:
        said = "no fence was given" if fence is None else f"fence {fence} is not the current one"
        now = f"the current one is {current}" if current else "there is no lease"
        super().__init__(f"{said}; {now}", "fence")
        self.turn_id = turn_id
        self.fence = fence
        self.current = current
        self.owner = owner
        self.lease_until = lease_until


class UnknownEpoch(Refusal):
    """The epoch was never minted."""

    def __init__(self, epoch: int, current: int) -> None:
        super().__init__(f"epoch {epoch} was not minted; the current one is {current}")
        self.epoch = epoch
        self.current = current


class SequenceGap(Refusal):
    """A batch of this producer is missing before this one."""

    def __init__(self, detail: str, expected: int) -> None:
        super().__init__(detail, "producer")
        self.expected = expected


class RecordConflict(Refusal):
    """Other events were recorded under this sequence number."""

    def __init__(self, sequence: int) -> None:
        super().__init__(
            f"sequence {sequence} was recorded with other events", "producer", "sequence"
        )
        self.sequence = sequence


class TurnInProgress(Refusal):
    """A turn runs; one at a time.

    Attributes:
        owner: Who holds it, if anybody was given it.
        lease_until: Microseconds since 1970; 0 if nobody holds it at this moment.
    """

    def __init__(self, turn_id: str, owner: str | None = None, lease_until: int = 0) -> None:
        super().__init__(f"turn {turn_id} has not ended")
        self.turn_id = turn_id
        self.owner = owner
        self.lease_until = lease_until


class Compacting(Refusal):
    """The history is being summed up; one thing at a time is done with it.

    Attributes:
        lease_until: Microseconds since 1970.
    """

    def __init__(self, compaction_id: str, owner: str, lease_until: int) -> None:
        super().__init__("the history is being summed up")
        self.compaction_id = compaction_id
        self.owner = owner
        self.lease_until = lease_until


class NothingToCompact(Refusal):
    """There is nothing that a summary could be made of, or nobody who could make it."""

    def __init__(self, reason: NothingBecause) -> None:
        super().__init__(_NOTHING[reason])
        self.reason = reason


class CompactionInterrupted(Refusal):
    """A compaction was stopped, or the history moved; nothing was changed by it."""

    def __init__(self, reason: str, by: str | None = None) -> None:
        super().__init__("the compaction was stopped; nothing was changed")
        self.reason = reason
        self.by = by


class CompactionFailed(Refusal):
    """The harness made no summary; nothing was changed.

    Attributes:
        code: What it failed by, as a failed turn tells it.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class NoSuchTurn(Refusal):
    """The session has no such turn."""

    def __init__(self, turn_id: str, at: str = "turn_id") -> None:
        super().__init__(f"there is no turn {turn_id}", at)
        self.turn_id = turn_id


class NoSuchMessage(Refusal):
    """No message in sight has this id."""

    def __init__(self, at: str) -> None:
        super().__init__("no message in sight has this id", at)


class NothingToRewind(Refusal):
    """No turn is in sight that could be taken out."""

    def __init__(self) -> None:
        super().__init__("there is no turn to take out")


class NothingToRedo(Refusal):
    """There is nothing that a redo would bring back."""

    def __init__(self) -> None:
        super().__init__("nothing was rewound that could be brought back here")


class NoSuchRewind(Refusal):
    """No rewind was recorded at this version."""

    def __init__(self, version: int) -> None:
        super().__init__(f"there is no rewind at version {version}", "rewind_version")
        self.version = version


class TurnExists(Refusal):
    """A turn of this id was started before; ids are never reused."""

    def __init__(self, turn_id: str) -> None:
        super().__init__(f"turn {turn_id} was started before", "turn_id")
        self.turn_id = turn_id


class TurnOver(Refusal):
    """The turn has ended; only a late result is still taken."""

    def __init__(self, turn_id: str) -> None:
        super().__init__(f"turn {turn_id} has ended", "turn_id")
        self.turn_id = turn_id


class MessageExists(Refusal):
    """A message of this id was recorded before."""

    def __init__(self, message_id: str) -> None:
        super().__init__("a message of this id was recorded before", "message_id")
        self.message_id = message_id


class MessageClosed(Refusal):
    """A partial message can be replaced only while it is the newest one, and so many times."""

    def __init__(
        self, message_id: str, detail: str = "other records followed this partial message"
    ) -> None:
        super().__init__(detail, "message_id")
        self.message_id = message_id


class CallCompleted(Refusal):
    """The call has its one result."""

    def __init__(self, tool_call_id: str) -> None:
        super().__init__("the tool call has its result", "tool_call_id")
        self.tool_call_id = tool_call_id


class NoSuchGate(Refusal):
    """No gate has this id, permission id or tool call id."""

    def __init__(self, detail: str, *at: str) -> None:
        super().__init__(detail, *at)


class AmbiguousGate(Refusal):
    """The name fits more than one gate; use the gate id."""

    def __init__(self, *at: str) -> None:
        super().__init__("more than one gate has this name; use its gate_id", *at)


class GateAlreadyDecided(Refusal):
    """The gate was decided before; the first decision stands."""

    def __init__(self, gate_id: str, status: str) -> None:
        super().__init__(f"gate {gate_id} is {status}", "gate_id")
        self.gate_id = gate_id
        self.status = status


class GateGone(Refusal):
    """The gate expired or was withdrawn before the answer."""

    def __init__(self, gate_id: str, status: str) -> None:
        super().__init__(f"gate {gate_id} is {status}", "gate_id")
        self.gate_id = gate_id
        self.status = status


class TooManyGates(Refusal):
    """The session has as many open gates as it can hold."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"a session holds at most {limit} open gates")
        self.limit = limit


class NoSuchHarness(Refusal):
    """The configuration names a harness that is not defined where the turn would run."""

    def __init__(self, *at: str | int) -> None:
        super().__init__("no harness of this name is defined here", *at)


class NoSuchInput(Refusal):
    """No input waits under this id."""

    def __init__(self) -> None:
        super().__init__("no input of this session waits, or waited, under this id", "queue_id")


class InputStarted(Refusal):
    """The input is not waiting any more: it became a turn, or was taken back."""

    def __init__(self, status: str, turn_id: str | None) -> None:
        super().__init__(f"the input does not wait any more: it was {status}", "queue_id")
        self.status = status
        self.turn_id = turn_id


class QueueFull(Refusal):
    """As many inputs wait as can."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"at most {limit} inputs of a session wait")
        self.limit = limit


class TooManyFacts(Refusal):
    """The request would record more facts than one transaction takes."""

    def __init__(self, limit: int, *at: str | int) -> None:
        super().__init__(f"this would be more than {limit} events at once; import it first", *at)
        self.limit = limit


class TooManyBytes(Refusal):
    """The request would record more than one transaction takes."""

    def __init__(self, limit: int, *at: str | int) -> None:
        super().__init__(f"this would be more than {limit} bytes at once; import it first", *at)
        self.limit = limit


class NothingToAccept(Refusal):
    """The record is complete: there is no gap to accept."""

    def __init__(self) -> None:
        super().__init__("nothing is missing that could be accepted as missing")


class OtherReasons(Refusal):
    """More stands against the record than the caller has named."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("other reasons stand than those that are named", "reasons")
        self.reasons = tuple(reasons)


class NoSuchLoss(Refusal):
    """No open loss was declared at this version."""

    def __init__(self, version: int) -> None:
        super().__init__(f"no open loss was declared at version {version}", "loss_version")
        self.version = version


class LineageTooDeep(Refusal):
    """A fork would share its history with more sessions than one can."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"a fork shares its history with at most {limit} sessions; import a transcript of it "
            "into a new session instead"
        )
        self.limit = limit


class ImportConflict(Refusal):
    """The session holds something else than the earlier part of this transcript."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)


class NoSuchLane(Refusal):
    """The lane does not exist in this project, was given up, or has moved."""

    def __init__(self) -> None:
        super().__init__("there is no such lane in this project")


class LaneDamaged(Refusal):
    """The lane's facts are there, and what is kept of it is lost."""

    def __init__(self) -> None:
        super().__init__(
            "what is kept of the lane is lost; an operator runs: turnlog rebuild --all"
        )


class LaneIsSuspended(Refusal):
    """Nothing is gone on with in the lane; whoever comes next gets a new session."""

    def __init__(self) -> None:
        super().__init__("the lane is suspended: the next message begins a new session")


class LaneHasSessions(Refusal):
    """What was said in the lane is still there."""

    def __init__(self) -> None:
        super().__init__("the lane has or had sessions that are not deleted")


class LaneExists(Refusal):
    """A conversation cannot go on in a lane that has another one."""

    def __init__(self) -> None:
        super().__init__("the source's lane has a conversation already", "source")


class AmbiguousSession(Refusal):
    """Several sessions are called as what is to be gone on with."""

    def __init__(self, session_ids: Sequence[str]) -> None:
        super().__init__("several sessions are called so", "title")
        self.session_ids = tuple(session_ids)


class NothingToRetry(Refusal):
    """Nobody said anything yet that could be said again."""

    def __init__(self) -> None:
        super().__init__("nothing that was said is in sight")


ALL: Sequence[type[Refusal]] = tuple(Refusal.__subclasses__())
