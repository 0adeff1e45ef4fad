"""A rewind takes whole turns out of sight: counted, named, or by a message or version."""

import pytest

from domain import commands as c
from domain import events as e
from domain.refusals import (
    HeadAheadOfLog,
    HeadBehind,
    HeadMismatch,
    InvalidValue,
    NoSuchMessage,
    NoSuchSession,
    NoSuchTurn,
    NothingToRewind,
    SessionIsArchived,
    TurnInProgress,
)
from domain.state import State
from tests.scenario import (
    OPENED,
    RUNNER,
    asked,
    called,
    compacted,
    ended,
    folded,
    given,
    interrupted,
    message,
    returned,
    said,
    started,
    turn,
)

FIRST = (started("t1", message("a", message_id="m1")), said("b"), ended())  # 2 to 4
SECOND = (started("t2"), called(turn_id="t2"), returned(turn_id="t2"), ended("t2"))  # 5 to 8
THIRD = (started("t3", message("c"), message("d")), ended("t3"))  # 9 and 10
HISTORY = (OPENED, *FIRST, *SECOND, *THIRD)


def out(turn_id: str, since: int, turns: int, messages: int, through: int = 10) -> e.HistoryRewound:
    return e.HistoryRewound(
        turn_id=turn_id, from_version=since, through_version=through, turns=turns, messages=messages
    )


def in_sight(state: State) -> tuple[int, int, int, int]:
    head = state.head
    return head.turns, head.turn_tip, head.messages, head.tip


@pytest.mark.parametrize(
    ("command", "event"),
    [
        (c.Rewind(turns=1), out("t3", 9, 1, 2)),
        (c.Rewind(turns=2), out("t2", 5, 2, 5)),
        (c.Rewind(to_turn="t2"), out("t2", 5, 2, 5)),
        (c.Rewind(before_message="m1"), out("t1", 2, 3, 7)),
        (c.Rewind(before_message="t3:1"), out("t3", 9, 1, 2)),
        (c.Rewind(to_version=8), out("t3", 9, 1, 2)),
        (c.Rewind(to_version=4), out("t2", 5, 2, 5)),
        (c.Rewind(to_version=1), out("t1", 2, 3, 7)),
    ],
)
def test_a_rewind_takes_out_a_turn_and_all_that_came_after_it(
    command: c.Rewind, event: e.HistoryRewound
) -> None:
    given(*HISTORY).when(command).then(event)
    before = folded(*HISTORY[: event.from_version - 1])
    after = folded(*HISTORY, event)
    assert in_sight(after) == in_sight(before)
    assert after.head.fingerprint == before.head.fingerprint
    assert after.head.model_fingerprint == before.head.model_fingerprint
    assert (after.head.placed, after.head.started) == (7, 3)
    assert after.head.history_version == 11


def test_more_turns_than_there_are_are_all_of_them() -> None:
    given(*HISTORY).when(c.Rewind(turns=99)).then(out("t1", 2, 3, 7))
    assert in_sight(folded(*HISTORY, out("t1", 2, 3, 7))) == (0, 0, 0, -1)


@pytest.mark.parametrize("turns", [0, -1, 2**70])
def test_a_rewind_takes_out_at_least_one_turn(turns: int) -> None:
    """Row C19."""
    given(*HISTORY).when(c.Rewind(turns=turns)).then_refused(InvalidValue, "turns")


def test_where_nothing_is_left_nothing_is_rewound() -> None:
    """Row C19: of an empty session, and past the start."""
    given(OPENED).when(c.Rewind(turns=1)).then_refused(NothingToRewind)
    given(*HISTORY, out("t1", 2, 3, 7)).when(c.Rewind(turns=1)).then_refused(NothingToRewind)
    given(*HISTORY).when(c.Rewind(to_version=10)).then_refused(NothingToRewind)
    given(OPENED).when(c.Rewind(to_version=1)).then_refused(NothingToRewind)


def test_rewinds_follow_each_other() -> None:
    """Row C19: undo of undo of undo."""
    once = (*HISTORY, out("t3", 9, 1, 2))
    twice = (*once, out("t2", 5, 1, 3, through=11))
    given(*once).when(c.Rewind(turns=1)).then(out("t2", 5, 1, 3, through=11))
    given(*twice).when(c.Rewind(turns=1)).then(out("t1", 2, 1, 2, through=12))


@pytest.mark.parametrize(
    "command", [c.Rewind(), c.Rewind(turns=1, to_turn="t1"), c.Rewind(to_version=1, turns=2)]
)
def test_a_rewind_has_one_target(command: c.Rewind) -> None:
    given(*HISTORY).when(command).then_refused(InvalidValue)


def test_a_turn_that_is_not_in_sight_is_no_target() -> None:
    log = given(*HISTORY, out("t2", 5, 2, 5))
    log.when(c.Rewind(to_turn="t3")).then_refused(NoSuchTurn, "to_turn")
    log.when(c.Rewind(to_turn="t9")).then_refused(NoSuchTurn, "to_turn")
    log.when(c.Rewind(to_turn="/")).then_refused(InvalidValue, "to_turn")
    log.when(c.Rewind(to_turn="t1")).then(out("t1", 2, 1, 2, through=11))


def test_a_message_that_is_not_in_sight_is_no_target() -> None:
    log = given(*HISTORY, out("t2", 5, 2, 5))
    for message_id in ("t3:1", "m9", "t1:9", "\0"):
        log.when(c.Rewind(before_message=message_id)).then_refused(NoSuchMessage, "before_message")


def test_only_what_begins_a_turn_is_a_place_to_go_back_to() -> None:
    log = given(*HISTORY)
    for message_id in ("t1:2", "t2:2", "t2:3"):
        log.when(c.Rewind(before_message=message_id)).then_refused(InvalidValue, "before_message")
    log.when(c.Rewind(before_message="t3:2")).then(out("t3", 9, 1, 2))


@pytest.mark.parametrize("version", [2, 3, 5, 7, 9])
def test_a_version_inside_a_turn_is_no_place_to_go_back_to(version: int) -> None:
    given(*HISTORY).when(c.Rewind(to_version=version)).then_refused(InvalidValue, "to_version")


@pytest.mark.parametrize("version", [0, -1, 11, 2**70])
def test_a_version_to_go_back_to_is_one_that_there_is(version: int) -> None:
    given(*HISTORY).when(c.Rewind(to_version=version)).then_refused(InvalidValue, "to_version")


def test_a_version_of_what_was_rewound_leaves_what_both_share() -> None:
    history = (*HISTORY, out("t2", 5, 2, 5), started("t4"), ended("t4"))  # 11 to 13
    log = given(*history)
    log.when(c.Rewind(to_version=8)).then(out("t4", 12, 1, 1, through=13))
    log.when(c.Rewind(to_version=4)).then(out("t4", 12, 1, 1, through=13))
    log.when(c.Rewind(to_version=1)).then(out("t1", 2, 2, 3, through=13))


def test_a_turn_after_a_rewind_stands_where_the_rewound_one_stood() -> None:
    """Row C1 and C14: what follows a rewind is the newest, and refers to nothing that is gone."""
    state = folded(*HISTORY, out("t2", 5, 2, 5), started("t4", message("e")), ended("t4"))
    assert in_sight(state) == (2, 4, 3, 7)
    assert (turn(state, "t4").number, turn(state, "t4").branch) == (4, 4)
    same = folded(OPENED, *FIRST, started("t4", message("e")))
    assert state.head.fingerprint == same.head.fingerprint


def test_turns_without_a_message_have_nothing_of_their_own_to_go_back_to() -> None:
    silent = e.TurnStarted(turn_id="t4", history_sent="answer")
    history = (*HISTORY, out("t2", 5, 2, 5), silent, ended("t4"), started("t5"), ended("t5"))
    before = folded(*history[:-2])
    state = folded(*history, out("t5", 14, 1, 1, through=15))
    assert in_sight(state) == in_sight(before) == (2, 4, 2, 1)
    assert state.head.fingerprint == folded(OPENED, *FIRST).head.fingerprint


def test_a_message_id_is_not_used_again_once_it_was_rewound() -> None:
    log = given(*HISTORY, out("t1", 2, 3, 7))
    log.when(started("t4", message("a"))).then(started("t4", message("a")))
    assert log.state.message_ids == {"m1": 0}


def test_what_was_said_last_is_not_continued_after_a_rewind() -> None:
    history = (OPENED, *FIRST, started("t2"), said("x", turn_id="t2"))
    state = folded(*history, interrupted("t2"), out("t2", 5, 1, 2, through=7))
    assert not state.head.tail_open
    assert state.head.base_fingerprint == state.head.fingerprint


RUNNING = (OPENED, *FIRST, started("t2"))
STOPPED = e.TurnInterrupted(turn_id="t2", reason="rewound")


def test_a_turn_that_runs_is_interrupted_only_if_asked_for() -> None:
    """Row C19: while a turn runs."""
    log = given(*RUNNING)
    log.when(c.Rewind(turns=1)).then_refused(TurnInProgress)
    log.when(c.Rewind(turns=1, interrupt=True)).then(STOPPED, out("t2", 5, 1, 1, through=6))


def test_a_turn_that_waits_for_gates_is_interrupted_and_its_gates_withdrawn() -> None:
    """Row B11: the gate of a rewound turn is answered no more."""
    history = (*RUNNING, asked(turn_id="t2"))
    withdrawn = e.GateWithdrawn(gate_id="g1", reason="rewound")
    rewound = out("t2", 5, 1, 1, through=8)
    given(*history).when(c.Rewind(turns=1)).then(withdrawn, STOPPED, rewound)
    after = folded(*history, withdrawn, STOPPED, rewound)
    assert (after.head.open_gates, after.head.turn_id) == (0, None)
    assert after.gates["g1"].status == "withdrawn"


def test_a_result_from_before_a_rewind_is_late_and_out_of_sight() -> None:
    """Row A18."""
    history = (OPENED, *FIRST, started("t2"), called(turn_id="t2"), STOPPED)
    state = folded(*history, out("t2", 5, 1, 2, through=7), started("t3"), returned(turn_id="t2"))
    assert state.calls["t2", "c1"][0].status == "late"
    assert in_sight(state) == (2, 3, 3, 4)


def test_a_rewind_across_a_summary_brings_the_archived_messages_back() -> None:
    history = (OPENED, *FIRST, *SECOND, compacted("t2:3"))  # 9
    state = folded(*history, out("t2", 5, 1, 3, through=9))
    before = folded(OPENED, *FIRST)
    assert (state.head.archived, state.head.summary_version) == (0, None)
    assert state.head.model_fingerprint == before.head.model_fingerprint


def test_a_summary_from_before_the_turn_still_stands() -> None:
    history = (
        OPENED,
        *FIRST,
        compacted("t1:2"),
        started("t2"),
        said("x", turn_id="t2"),
        ended("t2"),
    )
    before = folded(*history[:5])
    state = folded(*history, out("t2", 6, 1, 2, through=8))
    assert (state.head.archived, state.head.summary_version) == (2, 5)
    assert state.head.model_fingerprint == before.head.model_fingerprint
    assert state.head.fingerprint == before.head.fingerprint


def test_an_incomplete_turn_that_was_rewound_is_held_against_nobody() -> None:
    history = (OPENED, started(), ended(record_count=9), started("t2"), ended("t2"))
    before = folded(*history, producer=RUNNER)
    assert (before.head.miscounted_turns, before.head.unverified_turns) == (1, 1)
    after = folded(*history, out("t2", 4, 1, 1, through=5), producer=RUNNER)
    assert (after.head.miscounted_turns, after.head.unverified_turns) == (1, 0)


def claim(version: int, fingerprint: bytes) -> c.HeadClaim:
    return c.HeadClaim(history_version=version, fingerprint=fingerprint.hex())


def test_a_rewind_of_another_history_than_the_callers_is_refused() -> None:
    log = given(*HISTORY)
    now = log.state.head.fingerprint
    rewind = out("t3", 9, 1, 2)
    log.when(c.Rewind(turns=1, claim=claim(9, now))).then(rewind)
    log.when(c.Rewind(turns=1, claim=claim(10, now))).then_refused(HeadAheadOfLog, "head")
    log.when(c.Rewind(turns=1, claim=claim(8, now))).then_refused(HeadBehind, "head")
    log.when(c.Rewind(turns=1, claim=claim(9, bytes(32)))).then_refused(HeadMismatch, "head")


def test_a_session_that_is_put_away_or_gone_is_not_rewound() -> None:
    given(*HISTORY, e.SessionArchived()).when(c.Rewind(turns=1)).then_refused(SessionIsArchived)
    given(*HISTORY, e.SessionDeleted()).when(c.Rewind(turns=1)).then_refused(NoSuchSession)
    given().when(c.Rewind(turns=1)).then_refused(NoSuchSession)
