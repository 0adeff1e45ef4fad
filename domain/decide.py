"""Which events does a command cause? Every rule of a session is here, and in `decide_record`."""

from typing import Final, TypeAlias, assert_never

from domain import commands as c
from domain import events as e
from domain.decide_gate import expired
from domain.decide_history import check_claim, decide_fork, decide_history, interrupted
from domain.decide_note import decide_note
from domain.decide_record import decide_record
from domain.decided import Decided, fact
from domain.endings import outweighs
from domain.events.session import Parent
from domain.fields import check_id, check_name, check_title
from domain.refusals import (
    Fenced,
    NoSuchSession,
    Refusal,
    SequenceGap,
    SessionExists,
    SessionFull,
    SessionIsArchived,
    SessionNotDeleted,
    TurnInProgress,
    UnknownEpoch,
    VersionMoved,
)
from domain.restarts import after_interruption
from domain.standing import known_turn
from domain.state import GONE, Head, State
from domain.titles import gives_way, proposes, stands
from domain.unfinished import unfinished

SESSION_LIMIT: Final = 1_000_000
_OfPresent: TypeAlias = (
    c.Rewind
    | c.Redo
    | c.Compact
    | c.RenameSession
    | c.ConfigureSession
    | c.SetApprovalMode
    | c.PinSession
    | c.ArchiveSession
    | c.UnarchiveSession
    | c.UnsuspendSession
    | c.DeleteSession
    | c.InterruptTurn
    | c.Note
    | c.ExpireGates
)


def decide(state: State, command: c.SessionCommand) -> tuple[Decided, ...]:
    """Answer `command` with the events it causes; none if it changes nothing.

    Raises:
        Refusal: the session's rules forbid the command.
    """
    head = state.head
    match command:
        case c.OpenSession():
            if head.status != "absent":
                raise SessionExists
            return _opened(command)
        case c.ForkSession():
            return decide_fork(state, command)
        case c.BeginBatch():
            return _begin(state, command)
        case c.Record(proposal=proposal, imported=imported):
            _require_present(head)
            if head.status == "archived" and not imported:
                raise SessionIsArchived
            return decide_record(state, proposal, imported=imported)
        case c.RestoreSession() | c.PurgeSession():
            return _of_deleted(head, command)
        case _:
            if not _ends_after_it(head, command):
                _require_present(head)
            return _changed(state, command)


def _changed(state: State, command: _OfPresent) -> tuple[Decided, ...]:
    match command:
        case c.Rewind() | c.Redo() | c.Compact():
            return decide_history(state, command)
        case c.RenameSession() | c.ConfigureSession() | c.SetApprovalMode() | c.PinSession():
            return _settings_changed(state.head, command)
        case c.UnsuspendSession():
            return (fact(e.SessionUnsuspended()),) if state.head.suspended else ()
        case c.ArchiveSession() | c.UnarchiveSession() | c.DeleteSession() | c.InterruptTurn():
            return _ended(state, command)
        case c.Note(event=event, proposed=proposed):
            return tuple(d._replace(proposed=proposed) for d in decide_note(state, event))
        case c.ExpireGates(now=now):
            return expired(state, now)
        case _:
            assert_never(command)


def _settings_changed(
    head: Head,
    command: c.RenameSession | c.ConfigureSession | c.SetApprovalMode | c.PinSession,
) -> tuple[Decided, ...]:
    match command:
        case c.RenameSession(title=title, by=by):
            check_title(title, "title")
            if proposes(by) and (title is None or not gives_way(head.title_by)):
                return ()
            if stands(command, head):
                return ()
            return (fact(e.SessionRenamed(title=title, by=by)),)
        case c.ConfigureSession(config=config):
            return (fact(e.SessionConfigured(config=config)),)
        case c.SetApprovalMode(mode=mode):
            return () if head.approval_mode == mode else (fact(e.ApprovalModeSet(mode=mode)),)
        case c.PinSession(pinned=pinned):
            return () if head.pinned == pinned else (fact(e.SessionPinned(pinned=pinned)),)
        case _:
            assert_never(command)


def _ended(
    state: State,
    command: c.ArchiveSession | c.UnarchiveSession | c.DeleteSession | c.InterruptTurn,
) -> tuple[Decided, ...]:
    head = state.head
    match command:
        case c.ArchiveSession(reason=reason):
            if head.turn_id is not None:
                raise TurnInProgress(head.turn_id)
            stays = head.status == "archived" and not outweighs(reason, head.archived_reason)
            return () if stays else (fact(e.SessionArchived(reason=reason)),)
        case c.UnarchiveSession():
            return (fact(e.SessionUnarchived()),) if head.status == "archived" else ()
        case c.DeleteSession(reason=gone):
            deleted = fact(e.SessionDeleted(reason=gone))
            if head.turn_id is None:
                return (deleted,)
            return (*_stopped(state, head.turn_id, "session-deleted", None), deleted)
        case c.InterruptTurn(turn_id=turn_id, reason=reason, by=by):
            check_name(reason, "reason")
            check_name(by, "by")
            if known_turn(state, turn_id).status != "running":
                return ()
            after = () if by else after_interruption(state, turn_id, reason)
            return (*_stopped(state, turn_id, reason, by), *after)
        case _:
            assert_never(command)


def _stopped(state: State, turn_id: str, reason: str, by: str | None) -> tuple[Decided, ...]:
    """Return the end of a turn for good: what it has open gets an outcome first."""
    return interrupted(state, turn_id, reason, by, unfinished(state, turn_id))


def _of_deleted(head: Head, command: c.RestoreSession | c.PurgeSession) -> tuple[Decided, ...]:
    if head.status in {"absent", "purged"}:
        raise NoSuchSession
    if head.status != "deleted":
        raise SessionNotDeleted
    if isinstance(command, c.RestoreSession):
        return (fact(e.SessionRestored()),)
    purged = e.SessionPurged(
        events=head.version - head.base_version,
        forked_from=head.forked_from,
        base_version=head.base_version,
        usage=command.usage,
    )
    return (fact(purged),)


def _ends_after_it(head: Head, command: _OfPresent) -> bool:
    """Tell whether it is told of a deleted session that its harness went: that revives nothing."""
    match command:
        case c.Note(event=e.HarnessEvicted()):
            return head.status == "deleted"
        case _:
            return False


def _begin(state: State, command: c.BeginBatch) -> tuple[Decided, ...]:
    """The checks before a batch's events, in the order that the contract gives them."""
    head = state.head
    if head.status in GONE and (head.status != "absent" or command.open is None):
        raise NoSuchSession
    if command.batch is not None:
        _check_producer(state, command.batch, opens_with_loss=command.opens_with_loss)
    if command.expected_version not in {None, head.version}:
        raise VersionMoved(command.expected_version or 0, head.version)
    if command.claim is not None:
        check_claim(head, command.claim)
    opened = _opened_by_batch(command.open) if head.status == "absent" and command.open else ()
    if head.version - head.base_version + len(opened) + command.events > SESSION_LIMIT:
        raise SessionFull(SESSION_LIMIT)
    return opened


def _check_producer(state: State, batch: c.Batch, *, opens_with_loss: bool) -> None:
    if batch.epoch < batch.current:
        raise Fenced(batch.epoch, batch.current)
    if batch.epoch > batch.current:
        raise UnknownEpoch(batch.epoch, batch.current)
    last = state.producers.get(batch.producer_id)
    if last is not None and last.epoch > batch.epoch:
        raise Fenced(batch.epoch, last.epoch)  # an import brought what another store had minted
    same_epoch = last is not None and last.epoch == batch.epoch
    expected = last.sequence + 1 if last is not None and same_epoch else 1
    if batch.sequence != expected:
        raise SequenceGap(f"expected sequence {expected} in epoch {batch.epoch}", expected)
    written = None if last is None else (last.epoch, last.sequence)
    if same_epoch or opens_with_loss or batch.previous == written:
        return
    raise SequenceGap(
        "the first batch of a later epoch states the last (epoch, sequence) before it, "
        f"here {written or 'none'}, or opens with records-lost",
        expected if last is None else last.sequence + 1,
    )


def check_parent_names(parent: Parent) -> None:
    """Raise `InvalidValue` unless a parent is named as sessions, agents and calls can be."""
    check_id(parent.session_id, "parent", "session_id")
    check_name(parent.agent_id, "parent", "agent_id")
    check_name(parent.tool_call_id, "parent", "tool_call_id")


def _opened_by_batch(command: c.OpenSession) -> tuple[Decided, ...]:
    try:
        return _opened(command)
    except Refusal as refusal:
        refusal.inside("open")
        raise


def _opened(command: c.OpenSession) -> tuple[Decided, ...]:
    """A title that no person gave is a fact of its own, so that a person's can replace it."""
    check_title(command.title, "title")
    if command.parent is not None:
        check_parent_names(command.parent)
    by_person = command.title_by == "person"
    opened = e.SessionOpened(
        title=command.title if by_person else None,
        config=command.config,
        source=command.source,
        approval_mode=command.approval_mode,
        parent=command.parent,
    )
    if command.title is None or by_person:
        return (fact(opened),)
    return (fact(opened), fact(e.SessionRenamed(title=command.title, by=command.title_by)))


def _require_present(head: Head) -> None:
    if head.status in GONE:
        raise NoSuchSession
