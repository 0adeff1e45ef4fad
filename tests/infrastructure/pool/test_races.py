"""Does each race have one winner, and does the loser do no harm?

Those by which the system that this pool follows lost turns and processes, and their kin.
"""

import asyncio

import pytest

from infrastructure.pool.limits import PoolLimits
from infrastructure.pool.seats import PoolFull, SeatBusy
from tests.infrastructure.pool.fakes import WARMTH, A, B, Desk, FakeHarness, on_a_loop, settle


@on_a_loop
async def test_two_turns_on_one_session_leave_the_first_alone() -> None:
    desk = Desk()
    harness = FakeHarness()
    first = await desk.begun(A, harness)

    for _ in range(2):
        with pytest.raises(SeatBusy):
            await desk.pool.reserve(A)
        assert desk.pool.checkout(first.seat_id, A) is None

    assert desk.pool.park(first, "idle", WARMTH)
    assert (harness.closed, desk.told) == (0, [])


@on_a_loop
async def test_a_turn_that_comes_while_a_harness_starts_starts_no_second_one() -> None:
    desk = Desk()
    await desk.pool.reserve(A)

    with pytest.raises(SeatBusy):
        await desk.pool.reserve(A)

    assert len(desk.pool.seats()) == 1


@on_a_loop
async def test_a_timer_that_comes_after_the_checkout_ends_nothing() -> None:
    desk = Desk()
    parked = await desk.parked(A)
    expire = next(call for call in desk.clock.waiting if call.due == parked.expires_at)

    busy = desk.pool.checkout(parked.seat_id, A)
    expire.callback()
    await settle()

    assert desk.seat(A) == busy
    assert desk.told == []


@on_a_loop
async def test_a_timer_of_an_earlier_park_does_not_end_a_later_one() -> None:
    desk = Desk()
    parked = await desk.parked(A)
    expire = next(call for call in desk.clock.waiting if call.due == parked.expires_at)
    busy = desk.pool.checkout(parked.seat_id, A)
    assert busy is not None
    assert desk.pool.park(busy, "idle", WARMTH)

    expire.callback()
    await settle()

    assert desk.seat(A).state == "idle"
    assert desk.told == []


@on_a_loop
async def test_a_checkout_that_comes_after_the_timer_gets_nothing() -> None:
    desk = Desk()
    harness = FakeHarness(slow=True)
    parked = await desk.parked(A, harness=harness)
    await desk.clock.let_pass(60)

    assert desk.pool.checkout(parked.seat_id, A) is None

    harness.may_end.set()
    await settle()
    assert desk.reasons == [("a", "expire")]


@on_a_loop
async def test_a_seat_that_is_ended_during_its_turn_is_not_parked_by_it() -> None:
    desk = Desk()
    harness = FakeHarness(slow=True)
    seat = await desk.begun(A, harness)
    end = asyncio.create_task(desk.pool.evict(seat, "request"))
    await settle()

    assert not desk.pool.park(seat, "idle", WARMTH)
    harness.may_end.set()
    await end

    assert not desk.pool.park(seat, "idle", WARMTH)
    assert desk.pool.find(A) is None


@on_a_loop
async def test_nothing_that_belongs_to_an_ended_seat_touches_its_successor() -> None:
    desk = Desk()
    old = await desk.begun(A)
    await desk.pool.evict(old, "request")
    harness = FakeHarness()
    new = await desk.begun(A, harness)

    assert not desk.pool.park(old, "idle", WARMTH)
    assert not desk.pool.seat_harness(old, FakeHarness())
    assert not desk.pool.let_go(old, "request")
    assert await desk.pool.evict(old, "request")
    await desk.pool.release(old, "not-parked")
    assert desk.pool.checkout(old.seat_id, A) is None

    assert desk.seat(A).seat_id == new.seat_id
    assert harness.closed == 0
    assert desk.reasons == [("a", "request")]


@on_a_loop
async def test_the_holder_of_an_earlier_use_has_no_say_in_a_later_one() -> None:
    desk = Desk()
    first = await desk.begun(A)
    assert desk.pool.park(first, "idle", WARMTH)
    second = desk.pool.checkout(first.seat_id, A)
    assert second is not None

    assert not desk.pool.park(first, "idle", WARMTH)
    assert not await desk.pool.evict(first, "history")
    await desk.pool.release(first, "not-parked")

    assert desk.seat(A) == second
    assert desk.told == []


@on_a_loop
async def test_an_idle_seat_that_is_taken_just_before_room_is_needed_stays() -> None:
    desk = Desk(PoolLimits(capacity=1))
    parked = await desk.parked(A)
    busy = desk.pool.checkout(parked.seat_id, A)
    turn = asyncio.create_task(desk.pool.reserve(B))

    await desk.clock.let_pass(5)

    with pytest.raises(PoolFull):
        await turn
    assert desk.seat(A) == busy
    assert desk.told == []


@on_a_loop
async def test_a_seat_that_makes_room_is_given_to_no_turn() -> None:
    desk = Desk(PoolLimits(capacity=1))
    harness = FakeHarness(slow=True)
    parked = await desk.parked(A, harness=harness)
    turn = asyncio.create_task(desk.pool.reserve(B))
    await settle()

    assert desk.pool.checkout(parked.seat_id, A) is None
    harness.may_end.set()

    assert (await turn).key == B


@on_a_loop
async def test_a_harness_that_dies_and_a_timer_that_is_over_end_a_seat_once() -> None:
    desk = Desk(PoolLimits(idle_ttl_s=1))
    harness = FakeHarness()
    parked = await desk.parked(A, harness=harness)
    harness.alive = False

    desk.pool.let_go(parked, "process-died")
    await desk.clock.let_pass(1)

    assert harness.closed == 1
    assert desk.reasons == [("a", "process-died")]


@on_a_loop
async def test_who_waits_for_an_end_that_is_over_does_not_wait_for_the_successors() -> None:
    desk = Desk()
    old = await desk.begun(A)
    await desk.pool.evict(old, "request")
    new = await desk.begun(A, FakeHarness(slow=True))
    desk.pool.let_go(new, "request")

    await asyncio.wait_for(desk.pool.release(old, "not-parked"), 30)

    assert desk.pool.counts().ending == 1
