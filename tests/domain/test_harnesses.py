"""Seats: which harness is kept where, and by which way a turn got its own."""

import pytest

from domain import events as e
from domain.commands import Note
from domain.refusals import InvalidValue, NoSuchTurn
from tests.scenario import OPENED, ended, folded, given, said, started, turn

STARTED = e.HarnessStarted(
    seat_id="s1", owner="a", path="cold", turn_id="t1", reason="seat-lost", history_from="log"
)
PARKED = e.HarnessParked(
    seat_id="s1", owner="a", state="idle", turn_id="t1", config_fingerprint="0b", ttl_s=60
)
RESUMED = e.HarnessResumed(seat_id="s1", owner="a", turn_id="t2")
EVICTED = e.HarnessEvicted(seat_id="s1", owner="a", reason="lru")
DONE = (OPENED, started(), STARTED, said("a"), ended())


def test_a_turn_for_which_a_harness_was_started_is_cold_and_says_why() -> None:
    found = turn(folded(*DONE))
    assert (found.path, found.path_reason, found.history_from) == ("cold", "seat-lost", "log")


def test_a_harness_can_be_started_for_no_turn() -> None:
    seat = folded(OPENED, e.HarnessStarted(seat_id="s1", owner="a", path="cold")).seats["s1"]
    assert (seat.state, seat.turn_id) == ("busy", None)


def test_a_turn_with_which_a_parked_harness_goes_on_is_warm() -> None:
    state = folded(*DONE, PARKED, started("t2"), RESUMED)
    assert (turn(state, "t2").path, state.seats["s1"].state) == ("warm", "busy")


def test_a_turn_that_was_cold_once_stays_so() -> None:
    again = e.HarnessResumed(seat_id="s1", owner="a", turn_id="t1")
    assert turn(folded(OPENED, started(), STARTED, again)).path == "cold"


def test_a_parked_seat_is_pinned_to_the_history_right_before_it_was_parked() -> None:
    before = folded(*DONE).head
    seat = folded(*DONE, PARKED).seats["s1"]
    assert (seat.state, seat.config_fingerprint, seat.ttl_s) == ("idle", "0b", 60)
    assert (seat.pin_version, seat.pin_history_version, seat.pin_fingerprint) == (
        before.version,
        before.history_version,
        before.fingerprint,
    )
    assert (seat.started_version, seat.changed_version, seat.turn_id) == (3, 6, "t1")


def test_a_seat_that_goes_on_has_no_pin_any_more() -> None:
    seat = folded(*DONE, PARKED, started("t2"), RESUMED).seats["s1"]
    assert (seat.pin_version, seat.pin_history_version, seat.pin_fingerprint) == (None, None, None)


def test_a_seat_that_was_let_go_says_why() -> None:
    seat = folded(*DONE, PARKED, EVICTED).seats["s1"]
    assert (seat.state, seat.reason, seat.turn_id) == ("gone", "lru", "t1")


@pytest.mark.parametrize("event", [PARKED, RESUMED, EVICTED])
def test_a_seat_that_nobody_told_of_is_known_from_then_on(event: e.HarnessEvent) -> None:
    seat = folded(OPENED, event).seats["s1"]
    assert (seat.owner, seat.started_version) == ("a", 2)


def test_harnesses_move_no_history() -> None:
    assert folded(*DONE, PARKED, EVICTED).head.history_version == folded(*DONE).head.history_version


@pytest.mark.parametrize(
    "event", [STARTED, PARKED, EVICTED, e.HarnessResumed(seat_id="s1", owner="a")]
)
def test_turnlog_itself_and_producers_tell_of_harnesses(event: e.HarnessEvent) -> None:
    given(*DONE).when(event).then(event)
    given(*DONE).when(Note(event=event)).then(event)


def test_a_harness_of_a_turn_that_is_unknown_is_refused() -> None:
    given(OPENED).when(STARTED).then_refused(NoSuchTurn, "turn_id")


@pytest.mark.parametrize(
    ("event", "at"),
    [
        (e.HarnessResumed(seat_id="no id", owner="a"), "seat_id"),
        (e.HarnessResumed(seat_id="s1", owner=""), "owner"),
        (e.HarnessResumed(seat_id="s1", owner="a", asides=0), "asides"),
        (e.HarnessEvicted(seat_id="s1", owner="a", reason="\n"), "reason"),
        (
            e.HarnessParked(seat_id="s1", owner="a", state="idle", config_fingerprint=""),
            "config_fingerprint",
        ),
        (e.HarnessParked(seat_id="s1", owner="a", state="idle", ttl_s=-1), "ttl_s"),
    ],
)
def test_what_becomes_a_column_is_checked(event: e.HarnessEvent, at: str) -> None:
    given(OPENED).when(event).then_refused(InvalidValue, at)


def test_requests_are_told_and_change_nothing() -> None:
    told: list[e.SessionEvent] = [
        e.DispatchRefused(code="gate-open", request="minimal"),
        e.InterruptRequested(turn_id="t1", reason="cancelled"),
        e.ContinuationReady(turn_id="t1", gate_ids=("g1",)),
        e.SeatCloseRequested(seat_id="s1", owner="a", reason="history"),
        e.GateAnswerRefused(named="gate_id", code="no-such-gate"),
        e.HistoryDiverged(kind="text", turns=0, messages=0),
    ]
    before, after = folded(OPENED, started()), folded(OPENED, started(), *told)
    for event in told:
        note = Note(event=event)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        given(OPENED, started()).when(note).then(event)
    settled = {"version", "hash", "updated_at"}
    same = {name for name in before.head._fields if name not in settled}
    assert {n: getattr(before.head, n) for n in same} == {n: getattr(after.head, n) for n in same}


def test_a_copy_of_a_session_has_its_seats() -> None:
    state = folded(*DONE, PARKED)
    assert state.copy().seats == state.seats
