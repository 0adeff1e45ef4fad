"""Laws of the core, over histories that nobody would write by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from domain import commands as c
from domain import events as e
from domain.carry_out import Outcome, Stamp, carry_out
from domain.decided import Decided
from domain.evolve import fold, message_index, summary_parts
from domain.fingerprints import EMPTY, chain, digest, is_empty
from domain.keys import keys_of
from domain.messages import CONFIGURATION, Message, Role, readable
from domain.paths import found_in, runs, spot_of
from domain.pieces import merge, pieces_of
from domain.raw_json import RawJson
from domain.recorded import GENESIS, Envelope, ProducerStamp, Recorded, chained_hash
from domain.refusals import Refusal
from domain.restrict import restrict
from domain.state import Piece, Placed, State
from tests.scenario import (
    RUNNER,
    asked,
    called,
    ended,
    interrupted,
    record,
    recorded,
    returned,
    said,
    started,
)

COUNT: Final = settings(max_examples=40, deadline=None, derandomize=True)

NOW: Final = "now"
"""Stands for the turn that runs when the step is tried; one is begun if none does."""

TURNS = st.sampled_from([NOW] * 9 + ["t1", "t2", "t3"])
CALLS = st.sampled_from(["c1", "c2"])
GATES = st.sampled_from(["g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8"])
ALIASES = st.sampled_from(["p1", "p2"])
ROLES: SearchStrategy[Role] = st.sampled_from(["user", "assistant", "assistant", "system"])
MESSAGES = st.sampled_from([f"m{n}" for n in range(1, 7)] * 3 + ["t1:1", "t2:2", "t9:1", "\0"])
TEXTS = st.sampled_from(["", "a", "b", " "])


@st.composite
def messages(draw: st.DrawFn) -> Message:
    role: Role = draw(ROLES)
    content = draw(
        st.one_of(
            TEXTS,
            st.just(()),
            st.just(
                (
                    {"type": "text", "text": "x"},
                    {"type": "x-new", "value": RawJson(b"1.50")},
                )
            ),
        )
    )
    return Message(
        role=role,
        content=content,
        message_id=draw(st.none() | MESSAGES),
        status=draw(st.sampled_from(["complete", "complete", "partial"])),
    )


def maybe(strategy: SearchStrategy[str]) -> SearchStrategy[str | None]:
    return st.none() | strategy


CONTENT = st.one_of(
    st.builds(e.TurnStarted, turn_id=TURNS, messages=st.lists(messages(), max_size=2).map(tuple)),
    st.builds(started, TURNS),
    st.builds(e.MessageRecorded, turn_id=TURNS, message=messages()),
    st.builds(said, TEXTS, turn_id=TURNS),
    st.builds(called, CALLS, turn_id=TURNS),
    st.builds(returned, CALLS, turn_id=TURNS),
    st.builds(
        e.HistoryCompacted,
        summary=TEXTS,
        through_message_id=MESSAGES
        | st.builds("{}:{}".format, st.sampled_from(["t1", "t2", "t3"]), st.integers(1, 4)),
        since_version=st.none() | st.none() | st.integers(0, 30),
    ),
)
ENDS = st.one_of(
    st.builds(ended, TURNS, st.none() | st.integers(-1, 4)),
    st.builds(interrupted, TURNS),
    st.builds(
        e.TurnFailed, turn_id=TURNS, error=st.just(e.TurnError(code="api")), record_count=st.none()
    ),
)
WAITING = st.one_of(
    st.builds(
        asked,
        GATES,
        turn_id=TURNS,
        kind=st.sampled_from(["permission", "permission", "input"]),
        call=maybe(CALLS),
        tool=maybe(st.just("write")),
        permission=maybe(ALIASES),
    ),
    st.builds(
        e.GateDecided,
        gate_id=maybe(GATES),
        permission_id=maybe(ALIASES),
        tool_call_id=maybe(CALLS),
        verdict=st.sampled_from(["approved", "approved", "denied", "answered"]),
        decided_by=st.sampled_from(["person", "policy", "timeout", "cancelled"]),
        via=st.just("in-band"),
    ),
    st.builds(e.GateExpired, gate_id=GATES),
    st.builds(e.GateWithdrawn, gate_id=GATES, reason=st.just("cancelled")),
)
MOVES: SearchStrategy[e.SessionEvent] = st.one_of(
    st.builds(
        e.HistoryRewound,
        turn_id=st.sampled_from(["t1", "t2", "t3", "t9"]),
        from_version=st.integers(1, 30),
        through_version=st.integers(1, 30),
        turns=st.just(1),
        messages=st.just(1),
    ),
    st.builds(
        e.RewindReverted,
        rewind_version=st.integers(-1, 30),
        turns=st.just(1),
        messages=st.just(1),
    ),
)
KEPT = st.one_of(
    st.builds(
        e.UsageRecorded,
        turn_id=TURNS,
        model=st.just("m"),
        input_tokens=st.integers(-1, 3),
        output_tokens=st.just(1),
    ),
    st.builds(e.DataRecorded, kind=st.just("trace"), data=st.none(), turn_id=maybe(TURNS)),
    st.builds(e.RecordsLost, count=st.none(), reason=st.just("crash"), turn_id=maybe(TURNS)),
    st.builds(e.LossHealed, loss_version=st.integers(0, 12)),
    st.builds(e.SessionRenamed, title=maybe(st.just("Trip"))),
)
EVENTS: SearchStrategy[e.SessionEvent] = st.one_of(
    CONTENT, CONTENT, CONTENT, CONTENT, WAITING, WAITING, WAITING, ENDS, KEPT
)
WHEREABOUTS = st.sampled_from(
    [
        e.SessionOpened(),
        e.SessionArchived(),
        e.SessionArchived(reason="agent-close"),
        e.SessionPinned(pinned=True),
        e.SessionUnarchived(),
        e.SessionDeleted(),
        e.SessionRestored(),
        e.SessionConfigured(config=RawJson(b"{}")),
        e.ApprovalModeSet(mode="deny-all"),
        e.HistoryImported(format="x", source_name="x", lines=1, digest="00", from_version=1),
    ]
)
OPAQUE = st.builds(e.Opaque, reason=st.sampled_from(["unknown-type", "unreadable", "missing-body"]))
FACTS: SearchStrategy[e.Fact] = st.one_of(EVENTS, EVENTS, EVENTS, MOVES, WHEREABOUTS, OPAQUE)

NEWEST: Final = 2**39
"""Stands for the newest rewind that there is when the step is tried."""

REWINDS: SearchStrategy[c.Rewind] = st.one_of(
    st.builds(c.Rewind, turns=st.integers(1, 3), interrupt=st.just(value=True)),
    st.builds(c.Rewind, turns=st.integers(0, 3), interrupt=st.booleans()),
    st.builds(c.Rewind, to_turn=st.sampled_from(["t1", "t2", "t3"]), interrupt=st.booleans()),
    st.builds(c.Rewind, before_message=MESSAGES),
    st.builds(c.Rewind, to_version=st.integers(0, 40), interrupt=st.booleans()),
    st.just(c.Rewind()),
)
REDOS: SearchStrategy[c.Redo] = st.builds(
    c.Redo,
    rewind_version=st.sampled_from([None, None, NEWEST, NEWEST, NEWEST]) | st.integers(0, 40),
    interrupt=st.booleans(),
)
COMMANDS: SearchStrategy[c.SessionCommand] = st.one_of(
    st.builds(c.InterruptTurn, turn_id=TURNS, reason=st.just("owner-lost")),
    st.sampled_from(
        [
            c.ArchiveSession(),
            c.ArchiveSession(reason="agent-close"),
            c.PinSession(pinned=True),
            c.UnarchiveSession(),
            c.UnarchiveSession(),
            c.DeleteSession(),
            c.RestoreSession(),
            c.RestoreSession(),
            c.RenameSession(title="Trip"),
            c.OpenSession(),
            c.SetApprovalMode(mode="deny-all"),
        ]
    ),
)


@dataclass(frozen=True)
class Step:
    """What one caller asks for at once."""

    commands: tuple[c.SessionCommand, ...]
    producer: ProducerStamp | None


SOME: Final = st.lists(EVENTS, min_size=1, max_size=4)
REWIND: Final = st.lists(REWINDS, max_size=1)


@st.composite
def batches(draw: st.DrawFn) -> Step:
    events = draw(SOME)
    rewinds = draw(REWIND) if draw(st.booleans()) else []
    epoch = draw(st.sampled_from([1, 1, 2]))
    producer = ProducerStamp(
        producer_id="gateway", epoch=epoch, sequence=draw(st.sampled_from([1, 1, 2, 3]))
    )
    begin = c.BeginBatch(
        batch=c.Batch(
            producer_id="gateway",
            epoch=producer.epoch,
            sequence=producer.sequence,
            current=producer.epoch,
        ),
        events=len(events),
        opens_with_loss=draw(st.booleans()),
    )
    return Step(commands=(begin, *rewinds, *map(record, events)), producer=producer)


SINGLE = st.one_of(
    EVENTS.map(lambda event: Step(commands=(record(event),), producer=RUNNER)),
    EVENTS.map(lambda event: Step(commands=(record(event, imported=True),), producer=None)),
)
IMPORTS = SOME.map(
    lambda events: Step(
        commands=tuple(record(event, imported=True) for event in events), producer=None
    )
)
STEPS = st.one_of(
    SINGLE,
    SINGLE,
    SINGLE,
    SINGLE,
    batches(),
    batches(),
    IMPORTS,
    COMMANDS.map(lambda command: Step(commands=(command,), producer=None)),
    REWINDS.map(lambda command: Step(commands=(command,), producer=None)),
    REDOS.map(lambda command: Step(commands=(command,), producer=None)),
    st.tuples(REWINDS, EVENTS.map(record)).map(
        lambda commands: Step(commands=commands, producer=RUNNER)
    ),
)
HISTORIES = st.lists(STEPS, min_size=15, max_size=45)


@dataclass
class Log:
    """A session as it grows, with the facts that made it."""

    state: State = field(default_factory=State)
    facts: list[Recorded] = field(default_factory=list[Recorded])

    def attempt(self, state: State, step: Step) -> Outcome | Refusal:
        """Carry `step` out on `state`, which knows all or just enough of this log."""
        minted = iter(range(len(self.facts) + 1, len(self.facts) + 100))

        def mint() -> tuple[str, bytes]:
            number = next(minted)
            return f"event-{number}", number.to_bytes(16, "big")

        stamp = Stamp(
            project_id="default",
            session_id="chat",
            now=1,
            mint=mint,
            encode=own_body,
            producer=step.producer,
            batch=len(step.commands),
        )
        try:
            return carry_out(state, step.commands, stamp)
        except Refusal as refusal:
            return refusal

    def take(self, outcome: Outcome | Refusal) -> None:
        """Go on from `outcome`."""
        if isinstance(outcome, Outcome):
            self.state = outcome.state
            self.facts.extend(outcome.facts)


def in_its_turn(step: Step, state: State) -> Step:
    """Return `step` with the running turn where it says `NOW`, or with a new one begun first."""
    match step.commands:
        case (c.Redo(rewind_version=version) as redo,) if version == NEWEST:
            rewinds = [move.version for move in state.moves.values() if move.kind == "rewound"]
            redo = replace(redo, rewind_version=max(rewinds, default=NEWEST))
            return replace(step, commands=(redo,))
        case _:
            pass
    wanted = [c for c in step.commands if getattr(subject(c), "turn_id", None) == NOW]
    if not wanted:
        return step
    turn_id = state.head.turn_id or f"t{state.head.started + 1}"
    commands = [renamed(command, turn_id) for command in step.commands]
    starts = any(isinstance(subject(command), e.TurnStarted) for command in commands)
    if state.head.turn_id is None and not starts:
        begins = sum(isinstance(command, c.BeginBatch | c.Rewind) for command in commands)
        commands.insert(begins, record(started(turn_id)))
    return replace(step, commands=tuple(commands))


def subject(command: c.SessionCommand) -> object:
    return command.proposal.event if isinstance(command, c.Record) else command


def renamed(command: c.SessionCommand, turn_id: str) -> c.SessionCommand:
    if getattr(subject(command), "turn_id", None) != NOW:
        return command
    if isinstance(command, c.InterruptTurn):
        return replace(command, turn_id=turn_id)
    assert isinstance(command, c.Record)
    event = cast("e.MessageRecorded", command.proposal.event)  # any of those that name a turn
    event = replace(event, turn_id=turn_id)
    return record(event, imported=command.imported)


def own_body(decided: Decided) -> bytes:
    return decided.type.encode()


def grown(history: Sequence[Step]) -> Log:
    log = Log()
    log.take(log.attempt(log.state, Step(commands=(c.OpenSession(),), producer=None)))
    for step in history:
        log.take(log.attempt(log.state, in_its_turn(step, log.state)))
    return log


Compared: TypeAlias = tuple[object, ...]


def compared(outcome: Outcome | Refusal) -> Compared:
    if isinstance(outcome, Refusal):
        return type(outcome), outcome.at, outcome.detail
    return outcome.facts, outcome.changes, outcome.proposed, outcome.state.head


@COUNT
@given(st.lists(FACTS, max_size=40), st.booleans())
def test_any_facts_in_any_order_fold(events: list[e.Fact], from_producer: bool) -> None:
    facts = recorded(*events, producer=RUNNER if from_producer else None)
    state = fold(facts)
    assert state.head.version == len(facts)
    assert state.head.hash == (facts[-1].hash if facts else GENESIS)
    assert sorted(state.messages) == list(range(state.head.placed))
    assert state.head.open_gates == sum(g.status == "open" for g in state.gates.values())
    assert_chained(facts, state)


@COUNT
@given(HISTORIES)
def test_a_look_up_decides_as_the_whole_session_does(history: list[Step]) -> None:
    log = Log()
    log.take(log.attempt(log.state, Step(commands=(c.OpenSession(),), producer=None)))
    for drawn in history:
        step = in_its_turn(drawn, log.state)
        outcome = log.attempt(log.state, step)
        looked_up = log.attempt(restrict(log.state, keys_of(step.commands)), step)
        assert compared(looked_up) == compared(outcome)
        log.take(outcome)
        assert_consistent(log.state)
    assert [fact.version for fact in log.facts] == list(range(1, len(log.facts) + 1))
    again = fold(log.facts)
    assert replace(again, tail=log.state.tail) == log.state


@COUNT
@given(HISTORIES)
def test_both_fingerprints_are_those_of_a_fresh_reading(history: list[Step]) -> None:
    log = grown(history)
    assert_chained(log.facts, log.state)


def assert_consistent(state: State) -> None:
    head = state.head
    assert head.open_gates == sum(gate.status == "open" for gate in state.gates.values())
    assert head.open_losses == sum(loss.healed_version is None for loss in state.losses.values())
    assert head.started == len(state.turns)
    assert sorted(state.messages) == list(range(head.placed))
    assert len(in_sight(state)) == head.messages
    assert (head.turn_tip == head.started) or head.turn_id is None
    running = [turn.turn_id for turn in state.turns.values() if turn.status == "running"]
    assert running == ([] if head.turn_id is None else [head.turn_id])
    for turn in state.turns.values():
        calls = [
            call
            for key, occurrences in state.calls.items()
            if key[0] == turn.turn_id
            for call in occurrences
        ]
        assert turn.open_calls == sum(call.status == "open" for call in calls)
        assert turn.gated_calls == sum(call.gated for call in calls)
        assert all(call.status == "open" for call in calls if call.gated)
        assert turn.calls == sum(call.requested_version is not None for call in calls)
        gates = [gate for gate in state.gates.values() if gate.turn_id == turn.turn_id]
        assert turn.open_gates == sum(gate.status == "open" for gate in gates)
        own = [m.index for m in state.messages.values() if m.turn_id == turn.turn_id]
        assert own == list(range(turn.first_message, turn.first_message + turn.messages))
    assert_named(state)


def in_sight(state: State) -> list[Placed]:
    """Return the messages in sight, in order; those that a damaged log has lost are left out."""
    found = runs(found_in(state.branches), spot_of(state.head), 0, state.head.messages)
    indexes = [index for run in found for index in range(run.first, run.end)]
    return [state.messages[index] for index in indexes]


def assert_named(state: State) -> None:
    """A message is found by its name, unless an older one had it before its turn began."""
    versions = [v for _, placed in sorted(state.messages.items()) for v in placed.versions]
    assert versions == sorted(versions)
    for placed in state.messages.values():
        found = message_index(state, placed.message_id)
        if found != placed.index:
            assert not placed.named
            assert found is not None
            assert found < state.turns[placed.turn_id].first_message


def assert_chained(facts: Sequence[Recorded], state: State) -> None:
    seen = in_sight(state)
    digests = said_digests(facts, seen)
    assert [placed.digest for placed in seen] == digests
    assert state.head.fingerprint == chained(EMPTY, digests)
    model = EMPTY
    if state.head.summary_version is not None:
        summary = facts[state.head.summary_version - 1].event
        assert isinstance(summary, e.HistoryCompacted)
        model = chain(EMPTY, digest("user", readable(summary_parts(summary))))
    assert state.head.model_fingerprint == chained(model, digests[state.head.archived :])
    if digests:
        last = seen[-1]
        assert last.fingerprint == state.head.fingerprint
        if max(state.moves, default=0) < last.versions[-1]:
            assert last.model_fingerprint == state.head.model_fingerprint


def said_digests(facts: Sequence[Recorded], seen: Sequence[Placed]) -> list[bytes | None]:
    digests: list[bytes | None] = []
    for placed in seen:
        said_here = readable(piece.part for piece in assembled(facts, placed))
        configures = placed.role in CONFIGURATION and not any(digests)
        silent = configures or is_empty(said_here)
        digests.append(None if silent else digest(placed.role, said_here))
    return digests


def assembled(facts: Sequence[Recorded], placed: Placed) -> tuple[Piece, ...]:
    pieces: tuple[Piece, ...] = ()
    for version in placed.versions:
        pieces = merge(pieces, pieces_of(facts[version - 1].event, version, placed.item))
    return pieces


def chained(start: bytes, digests: Sequence[bytes | None]) -> bytes:
    for said_here in digests:
        start = start if said_here is None else chain(start, said_here)
    return start


def altered(envelope: Envelope) -> list[Envelope]:
    return [
        envelope._replace(type="session-renamed!"),
        envelope._replace(recorded_at=envelope.recorded_at + 1),
        envelope._replace(actor="somebody else"),
        envelope._replace(turn_id="t8"),
        envelope._replace(body_digest=b"\1" * 32),
        envelope._replace(affects="none" if envelope.affects == "history" else "history"),
        envelope._replace(batch=99),
    ]


@COUNT
@given(HISTORIES, st.data())
def test_a_chain_that_was_altered_anywhere_is_noticed(
    history: list[Step], data: st.DataObject
) -> None:
    facts = grown(history).facts
    assert first_bad(facts) is None
    at = data.draw(st.integers(0, len(facts) - 1))
    other = data.draw(st.sampled_from(altered(facts[at].envelope)))
    assert first_bad([*facts[:at], facts[at]._replace(envelope=other), *facts[at + 1 :]]) == at
    rehashed = facts[at]._replace(envelope=other, hash=chained_hash(other, facts[at].previous))
    following = at + 1 if at + 1 < len(facts) else None
    assert first_bad([*facts[:at], rehashed, *facts[at + 1 :]]) == following
    if following is not None:
        assert first_bad([*facts[:at], *facts[at + 1 :]]) == at


def first_bad(facts: Sequence[Recorded]) -> int | None:
    previous = GENESIS
    for number, fact in enumerate(facts):
        envelope: Envelope = fact.envelope
        gapless = envelope.version == number + 1
        if not gapless or fact.hash != chained_hash(envelope, previous):
            return number
        previous = fact.hash
    return None
