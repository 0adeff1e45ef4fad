"""A session that its servers do not outlive is held back; one that was cut off can go on."""

import pytest

from domain import events as e
from domain.commands import (
    ArchiveSession,
    InterruptTurn,
    Note,
    UnarchiveSession,
    UnsuspendSession,
)
from domain.restarts import NOT_ADDRESSED, after_interruption
from domain.state import State
from tests.scenario import OPENED, RUNNER, folded, given, record, started

RESTARTED = "server-restarted"
COMPLETED = e.TurnCompleted(turn_id="t9")


def cut_off(turn_id: str, reason: str = RESTARTED) -> tuple[e.Fact, ...]:
    """Return a turn that began, and whose server was killed."""
    marked = e.ResumeMarked(turn_id=turn_id, reason=reason)
    return (started(turn_id), e.TurnInterrupted(turn_id=turn_id, reason=reason), marked)


def stop(turn_id: str, reason: str = RESTARTED, by: str | None = None) -> InterruptTurn:
    return InterruptTurn(turn_id=turn_id, reason=reason, by=by)


SUSPENDED = e.SessionSuspended(reason="restart-loop", count=3)
TWICE = (OPENED, *cut_off("t1"), *cut_off("t2", "owner-lost"))


@pytest.mark.parametrize("reason", [RESTARTED, "owner-lost", "shutdown"])
def test_a_turn_that_its_server_does_not_outlive_is_marked(reason: str) -> None:
    marked = e.ResumeMarked(turn_id="t1", reason=reason)
    interrupted = e.TurnInterrupted(turn_id="t1", reason=reason)
    running = given(OPENED, started("t1"))
    running.when(stop("t1", reason)).then(interrupted, marked)
    running.when(record(interrupted)).then(interrupted, marked)
    running.when(record(interrupted, imported=True)).then(interrupted)
    state = folded(OPENED, started("t1"), interrupted, marked)
    found = (state.head.resume_turn, state.head.resume_reason, state.head.resume_at)
    assert found == ("t1", reason, 4_000_000)
    assert state.head.cut_off == (reason != "shutdown")


def test_a_turn_that_somebody_stopped_is_not_marked() -> None:
    running = given(OPENED, started("t1"))
    running.when(stop("t1", "cancelled")).then(e.TurnInterrupted(turn_id="t1", reason="cancelled"))
    by_name = e.TurnInterrupted(turn_id="t1", reason=RESTARTED, by="somebody")
    running.when(stop("t1", by="somebody")).then(by_name)
    running.when(record(by_name)).then(by_name)


def test_a_runners_turn_is_the_runners_to_go_on_with() -> None:
    interrupted = e.TurnInterrupted(turn_id="t1", reason=RESTARTED)
    given(OPENED, started("t1"), producer=RUNNER).when(stop("t1")).then(interrupted)
    assert after_interruption(State(), "t1", RESTARTED) == ()


def test_the_third_in_a_row_suspends_the_session() -> None:
    interrupted = e.TurnInterrupted(turn_id="t3", reason=RESTARTED)
    given(*TWICE, started("t3")).when(stop("t3")).then(interrupted, SUSPENDED)
    head = folded(*TWICE, started("t3"), interrupted, SUSPENDED).head
    assert (head.status, head.suspended, head.cut_off) == ("suspended", True, 3)
    assert (head.resume_turn, head.resume_reason, head.resume_at) == (None, None, 0)


def test_what_an_import_tells_of_lost_turns_is_not_counted() -> None:
    lost = (started("t1"), e.TurnInterrupted(turn_id="t1", reason="owner-lost"))
    assert folded(OPENED, *lost).head.cut_off == 0


def test_a_completed_turn_begins_the_count_anew() -> None:
    state = folded(*TWICE, started("t9"), COMPLETED)
    assert state.head.cut_off == 0
    given(*TWICE, started("t9"), COMPLETED, started("t1x")).when(stop("t1x")).then(
        e.TurnInterrupted(turn_id="t1x", reason=RESTARTED),
        e.ResumeMarked(turn_id="t1x", reason=RESTARTED),
    )


@pytest.mark.parametrize(
    "end",
    [
        e.TurnFailed(turn_id="t9", error=e.TurnError(code="agent-error")),
        e.TurnInterrupted(turn_id="t9", reason="cancelled"),
    ],
)
def test_only_a_turn_that_ends_well_clears_what_was_marked(end: e.TurnEvent) -> None:
    history = (OPENED, *cut_off("t1"), started("t9"))
    cleared = e.ResumeCleared(turn_id="t1", reason="completed")
    given(*history).when(record(end)).then(end)
    given(*history).when(record(COMPLETED)).then(COMPLETED, cleared)
    given(*history).when(record(COMPLETED, imported=True)).then(COMPLETED)
    head = folded(*history, COMPLETED, cleared).head
    assert (head.resume_turn, head.resume_reason, head.resume_at) == (None, None, 0)


def test_a_turn_in_which_nothing_ran_proves_nothing_and_clears_nothing() -> None:
    aside = e.TurnCompleted(turn_id="t9", stop_reason=NOT_ADDRESSED)
    history = (OPENED, *cut_off("t1"), started("t9"))
    given(*history).when(record(aside)).then(aside)
    head = folded(*history, aside).head
    assert (head.turn_id, head.resume_turn, head.cut_off) == (None, "t1", 1)


def test_turnlog_itself_clears_what_is_too_old() -> None:
    stale = e.ResumeCleared(turn_id="t1", reason="stale")
    given(OPENED, *cut_off("t1")).when(Note(event=stale)).then(stale)


def test_a_suspended_session_takes_turns_again_when_somebody_says_so() -> None:
    again = e.SessionUnsuspended()
    given(*TWICE, SUSPENDED).when(UnsuspendSession()).then(again)
    given(*TWICE, SUSPENDED, again).when(UnsuspendSession()).then_nothing()
    head = folded(*TWICE, SUSPENDED, again).head
    assert (head.status, head.suspended, head.cut_off) == ("open", False, 0)


def test_one_that_is_put_away_stays_suspended_until_then() -> None:
    archived, back = e.SessionArchived(), e.SessionUnarchived()
    given(*TWICE, SUSPENDED).when(ArchiveSession()).then(archived)
    given(*TWICE, SUSPENDED, archived).when(UnarchiveSession()).then(back)
    assert folded(*TWICE, SUSPENDED, archived).head.status == "archived"
    assert folded(*TWICE, SUSPENDED, archived, back).head.status == "suspended"
    assert folded(*TWICE, archived, SUSPENDED).head.status == "archived"
    let = folded(*TWICE, SUSPENDED, archived, e.SessionUnsuspended()).head
    assert (let.status, let.suspended) == ("archived", False)
    gone = (*TWICE, SUSPENDED, e.SessionDeleted(), e.SessionRestored())
    assert folded(*gone).head.status == "suspended"
    assert folded(OPENED, e.SessionDeleted(), SUSPENDED).head.status == "deleted"
