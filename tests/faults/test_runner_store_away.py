"""A runner whose store is away asks again with the same number: nothing is lost or run twice."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from time import monotonic

import httpx

from tests.api.batches import Json, event, said
from tests.api.runners import Runner, known, user
from tests.api.serving import Served, served
from tests.faults.cluster import Cluster
from tests.faults.forked import Forked

PATIENCE_S = 60.0
AWAY_S = 10.0
ROUNDS = 3


@dataclass
class Loop:
    """A runner that takes one input after the other, each until it is recorded."""

    runner: Runner
    inputs: list[str] = field(default_factory=list[str])
    runs: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[tuple[int, str, str]] = field(default_factory=Counter[tuple[int, str, str]])
    stop: Event = field(default_factory=Event)

    def go(self) -> None:
        """Run until told to stop."""
        while not self.stop.is_set():
            self.turn(f"input {len(self.inputs) + 1}")

    def turn(self, text: str) -> None:
        """Dispatch, run, and record."""
        runner = self.runner
        body = runner.body(user(text))
        told = self._insist(lambda: runner.send(body))
        runner.taken(told, text)
        self.runs[text] += 1
        runner.harness.memory.append(("assistant", f"{text}!"))
        last = event("turn-completed", turn_id=runner.turn_id, record_count=runner.records + 1)
        assert runner.turn_id is not None
        events = [said(runner.turn_id, f"{text}!"), last, runner.parked()]
        self._insist(lambda: runner.write(*events))
        self.inputs.append(text)

    def _insist(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        while True:
            answer = send()
            if answer.status_code == 201:
                return answer
            told: Json = answer.json()
            self.refusals[answer.status_code, told["code"], told["action"]] += 1
            assert answer.status_code == 503, answer.text
            self.stop.wait(0.02)


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE_S
    while not is_so():
        assert monotonic() < deadline, "nothing goes on"
        Event().wait(0.02)


def assert_nothing_is_lost(client: httpx.Client, loop: Loop) -> None:
    wanted = [pair for text in loop.inputs for pair in (("user", text), ("assistant", f"{text}!"))]
    assert known(client)[: len(wanted)] == wanted[:200]
    assert set(loop.runs.values()) == {1}
    assert client.post("/sessions/s/verify").json()["ok"]
    turns = client.get("/sessions/s/turns", params={"limit": 200}).json()["items"]
    assert {each["status"] for each in turns} == {"completed"}
    assert [each["path"] for each in turns].count("warm") >= len(turns) - 1


def test_a_store_that_is_down_for_ten_seconds_costs_a_runner_nothing_but_time(
    own_postgresql: Cluster, cluster_url: str
) -> None:
    with served("postgresql", cluster_url) as server:
        _keep_running(own_postgresql, server)


def _keep_running(cluster: Cluster, server: Served) -> None:
    with server.client("default") as client, ThreadPoolExecutor(1) as threads:
        loop = Loop(Runner(client).open())
        running = threads.submit(loop.go)
        try:
            wait_for(lambda: len(loop.inputs) >= 3)
            cluster.stop()
            gone = monotonic()
            wait_for(lambda: monotonic() - gone > AWAY_S)
            cluster.start()
            back = len(loop.inputs)
            wait_for(lambda: len(loop.inputs) >= back + 3)
        finally:
            loop.stop.set()
            running.result()
        assert set(loop.refusals) == {(503, "database-unavailable", "retry")}
        assert_nothing_is_lost(client, loop)


def at(port: int) -> httpx.Client:
    return httpx.Client(
        base_url=f"http://127.0.0.1:{port}/v1/projects/default",
        timeout=60,
        verify=False,  # noqa: S501
    )


def test_a_server_that_is_killed_before_it_answers_has_begun_a_turn_once_or_not(
    processes: Forked,
) -> None:
    """Each round kills the server while a dispatch is under way, and asks the next one."""
    loop: Loop | None = None
    for number in range(ROUNDS):
        pid, port = processes.start("serve")
        with at(port) as client, ThreadPoolExecutor(1) as threads:
            if loop is None:
                loop = Loop(Runner(client).open())
            loop.runner.http = client
            loop.turn(f"input {len(loop.inputs) + 1}")
            text = f"input {len(loop.inputs) + 1}"
            body = loop.runner.body(user(text))
            sent = threads.submit(loop.runner.send, body)
            Event().wait(0.004 * number)
            os.kill(pid, signal.SIGKILL)
            _ = sent.exception()
        _, port = processes.start("serve")
        with at(port) as client:
            loop.runner.http = client
            loop.turn(text)
            assert_nothing_is_lost(client, loop)
