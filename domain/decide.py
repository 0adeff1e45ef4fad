"""Which events does a command cause? Every rule of a session is here, and in `decide_record`."""

from dataclasses import dataclass
from typing import assert_never

from domain import commands as c
from domain import events as e
from domain.decide_record import decide_record
from domain.decided import Decided, fact
from domain.refusals import (
    Fenced,
    HeadAheadOfLog,
    HeadBehind,
    HeadMismatch,
    InvalidValue,
    NoSuchSession,
    NoSuchTurn,
    SequenceGap,
    SessionExists,
    SessionFull,
    SessionIsArchived,
    SessionNotDeleted,
    TurnInProgress,
    UnknownEpoch,
    VersionMoved,
)
from domain.state import Head, State, open_gates

SESSION_LIMIT = 1_000_000
TITLE_LIMIT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a session can hold."""

    events: int = SESSION_LIMIT


def decide(state: State, command: c.SessionCommand) -> tuple[Decided, ...]:  # noqa: C901, PLR0911, PLR0912 - one arm a command
    """Answer `command` with the events it causes; none if it changes nothing.

    Raises:
        Refusal: the session's rules forbid the command.
    """
    head = state.head
    match command:
        case c.OpenSession():
            if head.status != "absent":
                raise SessionExists
            return (fact(_opened(command)),)
        case c.BeginBatch():
            return _begin(state, command)
        case c.Record(proposal=proposal, imported=imported):
            _require(head, imported=imported)
            return decide_record(state, proposal, imported=imported)
        case c.RestoreSession():
            if head.status == "absent":
                raise NoSuchSession
            if head.status != "deleted":
                raise SessionNotDeleted
            return (fact(e.SessionRestored()),)
        case _:
            _require_present(head)
    match command:
        case c.RenameSession(title=title):
            title = _title(title)
            if (head.title, head.title_by) == (title, "person" if title else None):
                return ()
            return (fact(e.SessionRenamed(title=title)),)
        case c.ConfigureSession(config=config):
            return (fact(e.SessionConfigured(config=config)),)
        case c.SetApprovalMode(mode=mode):
            return () if head.approval_mode == mode else (fact(e.ApprovalModeSet(mode=mode)),)
        case c.ArchiveSession():
            if head.turn_id is not None:
                raise TurnInProgress(head.turn_id)
            return () if head.status == "archived" else (fact(e.SessionArchived()),)
        case c.UnarchiveSession():
            return (fact(e.SessionUnarchived()),) if head.status == "archived" else ()
        case c.DeleteSession():
            stopped = (
                ()
                if head.turn_id is None
                else _interrupted(state, head.turn_id, "session-deleted", None)
            )
            return (*stopped, fact(e.SessionDeleted()))
        case c.InterruptTurn(turn_id=turn_id, reason=reason, by=by):
            if turn_id not in state.turns:
                raise NoSuchTurn(turn_id)
            if state.turns[turn_id].status != "running":
                return ()
            return _interrupted(state, turn_id, reason, by)
        case _:
            assert_never(command)


def _begin(state: State, command: c.BeginBatch) -> tuple[Decided, ...]:
    """The checks before a batch's events, in the order that the contract gives them."""
    head = state.head
    if head.status == "deleted" or (head.status == "absent" and command.open is None):
        raise NoSuchSession
    if command.batch is not None:
        _check_producer(state, command.batch, opens_with_loss=command.opens_with_loss)
    if command.expected_version not in {None, head.version}:
        raise VersionMoved(command.expected_version or 0, head.version)
    if command.claim is not None:
        _check_claim(head, command.claim)
    opened = () if head.status != "absent" or command.open is None else (_open(command.open),)
    if head.version + len(opened) + command.events > SESSION_LIMIT:
        raise SessionFull(SESSION_LIMIT)
    return opened


def _check_producer(state: State, batch: c.Batch, *, opens_with_loss: bool) -> None:
    if batch.epoch < batch.current:
        raise Fenced(batch.epoch, batch.current)
    if batch.epoch > batch.current:
        raise UnknownEpoch(batch.epoch, batch.current)
    last = state.producers.get(batch.producer_id)
    same_epoch = last is not None and last.epoch == batch.epoch
    expected = last.sequence + 1 if last is not None and same_epoch else 1
    if batch.sequence != expected:
        raise SequenceGap(f"expected sequence {expected} in epoch {batch.epoch}", expected)
    if last is None or same_epoch or opens_with_loss:
        return
    if batch.previous != (last.epoch, last.sequence):
        raise SequenceGap(
            "the first batch of a later epoch states the last (epoch, sequence) before it, "
            f"here ({last.epoch}, {last.sequence}), or opens with records-lost",
            last.sequence + 1,
        )


def _check_claim(head: Head, claim: c.HeadClaim) -> None:
    if claim.history_version > head.history_version:
        raise HeadAheadOfLog(claim.history_version, head.history_version)
    if claim.history_version < head.history_version:
        raise HeadBehind(claim.history_version, head.history_version)
    if claim.fingerprint != head.fingerprint.hex():
        raise HeadMismatch


def _open(command: c.OpenSession) -> Decided:
    return fact(_opened(command))


def _opened(command: c.OpenSession) -> e.SessionOpened:
    return e.SessionOpened(
        title=_title(command.title),
        config=command.config,
        source=command.source,
        approval_mode=command.approval_mode,
        parent=command.parent,
    )


def _title(title: str | None) -> str | None:
    if title is None:
        return None
    if len(title) > TITLE_LIMIT:
        detail = f"a title has at most {TITLE_LIMIT} characters"
        raise InvalidValue(detail, "title")
    if not title.strip():
        detail = "a title is not blank; null takes it away"
        raise InvalidValue(detail, "title")
    if "\x00" in title:
        detail = "a title holds no NUL"
        raise InvalidValue(detail, "title")
    return title


def _interrupted(
    state: State, turn_id: str, reason: str, by: str | None
) -> tuple[Decided, ...]:
    withdrawn = tuple(
        fact(e.GateWithdrawn(gate_id=gate.gate_id, reason=reason), turn_id=turn_id)
        for gate in open_gates(state.gates, turn_id)
    )
    return (*withdrawn, fact(e.TurnInterrupted(turn_id=turn_id, reason=reason, by=by)))


def _require_present(head: Head) -> None:
    if head.status in {"absent", "deleted"}:
        raise NoSuchSession


def _require(head: Head, *, imported: bool) -> None:
    _require_present(head)
    if head.status == "archived" and not imported:
        raise SessionIsArchived
