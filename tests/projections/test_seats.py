"""How a seat is shown."""

from domain import events as e
from domain.state import Seat
from projections.seats import seat_shape
from tests.scenario import folded, said, started

STARTED = e.HarnessStarted(seat_id="s1", owner="a", path="cold", turn_id="t1", reason="no-seat")


def parked(ttl_s: int | None) -> e.HarnessParked:
    return e.HarnessParked(
        seat_id="s1", owner="a", state="idle", config_fingerprint="0b", ttl_s=ttl_s
    )


def seat(*events: e.Fact) -> Seat:
    return folded(started(), STARTED, said("x"), *events).seats["s1"]


def test_a_parked_seat_shows_what_it_remembers_and_how_long() -> None:
    assert seat_shape("chat", seat(parked(60)), here=True) == {
        "session_id": "chat",
        "seat_id": "s1",
        "owner": "a",
        "state": "idle",
        "turn_id": "t1",
        "pin": {"history_version": 3, "version": 3},
        "config_fingerprint": "0b",
        "since": "1970-01-01T00:00:04.000000Z",
        "parked_at": "1970-01-01T00:00:04.000000Z",
        "ttl_s": 60,
        "expires_at": "1970-01-01T00:01:04.000000Z",
        "here": True,
    }


def test_a_busy_seat_has_no_end() -> None:
    shown = seat_shape("chat", seat(), here=False)

    assert (shown["state"], shown["since"]) == ("busy", "1970-01-01T00:00:02.000000Z")
    assert [shown[name] for name in ("pin", "parked_at", "ttl_s", "expires_at")] == [None] * 4
    assert shown["here"] is False


def test_a_seat_without_a_last_time_or_one_beyond_all_years_shows_none() -> None:
    assert seat_shape("chat", seat(parked(None)), here=True)["expires_at"] is None
    assert seat_shape("chat", seat(parked(2**40 - 1)), here=True)["expires_at"] is None
