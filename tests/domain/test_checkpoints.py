"""A checkpoint is made every so many facts, when nothing is under way."""

from domain import events as e
from domain.checkpoints import EVERY
from domain.evolve import evolve, fold
from domain.state import Head, State
from tests.scenario import (
    OPENED,
    approved,
    asked,
    called,
    compacted,
    ended,
    recorded,
    returned,
    said,
    started,
)

NOTE = e.DataRecorded(kind="note", data=None)


def made(*events: e.Fact) -> list[tuple[int, str | None]]:
    """Return at which versions checkpoints are made, and in which turns."""
    state = fold(recorded(*events))
    assert state.head.checkpoint == max(state.checkpoints, default=0)
    for version, checkpoint in state.checkpoints.items():
        assert checkpoint.head == fold(recorded(*events[:version])).head
    return [(v, c.turn and c.turn.turn_id) for v, c in state.checkpoints.items()]


def test_a_checkpoint_is_made_every_so_many_facts() -> None:
    assert made(*[NOTE] * (EVERY - 1)) == []
    assert made(*[NOTE] * (2 * EVERY + 1)) == [(EVERY, None), (2 * EVERY, None)]


def test_a_checkpoint_waits_until_the_last_message_is_whole_and_no_call_is_open() -> None:
    turn = (started(), said("a"), called(), returned(), said("b"), ended())
    assert made(*[NOTE] * (EVERY - 4), *turn, NOTE) == [(EVERY, "t1")]
    assert made(*[NOTE] * (EVERY - 3), *turn, NOTE) == [(EVERY + 1, "t1")]
    assert made(*[NOTE] * (EVERY - 2), *turn, NOTE) == [(EVERY + 2, "t1")]
    assert made(*[NOTE] * (EVERY - 5), *turn, NOTE) == [(EVERY + 1, None)]


def test_a_checkpoint_holds_the_turn_that_goes_on_whatever_the_fact_is_about() -> None:
    assert made(*[NOTE] * (EVERY - 3), started(), said("a"), NOTE, returned()) == [
        (EVERY + 1, "t1")
    ]
    assert made(*[NOTE] * (EVERY - 2), started(), NOTE) == [(EVERY, "t1")]


def test_a_checkpoint_waits_for_the_answer_to_a_gate() -> None:
    waiting = (started(), asked(kind="input"), NOTE, approved(), NOTE)
    assert made(*[NOTE] * (EVERY - 2), *waiting) == [(EVERY + 2, "t1")]


def test_a_summary_asks_for_a_checkpoint_at_once_if_nothing_is_under_way() -> None:
    assert made(OPENED, started(), ended(), compacted("t1:1"), NOTE) == [(4, None)]
    assert made(OPENED, started(), called(), compacted("t1:1"), NOTE) == []
    assert made(OPENED, started(), ended(), compacted("unknown"), NOTE) == []


def test_a_rewind_asks_for_none() -> None:
    back = e.HistoryRewound(turn_id="t1", from_version=2, through_version=3, turns=1, messages=1)
    assert made(OPENED, started(), ended(), back) == []


def test_no_checkpoint_is_made_in_a_turn_of_which_nothing_is_known() -> None:
    damaged = State(head=Head(version=EVERY - 1, turn_id="lost"))
    assert evolve(damaged, recorded(*[NOTE] * EVERY)[-1]).checkpoints == ()
