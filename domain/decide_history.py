"""May part of the history go out of sight, come back, or be summed up, now?"""

from collections.abc import Sequence
from typing import assert_never

from domain import commands as c
from domain import events as e
from domain.decide_content import check_compaction
from domain.decide_gate import withdrawn
from domain.decided import Decided, fact
from domain.fields import check_title
from domain.records import InState
from domain.refusals import (
    HeadAheadOfLog,
    HeadBehind,
    HeadMismatch,
    LineageTooDeep,
    SessionExists,
    SessionIsArchived,
    TurnInProgress,
)
from domain.rewinding import Rewinding, restoring, rewinding
from domain.state import Head, State

REWOUND = "rewound"
"""Why a turn was interrupted that a rewind takes out."""
FORKED = "forked"
"""Why a turn was interrupted that ran where a fork began."""
LINEAGE_LIMIT = 32
"""With so many sessions can one share its history."""


def decide_history(state: State, command: c.Rewind | c.Redo | c.Compact) -> tuple[Decided, ...]:
    """Return the facts that take history out of sight, bring it back, or sum it up.

    A turn that waits for gates ends first, and its gates are withdrawn; so does one that runs, if
    that is asked for.

    Raises:
        SessionIsArchived, TurnInProgress: the session is not at rest.
        HeadAheadOfLog, HeadBehind, HeadMismatch: it is not where the caller believes it to be.
        Refusal: as `rewinding`, `restoring` and `check_compaction` say.
    """
    head = state.head
    if head.status == "archived":
        raise SessionIsArchived
    if command.claim is not None:
        check_claim(head, command.claim)
    match command:
        case c.Rewind():
            found = rewinding(InState(state), head, command)
            ended = _at_rest(state, interrupt=command.interrupt)
            return (*ended, _rewound(head, found, len(ended), command.asked))
        case c.Redo():
            restored = restoring(InState(state), head, command)
            ended = _at_rest(state, interrupt=command.interrupt)
            newer = restored.newer
            gone = () if newer is None else (_rewound(head, newer, len(ended)),)
            reverted = e.RewindReverted(
                rewind_version=restored.version,
                turns=restored.position.turns - restored.shared.turns,
                messages=restored.position.messages - restored.shared.messages,
            )
            return (*ended, *gone, fact(reverted))
        case c.Compact():
            if head.turn_id is not None:
                raise TurnInProgress(head.turn_id)
            compacted = compacted_by(command)
            check_compaction(state, compacted, imported=False)
            return (fact(compacted),)
        case _:
            assert_never(command)


def compacted_by(command: c.Compact) -> e.HistoryCompacted:
    """Return the fact that the command wants recorded."""
    return e.HistoryCompacted(
        summary=command.summary,
        through_message_id=command.through_message_id,
        since_version=command.since_version,
        harness=command.harness,
    )


def decide_fork(state: State, command: c.ForkSession) -> tuple[Decided, ...]:
    """Return the facts that begin a fork; a turn that had not ended stays unfinished in it.

    Raises:
        SessionExists: the id is taken.
        LineageTooDeep: it would share history with too many others.
        InvalidValue: the title is none.
    """
    if state.head.status != "absent":
        raise SessionExists
    if command.depth > LINEAGE_LIMIT:
        raise LineageTooDeep(LINEAGE_LIMIT)
    check_title(command.title, "title")
    forked = fact(
        e.SessionForked(parent=command.parent, title=command.title, title_by=command.title_by)
    )
    turn_id = state.head.turn_id
    return (forked, *(() if turn_id is None else interrupted(state, turn_id, FORKED, None)))


def check_claim(head: Head, claim: c.HeadClaim) -> None:
    """Raise a refusal unless the history is the one that the caller believes it to be."""
    if claim.history_version > head.history_version:
        raise HeadAheadOfLog(claim.history_version, head.history_version)
    if claim.history_version < head.history_version:
        raise HeadBehind(claim.history_version, head.history_version)
    if claim.fingerprint != head.fingerprint.hex():
        raise HeadMismatch


def interrupted(
    state: State, turn_id: str, reason: str, by: str | None, calls: Sequence[Decided] = ()
) -> tuple[Decided, ...]:
    """Return the end of a turn from outside, after that of its gates, and then of these calls."""
    stopped = fact(e.TurnInterrupted(turn_id=turn_id, reason=reason, by=by))
    return (*withdrawn(state, turn_id, reason), *calls, stopped)


def _at_rest(state: State, *, interrupt: bool) -> tuple[Decided, ...]:
    turn_id = state.head.turn_id
    if turn_id is None:
        return ()
    turn = state.turns.get(turn_id)
    if not interrupt and not (turn is not None and turn.paused):
        raise TurnInProgress(turn_id)
    return interrupted(state, turn_id, REWOUND, None)


def _rewound(head: Head, found: Rewinding, after: int, asked: object = None) -> Decided:
    """`after` facts are recorded before it."""
    event = e.HistoryRewound(
        turn_id=found.turn.turn_id,
        from_version=found.turn.started_version,
        through_version=head.version + after,
        turns=head.turns - found.position.turns,
        messages=head.messages - found.position.messages,
        asked=asked,
    )
    return fact(event)
