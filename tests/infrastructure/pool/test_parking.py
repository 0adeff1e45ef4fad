"""When is a harness kept, for how long, and who gets it?"""

from dataclasses import replace

import pytest

from infrastructure.pool.limits import PoolLimits
from infrastructure.pool.seats import Parked, Seat, SeatKey
from tests.infrastructure.pool.fakes import (
    SECOND,
    WARMTH,
    A,
    B,
    Desk,
    FakeHarness,
    on_a_loop,
    settle,
)


@on_a_loop
async def test_a_parked_seat_says_what_it_is_warm_for_and_until_when() -> None:
    desk = Desk()
    harness = FakeHarness()

    seat = await desk.parked(A, harness=harness)

    assert seat == Seat(
        seat_id="seat-1",
        key=A,
        state="idle",
        started_at=1_000 * SECOND,
        last_used=1_000 * SECOND,
        uses=1,
        harness=harness,
        warmth=WARMTH,
        expires_at=1_060 * SECOND,
    )
    assert desk.pool.seats() == (seat,)


@on_a_loop
async def test_a_checked_out_seat_is_busy_and_has_no_timer() -> None:
    desk = Desk()
    parked = await desk.parked(A)
    await desk.clock.let_pass(59)

    busy = desk.pool.checkout(parked.seat_id, A)
    await desk.clock.let_pass(10_000)

    assert busy == replace(parked, state="busy", uses=2, last_used=1_059 * SECOND, expires_at=None)
    assert desk.seat(A) == busy
    assert desk.clock.waiting == []
    assert desk.told == []


@on_a_loop
async def test_a_seat_goes_from_turn_to_turn() -> None:
    desk = Desk()
    harness = FakeHarness()
    seat = await desk.parked(A, harness=harness)

    for use in range(2, 6):
        busy = desk.pool.checkout(seat.seat_id, A)
        assert busy is not None
        assert busy.uses == use
        assert desk.pool.park(busy, "idle", WARMTH)

    assert harness.closed == 0


@on_a_loop
async def test_a_second_checkout_gets_nothing() -> None:
    desk = Desk()
    seat = await desk.parked(A)

    first = desk.pool.checkout(seat.seat_id, A)

    assert first is not None
    assert desk.pool.checkout(seat.seat_id, A) is None
    assert desk.seat(A).state == "busy"


@on_a_loop
async def test_a_seat_is_given_to_its_own_session_alone() -> None:
    desk = Desk()
    seat = await desk.parked(A)

    assert desk.pool.checkout(seat.seat_id, B) is None
    assert desk.pool.checkout(seat.seat_id, SeatKey("other", "a")) is None
    assert desk.pool.checkout("seat-9", A) is None
    assert desk.seat(A) == seat


@pytest.mark.parametrize(
    ("state", "seconds", "reason"),
    [("idle", 60, "expire"), ("awaiting_approval", 600, "approval-ttl-expire")],
)
@on_a_loop
async def test_a_parked_seat_is_let_go_when_its_time_is_over(
    state: Parked, seconds: int, reason: str
) -> None:
    desk = Desk()
    harness = FakeHarness()
    await desk.parked(A, state, harness)

    await desk.clock.let_pass(seconds - 0.1)
    assert desk.told == []
    await desk.clock.let_pass(0.1)

    assert desk.told == [("a", reason, None)]
    assert harness.ended
    assert desk.pool.find(A) is None
    assert desk.clock.waiting == []


@on_a_loop
async def test_each_park_begins_its_time_anew() -> None:
    desk = Desk()
    seat = await desk.parked(A)
    await desk.clock.let_pass(59)
    busy = desk.pool.checkout(seat.seat_id, A)
    assert busy is not None
    assert desk.pool.park(busy, "idle", WARMTH)

    await desk.clock.let_pass(59)
    assert desk.seat(A).expires_at == 1_119 * SECOND
    await desk.clock.let_pass(1)

    assert desk.reasons == [("a", "expire")]


@on_a_loop
async def test_what_the_turn_side_left_comes_back_with_the_seat_and_stays_there() -> None:
    desk = Desk()
    run = object()
    seat = await desk.begun(A)
    assert desk.pool.park(seat, "awaiting_approval", WARMTH, run=run)

    busy = desk.pool.checkout(seat.seat_id, A)

    assert busy is not None
    assert busy.run is run
    assert desk.seat(A).run is None
    assert desk.pool.park(busy, "idle", WARMTH)
    assert desk.seat(A).run is None


@pytest.mark.parametrize("state", ["idle", "awaiting_approval"])
@on_a_loop
async def test_a_seat_that_was_only_looked_at_waits_no_longer_for_it(state: Parked) -> None:
    desk = Desk(PoolLimits(approval_ttl_s=60))
    run = object()
    assert desk.pool.park(await desk.begun(A), state, WARMTH, run=run)
    parked = desk.seat(A)
    await desk.clock.let_pass(50)
    busy = desk.pool.checkout(parked.seat_id, A)
    assert busy is not None
    await desk.clock.let_pass(5)

    assert desk.pool.put_back(busy, parked)

    assert desk.seat(A) == replace(parked, uses=2)
    await desk.clock.let_pass(4.9)
    assert desk.told == []
    await desk.clock.let_pass(0.1)
    assert desk.reasons == [("a", "expire" if state == "idle" else "approval-ttl-expire")]


@on_a_loop
async def test_a_seat_whose_time_is_over_while_it_is_looked_at_is_not_put_back() -> None:
    desk = Desk()
    parked = await desk.parked(A)
    busy = desk.pool.checkout(parked.seat_id, A)
    assert busy is not None
    await desk.clock.let_pass(60)

    assert not desk.pool.put_back(busy, parked)
    assert desk.seat(A) == busy


@pytest.mark.parametrize(
    ("limits", "state"),
    [
        (PoolLimits(enabled=False), "idle"),
        (PoolLimits(enabled=False), "awaiting_approval"),
        (PoolLimits(idle_ttl_s=0), "idle"),
        (PoolLimits(approval_ttl_s=0), "awaiting_approval"),
    ],
)
@on_a_loop
async def test_a_pool_that_keeps_none_parks_none(limits: PoolLimits, state: Parked) -> None:
    desk = Desk(limits)
    harness = FakeHarness()
    seat = await desk.begun(A, harness)

    assert not desk.pool.park(seat, state, WARMTH)
    await desk.pool.release(seat, "not-parked")

    assert desk.reasons == [("a", "not-parked")]
    assert harness.ended
    assert desk.clock.waiting == []


@on_a_loop
async def test_what_is_not_recorded_is_not_kept() -> None:
    desk = Desk()
    seat = await desk.begun(A)

    assert not desk.pool.park(seat, "idle", WARMTH, durable=False)
    assert desk.seat(A).state == "busy"


@on_a_loop
async def test_a_dead_harness_or_none_is_not_kept() -> None:
    desk = Desk()
    dead = await desk.begun(A, FakeHarness(alive=False))
    starting = await desk.pool.reserve(B)

    assert not desk.pool.park(dead, "idle", WARMTH)
    assert not desk.pool.park(starting, "idle", WARMTH)


@pytest.mark.parametrize("state", ["idle", "awaiting_approval"])
@on_a_loop
async def test_a_harness_that_dies_while_it_waits_is_noticed(state: Parked) -> None:
    desk = Desk()
    harness = FakeHarness()
    await desk.parked(A, state, harness)
    await desk.parked(B, state)

    harness.alive = False
    await desk.clock.let_pass(1)

    assert desk.reasons == [("a", "process-died")]
    assert harness.closed == 1
    assert desk.seat(B).state == state


@on_a_loop
async def test_a_harness_that_died_is_given_to_no_turn() -> None:
    desk = Desk()
    harness = FakeHarness()
    seat = await desk.parked(A, harness=harness)
    harness.alive = False

    assert desk.pool.checkout(seat.seat_id, A) is None
    await settle()

    assert desk.reasons == [("a", "process-died")]
    assert desk.pool.find(A) is None


@on_a_loop
async def test_nobody_looks_at_harnesses_while_none_is_parked() -> None:
    desk = Desk(PoolLimits(idle_ttl_s=600))
    seat = await desk.parked(A)
    assert len(desk.clock.waiting) == 2
    await desk.clock.let_pass(5)
    assert len(desk.clock.waiting) == 2

    assert desk.pool.checkout(seat.seat_id, A)
    await desk.clock.let_pass(1)

    assert desk.clock.waiting == []


@on_a_loop
async def test_a_prompt_that_dies_while_it_waits_takes_its_seat_with_it() -> None:
    desk = Desk()
    parked = await desk.parked(A, "awaiting_approval")

    assert desk.pool.let_go(parked, "process-died")
    assert desk.pool.find(A) is None
    await settle()

    assert desk.reasons == [("a", "process-died")]


@on_a_loop
async def test_a_prompt_that_dies_after_its_answer_came_does_not_end_the_turn() -> None:
    desk = Desk()
    parked = await desk.parked(A, "awaiting_approval")
    busy = desk.pool.checkout(parked.seat_id, A)

    assert not desk.pool.let_go(parked, "process-died")

    assert busy is not None
    assert desk.seat(A) == busy
