"""What happens to a producer's batch, from its claim to its answer?

The checks in the order of the contract: epoch fence, duplicate, the lease's fence, gap, expected
version, then the rules. A batch that was taken before gets the facts that it became.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from domain.commands import (
    Batch,
    BeginBatch,
    HeadClaim,
    InterruptTurn,
    OpenSession,
    Proposal,
    Record,
    Rewind,
    SessionCommand,
)
from domain.events import Opaque, RecordsLost
from domain.keys import Keys, keys, keys_of
from domain.recorded import ProducerStamp
from domain.refusals import (
    Compacting,
    Fenced,
    NoSuchSession,
    RecordConflict,
    Refusal,
    TurnFenced,
    TurnInProgress,
)
from domain.state import GONE, Head, State
from infrastructure import leasing
from infrastructure.command_handler import Appended, Caller, CommandHandler, Target
from infrastructure.leasing import Claim
from infrastructure.producers import (
    EarlierBatch,
    OpenTurn,
    current_epoch,
    earlier_batch,
    facts_digest,
    mint_epoch,
    open_turns,
    proposals_digest,
)
from infrastructure.runner import Attempt
from infrastructure.spawning import check_parent, placed

LOST: Final = "producer-restarted"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """What a producer sent.

    Attributes:
        previous: The last (epoch, sequence) that the producer knows it wrote to this session.
        rewind: What goes out of sight before the events.
        fence: The one that the producer was given with the lease of the session's turn.
        lease_s: So long the lease is to last that it takes, for a turn that starts, or renews.
    """

    producer: ProducerStamp
    proposals: Sequence[Proposal]
    previous: tuple[int, int] | None = None
    expected_version: int | None = None
    claim: HeadClaim | None = None
    open: OpenSession | None = None
    rewind: Rewind | None = None
    fence: int | None = None
    lease_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAnswer:
    """What became of it.

    Attributes:
        replayed: Whether it had been taken before.
        fence: What its sender writes with from now on, while the turn is leased.
    """

    appended: Appended
    replayed: bool
    fence: int | None = None


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
        events=len(request.proposals) + (request.rewind is not None),
        opens_with_loss=bool(request.proposals)
        and isinstance(request.proposals[0].event, RecordsLost),
    )
    steps: list[SessionCommand] = [begin]
    if request.rewind is not None:
        steps.append(request.rewind)
    steps += [Record(proposal=proposal) for proposal in request.proposals]
    claim = Claim(
        owner=stamp.producer_id,
        proposals=request.proposals,
        fence=request.fence,
        lease_s=request.lease_s,
        rewinds=request.rewind is not None,
    )
    asking = leasing.ask(attempt, target, claim)
    key, state = handler.state(attempt, target, _wanted(request, steps))
    if (
        known := _taken_before(handler, attempt, target, request, (key, state, current))
    ) is not None:
        fence = leasing.first_fence(attempt.connection, key, claim)
        return BatchAnswer(appended=known, replayed=True, fence=fence)
    if request.open is not None and request.open.parent is not None:
        steps[0] = replace(begin, open=_opening(handler, attempt, target, request.open, state.head))
    run = leasing.found(attempt, asking, key, state, claim)
    try:
        leasing.check(run, state, claim, handler.now())
    except (TurnFenced, Compacting):
        handler.check_current(attempt, target, state.head)
        raise
    try:
        appended = handler.carry_out(
            attempt,
            target,
            steps,
            caller=caller,
            producer=stamp,
            batch=len(request.proposals),
            known=(key, state),
        )
    except TurnInProgress as refusal:
        if run is not None and run.is_of(refusal.turn_id):
            refusal.owner, refusal.lease_until = run.owner, run.lease_until
        raise
    fence = leasing.settle(attempt, target, (key, run), claim, appended, handler.now())
    return BatchAnswer(appended=appended, replayed=False, fence=fence)


def _opening(
    handler: CommandHandler, attempt: Attempt, target: Target, opening: OpenSession, head: Head
) -> OpenSession:
    """Return what opens a sub-agent's session, unless it is there.

    Raises:
        SessionExists: as another parent's, or nobody's.
        Refusal: as `spawning.placed`.
    """
    try:
        if head.status == "absent":
            return placed(
                attempt.connection,
                target.project_id,
                target.session_id,
                opening,
                handler.spawning_tools,
            )
        if opening.parent is not None and head.status not in GONE:
            check_parent(head, opening.parent)
    except Refusal as refusal:
        handler.check_current(attempt, target, head)
        refusal.inside("open")
        raise
    return opening


def _wanted(request: BatchRequest, steps: Sequence[SessionCommand]) -> Keys:
    if request.rewind is not None:
        return keys_of(steps)
    return keys([proposal.event for proposal in request.proposals], request.producer.producer_id)


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
    if state.head.status in GONE:
        raise NoSuchSession
    handler.check_current(attempt, target, state.head)
    earlier = earlier_batch(attempt.connection, (target.project_id, target.session_id, key), stamp)
    if not earlier.facts or not _is_same(request, earlier):
        raise RecordConflict(stamp.sequence)
    return Appended(
        facts=earlier.facts if earlier.rewound is None else [earlier.rewound, *earlier.facts],
        proposed=earlier.facts,
        head=state.head,
        readiness=handler.readiness(attempt, state, key),
        created=False,
    )


def _is_same(request: BatchRequest, earlier: EarlierBatch) -> bool:
    """Tell whether a batch asks for what an earlier one did; what is gone cannot differ."""
    if not isinstance(earlier.rewound and earlier.rewound.event, Opaque):
        asked = None if request.rewind is None else request.rewind.asked
        if asked != earlier.asked:
            return False
    digest = facts_digest(earlier.facts)
    return digest is None or digest == proposals_digest(request.proposals)


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
