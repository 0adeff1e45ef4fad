"""A turn whose holder is lost is interrupted once, and never one whose holder may be there."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier

import pytest

from domain.commands import OpenSession, Proposal
from domain.events import GateWithdrawn, TurnInterrupted
from domain.recorded import ProducerStamp
from domain.refusals import TurnFenced
from infrastructure import runs
from infrastructure import tables as t
from infrastructure.appending import BatchRequest, append_batch
from infrastructure.composition import Turnlog, open_turnlog
from infrastructure.leasing import heartbeat
from infrastructure.recovering import Watch, interrupt, recover
from infrastructure.runner import Attempt
from infrastructure.settings import load
from tests.infrastructure.writing import NOBODY, SECOND, SetClock, propose, target, turn

STARTED = turn("t1")[:1]
CALLED = turn("t1")[1:2]
ASKED = propose(
    "gate-opened", b'{"gate_id":"g1","turn_id":"t1","kind":"permission","permission_id":"p"}'
)
HOUR = 3_600 * SECOND


@dataclass
class Server:
    """An open log with a clock of its own, which watches the leases of its database."""

    log: Turnlog
    clock: SetClock
    watch: Watch = field(default_factory=Watch)
    ticks: int = 0
    sequence: int = 0

    def append(
        self, *proposals: Proposal, fence: int | None = None, lease_s: int | None = None
    ) -> None:
        self.sequence += 1
        request = BatchRequest(
            producer=ProducerStamp(producer_id="p1", epoch=1, sequence=self.sequence),
            proposals=proposals,
            open=OpenSession(),
            fence=fence,
            lease_s=lease_s,
        )
        self.log.runner.run(
            lambda attempt: append_batch(self.log.handler, attempt, target("s1"), request, NOBODY)
        )

    def beat(self, fence: int = 1) -> None:
        self.log.runner.run(
            lambda attempt: heartbeat(attempt, target("s1"), "t1", fence, None, now=self.clock())
        )

    def passes(self, seconds: int) -> None:
        self.clock.at += seconds * SECOND
        self.ticks += seconds * SECOND

    def recover(self, *after: int) -> list[int]:
        """Look after so many seconds each; return how many turns each look ended."""
        found: list[int] = []
        for seconds in after:
            self.passes(seconds)
            found.append(asyncio.run(recover(self.log, self.watch, self.ticks)))
        return found

    def types(self) -> list[str]:
        return [fact.envelope.type for fact in self.log.log.stream("default", "s1")]

    def run(self) -> runs.Run:
        run = self.log.read_now(lambda connection: runs.find(connection, 1))
        assert run is not None
        return run


def opened(url: str, clock: SetClock) -> Server:
    settings = {"TURNLOG_DATABASE_URL": url, "TURNLOG_ALLOW_UNSAFE_DURABILITY": "true"}
    return Server(open_turnlog(load(settings), clock), clock)


@pytest.fixture
def server(database_url: str) -> Iterator[Server]:
    """A server whose session `s1` has a turn that is leased for 30 seconds, with fence 1."""
    server = opened(database_url, SetClock())
    with server.log:
        server.append(*STARTED, lease_s=30)
        yield server


def test_a_turn_is_interrupted_once_after_its_lease_and_its_gates_are_withdrawn(
    server: Server,
) -> None:
    server.append(*CALLED, ASKED, fence=1)

    assert server.recover(0, 10, 10, 9, 1, 5) == [0, 0, 0, 0, 1, 0]

    *_, withdrawn, interrupted = server.log.log.stream("default", "s1")
    assert isinstance(withdrawn.event, GateWithdrawn)
    assert interrupted.event == TurnInterrupted(turn_id="t1", reason="owner-lost", by=None)
    assert (server.run().fence, server.run().lease_until) == (2, 0)


def test_a_turn_whose_holder_is_heard_of_goes_on(server: Server) -> None:
    for _ in range(10):
        assert server.recover(20) == [0]
        server.beat()
    server.append(*CALLED, fence=1)
    assert server.recover(29, 1) == [0, 1]


def test_a_paused_turn_outlives_its_holder(server: Server) -> None:
    server.append(ASKED, fence=1)
    assert server.recover(0, 60, 3_600) == [0, 0, 0]
    assert server.types()[-1] == "gate-opened"


def test_a_paused_turn_whose_lease_was_not_let_go_is_not_interrupted(server: Server) -> None:
    server.append(ASKED, fence=1)
    with server.log.database.write() as connection:
        runs.renew(connection, 1, 1, server.clock())

    assert server.recover(0, 30, 5) == [0, 0, 0]
    assert server.types()[-1] == "gate-opened"
    assert (server.run().fence, server.run().lease_until) == (1, 0)


def test_a_turn_that_nobody_leased_is_never_interrupted(server: Server) -> None:
    server.append(*turn("t1")[1:], fence=1)
    server.append(*turn("t2")[:1])
    assert server.recover(0, 60, 3_600) == [0, 0, 0]


def test_a_server_looks_on_for_as_long_as_the_lease_before_it_takes_a_turn(
    server: Server,
) -> None:
    server.passes(3_600)
    assert server.recover(0, 20, 9) == [0, 0, 0]
    server.watch.interrupted()
    assert server.recover(5, 29, 1) == [0, 0, 1]


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_clock_that_steps_ends_no_lease_whose_holder_lives(server: Server, hours: int) -> None:
    server.recover(0, 20)
    server.clock.at += hours * HOUR

    assert server.recover(5, 5) == [0, 0]
    server.beat()
    assert server.recover(15, 10) == [0, 0]
    server.beat()
    assert server.types()[-1] == "turn-started"


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_clock_that_steps_keeps_no_lease_for_ever(server: Server, hours: int) -> None:
    server.recover(0, 20)
    server.clock.at += hours * HOUR
    assert sum(server.recover(5, 20, 20, 20)) == 1


def test_a_clock_that_steps_back_a_little_is_waited_for(server: Server) -> None:
    server.recover(0, 20)
    server.clock.at -= 20 * SECOND
    assert server.recover(0, 29, 1) == [0, 0, 1]


def test_whoever_was_heard_of_before_the_look_came_to_write_keeps_the_turn(
    server: Server,
) -> None:
    server.passes(30)
    expired = server.log.read_now(lambda c: list(runs.expired(c, server.clock(), 10)))
    server.beat()

    [each] = expired
    assert not server.log.runner.run(lambda attempt: interrupt(server.log.handler, each, attempt))
    assert server.run().lease_until == server.clock() + 30 * SECOND


def test_what_a_lost_holder_was_about_to_write_is_refused(server: Server) -> None:
    server.recover(0, 30)
    with pytest.raises(TurnFenced) as refused:
        server.append(*CALLED, fence=1)
    assert refused.value.current == 2


def test_a_lease_in_a_session_that_is_gone_is_let_go(server: Server) -> None:
    def forge(attempt: Attempt) -> None:
        attempt.commit.forget()
        attempt.connection.execute(t.heads.update().values(status="deleted"))

    server.log.runner.run(forge)
    assert server.recover(0, 30, 5) == [0, 0, 0]
    assert (server.run().fence, server.run().lease_until) == (1, 0)


def test_of_several_servers_one_interrupts_the_turn(server: Server, database_url: str) -> None:
    barrier = Barrier(3)

    def look(one: Server) -> int:
        barrier.wait(30)
        return sum(one.recover(0, 1, 1))

    others = [opened(database_url, SetClock(server.clock.at)) for _ in range(2)]
    every = [server, *others]
    for one in every:
        one.recover(0, 15, 14)
    with ThreadPoolExecutor(3) as threads:
        ended = list(threads.map(look, every))
    for one in others:
        one.log.close()

    assert sum(ended) == 1
    assert server.types().count("turn-interrupted") == 1
    assert server.run().fence == 2
