"""May a session's history be summed up now, by whom, and who else may move it meanwhile?

A compaction holds the session's lease as a turn does, and records nothing until it is done: whoever
takes the lease from it has stopped it, and its summary is refused. What forbids it is looked at in
the transaction that gives the lease, and in the one that records the summary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from domain import commands as c
from domain.decide_history import check_claim
from domain.keys import keys_of
from domain.readiness import Readiness
from domain.refusals import (
    Compacting,
    CompactionInterrupted,
    NoSuchSession,
    Refusal,
    SessionIsArchived,
    SessionIsSuspended,
    TurnInProgress,
    VersionMoved,
)
from domain.state import GONE, Head, State
from infrastructure import runs
from infrastructure.command_handler import Caller, CommandHandler, Target
from infrastructure.runner import Attempt
from infrastructure.runs import Run

MOVED = "history-moved"
"""Why a compaction was given up whose history went on, or out of sight, without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a summary is to be made of.

    Attributes:
        since_version: The session's version when that was read: the watermark.
        archives: How many messages the model will see no more.
    """

    head: Head
    through_message_id: str
    archives: int

    @property
    def since_version(self) -> int:
        """Return the watermark."""
        return self.head.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A summary that was recorded.

    Attributes:
        version: Where.
        archived: How many messages the model sees no more.
    """

    version: int
    archived: int
    head: Head
    readiness: Readiness


def check_open(
    head: Head, claim: c.HeadClaim | None = None, expected_version: int | None = None
) -> None:
    """Raise a refusal unless the session is there, and where the caller believes it to be."""
    if head.status in GONE:
        raise NoSuchSession
    if head.status == "archived":
        raise SessionIsArchived
    if head.suspended:
        raise SessionIsSuspended
    if claim is not None:
        check_claim(head, claim)
    if expected_version is not None and expected_version != head.version:
        raise VersionMoved(expected_version, head.version)


def check_idle(head: Head, run: Run | None, now: int) -> None:
    """Raise a refusal if a turn has not ended, or the history is being summed up."""
    if head.turn_id is not None:
        if run is not None and run.is_of(head.turn_id):
            raise TurnInProgress(head.turn_id, run.owner, run.lease_until)
        raise TurnInProgress(head.turn_id)
    runs.check_rests(run, now)


def in_the_way(
    handler: CommandHandler,
    attempt: Attempt,
    target: Target,
    key: int,
    state: State,
    *,
    stop: bool,
) -> Run | None:
    """Return the compaction that runs and is to be stopped; None if none runs.

    Of a session that is put away, or gone, nothing is said: it is refused for that.

    Raises:
        Compacting: it is not to be stopped.
    """
    if state.head.status == "archived" or state.head.status in GONE:
        return None
    run = runs.find(attempt.connection, key)
    try:
        runs.check_rests(run, handler.now())
    except Compacting:
        if stop:
            return run
        handler.check_current(attempt, target, state.head)
        raise
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A compaction that is asked for.

    Attributes:
        claim, expected_version: Where the caller believes the session to be.
    """

    target: Target
    compaction_id: str
    owner: str
    lease_s: int
    caller: Caller
    claim: c.HeadClaim | None = None
    expected_version: int | None = None


def begin(handler: CommandHandler, attempt: Attempt, wanted: Wanted, plan: Plan) -> int | None:
    """Give the lease, and return its fence; None if the history is not the planned one any more.

    Raises:
        Refusal: the session is gone, or something else runs in it.
        Contended: that happens at this moment.
    """
    target, connection, now = wanted.target, attempt.connection, handler.now()
    key, state = handler.state(attempt, target)
    run = None if key is None else runs.find(connection, key)
    try:
        check_open(state.head, wanted.claim, wanted.expected_version)
        check_idle(state.head, run, now)
    except Refusal:
        handler.check_current(attempt, target, state.head)
        raise
    if key is None or state.head.history_version != plan.head.history_version:
        return None
    fence = runs.begin(
        connection,
        key,
        target.project_id,
        wanted.compaction_id,
        wanted.owner,
        wanted.lease_s,
        now,
        "compaction",
    )
    handler.check_current(attempt, target, state.head)
    return fence


def record(
    handler: CommandHandler,
    attempt: Attempt,
    wanted: Wanted,
    fence: int,
    plan: Plan,
    summary: tuple[str, str],
) -> Compacted:
    """Have the summary stand for what it was made of, and let the lease go; once.

    Raises:
        CompactionInterrupted: somebody else was given the lease.
        Refusal: the history went on meanwhile; nothing is written.
        Contended: another writer came first.
    """
    text, harness = summary
    command = c.Compact(
        summary=text,
        through_message_id=plan.through_message_id,
        since_version=plan.since_version,
        harness=harness,
    )
    target = wanted.target
    key, state = handler.state(attempt, target, keys_of([command]))
    run = None if key is None else runs.find(attempt.connection, key)
    if key is None or run is None or run.fence != fence:
        raise CompactionInterrupted(MOVED)
    if not run.lease_until:  # the first answer was lost; nobody else lets it go under this fence
        version = state.head.summary_version or state.head.version
        readiness = handler.readiness(attempt, state, key)
        return Compacted(
            version=version, archived=plan.archives, head=state.head, readiness=readiness
        )
    done = handler.carry_out(attempt, target, [command], caller=wanted.caller, known=(key, state))
    runs.release(attempt.connection, key, fence)
    return Compacted(
        version=done.facts[-1].version,
        archived=done.head.archived - state.head.archived,
        head=done.head,
        readiness=done.readiness,
    )


def runs_now(connection: Connection, target: Target, now: int) -> Run | None:
    """Return the lease of the compaction that runs, wherever it does; None if none does."""
    run = runs.look_at(connection, target.project_id, target.session_id)
    held = run is not None and run.kind == "compaction" and runs.is_live(run, now)
    return run if held else None


def stop(attempt: Attempt, target: Target, now: int) -> bool:
    """Take the lease from the compaction that runs, if one does; tell whether one did.

    Raises:
        Contended: its holder was heard of at this moment.
    """
    run = runs_now(attempt.connection, target, now)
    if run is not None:
        runs.revoke(attempt.connection, run, now)
    return run is not None


def let_go(attempt: Attempt, target: Target, fence: int) -> None:
    """Let the lease of a compaction go that came to nothing, if it is still its own."""
    run = runs.find_named(attempt.connection, target.project_id, target.session_id)
    if run is not None and run.fence == fence:
        runs.release(attempt.connection, run.session_key, fence)


def renewed(
    attempt: Attempt, held: Sequence[tuple[Target, int]], now: int
) -> list[tuple[Target, int]]:
    """Renew the leases of these compactions; return those that are another's by now."""
    lost: list[tuple[Target, int]] = []
    for target, fence in held:
        run = runs.find_named(attempt.connection, target.project_id, target.session_id)
        if run is None or run.fence != fence or not run.lease_until:
            lost.append((target, fence))
        else:
            runs.renew_unasked(attempt.connection, run.session_key, fence, now)
    return lost
