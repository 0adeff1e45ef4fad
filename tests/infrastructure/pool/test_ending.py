"""How does a seat end, whatever happens meanwhile?"""

import asyncio
import logging

import pytest

from infrastructure.pool.limits import PoolLimits
from infrastructure.pool.seats import Counts, PoolClosed
from tests.infrastructure.pool.fakes import WARMTH, A, B, C, D, Desk, FakeHarness, on_a_loop, settle

ONE = PoolLimits(capacity=1)


@on_a_loop
async def test_all_who_end_a_seat_wait_for_one_end() -> None:
    desk = Desk()
    harness = FakeHarness(slow=True)
    seat = await desk.parked(A, harness=harness)

    ends = [asyncio.create_task(desk.pool.evict(seat, reason)) for reason in ("request", "config")]
    await settle()
    assert not any(end.done() for end in ends)
    harness.may_end.set()

    assert await asyncio.gather(*ends) == [True, True]
    assert harness.closed == 1
    assert desk.reasons == [("a", "request")]


@on_a_loop
async def test_who_is_told_sees_the_seat_as_it_was_but_gone() -> None:
    desk = Desk()
    seat = await desk.parked(A)

    assert await desk.pool.evict(seat, "request", "by hand")

    assert desk.told == [("a", "request", "by hand")]
    assert [(gone.seat_id, gone.state, gone.warmth) for gone in desk.gone] == [
        (seat.seat_id, "gone", WARMTH)
    ]


@on_a_loop
async def test_a_slow_harness_keeps_nobody_from_being_told() -> None:
    desk = Desk()
    seat = await desk.parked(A, harness=FakeHarness(slow=True))

    desk.pool.let_go(seat, "request")
    await settle()

    assert desk.reasons == [("a", "request")]


@on_a_loop
async def test_the_next_seat_comes_after_the_last_one_was_told() -> None:
    desk = Desk(may_tell=asyncio.Event())
    seat = await desk.parked(A)
    desk.pool.let_go(seat, "request")

    turn = asyncio.create_task(desk.pool.reserve(A))
    await settle()
    assert not turn.done()
    assert desk.may_tell is not None
    desk.may_tell.set()

    assert (await turn).seat_id == "seat-2"


@on_a_loop
async def test_who_is_cancelled_while_it_waits_for_an_end_does_not_stop_it() -> None:
    desk = Desk(ONE)
    harness = FakeHarness(slow=True)
    seat = await desk.begun(A, harness)
    end = asyncio.create_task(desk.pool.release(seat, "not-parked"))
    await settle()

    end.cancel()
    await settle()
    harness.may_end.set()
    await settle()

    assert harness.ended
    assert (await desk.pool.reserve(B)).key == B


@pytest.mark.parametrize("telling_fails", [True, False])
@on_a_loop
async def test_an_end_that_fails_takes_no_room(
    telling_fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(ONE, telling_fails=telling_fails)
    seat = await desk.parked(A, harness=FakeHarness(failing=not telling_fails))

    with caplog.at_level(logging.ERROR, "turnlog"):
        assert await desk.pool.evict(seat, "request")

    kind = "ConnectionRefusedError" if telling_fails else "ConnectionResetError"
    assert caplog.messages == [f"the end of a seat failed: {kind}"]
    assert (await desk.pool.reserve(A)).seat_id == "seat-2"


@on_a_loop
async def test_an_end_that_is_cancelled_takes_no_room() -> None:
    desk = Desk(ONE)
    seat = await desk.parked(A)
    before = asyncio.all_tasks()
    desk.pool.let_go(seat, "request")

    for task in asyncio.all_tasks() - before:  # before its first step
        task.cancel()

    assert await desk.pool.evict(seat, "request")
    assert (await desk.pool.reserve(B)).key == B


@on_a_loop
async def test_an_end_that_never_comes_is_cut_short(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk(ONE)
    harness = FakeHarness(slow=True)
    seat = await desk.parked(A, harness=harness)
    end = asyncio.create_task(desk.pool.evict(seat, "request"))

    await desk.clock.let_pass(29)
    assert not end.done()
    await desk.clock.let_pass(1)

    assert await end
    assert caplog.messages == ["a seat was given up before its harness had ended"]
    assert (await desk.pool.reserve(B)).key == B


@on_a_loop
async def test_a_busy_seat_ends_when_it_is_asked_for() -> None:
    desk = Desk()
    harness = FakeHarness()
    busy = await desk.begun(A, harness)

    assert await desk.pool.evict(desk.seat(A), "request")

    assert harness.ended
    assert not desk.pool.park(busy, "idle", WARMTH)
    await desk.pool.release(busy, "not-parked")
    assert desk.reasons == [("a", "request")]


@on_a_loop
async def test_a_harness_that_comes_for_a_seat_which_is_gone_is_closed() -> None:
    desk = Desk()
    seat = await desk.pool.reserve(A)
    await desk.pool.evict(seat, "request")
    late = FakeHarness()

    assert not desk.pool.seat_harness(seat, late)
    await settle()

    assert late.ended
    assert desk.reasons == [("a", "request")]


@on_a_loop
async def test_a_seat_has_one_harness() -> None:
    desk = Desk()
    first, second = FakeHarness(), FakeHarness()
    seat = await desk.begun(A, first)

    assert not desk.pool.seat_harness(seat, second)
    await settle()

    assert (first.closed, second.closed) == (0, 1)


@on_a_loop
async def test_a_release_leaves_alone_what_was_parked() -> None:
    desk = Desk()
    seat = await desk.begun(A)
    assert desk.pool.park(seat, "idle", WARMTH)

    await desk.pool.release(seat, "not-parked")

    assert desk.seat(A).state == "idle"


@on_a_loop
async def test_of_the_seats_that_are_to_relieve_it_only_those_that_are_idle_go() -> None:
    desk = Desk()
    harness = FakeHarness()
    idle = await desk.parked(A, harness=harness)
    wanted = [idle, await desk.parked(B, "awaiting_approval"), await desk.begun(C)]
    await desk.parked(D)

    relieved = await desk.pool.relieve([*(seat.seat_id for seat in wanted), "seat-of-nobody"])

    assert (relieved, desk.reasons) == (1, [("a", "pressure")])
    assert harness.ended


@on_a_loop
async def test_a_pool_says_how_full_it_is() -> None:
    desk = Desk(PoolLimits(capacity=4))
    await desk.pool.evict(await desk.parked(A), "history")
    await desk.begun(A)
    await desk.parked(B)
    await desk.parked(C, "awaiting_approval")
    desk.pool.let_go(await desk.parked(D, harness=FakeHarness(slow=True)), "history")

    assert desk.pool.counts() == Counts(
        capacity=4, busy=1, idle=1, awaiting_approval=1, ending=1, waiting=0, gone={"history": 2}
    )


@on_a_loop
async def test_at_the_end_of_the_process_every_seat_ends_and_says_what_it_was_doing() -> None:
    desk = Desk(PoolLimits(capacity=3))
    harnesses = [FakeHarness() for _ in range(3)]
    busy = await desk.begun(A, harnesses[0])
    await desk.parked(B, "idle", harnesses[1])
    await desk.parked(C, "awaiting_approval", harnesses[2])

    await desk.pool.close()

    assert desk.reasons == [
        ("a", "shutdown-in-flight"),
        ("b", "shutdown-idle"),
        ("c", "shutdown-idle"),
    ]
    assert all(harness.ended for harness in harnesses)
    assert not desk.pool.park(busy, "idle", WARMTH)
    assert desk.pool.seats() == ()
    assert desk.clock.waiting == []


@on_a_loop
async def test_the_end_of_the_process_waits_no_longer_than_was_set() -> None:
    desk = Desk(PoolLimits(shutdown_s=5))
    harness = FakeHarness(slow=True)
    await desk.begun(A, harness)
    close = asyncio.create_task(desk.pool.close())

    await desk.clock.let_pass(4.9)
    assert not close.done()
    await desk.clock.let_pass(0.1)

    assert close.done()
    assert not harness.ended
    assert desk.pool.counts().ending == 0
    await desk.pool.close()


@on_a_loop
async def test_the_end_of_the_process_refuses_those_who_wait() -> None:
    desk = Desk(PoolLimits(capacity=2))
    harness = FakeHarness(slow=True)
    await desk.begun(A)
    await desk.parked(B, harness=harness)
    turns = [asyncio.create_task(desk.pool.reserve(key)) for key in (B, C)]
    await settle()

    close = asyncio.create_task(desk.pool.close())
    await settle()
    harness.may_end.set()
    await close

    for turn in turns:
        with pytest.raises(PoolClosed):
            await turn
    assert desk.pool.seats() == ()


@on_a_loop
async def test_a_harness_that_starts_during_the_end_of_the_process_ends_too() -> None:
    desk = Desk()
    seat = await desk.pool.reserve(A)
    late = FakeHarness(slow=True)
    close = asyncio.create_task(desk.pool.close())
    await asyncio.sleep(0)

    assert not desk.pool.seat_harness(seat, late)
    late.may_end.set()
    await close
    await settle()

    assert late.ended
