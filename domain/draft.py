"""What has one fact changed so far? The fold's scratch paper, for the length of one fact."""

from dataclasses import dataclass

from domain.recorded import Recorded
from domain.state import (
    Branch,
    Call,
    Changes,
    Checkpoint,
    Gate,
    Head,
    Loss,
    Move,
    Placed,
    QueuedInput,
    Seat,
    State,
    Tail,
    Turn,
)


@dataclass(slots=True, kw_only=True)
class Draft:
    """The records that `fact` makes or changes.

    Attributes:
        known: The session before the fact; it does not change.
        version: The fact's place in the session's stream.
        turn: The turn that the fact belongs to, with the fact counted; None if unknown.
    """

    known: State
    fact: Recorded
    version: int
    head: Head
    calls: list[Call]
    gates: list[Gate]
    messages: list[Placed]
    losses: list[Loss]
    branch: Branch | None = None
    move: Move | None = None
    checkpoint: Checkpoint | None = None
    turn: Turn | None = None
    seat: Seat | None = None
    queued: QueuedInput | None = None
    tail: Tail | None = None

    def changes(self) -> Changes:
        """Return what the draft came to."""
        turn = self.turn
        same = turn is None or turn is self.known.turns.get(turn.turn_id)
        return Changes(
            head=self.head,
            turns=() if turn is None or same else (turn,),
            calls=tuple(self.calls),
            gates=tuple(self.gates),
            messages=tuple(self.messages),
            losses=tuple(self.losses),
            branches=() if self.branch is None else (self.branch,),
            moves=() if self.move is None else (self.move,),
            checkpoints=() if self.checkpoint is None else (self.checkpoint,),
            seats=() if self.seat is None else (self.seat,),
            queue=() if self.queued is None else (self.queued,),
            tail=self.tail,
            producer=self.fact.envelope.producer,
        )


def begun(known: State, fact: Recorded) -> Draft:
    """Return the draft of a fact before its meaning is looked at: the head moved, the turn counted.

    A fact belongs to the turn that it names; one that names none, or cannot be read, to the turn
    of its envelope. Facts that a damaged log has lost before it count as unreadable.
    """
    envelope = fact.envelope
    moves = envelope.affects == "history"
    lost = envelope.version - known.head.version - 1
    head = known.head._replace(
        version=envelope.version,
        hash=fact.hash,
        updated_at=envelope.recorded_at,
        history_version=envelope.version if moves else known.head.history_version,
        redo=None if moves else known.head.redo,
        unreadable=known.head.unreadable + lost,
        tail_open=known.head.tail_open and not lost,
    )
    turn_id: str | None = getattr(fact.event, "turn_id", envelope.turn_id)
    draft = Draft(
        known=known,
        fact=fact,
        version=envelope.version,
        head=head,
        calls=[],
        gates=[],
        messages=[],
        losses=[],
    )
    draft.turn = None if turn_id is None else counted(draft, turn_id)
    return draft


def counted(draft: Draft, turn_id: str) -> Turn | None:
    """Return a turn with the fact counted: what producers send from its beginning to its end."""
    turn = draft.known.turns.get(turn_id)
    producer = draft.fact.envelope.producer
    if turn is None or producer is None or turn.status != "running":
        return turn
    if turn.producer_id != producer.producer_id:
        return turn._replace(records=turn.records + 1)
    return turn._replace(
        records=turn.records + 1,
        producer_epoch=producer.epoch,
        producer_sequence=producer.sequence,
    )
