"""What do the rules need to know of a session before the next command?

`Head` is bounded: it never grows with the session. Everything else is looked up by the keys that
a command names, so that deciding costs the same at any length. The records are named tuples, since
each fact makes a few new ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from domain.events.gate import DecidedBy, GateKind, Verdict
from domain.events.harness import ParkedState
from domain.fingerprints import EMPTY
from domain.messages import Part, Role
from domain.recorded import GENESIS, ProducerStamp

Status: TypeAlias = Literal["absent", "open", "suspended", "archived", "deleted", "purged"]
GONE: Final[frozenset[Status]] = frozenset({"absent", "deleted", "purged"})
"""Of a session that stands so, nothing is told, and nothing is recorded but its return."""
TurnStatus: TypeAlias = Literal["running", "completed", "failed", "interrupted"]
GateStatus: TypeAlias = Literal[
    "open", "allowed", "denied", "denied-by-policy", "answered", "expired", "withdrawn"
]
CallStatus: TypeAlias = Literal["open", "completed", "failed", "denied", "late"]
SeatState: TypeAlias = Literal["busy", "gone"] | ParkedState
TurnPath: TypeAlias = Literal["warm", "cold", "evicted"]
QueueStatus: TypeAlias = Literal["waiting", "started", "recalled"]
MoveKind: TypeAlias = Literal["rewound", "reverted", "compacted", "forked"]
CallKey: TypeAlias = tuple[str, str]


class Head(NamedTuple):
    """Where a session stands.

    Attributes:
        put_away: Whether it is archived, or will be again once its deletion is taken back.
        messages: Messages in sight: live and archived, not rewound.
        placed: All the messages that there ever were; the next one's index.
        tip: The index of the last message in sight; -1 if there is none.
        archived: So many of the messages in sight, from the first one, are archived by compaction.
        tail_open: Whether a record of the same participant can still join the last message.
        base_fingerprint, base_model_fingerprint: The chains before the last message.
        turns: Turns in sight.
        started: All the turns that ever began; the newest one's number.
        turn_tip: The number of the last turn in sight; 0 if there is none.
        branch: The branch that it stands in.
        redo: The rewind that can be reverted, since nothing but rewinds changed history after it.
        turn_id: The turn that has not ended, if any.
        gated_calls: Open calls of that turn that wait for a gate.
        open_losses, unverified_turns, miscounted_turns, unreadable: Why the log may be incomplete.
        parent_session_id: The session that it is a sub-agent's session of.
        parent_turn_id, parent_call_id: The call there that it was begun by.
        agent_id: What its agent is called.
        forked_from: The session that has the events up to `base_version`; those that follow are
            its own.
        known_position: Where the history last became known: opened or imported, here or, before
            a fork, in the session that it was forked from.
        checkpoint: The version of the newest checkpoint; 0 if there is none.
        complete_from: Where the record was last declared complete; 0 if it never was.
        settled_losses, settled_unreadable: What that settled, should what was before come back.
        queued: Inputs that wait.
        cut_off: So many turns in a row ended with the process that ran them, none completed since.
        suspended: Whether it takes no turns, though it may be put away besides.
        resume_turn, resume_reason, resume_at: The turn that was cut off and could be gone on with.
        archived_reason: Why it was put away; None if a person did that, or nobody.
        pinned: Whether it is kept, however long ago it ended.
    """

    status: Status = "absent"
    put_away: bool = False
    version: int = 0
    history_version: int = 0
    hash: bytes = GENESIS
    fingerprint: bytes = EMPTY
    model_fingerprint: bytes = EMPTY
    base_fingerprint: bytes = EMPTY
    base_model_fingerprint: bytes = EMPTY
    tail_open: bool = False
    messages: int = 0
    placed: int = 0
    tip: int = -1
    archived: int = 0
    summary_version: int | None = None
    turns: int = 0
    started: int = 0
    turn_tip: int = 0
    branch: int = 0
    redo: int | None = None
    turn_id: str | None = None
    open_gates: int = 0
    open_losses: int = 0
    unverified_turns: int = 0
    miscounted_turns: int = 0
    unreadable: int = 0
    title: str | None = None
    title_by: str | None = None
    config_version: int | None = None
    approval_mode: str | None = None
    parent_session_id: str | None = None
    parent_turn_id: str | None = None
    parent_call_id: str | None = None
    agent_id: str | None = None
    forked_from: str | None = None
    base_version: int = 0
    created_at: int = 0
    updated_at: int = 0
    known_position: int = 0
    checkpoint: int = 0
    complete_from: int = 0
    settled_losses: int = 0
    settled_unreadable: int = 0
    queued: int = 0
    cut_off: int = 0
    suspended: bool = False
    resume_turn: str | None = None
    resume_reason: str | None = None
    resume_at: int = 0
    archived_reason: str | None = None
    pinned: bool = False


class Turn(NamedTuple):
    """One turn. Token counts are sums over its `usage-recorded` facts.

    Attributes:
        number: 1 for the session's first turn; a turn that replaces another has its own.
        branch: The branch that it stands in.
        first_message: The index of its first message.
        unverified_before, miscounted_before: How many such turns were in sight when it began.
        messages: How many messages of the transcript it holds.
        records: How many events of it came from a producer.
        paused: Whether it waits for gates and for nothing else.
        path, path_reason: Whether a parked harness went on with it, and if not, why.
        history_from: Where the history of a harness that was started came from.
        total_ms: How long it took, as its end tells, else from its first fact to its last.
        lane_id, reply_to: The lane that its answer goes to, and which message there it answers.
    """

    turn_id: str
    number: int
    started_version: int
    first_message: int
    started_at: int
    branch: int = 0
    unverified_before: int = 0
    miscounted_before: int = 0
    status: TurnStatus = "running"
    ended_version: int | None = None
    messages: int = 0
    open_calls: int = 0
    gated_calls: int = 0
    open_gates: int = 0
    calls: int = 0
    records: int = 0
    declared_records: int | None = None
    ended_at: int | None = None
    producer_id: str | None = None
    producer_epoch: int | None = None
    producer_sequence: int | None = None
    history_sent: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    path: TurnPath | None = None
    path_reason: str | None = None
    history_from: str | None = None
    total_ms: int | None = None
    lane_id: str | None = None
    reply_to: str | None = None

    @property
    def paused(self) -> bool:
        """Tell whether the turn waits for gates and for nothing else."""
        return (
            self.status == "running" and self.open_gates > 0 and self.open_calls <= self.gated_calls
        )


class Call(NamedTuple):
    """One invocation of a tool: the `occurrence`-th of its id within its turn, from 1."""

    turn_id: str
    tool_call_id: str
    occurrence: int
    name: str | None
    status: CallStatus = "open"
    requested_version: int | None = None
    completed_version: int | None = None
    announced: bool = True
    gated: bool = False


class Gate(NamedTuple):
    """One question and what became of it."""

    gate_id: str
    turn_id: str
    kind: GateKind
    opened_version: int
    opened_at: int
    status: GateStatus = "open"
    permission_id: str | None = None
    tool_call_id: str | None = None
    tool: str | None = None
    closed_version: int | None = None
    expires_at: int | None = None
    verdict: Verdict | None = None
    decided_by: DecidedBy | None = None
    consumed_version: int | None = None


class Seat(NamedTuple):
    """A place for a harness, as its owner last told of it.

    Attributes:
        turn_id: The turn that it is busy with, or was last.
        pin_history_version, pin_fingerprint: The history that it remembers, while it is parked.
        pin_version: The version at which that was the history.
        reason: Why it is gone, or was started.
        changed_version, changed_at: When it came to be in this state.
    """

    seat_id: str
    owner: str
    state: SeatState
    started_version: int
    changed_version: int
    changed_at: int
    turn_id: str | None = None
    pin_history_version: int | None = None
    pin_fingerprint: bytes | None = None
    pin_version: int | None = None
    config_fingerprint: str | None = None
    prior_was_sent: bool | None = None
    ttl_s: int | None = None
    reason: str | None = None


class QueuedInput(NamedTuple):
    """An input that waits, or waited: `closed_version` says when it came into a turn, or not.

    Attributes:
        steers: The turn that it is to be told to while it runs.
    """

    queue_id: str
    queued_version: int
    queued_at: int
    status: QueueStatus = "waiting"
    closed_version: int | None = None
    turn_id: str | None = None
    steers: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A message of the transcript: where it stands and which facts it is made of.

    Attributes:
        index: How many messages were placed before it, in sight or not.
        named: Whether `message_id` was given, or is `<turn_id>:<n>`.
        item: Which message of a `turn-started` it is.
        versions: The facts that it is made of, in order.
        fingerprint, model_fingerprint: The chains up to and with this message, as they were when
            it was last added to.
    """

    index: int
    message_id: str
    named: bool
    turn_id: str
    role: Role
    versions: tuple[int, ...]
    digest: bytes | None
    fingerprint: bytes
    model_fingerprint: bytes
    item: int = 0
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Records that were declared lost at `version`."""

    version: int
    count: int | None
    turn_id: str | None
    healed_version: int | None = None


class Branch(NamedTuple):
    """A run of turns, and of their messages, that follow each other in number and index.

    One begins with the first turn after the newest turn was left by a rewind. Its id is the number
    of that turn; that of the session's first run is 0.

    Attributes:
        first_turn, first_index: What it begins with.
        turn_depth, depth: How many turns and messages are in sight before it.
        parent: The branch that it left, after `parent_turn` and `parent_index` there.
        jump: A branch further up, so that one far up is found in few steps.
        rank: How many branches are above it.
    """

    first_turn: int
    first_index: int
    turn_depth: int
    depth: int
    parent: int
    parent_turn: int
    parent_index: int
    jump: int
    rank: int


ROOT: Final = Branch(
    first_turn=1,
    first_index=0,
    turn_depth=0,
    depth=0,
    parent=0,
    parent_turn=0,
    parent_index=-1,
    jump=0,
    rank=0,
)
"""The branch 0, of which no record is kept."""


class Position(NamedTuple):
    """What of a history is in sight, as the head says it."""

    tip: int = -1
    messages: int = 0
    turn_tip: int = 0
    turns: int = 0
    branch: int = 0
    archived: int = 0
    summary_version: int | None = None
    unverified_turns: int = 0
    miscounted_turns: int = 0
    fingerprint: bytes = EMPTY
    model_fingerprint: bytes = EMPTY
    redo: int | None = None


class Move(NamedTuple):
    """A fact that changed what is in sight by other means than adding to it.

    Attributes:
        before, after: What was in sight until then, and what was from then on.
    """

    version: int
    kind: MoveKind
    before: Position
    after: Position


class Checkpoint(NamedTuple):
    """A head as it was at a version, from which the fold can go on.

    Attributes:
        turn: The turn that had not ended; none of its calls and gates was open.
    """

    version: int
    head: Head
    turn: Turn | None


class Tail(NamedTuple):
    """What the last message is made of so far, in order, while it is open."""

    pieces: tuple["Piece", ...] = ()


class Piece(NamedTuple):
    """One part of a message, and the fact that brought it.

    `source` is `message:<message_id>` or `call:<tool_call_id>`; a later fact with the same source
    replaces the piece while `open`.
    """

    version: int
    source: str | None
    open: bool
    part: Part


class Changes(NamedTuple):
    """The records that one fact made or changed."""

    head: Head
    turns: tuple[Turn, ...] = ()
    calls: tuple[Call, ...] = ()
    gates: tuple[Gate, ...] = ()
    messages: tuple[Placed, ...] = ()
    losses: tuple[Loss, ...] = ()
    branches: tuple[Branch, ...] = ()
    moves: tuple[Move, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    seats: tuple[Seat, ...] = ()
    queue: tuple[QueuedInput, ...] = ()
    tail: Tail | None = None
    producer: ProducerStamp | None = None


@dataclass(slots=True, kw_only=True)
class State:
    """A session, whole or restricted to some keys. The only mutable thing in the core: a holder.

    `messages` is keyed by index, `branches` by id, `moves` and `checkpoints` by version, `seats`
    and `queue` by id;
    `message_ids` finds named messages.
    """

    head: Head = field(default_factory=Head)
    turns: dict[str, Turn] = field(default_factory=dict[str, Turn])
    calls: dict[CallKey, tuple[Call, ...]] = field(default_factory=dict[CallKey, tuple[Call, ...]])
    gates: dict[str, Gate] = field(default_factory=dict[str, Gate])
    messages: dict[int, Placed] = field(default_factory=dict[int, Placed])
    message_ids: dict[str, int] = field(default_factory=dict[str, int])
    losses: dict[int, Loss] = field(default_factory=dict[int, Loss])
    branches: dict[int, Branch] = field(default_factory=dict[int, Branch])
    moves: dict[int, Move] = field(default_factory=dict[int, Move])
    checkpoints: dict[int, Checkpoint] = field(default_factory=dict[int, Checkpoint])
    seats: dict[str, Seat] = field(default_factory=dict[str, Seat])
    queue: dict[str, QueuedInput] = field(default_factory=dict[str, QueuedInput])
    producers: dict[str, ProducerStamp] = field(default_factory=dict[str, ProducerStamp])
    tail: Tail = field(default_factory=Tail)

    def apply(self, changes: Changes) -> None:
        """Take over what a fact changed."""
        self.head = changes.head
        if changes.head.status == "purged":
            self._clear()
            return
        for turn in changes.turns:
            self.turns[turn.turn_id] = turn
        for call in changes.calls:
            key = (call.turn_id, call.tool_call_id)
            self.calls[key] = _placed_call(self.calls.get(key, ()), call)
        for gate in changes.gates:
            self.gates[gate.gate_id] = gate
        for message in changes.messages:
            self.messages[message.index] = message
            if message.named:
                self.message_ids[message.message_id] = message.index
        for loss in changes.losses:
            self.losses[loss.version] = loss
        self._apply_others(changes)
        if changes.tail is not None:
            self.tail = changes.tail
        if changes.producer is not None:
            self.producers[changes.producer.producer_id] = changes.producer

    def _clear(self) -> None:
        for records in (
            self.turns,
            self.calls,
            self.gates,
            self.messages,
            self.message_ids,
            self.losses,
            self.branches,
            self.moves,
            self.checkpoints,
            self.seats,
            self.queue,
            self.producers,
        ):
            records.clear()
        self.tail = Tail()

    def _apply_others(self, changes: Changes) -> None:
        for branch in changes.branches:
            self.branches[branch.first_turn] = branch
        for move in changes.moves:
            self.moves[move.version] = move
        for checkpoint in changes.checkpoints:
            self.checkpoints[checkpoint.version] = checkpoint
        for seat in changes.seats:
            self.seats[seat.seat_id] = seat
        for queued in changes.queue:
            self.queue[queued.queue_id] = queued

    def copy(self) -> "State":
        """Return a state that can change without changing this one."""
        return State(
            head=self.head,
            turns=dict(self.turns),
            calls=dict(self.calls),
            gates=dict(self.gates),
            messages=dict(self.messages),
            message_ids=dict(self.message_ids),
            losses=dict(self.losses),
            branches=dict(self.branches),
            moves=dict(self.moves),
            checkpoints=dict(self.checkpoints),
            seats=dict(self.seats),
            queue=dict(self.queue),
            producers=dict(self.producers),
            tail=self.tail,
        )


def _placed_call(occurrences: tuple[Call, ...], call: Call) -> tuple[Call, ...]:
    others = [known for known in occurrences if known.occurrence != call.occurrence]
    return tuple(sorted([*others, call], key=_occurrence)) if others else (call,)


def _occurrence(call: Call) -> int:
    return call.occurrence


def open_calls(state: "State") -> list[Call]:
    """Return the calls without a result of the turn that has not ended."""
    return [
        call
        for (turn_id, _), occurrences in state.calls.items()
        for call in occurrences
        if turn_id == state.head.turn_id and call.status == "open"
    ]


def open_gates(gates: Mapping[str, Gate], turn_id: str) -> Iterable[Gate]:
    """Yield the open gates of a turn, in the order in which they opened."""
    return sorted(
        (gate for gate in gates.values() if gate.turn_id == turn_id and gate.status == "open"),
        key=lambda gate: gate.opened_version,
    )
