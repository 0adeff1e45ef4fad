"""How does an administrator accept that records of a session are missing?

The model is told by a message in a small turn of its own, and from then on the history counts as
complete without them: in one transaction. Who did it is the actor of the facts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from domain import commands as c
from domain import events as e
from domain.json_text import JsonValue, dump
from domain.keys import keys_of
from domain.readiness import Readiness
from domain.refusals import (
    InvalidValue,
    NoSuchSession,
    NothingToAccept,
    OtherReasons,
    Refusal,
    TurnInProgress,
)
from domain.state import GONE, Head
from infrastructure.command_handler import Appended, Caller, CommandHandler, Target
from infrastructure.proposing import proposal_of
from infrastructure.runner import Attempt

MARKER: Final = "[Some earlier records of this conversation are missing.]"
"""What the model is told, if nothing else is said."""
MESSAGE_LIMIT: Final = 1_000
NO_GAPS: Final = frozenset({"agreement-required", "turn-running"})
"""Reasons that say nothing of a record that is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What is accepted.

    Attributes:
        reasons: Codes that all have to be named that stand; None accepts whichever do.
        message: What the model is told instead of `MARKER`.
    """

    reasons: Sequence[str] | None = None
    message: str | None = None
    claim: c.HeadClaim | None = None
    expected_version: int | None = None


def accept_gap(
    handler: CommandHandler, attempt: Attempt, target: Target, gap: Gap, caller: Caller
) -> Appended:
    """Accept that records are missing; the last fact is the one that says so.

    Raises:
        NoSuchSession, SessionIsArchived: there is no open session.
        NothingToAccept: nothing is missing.
        OtherReasons: more stands than was named.
        TurnInProgress: a turn has not ended.
        Refusal: as the rules say of the claimed head and version.
        Contended: another writer came first.
    """
    marker = _marker(gap)
    key, state = handler.state(attempt, target, keys_of(marker))
    try:
        reasons = _standing(state.head, handler.readiness(attempt, state, key), gap)
    except Refusal:
        handler.check_current(attempt, target, state.head)
        raise
    begin = c.BeginBatch(
        expected_version=gap.expected_version, claim=gap.claim, events=len(marker) + 1
    )
    steps = [begin, *marker, c.Note(event=e.GapAccepted(reasons=reasons))]
    return handler.carry_out(attempt, target, steps, caller=caller, known=(key, state))


def _standing(head: Head, readiness: Readiness, gap: Gap) -> tuple[str, ...]:
    """Return the reasons that are accepted."""
    if head.status in GONE:
        raise NoSuchSession
    codes = tuple(each.code for each in readiness.reasons if each.code not in NO_GAPS)
    if not codes:
        raise NothingToAccept
    if gap.reasons is not None and not set(codes) <= set(gap.reasons):
        raise OtherReasons(codes)
    if head.turn_id is not None:
        raise TurnInProgress(head.turn_id)
    return codes


def _marker(gap: Gap) -> list[c.SessionCommand]:
    """Return a turn that says nothing but that something is missing."""
    message = MARKER if gap.message is None else gap.message
    if not message.strip() or len(message) > MESSAGE_LIMIT:
        raise InvalidValue(f"a message has 1 to {MESSAGE_LIMIT} characters", "message")
    turn_id = f"gap-{uuid4().hex}"
    spoken: JsonValue = {"role": "system", "content": message}
    started: JsonValue = {"turn_id": turn_id, "messages": [spoken]}
    return [
        c.Record(proposal=proposal_of("turn-started", dump(started))),
        c.Record(proposal=proposal_of("turn-completed", dump({"turn_id": turn_id}))),
    ]
