"""When does a pool look after its memory, what goes then, and what is told of it?"""

import asyncio
import logging
from dataclasses import dataclass, field

import pytest

from domain.pressure import MIB, Budget
from infrastructure.hosting.relieving import measured
from infrastructure.pool.limits import PoolLimits
from infrastructure.pool.pressure import Looked, Pressure, Relieved
from tests.infrastructure.pool.fakes import A, B, C, D, Desk, FakeHarness, on_a_loop, settle

GIB = 1024 * MIB


@dataclass(eq=False)
class Kept:
    """A pool that may use 1 GiB, and what it is told of memory and of the log."""

    limits: PoolLimits = field(default_factory=PoolLimits)
    budget: int | None = GIB
    used: int | None = 2 * GIB
    looks: int = 0
    off_record: set[str] = field(default_factory=set[str])
    may_tell: asyncio.Event | None = None
    failing: bool = False

    def __post_init__(self) -> None:
        self.desk = Desk(self.limits)
        self.relieved = Relieved()
        self.pressure = Pressure(
            self.desk.pool,
            self.limits,
            self.desk.clock,
            look=self._look,
            on_record=self._on_record,
            relieved=self.relieved,
        )

    async def _look(self) -> Looked:
        self.looks += 1
        return Looked(self.budget, self.used)

    async def _on_record(self) -> set[str]:
        if self.failing:
            raise ConnectionResetError
        known = {seat.seat_id for seat in self.desk.pool.seats()} - self.off_record
        if self.may_tell is not None:
            await self.may_tell.wait()
        return known


@on_a_loop
async def test_it_is_looked_every_few_seconds_and_what_is_too_much_goes() -> None:
    kept = Kept(PoolLimits(pressure_every_s=10, idle_ttl_s=600))
    for key in (A, B, C):
        await kept.desk.parked(key)
    kept.pressure.begin()

    await kept.desk.clock.let_pass(9)
    assert (kept.looks, kept.desk.reasons) == (0, [])
    await kept.desk.clock.let_pass(1)

    assert kept.desk.reasons == [("a", "pressure"), ("b", "pressure")]
    kept.used = GIB
    await kept.desk.clock.let_pass(30)
    assert kept.relieved == Relieved(budget=GIB, used=GIB, passes=4, evicted=2)
    await kept.pressure.end()
    await kept.desk.clock.let_pass(30)
    assert kept.looks == 4


@on_a_loop
async def test_when_a_harness_was_started_it_is_looked_at_once_and_once_at_a_time() -> None:
    kept = Kept()
    harness = FakeHarness(slow=True)
    await kept.desk.parked(A, harness=harness)

    kept.pressure.stir()
    kept.pressure.stir()
    await settle()
    kept.pressure.stir()
    await settle()

    assert (kept.looks, kept.relieved.evicted, kept.desk.reasons) == (1, 0, [("a", "pressure")])
    harness.may_end.set()
    await settle()
    assert kept.relieved.evicted == 1
    kept.pressure.stir()
    await settle()
    assert kept.looks == 2


@on_a_loop
async def test_without_a_budget_it_is_never_looked() -> None:
    kept = Kept(PoolLimits(memory_budget=None))
    await kept.desk.parked(A)

    kept.pressure.begin()
    kept.pressure.stir()
    await kept.desk.clock.let_pass(40)

    assert kept.looks == 0


@pytest.mark.parametrize(("budget", "used"), [(None, GIB), (GIB, None), (GIB, GIB)])
@on_a_loop
async def test_nothing_goes_unless_more_is_known_to_be_used(
    budget: int | None, used: int | None
) -> None:
    kept = Kept(budget=budget, used=used)
    await kept.desk.parked(A)

    assert await kept.pressure.relieve() == 0
    assert kept.relieved == Relieved(budget=budget, used=used, passes=1)


@on_a_loop
async def test_one_that_is_not_on_record_stays_until_it_is() -> None:
    kept = Kept(PoolLimits(pressure_protect_recent=0))
    seat = await kept.desk.parked(A)
    kept.off_record.add(seat.seat_id)
    await kept.desk.parked(B)

    assert await kept.pressure.relieve() == 1
    kept.off_record.clear()
    assert await kept.pressure.relieve() == 1

    assert kept.desk.reasons == [("b", "pressure"), ("a", "pressure")]


@on_a_loop
async def test_one_that_was_used_while_the_log_was_asked_stays() -> None:
    kept = Kept(PoolLimits(pressure_protect_recent=0), may_tell=asyncio.Event())
    before = await kept.desk.parked(A)
    kept.pressure.stir()
    await settle()
    taken = kept.desk.pool.checkout(before.seat_id, A)
    assert taken is not None
    assert taken.warmth is not None
    assert kept.desk.pool.park(taken, "idle", taken.warmth)

    assert kept.may_tell is not None
    kept.may_tell.set()
    await settle()

    assert (kept.desk.reasons, kept.relieved.unevictable) == ([], 1)


@on_a_loop
async def test_where_none_can_go_a_warning_says_why_and_it_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = Kept()
    await kept.desk.begun(A)
    await kept.desk.parked(B, "awaiting_approval")
    for key in (C, D):
        kept.off_record.add((await kept.desk.parked(key)).seat_id)

    with caplog.at_level(logging.WARNING, "turnlog"):
        assert await kept.pressure.relieve() == 0

    assert kept.relieved == Relieved(budget=GIB, used=2 * GIB, passes=1, unevictable=1)
    assert caplog.messages == [
        (
            "2048 MiB are used, more than the 1024 that may be, and no harness can be let go:"
            " 2 are in a turn or wait for a decision, 2 are not known to be on record"
        )
    ]


@on_a_loop
async def test_an_empty_pool_is_no_reason_for_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = Kept()

    assert await kept.pressure.relieve() == 0

    assert (kept.relieved.unevictable, caplog.messages) == (0, [])


@on_a_loop
async def test_a_look_that_breaks_is_told_and_the_next_one_is_made(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = Kept(failing=True)
    await kept.desk.parked(A)
    kept.pressure.stir()
    await settle()
    kept.failing = False
    kept.pressure.stir()
    await settle()

    assert caplog.messages == ["memory could not be looked after: ConnectionResetError"]
    assert kept.relieved.evicted == 1


@on_a_loop
async def test_at_the_end_what_waits_for_a_seat_to_end_waits_no_more() -> None:
    kept = Kept()
    harness = FakeHarness(slow=True)
    await kept.desk.parked(A, harness=harness)
    kept.pressure.stir()
    await settle()

    await kept.pressure.end()

    assert kept.desk.pool.counts().ending == 1
    kept.pressure.stir()
    await settle()
    assert kept.looks == 1
    harness.may_end.set()
    await settle()
    assert harness.ended


class Said:
    """A machine that lets 7 bytes be used, of which 5 are."""

    def budget(self) -> int | None:
        return 7

    def used(self) -> int | None:
        return 5


@pytest.mark.parametrize(("set_to", "budget"), [("auto", 7), (3, 3 * MIB), (None, None)])
def test_the_budget_is_what_was_set_or_what_the_machine_says(
    set_to: Budget, budget: int | None
) -> None:
    assert measured(Said(), set_to) == Looked(budget, 5)
