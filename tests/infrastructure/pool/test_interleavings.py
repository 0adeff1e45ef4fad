"""Whatever happens in whatever order: what is true of a pool at every moment?"""
# What is true inside is the subject.
# pyright: reportPrivateUsage=false

import asyncio
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from infrastructure.pool.limits import PoolLimits
from infrastructure.pool.seats import Parked, Seat, SeatKey
from tests.infrastructure.pool.fakes import WARMTH, Desk, FakeHarness, settle

CAPACITY = 3
KEYS = [SeatKey("project", f"{number}") for number in range(5)]
PICK = st.integers(0, 99)
STATES = st.sampled_from(["idle", "idle", "awaiting_approval"])


@dataclass(eq=False)
class Turn:
    """A turn that asks for a seat, and holds it until it parks or releases it."""

    key: SeatKey
    asking: "asyncio.Task[Seat] | None" = None
    seat: Seat | None = None


class Interleavings(RuleBasedStateMachine):
    """Turns come and go; time passes; harnesses end when they like, or die."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.desk = Desk(PoolLimits(capacity=CAPACITY))
        self.pool = self.desk.pool
        self.turns: list[Turn] = []
        self.harnesses: list[FakeHarness] = []
        self.seen: list[Seat] = []
        self.others: set[asyncio.Task[Any]] = set()

    def run(self, steps: int) -> None:
        async def some() -> None:
            for _ in range(steps):
                await asyncio.sleep(0)

        self.loop.run_until_complete(some())

    def start(self, what: Coroutine[Any, Any, object]) -> None:
        task = self.loop.create_task(what)
        self.others.add(task)
        task.add_done_callback(self.others.discard)
        self.run(1)  # whoever is cancelled had begun: it awaits in its own task

    async def let_go(self, seat: Seat, reason: str) -> None:
        self.pool.let_go(seat, reason)

    def holding(self) -> list[Turn]:
        for turn in list(self.turns):
            if turn.asking is not None and turn.asking.done():
                if turn.asking.cancelled() or turn.asking.exception():
                    self.turns.remove(turn)
                else:
                    turn.seat = turn.asking.result()
                turn.asking = None
        return [turn for turn in self.turns if turn.seat is not None]

    def harness(self) -> FakeHarness:
        harness = FakeHarness(slow=len(self.harnesses) % 2 == 0)
        self.harnesses.append(harness)
        return harness

    @rule(key=st.sampled_from(KEYS))
    def ask(self, key: SeatKey) -> None:
        turn = Turn(key=key)
        turn.asking = self.loop.create_task(self.pool.reserve(key))
        self.turns.append(turn)

    @rule(steps=st.integers(1, 4))
    def step(self, steps: int) -> None:
        self.run(steps)

    @rule(pick=PICK)
    def abandon(self, pick: int) -> None:
        asking = [turn.asking for turn in self.turns if turn.asking is not None]
        if asking:
            asking[pick % len(asking)].cancel()

    @rule(key=st.sampled_from(KEYS), state=STATES)
    def take_a_turn(self, key: SeatKey, state: Parked) -> None:
        self.ask(key)
        turn = self.turns[-1]
        self.run(2)
        if turn in self.holding() and turn.seat is not None:
            self.loop.run_until_complete(self.parked(turn.seat, state))
            self.leave(turn)

    @precondition(lambda self: self.holding())
    @rule(pick=PICK)
    def seat_harness(self, pick: int) -> None:
        turn = self.holding()[pick % len(self.holding())]
        assert turn.seat is not None
        self.loop.run_until_complete(self.seated(turn.seat))

    async def seated(self, seat: Seat) -> None:
        self.pool.seat_harness(seat, self.harness())

    @precondition(lambda self: self.holding())
    @rule(pick=PICK, state=STATES, late=st.booleans())
    def park(self, pick: int, state: Parked, late: bool) -> None:
        turn = self.holding()[pick % len(self.holding())]
        assert turn.seat is not None
        self.loop.run_until_complete(self.parked(turn.seat, state))
        if not late:
            self.leave(turn)

    async def parked(self, seat: Seat, state: Parked) -> None:
        before = self.pool.find(seat.key)
        if before is not None and before.harness is None:
            self.pool.seat_harness(seat, self.harness())
        if self.pool.park(seat, state, WARMTH):
            assert before is not None
            assert before.state == "busy"
            assert (before.seat_id, before.uses) == (seat.seat_id, seat.uses)

    @precondition(lambda self: self.holding())
    @rule(pick=PICK)
    def release(self, pick: int) -> None:
        self.leave(self.holding()[pick % len(self.holding())])

    def leave(self, turn: Turn) -> None:
        assert turn.seat is not None
        self.turns.remove(turn)
        self.seen.append(turn.seat)
        self.start(self.pool.release(turn.seat, "not-parked"))

    @rule(pick=PICK)
    def check_out(self, pick: int) -> None:
        seats = [*self.pool.seats(), *self.seen]
        if seats:
            self.loop.run_until_complete(self.checked_out(seats[pick % len(seats)]))

    async def checked_out(self, seat: Seat) -> None:
        now = self.pool.find(seat.key)
        taken = self.pool.checkout(seat.seat_id, seat.key)
        if taken is not None:
            assert now is not None
            assert (now.seat_id, taken.uses) == (seat.seat_id, now.uses + 1)
            assert now.state in {"idle", "awaiting_approval"}
            self.turns.append(Turn(key=seat.key, seat=taken))

    @rule(pick=PICK)
    def look(self, pick: int) -> None:
        if seats := self.pool.seats():
            self.loop.run_until_complete(self.looked_at(seats[pick % len(seats)]))

    async def looked_at(self, parked: Seat) -> None:
        taken = self.pool.checkout(parked.seat_id, parked.key)
        if taken is not None and self.pool.put_back(taken, parked):
            now = self.pool.find(parked.key)
            assert now in {None, replace(parked, uses=taken.uses)}  # None: it made room
        elif taken is not None:
            self.turns.append(Turn(key=parked.key, seat=taken))

    @precondition(lambda self: self.holding())
    @rule(pick=PICK)
    def start_anew(self, pick: int) -> None:
        turn = self.holding()[pick % len(self.holding())]
        new = self.pool.reserve(turn.key, replacing=turn.seat, reason="history")
        self.turns.append(Turn(key=turn.key, asking=self.loop.create_task(new)))

    @rule(pick=PICK, waits=st.booleans())
    def evict(self, pick: int, waits: bool) -> None:
        seats = [*self.pool.seats(), *self.seen]
        if seats:
            seat = seats[pick % len(seats)]
            end = self.pool.evict if waits else self.let_go
            self.start(end(seat, "request"))

    @rule(pick=PICK)
    def remember(self, pick: int) -> None:
        if seats := self.pool.seats():
            self.seen.append(seats[pick % len(seats)])

    @rule(picks=st.lists(PICK, max_size=3))
    def relieve(self, picks: list[int]) -> None:
        seats = [*self.pool.seats(), *self.seen]
        chosen = [seats[pick % len(seats)].seat_id for pick in picks] if seats else []
        self.start(self.pool.relieve(chosen))

    @rule(seconds=st.sampled_from([0.5, 0.5, 4, 5, 31, 60, 600]))
    def let_pass(self, seconds: float) -> None:
        self.loop.run_until_complete(self.desk.clock.let_pass(seconds))

    @rule(pick=PICK)
    def die(self, pick: int) -> None:
        if self.harnesses:
            self.harnesses[pick % len(self.harnesses)].alive = False

    @rule(pick=PICK)
    def end(self, pick: int) -> None:
        if ending := [each for each in self.harnesses if each.closed and not each.ended]:
            ending[pick % len(ending)].may_end.set()

    @rule(fails=st.booleans())
    def telling(self, fails: bool) -> None:
        self.desk.telling_fails = fails

    @rule()
    def give_up_waiting(self) -> None:
        for task in self.others:
            task.cancel()

    @invariant()
    def there_are_never_more_than_there_is_room_for(self) -> None:
        counts = self.pool.counts()
        taken = counts.busy + counts.idle + counts.awaiting_approval + counts.ending

        assert taken + self.pool._room._free <= CAPACITY
        assert self.pool._room._free == 0 or counts.waiting == 0

    @invariant()
    def no_idle_seat_stays_while_somebody_waits_for_room(self) -> None:
        counts = self.pool.counts()

        assert counts.idle == 0 or counts.waiting <= self.pool._endings.to_come

    @invariant()
    def a_session_has_one_seat(self) -> None:
        seats = self.pool.seats()

        assert self.pool._by_key == {seat.key: seat.seat_id for seat in seats}
        assert len({seat.key for seat in seats}) == len(seats)
        assert not {seat.key for seat in seats} & set(self.pool._endings._endings)

    @invariant()
    def a_seat_ends_once(self) -> None:
        told = Counter(seat.seat_id for seat in self.desk.gone)

        assert all(times == 1 for times in told.values())
        assert all(harness.closed <= 1 for harness in self.harnesses)

    @invariant()
    def what_is_parked_has_a_timer_and_what_is_busy_has_none(self) -> None:
        parked = {seat.seat_id: seat for seat in self.pool.seats() if seat.state != "busy"}
        places = self.pool._parking._places
        due = [call.due for call in self.desk.clock.waiting]

        assert {seat_id: place.seat for seat_id, place in places.items()} == parked
        assert set(self.pool._parking._idle) == {
            seat_id for seat_id, seat in parked.items() if seat.state == "idle"
        }
        assert all(place.timer in self.desk.clock.waiting for place in places.values())
        assert all(seat.expires_at in due for seat in parked.values())
        assert all(
            (seat.expires_at is None) == (seat.state == "busy") for seat in self.pool.seats()
        )

    @invariant()
    def what_is_gone_is_nowhere(self) -> None:
        gone = {seat.seat_id for seat in self.desk.gone}

        assert not gone & set(self.pool._seats)
        assert not gone & set(self.pool._by_key.values())
        assert not gone & set(self.pool._parking._places)
        assert not gone & set(self.pool._parking._idle)

    def teardown(self) -> None:
        try:
            self.loop.run_until_complete(self.all_is_free_in_the_end())
        finally:
            self.loop.close()

    async def all_is_free_in_the_end(self) -> None:
        for turn in self.turns:
            if turn.asking is not None:
                turn.asking.cancel()
        for harness in self.harnesses:
            harness.may_end.set()
        await settle()
        for turn in self.holding():
            assert turn.seat is not None
            await self.pool.release(turn.seat, "not-parked")
        assert self.pool.counts().busy == 0
        await self.pool.close()
        await settle()

        assert self.pool._room._free == CAPACITY
        assert self.pool.counts().ending == 0
        assert all(harness.closed == 1 for harness in self.harnesses)


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
