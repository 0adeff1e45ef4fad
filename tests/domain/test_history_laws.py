"""Whatever is said, summed up, rewound and redone, what is in sight is what a plain list has.

A naive copy of the whole history is kept for every place that one can go back to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from domain import commands as c
from domain import events as e
from domain.carry_out import Outcome, Stamp, carry_out
from domain.evolve import fold
from domain.fingerprints import EMPTY, chain, digest
from domain.keys import keys_of
from domain.messages import readable
from domain.paths import found_in, index_in_sight, runs, spot_of, turn_in_sight
from domain.pieces import summary_parts
from domain.recorded import Recorded
from domain.refusals import (
    InvalidValue,
    NoSuchMessage,
    NoSuchRewind,
    NoSuchTurn,
    NothingToRedo,
    NothingToRewind,
    Refusal,
    TurnInProgress,
)
from domain.restrict import restrict
from domain.state import Head, State
from tests.scenario import (
    RUNNER,
    approved,
    asked,
    called,
    compacted,
    ended,
    interrupted,
    message,
    record,
    returned,
    said,
)

NUMBERS: Final = st.integers(0, 10_000)
"""Which of those that there are; counted round."""
INTERRUPT: Final = st.sampled_from([True, True, True, False])


WHAT: Final = (
    *("more", "silence", "another", "user"),
    *("call", "call", "other call", "answer", "answer", "other answer"),
    *("gate", "question", "decision", "summary"),
)
ENDS: Final = ("completed", "completed", "counted", "miscounted", "interrupted")


@dataclass(frozen=True)
class Seen:
    """What is in sight, in whole.

    Attributes:
        messages: Indexes, in order.
        summary: What stands for the first `archived` of them, and its version.
    """

    messages: tuple[int, ...] = ()
    turns: tuple[str, ...] = ()
    archived: int = 0
    summary: tuple[bytes, int | None] = (EMPTY, None)
    unverified: int = 0
    miscounted: int = 0


class Histories(RuleBasedStateMachine):
    """A session, and beside it all that it ever showed."""

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.facts: list[Recorded] = []
        self.seen = Seen()
        self.before_turn: dict[str, Seen] = {}
        self.before_rewind: dict[int, tuple[Seen, int | None]] = {}
        self.redo_at: int | None = None
        self.carry_out(c.OpenSession())

    # What is said

    @rule(
        inputs=st.lists(st.sampled_from(["user", "user", "system"]), max_size=2),
        what=st.lists(st.sampled_from(WHAT), max_size=5),
        end=st.sampled_from([*ENDS, "not yet"]),
    )
    def work(self, inputs: list[str], what: list[str], end: str) -> None:
        """Go on with the turn that runs, or with a new one; end it, or leave it."""
        self.go_on(inputs, what, end)

    def go_on(self, inputs: list[str], what: list[str], end: str) -> None:
        if self.state.head.turn_id is None:
            self.start(inputs)
        for each in what:
            self.happen(each)
        if end in ENDS:
            self.end(end)

    @rule(what=st.lists(st.sampled_from(WHAT), min_size=1, max_size=3), end=st.sampled_from(ENDS))
    def take_a_turn(self, what: list[str], end: str) -> None:
        """Have a turn from its question to its end, or end the one that runs."""
        self.go_on(["user"], what, end)

    def start(self, inputs: list[str]) -> None:
        number = self.state.head.started + 1
        messages = [
            message(f"u{number}", "system" if role == "system" else "user", f"in{number}.{n}")
            for n, role in enumerate(inputs)
        ]
        event = e.TurnStarted(turn_id=f"t{number}", messages=tuple(messages))
        self.carry_out(record(event, imported=not messages))

    def happen(self, what: str) -> None:
        turn_id, number = self.running, len(self.facts)
        waiting = [g.gate_id for g in self.state.gates.values() if g.status == "open"]
        made: dict[str, e.SessionEvent] = {
            "more": said(f"s{number}", turn_id=turn_id),
            "silence": said("", turn_id=turn_id),
            "another": said("s", message_id=f"m{number}", turn_id=turn_id),
            "user": said("u", "user", turn_id=turn_id),
            "call": called("c1", turn_id=turn_id),
            "other call": called("c2", turn_id=turn_id),
            "answer": returned("c1", turn_id=turn_id),
            "other answer": returned("c2", turn_id=turn_id),
            "gate": asked(f"g{number}", turn_id=turn_id, call="c1", tool="write"),
            "question": asked(f"g{number}", turn_id=turn_id, kind="input"),
            "decision": approved(waiting[-1] if waiting else "g0"),
        }
        if what == "summary":
            self.sum_up(number)
        else:
            self.carry_out(record(made[what]))

    def end(self, how: str) -> None:
        records = self.state.turns[self.running].records
        counts = {"completed": None, "counted": records, "miscounted": records + 1}
        over = how == "interrupted"
        event = interrupted(self.running) if over else ended(self.running, counts[how])
        self.carry_out(record(event))

    @rule(call=st.sampled_from(["c1", "c2"]), turn=NUMBERS)
    def answer_late(self, call: str, turn: int) -> None:
        """Bring the result of a call of some turn, be it over, or rewound."""
        if self.state.turns:
            turn_id = [*self.state.turns][turn % len(self.state.turns)]
            self.carry_out(record(returned(call, turn_id=turn_id)))

    @rule(depth=NUMBERS)
    def have_a_summary(self, depth: int) -> None:
        """Let a summary stand for what is in sight up to a message."""
        self.sum_up(depth)

    def sum_up(self, depth: int) -> None:
        if self.seen.messages:
            index = self.seen.messages[depth % len(self.seen.messages)]
            through = self.state.messages[index].message_id
            taken = self.carry_out(record(compacted(through)))
            assert taken is None or isinstance(taken, InvalidValue)
            self.carry_out(record(compacted(through), imported=True))

    # Back and forth: mostly where there is something to go back to

    @precondition(lambda self: self.seen.turns or len(self.facts) % 5 == 0)
    @rule(turns=st.sampled_from([1, 1, 1, 1, 2, 2, 3, 99, 0, -1]), interrupt=INTERRUPT)
    def rewind_by_count(self, turns: int, interrupt: bool) -> None:
        """Take some turns out."""
        there = len(self.seen.turns)
        expected: int | type[Refusal] = max(0, there - turns)
        if turns < 1:
            expected = InvalidValue
        elif not there:
            expected = NothingToRewind
        self.rewind(c.Rewind(turns=turns, interrupt=interrupt), expected)

    @precondition(lambda self: self.seen.turns or len(self.facts) % 5 == 0)
    @rule(turn=NUMBERS, interrupt=INTERRUPT)
    def rewind_to_turn(self, turn: int, interrupt: bool) -> None:
        """Take out a turn, in sight or not, and all after it."""
        seen = self.seen.turns
        turn_id = f"t{turn // 4 % (self.state.head.started + 2)}"
        if turn % 4 and seen:
            turn_id = seen[turn // 4 % len(seen)]
        expected = seen.index(turn_id) if turn_id in seen else NoSuchTurn
        self.rewind(c.Rewind(to_turn=turn_id, interrupt=interrupt), expected)

    @precondition(lambda self: self.seen.turns or len(self.facts) % 5 == 0)
    @rule(at=NUMBERS, interrupt=INTERRUPT)
    def rewind_before_message(self, at: int, interrupt: bool) -> None:
        """Take out the turn that begins with a message, in sight or not."""
        if not self.state.messages:
            return
        found = self.state.messages[at // 4 % len(self.state.messages)]
        if at % 4:
            found = self.state.messages[self.state.turns[found.turn_id].first_message]
        expected: int | type[Refusal] = NoSuchMessage
        if found.index in self.seen.messages:
            first = found.versions[0] == self.state.turns[found.turn_id].started_version
            expected = self.seen.turns.index(found.turn_id) if first else InvalidValue
        self.rewind(c.Rewind(before_message=found.message_id, interrupt=interrupt), expected)

    @precondition(lambda self: self.seen.turns or len(self.facts) % 5 == 0)
    @rule(version=NUMBERS, interrupt=INTERRUPT)
    def rewind_to_version(self, version: int, interrupt: bool) -> None:
        """Take out what started after a version."""
        ends = [turn.ended_version for turn in self.state.turns.values() if turn.ended_version]
        edge = version % 4 and ends
        version = ends[version // 4 % len(ends)] if edge else version // 4 % (len(self.facts) + 2)
        turns = [self.state.turns[turn_id] for turn_id in self.seen.turns]
        kept = [turn for turn in turns if turn.started_version <= version]
        inside = kept and not (kept[-1].ended_version or len(self.facts) + 9) <= version
        expected: int | type[Refusal] = len(kept)
        if inside or not 0 < version <= len(self.facts):
            expected = InvalidValue
        elif len(kept) == len(turns):
            expected = NothingToRewind
        self.rewind(c.Rewind(to_version=version, interrupt=interrupt), expected)

    @precondition(lambda self: self.redo_at or len(self.facts) % 5 == 0)
    @rule(interrupt=INTERRUPT)
    def redo(self, interrupt: bool) -> None:
        """Bring back what was rewound last."""
        expected = NothingToRedo if self.redo_at is None else self.redo_at
        self.restore(c.Redo(interrupt=interrupt), expected)

    @precondition(lambda self: self.redo_at)
    @rule()
    def redo_at_once(self) -> None:
        """Bring it back while it can be."""
        self.redo(interrupt=False)

    @precondition(lambda self: self.before_rewind)
    @rule(which=NUMBERS, interrupt=INTERRUPT)
    def switch(self, which: int, interrupt: bool) -> None:
        """Go to where some rewind was made."""
        version = [*self.before_rewind][which % len(self.before_rewind)]
        self.restore(c.Redo(rewind_version=version, interrupt=interrupt), version)

    @precondition(lambda self: len(self.facts) % 5 == 0)
    @rule(version=st.integers(-1, 60))
    def change_nothing(self, version: int) -> None:
        """Name a version at which nothing was rewound; change what is no history."""
        if version not in self.before_rewind:
            expected = NoSuchRewind if version > 0 else InvalidValue
            self.restore(c.Redo(rewind_version=version), expected)
        self.carry_out(c.RenameSession(title=f"title {len(self.facts)}"))

    # What is expected

    @property
    def running(self) -> str:
        return self.state.head.turn_id or ""

    @property
    def busy(self) -> bool:
        turn = self.state.turns.get(self.running)
        return turn is not None and not turn.paused

    def rewind(self, command: c.Rewind, expected: int | type[Refusal]) -> None:
        """Expect that the turns from one on go, or this refusal."""
        before = self.seen
        if isinstance(expected, int) and self.busy and not command.interrupt:
            expected = TurnInProgress
        refusal = self.carry_out(command)
        if not isinstance(expected, int):
            assert type(refusal) is expected
            return
        turn_id = before.turns[expected]
        at_start = self.before_turn[turn_id]
        assert (refusal, self.seen) == (None, at_start)
        assert self.facts[-1].event == e.HistoryRewound(
            turn_id=turn_id,
            from_version=self.state.turns[turn_id].started_version,
            through_version=len(self.facts) - 1,
            turns=len(before.turns) - expected,
            messages=len(before.messages) - len(at_start.messages),
        )
        assert self.state.head.redo == len(self.facts)

    def restore(self, command: c.Redo, expected: int | type[Refusal]) -> None:
        """Expect that what a rewind took out is back, or this refusal."""
        before = self.seen
        nowhere: tuple[Seen, int | None] = (before, None)
        wanted, redo = nowhere
        if isinstance(expected, int):
            wanted, redo = self.before_rewind.get(expected, nowhere)
        pairs = [*zip(before.turns, wanted.turns, strict=False)]
        shared = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
        if isinstance(expected, int) and shared == len(wanted.turns):
            expected = NothingToRedo
        if isinstance(expected, int) and self.busy and not command.interrupt:
            expected = TurnInProgress
        done = len(self.facts)
        refusal = self.carry_out(command)
        if not isinstance(expected, int):
            assert type(refusal) is expected
            return
        assert (refusal, self.seen, self.state.head.redo) == (None, wanted, redo)
        *others, last = [fact.event for fact in self.facts[done:]]
        held = self.before_turn[wanted.turns[shared]].messages
        assert last == e.RewindReverted(
            rewind_version=expected,
            turns=len(wanted.turns) - shared,
            messages=len(wanted.messages) - len(held),
        )
        rewound = [event for event in others if isinstance(event, e.HistoryRewound)]
        assert [event.turn_id for event in rewound] == [*before.turns[shared : shared + 1]]

    # How it comes about

    def carry_out(self, *steps: c.SessionCommand) -> Refusal | None:
        """Have all of the session decide, and what a look-up gives of it: they are of one mind."""
        outcome = self.attempt(self.state, steps)
        looked_up = self.attempt(restrict(self.state, keys_of(steps)), steps)
        if isinstance(outcome, Refusal) or isinstance(looked_up, Refusal):
            assert (type(outcome), str(outcome)) == (type(looked_up), str(looked_up))
            assert isinstance(outcome, Refusal)
            return outcome
        assert (looked_up.facts, looked_up.changes) == (outcome.facts, outcome.changes)
        self.state = outcome.state
        for fact, changes in zip(outcome.facts, outcome.changes, strict=True):
            self.facts.append(fact)
            self.take(fact, changes.head)
        return None

    def attempt(self, state: State, steps: Sequence[c.SessionCommand]) -> Outcome | Refusal:
        numbers = iter(range(1_000))
        stamp = Stamp(
            project_id="default",
            session_id="chat",
            now=1,
            mint=lambda: (f"event-{len(self.facts)}-{next(numbers)}", bytes(16)),
            encode=lambda decided: decided.type.encode(),
            producer=RUNNER,
        )
        try:
            return carry_out(state, steps, stamp)
        except Refusal as refusal:
            return refusal

    def take(self, fact: Recorded, head: Head) -> None:
        """Do to the copy what a fact says."""
        seen, redo = self.seen, self.redo_at
        if fact.envelope.affects == "history":
            self.redo_at = None
        match fact.event:
            case e.TurnStarted(turn_id=turn_id):
                self.before_turn[turn_id] = seen
                seen = replace(seen, turns=(*seen.turns, turn_id))
            case e.HistoryCompacted() as event:
                parts = readable(summary_parts(event))
                through = self.state.message_ids.get(event.through_message_id)
                if through is None:
                    through = next(
                        placed.index
                        for placed in self.state.messages.values()
                        if placed.message_id == event.through_message_id
                    )
                seen = replace(
                    seen,
                    archived=max(seen.archived, seen.messages.index(through) + 1),
                    summary=(chain(EMPTY, digest("user", parts)), fact.version),
                )
            case e.HistoryRewound(turn_id=turn_id):
                self.before_rewind[fact.version] = (seen, redo)
                self.redo_at, seen = fact.version, self.before_turn[turn_id]
            case e.RewindReverted(rewind_version=version):
                seen, self.redo_at = self.before_rewind[version]
            case _:
                seen = replace(
                    seen, unverified=head.unverified_turns, miscounted=head.miscounted_turns
                )
        new = tuple(
            placed.index
            for placed in self.state.messages.values()
            if placed.versions[0] == fact.version
        )
        self.seen = replace(seen, messages=(*seen.messages, *new))
        assert (head.redo, head.messages) == (self.redo_at, len(self.seen.messages))

    @invariant()
    def the_head_says_what_is_in_sight(self) -> None:
        head, seen = self.state.head, self.seen
        digests = [self.state.messages[index].digest for index in seen.messages]
        assert head.fingerprint == chained(EMPTY, digests)
        assert head.model_fingerprint == chained(seen.summary[0], digests[seen.archived :])
        assert (head.messages, head.turns) == (len(seen.messages), len(seen.turns))
        assert (head.placed, head.started) == (len(self.state.messages), len(self.state.turns))
        assert (head.archived, head.summary_version) == (seen.archived, seen.summary[1])
        assert head.tip == (seen.messages[-1] if seen.messages else -1)
        assert (head.unverified_turns, head.miscounted_turns) == (seen.unverified, seen.miscounted)

    @invariant()
    def the_way_leads_through_what_is_in_sight(self) -> None:
        find, here = found_in(self.state.branches), spot_of(self.state.head)
        found = runs(find, here, 0, self.state.head.messages)
        indexes = [index for run in found for index in range(run.first, run.end)]
        assert indexes == [*self.seen.messages]
        turns = sorted(self.state.turns.values(), key=lambda turn: turn.number)
        in_sight = [turn.turn_id for turn in turns if turn_in_sight(find, here, turn.number)]
        assert in_sight == [*self.seen.turns]
        rest = [n for n in self.state.messages if not index_in_sight(find, here, n)]
        assert sorted([*rest, *self.seen.messages]) == list(range(self.state.head.placed))

    def teardown(self) -> None:
        assert [fact.version for fact in self.facts] == list(range(1, len(self.facts) + 1))
        assert replace(fold(self.facts), tail=self.state.tail) == self.state


def chained(start: bytes, digests: Sequence[bytes | None]) -> bytes:
    for said_here in digests:
        start = start if said_here is None else chain(start, said_here)
    return start


@pytest.mark.law
def test_what_is_in_sight_is_what_a_plain_list_has() -> None:
    run_state_machine_as_test(
        Histories, settings=settings(max_examples=30, stateful_step_count=50, deadline=None)
    )
