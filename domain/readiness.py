"""May a client send only its newest message? Only if the log can stand in for all the rest."""

from dataclasses import dataclass

from domain.state import Head, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a project accepts.

    Attributes:
        unverified_turns: Whether a turn that ended without a record count is good enough.
        known_after: The log's position at the last restore; history known before is not known.
        require_agreement: How many comparisons in a row must have found a client's full history
            to be ours; 0 asks for none.
    """

    unverified_turns: bool
    known_after: int = 0
    require_agreement: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why not: a code for programs and words for a person."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """The answer, as of `through_version`."""

    ready: bool
    reasons: tuple[Reason, ...]
    empty: bool
    through_version: int


def readiness(head: Head, open_turn: Turn | None, policy: Policy, agreements: int = 0) -> Readiness:
    """Judge a session by its head and the turn that has not ended.

    `agreements` tells how many comparisons in a row agreed, up to the newest.
    """
    reasons = (*_reasons(head, open_turn, policy), *_agreement(policy, agreements))
    return Readiness(
        ready=not reasons,
        reasons=reasons,
        empty=head.turns == 0,
        through_version=head.version,
    )


def _reasons(head: Head, open_turn: Turn | None, policy: Policy) -> list[Reason]:
    reasons: list[Reason] = []
    if head.open_losses:
        detail = f"{head.open_losses} declared losses are not healed"
        reasons.append(Reason(code="records-lost", detail=detail))
    if head.unreadable:
        detail = f"{head.unreadable} events that may change the history are gone or cannot be read"
        reasons.append(Reason(code="unreadable-events", detail=detail))
    if head.miscounted_turns:
        detail = f"{head.miscounted_turns} turns have another number of records than declared"
        reasons.append(Reason(code="record-count-mismatch", detail=detail))
    if head.unverified_turns and not policy.unverified_turns:
        detail = f"{head.unverified_turns} turns ended without a record count"
        reasons.append(Reason(code="turn-unverified", detail=detail))
    if head.turn_id is not None and (open_turn is None or not open_turn.paused):
        reasons.append(Reason(code="turn-running", detail=f"turn {head.turn_id} has not ended"))
    if head.known_position <= policy.known_after and policy.known_after:
        detail = "the store was restored since the history became known"
        reasons.append(Reason(code="restored", detail=detail))
    return reasons


def _agreement(policy: Policy, agreements: int) -> list[Reason]:
    if agreements >= policy.require_agreement:
        return []
    detail = f"{agreements} of {policy.require_agreement} comparisons in a row agreed"
    return [Reason(code="agreement-required", detail=detail)]
