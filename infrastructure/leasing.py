"""What does a batch, or a word from its holder, do with the lease of a session's running turn?

A batch that starts a turn takes the lease if it asks for one, a batch with the fence renews it, and
one that leaves the turn paused or over lets it go. A turn that was never leased needs no fence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import Connection

from domain.commands import Proposal
from domain.events import GateDecided, HistoryCompacted, TurnStarted
from domain.identifiers import is_id
from domain.keys import Keys
from domain.refusals import NoSuchSession, SessionDamaged
from domain.standing import running_turn
from domain.state import GONE, State, Turn
from infrastructure import runs
from infrastructure.command_handler import Appended, Target
from infrastructure.lookup import find_head, look_up
from infrastructure.prepared import Sent, is_pipelined
from infrastructure.recorder import find_key
from infrastructure.run_rows import FIND
from infrastructure.runner import Attempt
from infrastructure.runs import Run

Asking: TypeAlias = tuple[int, Sent] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a batch says of the lease of its turn.

    Attributes:
        fence: The one that it was given with the lease.
        lease_s: How long the lease is to last from now on.
        rewinds: Whether history goes out of sight with it.
    """

    owner: str
    proposals: Sequence[Proposal]
    fence: int | None = None
    lease_s: int | None = None
    rewinds: bool = False

    @property
    def moves(self) -> bool:
        """Tell whether it begins a turn, or does with the history what a compaction does."""
        return self.rewinds or any(
            isinstance(proposal.event, TurnStarted | HistoryCompacted)
            for proposal in self.proposals
        )


def ask(attempt: Attempt, target: Target, claim: Claim) -> Asking:
    """Send for the lease together with what is looked up anyway, where it will be needed."""
    if attempt.patient or not is_pipelined(attempt.connection):
        return None
    known = attempt.commit.find(target.project_id, target.session_id)
    if known is None or not _matters(known.head.turn_id, claim):
        return None
    return known.key, FIND.send(attempt.connection, {"key": known.key})


def found(
    attempt: Attempt, asking: Asking, key: int | None, state: State, claim: Claim
) -> Run | None:
    """Return the session's lease, if it matters to the batch."""
    if asking is not None:
        return runs.found(asking[1])
    if key is None or not _matters(state.head.turn_id, claim):
        return None
    return runs.find(attempt.connection, key)


def _matters(turn_id: str | None, claim: Claim) -> bool:
    return turn_id is not None or claim.fence is not None or claim.moves


def check(run: Run | None, state: State, claim: Claim, now: int) -> None:
    """Refuse a batch that writes to a leased turn without its fence, or with an outdated one.

    Raises:
        TurnFenced: with who holds it.
        Compacting: the history that it would move is being summed up.
    """
    turn_id = state.head.turn_id
    if state.head.status in GONE:
        return
    if claim.moves and turn_id is None:
        runs.check_rests(run, now)
    leased = run is not None and run.is_of(turn_id) and _writes_to(turn_id, claim.proposals)
    runs.check_fence(run, turn_id if leased else None, claim.fence)


def _writes_to(turn_id: str | None, proposals: Sequence[Proposal]) -> bool:
    """Tell whether a batch goes on with the open turn; who decides from outside does not."""
    for proposal in proposals:
        match proposal.event:
            case GateDecided(via=via):
                if via == "in-band":
                    return True
            case HistoryCompacted():
                return True
            case event:
                if getattr(event, "turn_id", None) == turn_id:
                    return True
    return False


def settle(
    attempt: Attempt,
    target: Target,
    stands: tuple[int | None, Run | None],
    claim: Claim,
    appended: Appended,
    now: int,
) -> int | None:
    """Take, renew or release the lease after the batch; return the fence that its sender holds."""
    key, run = stands
    turn = appended.open_turn
    if claim.lease_s is not None and turn is not None and turn.turn_id in _started(claim):
        return _begun(attempt, target, key, claim, turn, now)
    if key is None or run is None:
        return None
    if turn is None or not run.is_of(turn.turn_id) or turn.paused:
        if run.lease_until and run.kind == "turn":
            runs.release(attempt.connection, key, run.fence)
    elif claim.fence is not None:
        runs.renew_unasked(attempt.connection, key, claim.fence, now, claim.lease_s)
    return claim.fence if turn is not None and run.is_of(turn.turn_id) else None


def _begun(
    attempt: Attempt, target: Target, key: int | None, claim: Claim, turn: Turn, now: int
) -> int:
    connection = attempt.connection
    key = key or find_key(connection, target.project_id, target.session_id)
    assert key is not None  # noqa: S101 - it has just been written to
    lease_s = claim.lease_s or runs.LEASE_S
    fence = runs.begin(connection, key, target.project_id, turn.turn_id, claim.owner, lease_s, now)
    if turn.paused:
        runs.release(connection, key, fence)
    return fence


def first_fence(connection: Connection, key: int | None, claim: Claim) -> int | None:
    """Return the fence that a batch was given when it was taken, now that it comes again.

    It is told only while no later turn was leased; whether it is still worth something is another
    matter.
    """
    if claim.lease_s is None or key is None or not (started := _started(claim)):
        return claim.fence
    run = runs.find(connection, key)
    return run.begun if run is not None and run.kind == "turn" and run.turn_id in started else None


def _started(claim: Claim) -> frozenset[str]:
    return frozenset(
        proposal.event.turn_id
        for proposal in claim.proposals
        if isinstance(proposal.event, TurnStarted)
    )


def heartbeat(
    attempt: Attempt, target: Target, turn_id: str, fence: int, lease_s: int | None, *, now: int
) -> int | None:
    """Renew the lease of a turn; return until when, or None while the turn is paused.

    Who waits for gates holds nothing: the turn outlives the holder, and its fence stays.

    Raises:
        NoSuchTurn, TurnOver: as for a batch.
        TurnFenced: somebody else holds the turn, or nobody ever did.
    """
    connection = attempt.connection
    run = runs.find_named(connection, target.project_id, target.session_id)  # before the head
    turn, _ = _running(connection, target, turn_id)
    if run is None or not run.is_of(turn_id) or run.fence != fence:
        raise runs.fenced(run, fence)
    if turn.paused:
        return None
    return runs.renew(connection, run.session_key, fence, now, lease_s)


def check_writer(connection: Connection, target: Target, turn_id: str, fence: int | None) -> int:
    """Return the session's version, if whoever has `fence` may speak for the turn.

    Raises:
        NoSuchTurn, TurnOver: as for a batch.
        TurnFenced: as `runs.check_fence`.
    """
    turn, (key, version) = _running(connection, target, turn_id)
    runs.check_fence(runs.find(connection, key), turn.turn_id, fence)
    return version


def _running(connection: Connection, target: Target, turn_id: str) -> tuple[Turn, tuple[int, int]]:
    key, state = find_head(connection, target.project_id, target.session_id)
    if key is not None and not state.head.version:
        raise SessionDamaged
    if key is None or state.head.status in GONE:
        raise NoSuchSession
    wanted = Keys(turns=frozenset({turn_id} if is_id(turn_id) else ()))
    turn = running_turn(look_up(connection, key, state, wanted), turn_id)
    return turn, (key, state.head.version)
