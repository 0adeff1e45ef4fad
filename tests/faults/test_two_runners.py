"""Two runners, each at a server of its own, want the same session: one has it at a time."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from threading import Barrier, Event
from time import monotonic

import httpx
import pytest

from domain.times import microseconds
from infrastructure import clock
from tests.api.batches import (
    Json,
    answered,
    append,
    batch,
    called,
    completed,
    events_of,
    problem,
    said,
    started,
    types_of,
)
from tests.faults.forked import LOOK_S, Forked

PATIENCE_S = 60.0
ROUNDS = 5
SHORT_S = 4


@dataclass
class Runner:
    """A process that runs turns: it has a name, numbers its batches, and talks to one server."""

    http: httpx.Client
    name: str
    sequence: int = 0

    def write(
        self, *events: Json, fence: int | None = None, lease_s: int | None = None
    ) -> httpx.Response:
        """Append the next batch, until the answer is not "try again"."""
        lease = {"fence": fence, "lease_s": lease_s}
        said = {name: value for name, value in lease.items() if value is not None}
        body = batch(self.sequence + 1, *events, producer=self.name) | said
        while (answer := append(self.http, "s", body)).status_code == 503:
            pass
        self.sequence += answer.status_code == 201
        return answer

    def beat(self, turn_id: str, fence: int) -> httpx.Response:
        path = f"/sessions/s/turns/{turn_id}/heartbeat"
        while (answer := self.http.post(path, json={"fence": fence})).status_code == 503:
            pass
        return answer

    def is_over(self) -> bool:
        return types_of(self.http, "s")[-1] == "turn-interrupted"


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE_S
    while not is_so():
        assert monotonic() < deadline
        Event().wait(0.05)


@pytest.fixture
def servers(processes: Forked) -> list[list[int]]:
    """The process id and the port of two servers of one database."""
    return [processes.start("serve") for _ in range(2)]


@pytest.fixture
def runners(servers: list[list[int]]) -> Iterator[list[Runner]]:
    https = [
        httpx.Client(
            base_url=f"http://127.0.0.1:{port}/v1/projects/default",
            timeout=60,
            verify=False,  # noqa: S501
        )
        for _, port in servers
    ]
    yield [Runner(http, name) for http, name in zip(https, ("one", "two"), strict=True)]
    for http in https:
        http.close()


def test_the_second_of_two_runners_is_told_who_has_the_session_and_until_when(
    runners: list[Runner],
) -> None:
    one, two = runners
    fence = one.write(started("t1"), lease_s=60).json()["fence"]

    refused = two.write(started("t2"), lease_s=60)
    assert problem(refused)[:2] == (409, "turn-in-progress")
    told = refused.json()
    until = microseconds(told["lease_until"])
    assert (told["owner"], told["turn_id"]) == ("one", "t1")
    assert until is not None
    assert clock.now() < until <= clock.now() + 60_000_000
    assert problem(two.write(said("t1", "Mine.")))[:2] == (409, "fenced")

    one.write(completed("t1"), fence=fence)
    assert two.write(started("t2"), lease_s=60).json()["fence"] == fence + 1
    assert problem(one.write(said("t2", "Mine."), fence=fence))[:2] == (409, "fenced")


def test_a_runner_that_is_silent_loses_its_turn_and_writes_nothing_more(
    runners: list[Runner],
) -> None:
    one, two = runners
    one.write(started("t1"), called("t1", "c1"), lease_s=1)

    wait_for(two.is_over)
    assert two.write(started("t2"), lease_s=60).json()["fence"] == 3
    for lost in (answered("t1", "c1"), said("t2", "Still there."), completed("t2")):
        assert problem(one.write(lost, fence=1))[:2] == (409, "fenced")
    assert problem(one.beat("t1", 1))[:2] == (409, "turn-over")
    again = append(one.http, "s", batch(1, started("t1"), called("t1", "c1"), producer="one"))
    assert again.headers["Idempotent-Replayed"] == "true"
    assert types_of(two.http, "s").count("turn-interrupted") == 1


def test_a_call_that_is_longer_than_its_lease_is_kept_by_heartbeats_and_runs_once(
    runners: list[Runner],
) -> None:
    one, two = runners
    one.write(started("t1"), called("t1", "c1"), lease_s=SHORT_S)
    # The servers look on for long enough to take it.
    until = monotonic() + 2 * SHORT_S + 2 * LOOK_S
    while monotonic() < until:
        assert one.beat("t1", 1).status_code == 200
        assert problem(two.write(started("t2"), lease_s=60))[:2] == (409, "turn-in-progress")
        Event().wait(0.3)

    assert one.write(answered("t1", "c1"), completed("t1"), fence=1).status_code == 201
    calls = [each for each in events_of(one.http, "s") if each["type"] == "tool-call-requested"]
    assert len(calls) == 1


def test_a_turn_outlives_the_server_that_it_was_leased_at(
    runners: list[Runner], servers: list[list[int]]
) -> None:
    one, two = runners
    one.write(started("t1"), lease_s=60)
    os.kill(servers[0][0], signal.SIGKILL)

    moved = Runner(two.http, "one", one.sequence)
    assert moved.beat("t1", 1).status_code == 200
    assert problem(two.write(said("t1", "Mine.")))[:2] == (409, "fenced")
    assert moved.write(completed("t1"), fence=1).status_code == 201


def test_of_two_runners_that_start_at_once_one_has_each_turn(runners: list[Runner]) -> None:
    barrier = Barrier(2)
    numbers = count(1)

    def start(runner: Runner, turn_id: str) -> httpx.Response:
        barrier.wait(PATIENCE_S)
        return runner.write(started(f"{turn_id}-{runner.name}"), lease_s=60)

    fences: list[int] = []
    with ThreadPoolExecutor(2) as threads:
        for number in range(ROUNDS):
            turn_id = f"t{next(numbers)}"
            answers = list(threads.map(start, runners, [turn_id] * 2))
            assert sorted(each.status_code for each in answers) == [201, 409], number
            [(winner, fence)] = [
                (runner, answer.json()["fence"])
                for runner, answer in zip(runners, answers, strict=True)
                if answer.status_code == 201
            ]
            fences.append(fence)
            done = winner.write(completed(f"{turn_id}-{winner.name}"), fence=fence)
            assert done.status_code == 201
    assert fences == list(range(1, ROUNDS + 1))


def test_a_heartbeat_and_the_end_of_a_turn_at_once_leave_nobody_holding_it(
    runners: list[Runner],
) -> None:
    one, two = runners
    beater = Runner(two.http, "one")
    barrier = Barrier(2)

    def end(turn_id: str, fence: int) -> httpx.Response:
        barrier.wait(PATIENCE_S)
        return one.write(completed(turn_id), fence=fence)

    def beat(turn_id: str, fence: int) -> httpx.Response:
        barrier.wait(PATIENCE_S)
        return beater.beat(turn_id, fence)

    with ThreadPoolExecutor(2) as threads:
        for number in range(1, ROUNDS + 1):
            turn_id = f"t{number}"
            fence = one.write(started(turn_id), lease_s=3_600).json()["fence"]
            ending, beating = (
                threads.submit(end, turn_id, fence),
                threads.submit(beat, turn_id, fence),
            )
            assert ending.result().status_code == 201
            assert beating.result().status_code in {200, 409}
            known = two.write(said(turn_id, "x"), fence=fence + 1).json()
            assert (known["current_fence"], known["lease_until"]) == (fence, None)
