"""Whatever a batch holds, what is looked up for it beforehand decides as the whole session would.

Of the records that a later step comes by, some are made, or left, only by the steps before it.
"""

from collections.abc import Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from domain import commands as c
from domain import events as e
from domain.carry_out import Outcome, Stamp, carry_out
from domain.keys import keys_of
from domain.refusals import Refusal
from domain.restrict import restrict
from domain.state import Changes, State
from tests.scenario import (
    OPENED,
    called,
    compacted,
    ended,
    folded,
    message,
    record,
    returned,
    said,
    started,
)

STAMP = Stamp(
    project_id="default",
    session_id="chat",
    now=1,
    mint=lambda: ("event", bytes(16)),
    encode=lambda decided: decided.type.encode(),
)


class Speaker:
    """Makes batches about what is there, and about what their own steps bring."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - nothing is secret
        self._turns = 1

    def batch(self, state: State) -> list[c.SessionCommand]:
        """Return some steps; mostly they can be carried out."""
        moves = [self._move(state)] if self._number(5) < 2 else []
        turn_id = None if moves else state.head.turn_id
        events: list[e.SessionEvent] = []
        if turn_id is None:
            self._turns += 1
            turn_id = f"t{self._turns}"
            inputs = [message("go")] * self._number(4)
            events.append(
                e.TurnStarted(turn_id=turn_id, messages=tuple(inputs), history_sent="answer")
            )
        names = [known.message_id for known in state.messages.values()][-9:]
        names += [f"{turn_id}:{number}" for number in range(1, 4)]
        events += [self._event(turn_id, names) for _ in range(self._number(4))]
        if self._number(2):
            events.append(ended(turn_id))
        return [*moves, *map(record, events)]

    def _move(self, state: State) -> c.SessionCommand:
        number = 1 + self._number(state.head.version)
        turn_id = self._random.choice([*state.turns][-3:])
        moves: list[c.SessionCommand] = [
            c.Rewind(turns=1, interrupt=True),
            c.Rewind(turns=1 + self._number(3), interrupt=True),
            c.Rewind(to_turn=turn_id, interrupt=True),
            c.Rewind(before_message=f"{turn_id}:1", interrupt=True),
            c.Rewind(to_version=number, interrupt=True),
            c.Redo(rewind_version=self._random.choice([*state.moves, number]), interrupt=True),
        ]
        return self._random.choice(moves)

    def _event(self, turn_id: str, names: Sequence[str]) -> e.SessionEvent:
        events: list[e.SessionEvent] = [
            said("so", turn_id=turn_id),
            said("and", "user", turn_id=turn_id),
            called(turn_id=turn_id),
            returned(turn_id=turn_id),
            compacted(self._random.choice(names)),
            compacted(self._random.choice(names)),
        ]
        return self._random.choice(events)

    def _number(self, below: int) -> int:
        return self._random.randrange(below)


def outcome(state: State, steps: list[c.SessionCommand]) -> Outcome | None:
    try:
        return carry_out(state, steps, STAMP)
    except Refusal:
        return None


def made(done: Outcome | None) -> list[Changes] | None:
    return None if done is None else done.changes


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_what_a_batch_needs_is_looked_up_before_it(seed: int) -> None:
    state, speaker = folded(OPENED, started(), ended()), Speaker(seed)
    for _ in range(40):
        steps = speaker.batch(state)
        whole = outcome(state, steps)
        assert made(outcome(restrict(state, keys_of(steps)), steps)) == made(whole), steps
        state = state if whole is None else whole.state


def test_what_a_rewind_and_the_redo_after_it_need_is_looked_up() -> None:
    state = folded(OPENED, started(), ended(), started("t2"), ended("t2"))  # 5
    for step in (c.Rewind(to_version=3), c.Redo()):
        known = restrict(state, keys_of([step]))
        whole = carry_out(state, [step], STAMP)
        assert carry_out(known, [step], STAMP).changes == whole.changes
        state = whole.state
