"""Who gets a seat when, and who waits?"""

import asyncio
from contextlib import suppress

import pytest

from infrastructure.pool.limits import PoolLimits
from infrastructure.pool.seats import PoolClosed, PoolFull, Seat, SeatBusy, SeatKey
from tests.infrastructure.pool.fakes import WARMTH, A, B, C, D, Desk, FakeHarness, on_a_loop, settle

ONE = PoolLimits(capacity=1)
TWO = PoolLimits(capacity=2)


def asks(desk: Desk, key: SeatKey) -> "asyncio.Task[Seat]":
    """A turn that asks for a seat."""
    return asyncio.get_running_loop().create_task(desk.pool.reserve(key))


@on_a_loop
async def test_a_seat_is_busy_before_its_harness_exists() -> None:
    desk = Desk()

    seat = await desk.pool.reserve(A)

    assert (seat.state, seat.harness, seat.expires_at, seat.uses) == ("busy", None, None, 1)
    assert desk.seat(A) == seat
    assert desk.clock.waiting == []


@on_a_loop
async def test_a_second_turn_never_ends_the_one_that_runs() -> None:
    desk = Desk()
    harness = FakeHarness()
    seat = await desk.begun(A, harness)

    with pytest.raises(SeatBusy):
        await desk.pool.reserve(A)

    assert harness.closed == 0
    assert desk.pool.park(seat, "idle", WARMTH)


@on_a_loop
async def test_two_turns_that_ask_at_once_get_one_seat() -> None:
    desk = Desk()
    await desk.parked(A)

    first, second = await asyncio.gather(
        desk.pool.reserve(A), desk.pool.reserve(A), return_exceptions=True
    )

    assert isinstance(first, Seat)
    assert isinstance(second, SeatBusy)
    assert desk.pool.seats() == (first,)


@on_a_loop
async def test_a_session_that_waits_for_room_is_busy() -> None:
    desk = Desk(ONE)
    await desk.begun(A)
    waiting = asks(desk, B)
    await settle()

    with pytest.raises(SeatBusy):
        await desk.pool.reserve(B)
    waiting.cancel()


@pytest.mark.parametrize("state", ["idle", "awaiting_approval"])
@on_a_loop
async def test_a_parked_seat_of_the_session_has_ended_before_the_next_begins(state: str) -> None:
    desk = Desk()
    harness = FakeHarness(slow=True)
    await desk.parked(A, "idle" if state == "idle" else "awaiting_approval", harness)

    turn = asks(desk, A)
    await settle()
    assert harness.closed == 1
    assert not turn.done()
    harness.may_end.set()

    assert (await turn).seat_id == "seat-2"
    assert desk.told == [("a", "supersede", None)]


@on_a_loop
async def test_who_lets_its_own_seat_go_takes_its_place_before_those_who_wait() -> None:
    desk = Desk(ONE)
    await desk.parked(A, "awaiting_approval")
    waiting = asks(desk, B)
    await settle()

    seat = await desk.pool.reserve(A, reason="config", detail="model")

    assert desk.told == [("a", "config", "model")]
    assert not waiting.done()
    await desk.pool.release(seat, "not-parked")
    assert (await waiting).key == B


@on_a_loop
async def test_a_turn_that_cannot_use_the_seat_it_took_gets_a_new_one_in_its_place() -> None:
    desk = Desk(ONE)
    parked = await desk.parked(A)
    waiting = asks(desk, B)
    taken = desk.pool.checkout(parked.seat_id, A)
    await settle()

    seat = await desk.pool.reserve(A, replacing=taken, reason="history", detail="rewound")

    assert desk.told == [("a", "history", "rewound")]
    assert desk.pool.seats() == (seat,)
    assert not waiting.done()
    waiting.cancel()


@on_a_loop
async def test_a_turn_replaces_no_seat_that_another_turn_has() -> None:
    desk = Desk()
    first = await desk.begun(A)
    assert desk.pool.park(first, "idle", WARMTH)
    second = desk.pool.checkout(first.seat_id, A)
    other = await desk.begun(B)

    for stale in (first, other):
        with pytest.raises(SeatBusy):
            await desk.pool.reserve(A, replacing=stale)

    assert desk.seat(A) == second
    assert desk.told == []


@on_a_loop
async def test_a_turn_whose_seat_is_gone_meanwhile_gets_a_new_one_all_the_same() -> None:
    desk = Desk()
    parked = await desk.parked(A)
    taken = desk.pool.checkout(parked.seat_id, A)
    await desk.pool.evict(desk.seat(A), "request")

    seat = await desk.pool.reserve(A, replacing=taken, reason="history")

    assert desk.reasons == [("a", "request")]
    assert desk.seat(A) == seat


@on_a_loop
async def test_the_idle_seat_that_was_not_used_for_longest_makes_room() -> None:
    desk = Desk(PoolLimits(capacity=3))
    oldest = await desk.parked(A)
    await desk.parked(B)
    await desk.parked(C)
    used = desk.pool.checkout(oldest.seat_id, A)
    assert used is not None
    assert desk.pool.park(used, "idle", WARMTH)

    await desk.pool.reserve(D)

    assert desk.reasons == [("b", "lru")]


@on_a_loop
async def test_neither_a_busy_seat_nor_one_that_waits_for_a_person_makes_room() -> None:
    desk = Desk(PoolLimits(capacity=3))
    await desk.begun(A)
    await desk.parked(B, "awaiting_approval")
    await desk.parked(C)

    await desk.pool.reserve(D)

    assert desk.reasons == [("c", "lru")]


@on_a_loop
async def test_room_is_there_when_a_harness_has_ended_not_before() -> None:
    desk = Desk(ONE)
    harness = FakeHarness(slow=True)
    await desk.parked(A, harness=harness)

    turn = asks(desk, B)
    await settle()
    assert not turn.done()
    assert desk.pool.counts().ending == 1
    harness.may_end.set()

    assert (await turn).key == B


@on_a_loop
async def test_one_who_waits_costs_one_idle_seat() -> None:
    desk = Desk(TWO)
    await desk.parked(A, harness=FakeHarness(slow=True))
    await desk.parked(B, harness=FakeHarness(slow=True))

    turn = asks(desk, C)
    await settle()

    assert desk.reasons == [("a", "lru")]
    turn.cancel()


@on_a_loop
async def test_a_place_that_has_an_heir_is_none_for_who_waits() -> None:
    desk = Desk(TWO)
    await desk.parked(A, harness=FakeHarness(slow=True))
    await desk.parked(B)
    heir = asks(desk, A)
    await settle()

    assert (await desk.pool.reserve(C)).key == C

    assert desk.reasons == [("a", "supersede"), ("b", "lru")]
    heir.cancel()


@on_a_loop
async def test_a_place_whose_heir_gave_up_is_one_for_who_waits() -> None:
    desk = Desk(TWO)
    harness = FakeHarness(slow=True)
    await desk.parked(A, harness=harness)
    await desk.parked(B)
    heir = asks(desk, A)
    await settle()
    heir.cancel()
    await settle()

    turn = asks(desk, C)
    await settle()
    harness.may_end.set()

    assert (await turn).key == C
    assert desk.reasons == [("a", "supersede")]


@on_a_loop
async def test_without_room_a_turn_waits_and_is_refused_in_time() -> None:
    desk = Desk(ONE)
    await desk.begun(A)
    turn = asks(desk, B)

    await desk.clock.let_pass(4.9)
    assert not turn.done()
    await desk.clock.let_pass(0.1)

    with pytest.raises(PoolFull) as full:
        await turn
    assert full.value.retry_after_s == 5
    assert desk.told == []
    assert desk.pool.counts().waiting == 0
    assert desk.clock.waiting == []


@on_a_loop
async def test_a_turn_that_ends_lets_in_who_waits() -> None:
    desk = Desk(ONE)
    seat = await desk.begun(A)
    turn = asks(desk, B)
    await desk.clock.let_pass(3)

    await desk.pool.release(seat, "not-parked")

    assert (await turn).key == B


@on_a_loop
async def test_a_turn_that_parks_lets_in_who_waits() -> None:
    desk = Desk(ONE)
    seat = await desk.begun(A)
    turn = asks(desk, B)
    await settle()

    assert desk.pool.park(seat, "idle", WARMTH)

    assert (await turn).key == B
    assert desk.reasons == [("a", "lru")]


@on_a_loop
async def test_a_turn_that_parks_for_a_person_lets_nobody_in() -> None:
    desk = Desk(ONE)
    seat = await desk.begun(A)
    turn = asks(desk, B)
    await settle()

    assert desk.pool.park(seat, "awaiting_approval", WARMTH)
    await settle()

    assert not turn.done()
    assert desk.told == []
    turn.cancel()


@on_a_loop
async def test_who_came_first_is_served_first() -> None:
    desk = Desk(ONE)
    seat = await desk.begun(A)
    served: list[str] = []

    async def turn(key: SeatKey) -> None:
        taken = await desk.pool.reserve(key)
        served.append(key.session_id)
        await desk.pool.release(taken, "not-parked")

    turns = [asyncio.create_task(turn(key)) for key in (C, B, D)]
    await settle()
    await desk.pool.release(seat, "not-parked")
    await asyncio.gather(*turns)

    assert served == ["c", "b", "d"]


@on_a_loop
async def test_who_comes_while_others_wait_goes_to_the_end() -> None:
    desk = Desk(ONE)
    seat = await desk.begun(A)
    waiting = asks(desk, B)
    await settle()
    desk.pool.let_go(seat, "request")

    late = asks(desk, A)
    await settle()

    assert waiting.done()
    assert not late.done()
    late.cancel()


@on_a_loop
async def test_who_is_cancelled_while_waiting_takes_no_room() -> None:
    desk = Desk(ONE)
    seat = await desk.begun(A)
    cancelled, waiting = asks(desk, B), asks(desk, C)
    await settle()

    cancelled.cancel()
    await settle()
    assert desk.pool.counts().waiting == 1
    await desk.pool.release(seat, "not-parked")

    assert (await waiting).key == C


@on_a_loop
async def test_who_is_cancelled_when_room_was_just_given_passes_it_on() -> None:
    desk = Desk(ONE)
    harness = FakeHarness(slow=True)
    seat = await desk.begun(A, harness)
    cancelled, waiting = asks(desk, B), asks(desk, C)
    await settle()
    end = asyncio.create_task(desk.pool.release(seat, "not-parked"))
    await settle()

    harness.may_end.set()
    while desk.pool.counts().ending:  # noqa: ASYNC110 - until just when B was given the place
        await asyncio.sleep(0)
    cancelled.cancel()
    with suppress(asyncio.CancelledError):
        await cancelled

    assert (await waiting).key == C
    assert desk.pool.find(B) is None
    await end


@on_a_loop
async def test_who_is_cancelled_while_its_own_seat_ends_takes_no_room() -> None:
    desk = Desk(ONE)
    harness = FakeHarness(slow=True)
    await desk.parked(A, harness=harness)
    cancelled = asks(desk, A)
    await settle()
    waiting = asks(desk, B)
    await settle()

    cancelled.cancel()
    await settle()
    assert not waiting.done()
    harness.may_end.set()

    assert (await waiting).key == B
    assert desk.pool.find(A) is None


@on_a_loop
async def test_a_seat_that_ends_too_slowly_for_its_successor_refuses_it_and_leaves_the_room() -> (
    None
):
    desk = Desk(ONE)
    harness = FakeHarness(slow=True)
    await desk.parked(A, harness=harness)
    turn = asks(desk, A)
    await desk.clock.let_pass(5)
    with pytest.raises(PoolFull):
        await turn

    harness.may_end.set()
    await settle()

    assert (await desk.pool.reserve(B)).key == B


@on_a_loop
async def test_a_session_whose_seat_ends_waits_for_that_though_there_is_room() -> None:
    desk = Desk()
    harness = FakeHarness(slow=True)
    seat = await desk.parked(A, harness=harness)
    desk.pool.let_go(seat, "request")

    turn = asks(desk, A)
    await desk.clock.let_pass(4)
    assert not turn.done()
    harness.may_end.set()

    assert (await turn).seat_id == "seat-2"


@on_a_loop
async def test_a_session_whose_seat_ends_too_slowly_gives_its_place_back() -> None:
    desk = Desk(TWO)
    seat = await desk.parked(A, harness=FakeHarness(slow=True))
    desk.pool.let_go(seat, "request")
    turn = asks(desk, A)
    await desk.clock.let_pass(5)

    with pytest.raises(PoolFull):
        await turn

    assert (await desk.pool.reserve(B)).key == B


@on_a_loop
async def test_a_seat_id_that_cannot_be_made_up_takes_no_room() -> None:
    desk = Desk(ONE)

    def fail() -> str:
        raise OSError

    desk.pool._mint = fail  # type: ignore[misc]
    for _ in range(2):
        with pytest.raises(OSError):  # noqa: PT011 - it is the fake's
            await desk.pool.reserve(A)


@on_a_loop
async def test_turns_in_flight_may_all_be_released_by_those_who_died() -> None:
    desk = Desk(TWO)

    async def turn(key: SeatKey) -> None:
        seat = await desk.pool.reserve(key)
        try:
            desk.pool.seat_harness(seat, FakeHarness())
            await asyncio.Event().wait()
        finally:
            await desk.pool.release(seat, "not-parked")

    for _ in range(3):
        turns = [asyncio.create_task(turn(key)) for key in (A, B, C, D)]
        await settle()
        assert desk.pool.counts().busy == 2
        for each in turns:
            each.cancel()
            each.cancel()
        await asyncio.gather(*turns, return_exceptions=True)
        await settle()

    assert desk.pool.seats() == ()
    assert desk.pool.counts().waiting == 0
    await desk.begun(A)
    await desk.begun(B)


@on_a_loop
async def test_a_closed_pool_gives_no_seat() -> None:
    desk = Desk()
    await desk.pool.close()

    with pytest.raises(PoolClosed):
        await desk.pool.reserve(A)
