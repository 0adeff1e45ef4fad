"""A redo brings back what a rewind took out: the newest, or that of any rewind."""

from contextlib import suppress
from dataclasses import replace

import pytest

from domain import commands as c
from domain import events as e
from domain.decide import decide
from domain.evolve import evolve, fold
from domain.fingerprints import EMPTY
from domain.positions import position_of
from domain.refusals import (
    InvalidValue,
    NoSuchMessage,
    NoSuchRewind,
    NothingToRedo,
    NothingToRewind,
    Refusal,
    TurnInProgress,
)
from domain.state import State
from tests.scenario import (
    OPENED,
    approved,
    asked,
    compacted,
    ended,
    folded,
    given,
    message,
    recorded,
    returned,
    said,
    started,
)

TWO = (OPENED, started(), said("a"), ended(), started("t2"), said("b", turn_id="t2"), ended("t2"))
OUT = e.HistoryRewound(turn_id="t2", from_version=5, through_version=7, turns=1, messages=2)
ALL_OUT = e.HistoryRewound(turn_id="t1", from_version=2, through_version=8, turns=1, messages=2)
BACK = e.RewindReverted(rewind_version=8, turns=1, messages=2)
REWOUND = (*TWO, OUT)  # 8
OTHER = (*REWOUND, started("t3"), ended("t3"))  # 10


def seen(state: State) -> object:
    return position_of(state.head)


def test_a_redo_brings_back_the_very_same() -> None:
    given(*REWOUND).when(c.Redo()).then(BACK)
    assert seen(folded(*REWOUND, BACK)) == seen(folded(*TWO))


def test_redos_go_back_through_rewinds_one_by_one() -> None:
    both = (*REWOUND, ALL_OUT)  # 9
    first = e.RewindReverted(rewind_version=9, turns=1, messages=2)
    given(*both).when(c.Redo()).then(first)
    given(*both, first).when(c.Redo()).then(BACK)
    given(*both, first, BACK).when(c.Redo()).then_refused(NothingToRedo)
    assert seen(folded(*both, first, BACK)) == seen(folded(*TWO))


def test_without_a_rewind_there_is_nothing_to_redo() -> None:
    given(OPENED).when(c.Redo()).then_refused(NothingToRedo)
    given(*TWO).when(c.Redo()).then_refused(NothingToRedo)
    given(*REWOUND, BACK).when(c.Redo()).then_refused(NothingToRedo)


@pytest.mark.parametrize("since", [(started("t3"),), (compacted("t1:2"),)])
def test_once_the_history_went_on_only_a_named_rewind_is_redone(since: tuple[e.Fact]) -> None:
    given(*REWOUND, *since).when(c.Redo()).then_refused(NothingToRedo)


@pytest.mark.parametrize(
    "since", [e.SessionRenamed(title="x"), e.DataRecorded(kind="trace", data=None)]
)
def test_what_is_no_history_leaves_a_redo_possible(since: e.Fact) -> None:
    given(*REWOUND, since).when(c.Redo()).then(BACK)


def test_naming_a_rewind_switches_to_what_it_left_and_takes_the_newer_turns_out() -> None:
    newer = e.HistoryRewound(turn_id="t3", from_version=9, through_version=10, turns=1, messages=1)
    given(*OTHER).when(c.Redo(rewind_version=8)).then(newer, BACK)
    switched = (*OTHER, newer, BACK)  # 11, 12
    assert seen(folded(*switched)) == seen(folded(*TWO))
    back = e.RewindReverted(rewind_version=11, turns=1, messages=1)
    away = e.HistoryRewound(turn_id="t2", from_version=5, through_version=12, turns=1, messages=2)
    given(*switched).when(c.Redo(rewind_version=11)).then(away, back)
    assert seen(folded(*switched, away, back)) == seen(folded(*OTHER))


def test_a_rewind_whose_turns_are_all_in_sight_has_nothing_to_bring_back() -> None:
    given(*REWOUND, BACK).when(c.Redo(rewind_version=8)).then_refused(NothingToRedo)


@pytest.mark.parametrize("version", [7, 9, 2**39])
def test_a_version_at_which_nothing_was_rewound_is_no_branch(version: int) -> None:
    log = given(*REWOUND, compacted("t1:2"))
    log.when(c.Redo(rewind_version=version)).then_refused(NoSuchRewind, "rewind_version")


@pytest.mark.parametrize("version", [0, -1, 2**70])
def test_a_rewind_is_named_by_its_version(version: int) -> None:
    given(*REWOUND).when(c.Redo(rewind_version=version)).then_refused(
        InvalidValue, "rewind_version"
    )


def test_a_turn_that_runs_goes_only_if_it_may_be_interrupted() -> None:
    running = (*REWOUND, started("t3"))  # 9
    stopped = e.TurnInterrupted(turn_id="t3", reason="rewound")
    newer = e.HistoryRewound(turn_id="t3", from_version=9, through_version=10, turns=1, messages=1)
    log = given(*running)
    log.when(c.Redo(rewind_version=8)).then_refused(TurnInProgress)
    log.when(c.Redo(rewind_version=8, interrupt=True)).then(stopped, newer, BACK)


def test_a_redo_brings_back_messages_and_no_gates() -> None:
    waiting = (*TWO[:5], asked(turn_id="t2"))
    withdrawn = e.GateWithdrawn(gate_id="g1", reason="rewound")
    stopped = e.TurnInterrupted(turn_id="t2", reason="rewound")
    rewound = e.HistoryRewound(turn_id="t2", from_version=5, through_version=8, turns=1, messages=1)
    back = e.RewindReverted(rewind_version=9, turns=1, messages=1)
    given(*waiting).when(c.Rewind(turns=1)).then(withdrawn, stopped, rewound)
    history = (*waiting, withdrawn, stopped, rewound)
    given(*history).when(c.Redo()).then(back)
    state = folded(*history, back)
    assert (state.gates["g1"].status, state.head.open_gates) == ("withdrawn", 0)
    assert (state.head.turn_id, state.turns["t2"].status) == (None, "interrupted")


def test_an_approval_of_a_rewound_turn_does_not_answer_the_next_one() -> None:
    """Row B11."""
    history = (*TWO[:5], asked(turn_id="t2", call="c1", tool="write"), approved())
    stopped = e.TurnInterrupted(turn_id="t2", reason="rewound")
    rewound = e.HistoryRewound(turn_id="t2", from_version=5, through_version=8, turns=1, messages=2)
    again = (started("t3"), asked("g2", turn_id="t3", call="c1", tool="write"))
    state = folded(*history, stopped, rewound, *again)
    assert (state.gates["g1"].status, state.gates["g2"].status) == ("allowed", "open")
    assert state.calls["t3", "c1"][0].gated


def test_a_late_result_leaves_a_redo_possible() -> None:
    late = recorded(returned(turn_id="t2"), after=recorded(*REWOUND), affects="none")
    assert (fold(late).head.redo, fold(late).head.messages) == (8, 2)


LOST: tuple[tuple[str, object], ...] = (
    ("turns", "t1"),
    ("turns", "t2"),
    ("turns", "t4"),
    ("moves", 8),
    ("branches", 3),
    ("messages", 1),
    ("messages", 3),
    ("messages", 4),
)
FURTHER = (
    *OTHER,
    e.HistoryRewound(turn_id="t3", from_version=9, through_version=10, turns=1, messages=1),
    started("t4"),
    ended("t4"),
    compacted("t1:1"),
)
AFTER: tuple[e.Fact, ...] = (
    e.HistoryRewound(turn_id="t1", from_version=2, through_version=9, turns=1, messages=1),
    e.HistoryRewound(turn_id="t3", from_version=9, through_version=9, turns=1, messages=1),
    e.HistoryRewound(turn_id="t4", from_version=9, through_version=9, turns=1, messages=1),
    e.RewindReverted(rewind_version=8, turns=1, messages=1),
    e.RewindReverted(rewind_version=11, turns=1, messages=1),
    compacted("t4:1"),
    started("t5"),
)


@pytest.mark.parametrize(("table", "key"), LOST)
def test_what_a_damaged_log_has_lost_stops_no_fold_and_answers_with_a_refusal(
    table: str, key: object
) -> None:
    facts = recorded(*FURTHER)
    damaged = fold(facts)
    del getattr(damaged, table)[key]
    for event in AFTER:
        state = damaged.copy()
        state.apply(evolve(state, recorded(event, after=facts)[-1]))
        assert state.head.version == len(facts) + 1
    for command in (
        c.Rewind(turns=1),
        c.Rewind(turns=2),
        c.Rewind(to_turn="t4"),
        c.Rewind(to_version=4),
        c.Rewind(before_message="t1:1"),
        c.Redo(rewind_version=8),
        c.Redo(rewind_version=11),
    ):
        with suppress(Refusal):
            decide(damaged, command)


def test_a_rewind_or_redo_of_something_unknown_counts_as_unreadable() -> None:
    unknown = folded(*TWO, replace(OUT, turn_id="t9"))
    assert (unknown.head.unreadable, unknown.head.messages, unknown.head.redo) == (1, 4, None)
    lost = folded(*REWOUND, e.RewindReverted(rewind_version=7, turns=1, messages=2))
    assert (lost.head.unreadable, lost.head.messages) == (1, 2)


def test_turns_that_a_damaged_log_has_lost_are_neither_rewound_nor_redone() -> None:
    state = folded(OPENED, started("t1", message("a", message_id="m2")), *REWOUND[2:])
    del state.turns["t1"], state.turns["t2"]
    for command, refusal in (
        (c.Rewind(turns=1), NothingToRewind),
        (c.Rewind(before_message="t1:1"), NoSuchMessage),
        (c.Rewind(before_message="m2"), NoSuchMessage),
        (c.Redo(), NothingToRedo),
    ):
        with pytest.raises(refusal):
            decide(state, command)


def test_a_chain_that_is_lost_begins_anew() -> None:
    state = folded(*TWO)
    del state.messages[1]
    rewound = recorded(OUT, after=recorded(*TWO))[-1]
    assert evolve(state, rewound).head.fingerprint == EMPTY
