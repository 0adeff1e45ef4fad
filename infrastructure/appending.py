"""What happens to a producer's batch, from its claim to its answer?

The checks in the order of the contract: epoch fence, duplicate, gap, expected version, then the
rules. A batch that was taken before gets the facts that it became.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.commands import (
    Batch,
    BeginBatch,
    HeadClaim,
    InterruptTurn,
    OpenSession,
    Proposal,
    Record,
)
from domain.events import RecordsLost
from domain.keys import Keys, keys
from domain.recorded import ProducerStamp
from domain.refusals import Fenced, NoSuchSession, RecordConflict
from domain.state import State
from infrastructure.command_handler import Appended, Caller, CommandHandler, Target
from infrastructure.producers import (
    OpenTurn,
    current_epoch,
    earlier_batch,
    facts_digest,
    mint_epoch,
    open_turns,
    proposals_digest,
)
from infrastructure.runner import Attempt

LOST: Final = "producer-restarted"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """What a producer sent.

    Attributes:
        previous: The last (epoch, sequence) that the producer knows it wrote to this session.
    """

    producer: ProducerStamp
    proposals: Sequence[Proposal]
    previous: tuple[int, int] | None = None
    expected_version: int | None = None
    claim: HeadClaim | None = None
    open: OpenSession | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAnswer:
    """What became of it; `replayed` if it had been taken before."""

    appended: Appended
    replayed: bool


def append_batch(
    handler: CommandHandler,
    attempt: Attempt,
    target: Target,
    request: BatchRequest,
    caller: Caller,
) -> BatchAnswer:
    """Take the batch, whole.

    Raises:
        Refusal: nothing is written, and no sequence number is used up.
        Contended: another writer came first.
    """
    stamp = request.producer
    current = current_epoch(attempt.commit, target.project_id, stamp.producer_id, handler.now())
    events = [proposal.event for proposal in request.proposals]
    key, state = handler.state(attempt, target, keys(events, stamp.producer_id))
    if (
        known := _taken_before(handler, attempt, target, request, (key, state, current))
    ) is not None:
        return BatchAnswer(appended=known, replayed=True)
    begin = BeginBatch(
        batch=Batch(
            producer_id=stamp.producer_id,
            epoch=stamp.epoch,
            sequence=stamp.sequence,
            current=current,
            previous=request.previous,
        ),
        expected_version=request.expected_version,
        claim=request.claim,
        open=request.open,
        events=len(events),
        opens_with_loss=bool(events) and isinstance(events[0], RecordsLost),
    )
    appended = handler.carry_out(
        attempt,
        target,
        [begin, *(Record(proposal=proposal) for proposal in request.proposals)],
        caller=caller,
        producer=stamp,
        batch=len(events),
        known=(key, state),
    )
    return BatchAnswer(appended=appended, replayed=False)


def _taken_before(
    handler: CommandHandler,
    attempt: Attempt,
    target: Target,
    request: BatchRequest,
    found: tuple[int | None, State, int],
) -> Appended | None:
    key, state, current = found
    stamp = request.producer
    if stamp.epoch < current:
        attempt.commit.check()
        raise Fenced(stamp.epoch, current)
    last = state.producers.get(stamp.producer_id)
    if key is None or last is None or last.epoch != stamp.epoch or last.sequence < stamp.sequence:
        return None
    if state.head.status == "deleted":
        raise NoSuchSession
    handler.check_current(attempt, target, state.head)
    facts = earlier_batch(attempt.connection, (target.project_id, target.session_id, key), stamp)
    digest = facts_digest(facts)
    if not facts or (digest is not None and digest != proposals_digest(request.proposals)):
        raise RecordConflict(stamp.sequence)
    return Appended(
        facts=facts,
        proposed=facts,
        head=state.head,
        readiness=handler.readiness(attempt, state, key),
        created=False,
    )


def next_epoch(
    handler: CommandHandler,
    attempt: Attempt,
    project_id: str,
    producer_id: str,
    caller: Caller,
    *,
    interrupt: bool,
) -> tuple[int, list[OpenTurn]]:
    """Mint the producer's next epoch; its open turns are listed, and interrupted if asked."""
    epoch = mint_epoch(attempt.commit, project_id, producer_id, handler.now())
    left = open_turns(attempt.connection, project_id, producer_id)
    if interrupt:
        for turn in left:
            handler.carry_out(
                attempt,
                Target(project_id=project_id, session_id=turn.session_id),
                [InterruptTurn(turn_id=turn.turn_id, reason=LOST, by=producer_id)],
                Keys(turns=frozenset({turn.turn_id})),
                caller=caller,
            )
    return epoch, left
