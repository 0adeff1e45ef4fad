"""Two servers of one database run turns of the same session: one at a time, and never a stale one.

Each has harnesses of its own, so a conversation that moves from one to the other is told anew.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

import pytest

from tests.faults.hosting import (
    ASK,
    Served,
    Servers,
    assert_sound,
    eventually,
    is_alive,
)


@dataclass
class Pair:
    """Two servers of one database, with a session."""

    a: Served
    b: Served
    servers: Servers


@pytest.fixture
def pair(servers: Servers) -> Pair:
    pair = Pair(servers.start(), servers.start(), servers)
    pair.a.open()
    return pair


def gone(server: Served, agents: list[int]) -> None:
    """Wait until a server has let its harness go, and the processes are gone."""
    eventually(lambda: [pid for pid in agents if is_alive(pid)], lambda left: not left)
    eventually(server.process, lambda told: told["idle"] + told["awaiting_approval"] == 0)


def test_a_turn_elsewhere_is_cold_and_lets_the_first_harness_go(pair: Pair) -> None:
    pair.a.said("remember x=1")
    agents = pair.a.agents()
    assert len(agents) == 1
    first = pair.b.said("remember x=2")

    assert (first["path"], first["reason"]) == ("evicted", "other-owner")
    assert first["history_from"] == "log"
    gone(pair.a, agents)
    back = pair.a.said("what is x?")
    assert back["path"] in {"cold", "evicted"}
    assert back["messages"][-1]["parts"][-1]["text"] == "x is 2."
    types = pair.a.types()
    assert types.count("seat-close-requested") == 2
    eventually(pair.a.seats, lambda seats: len(seats) == 1)
    assert_sound(pair.servers, pair.a)


def test_an_answer_elsewhere_goes_on_cold_and_the_call_runs_once(pair: Pair) -> None:
    gate = pair.a.asked()
    agents = pair.a.agents()

    answer = pair.b.decide(gate)

    assert answer.status_code == 202, answer.text
    assert answer.json()["continuation"]["status"] == "started"
    turn = pair.b.over(pair.b.last()["turn_id"])
    assert turn["status"] == "completed"
    gone(pair.a, agents)
    assert list(pair.servers.calls().values()) == [1]
    assert pair.a.types().count("gate-consumed") == 1
    again = pair.a.decide(gate)
    assert again.status_code == 202, again.text
    assert pair.a.said("Hello")["path"] in {"cold", "evicted"}
    assert_sound(pair.servers, pair.a)


def test_an_interrupt_elsewhere_stops_what_runs(pair: Pair) -> None:
    turn_id = pair.a.begun("tool: wait {}")
    eventually(lambda: "tool-call-requested" in pair.b.types())

    stopped = pair.b.http.post("/sessions/s/interrupt", json={"reason": "enough"})

    assert (stopped.status_code, stopped.json()) == (202, {"delivered": False})
    turn = pair.b.over(turn_id)
    assert (turn["status"], turn["reason"]) == ("interrupted", "enough")
    assert_sound(pair.servers, pair.a)


def test_an_interrupt_elsewhere_of_what_waits_lets_the_harness_go(pair: Pair) -> None:
    gate = pair.a.asked()
    agents = pair.a.agents()

    stopped = pair.b.http.post("/sessions/s/interrupt", json={})

    assert (stopped.status_code, stopped.json()) == (202, {"delivered": True})
    gone(pair.a, agents)
    assert pair.a.decide(gate).status_code == 410
    assert pair.a.said("Hello")["status"] == "completed"
    assert pair.servers.calls() == {}
    assert_sound(pair.servers, pair.a)


def test_of_two_turns_at_the_same_moment_one_runs(pair: Pair) -> None:
    barrier = Barrier(2)

    def at_once(server: Served) -> tuple[int, str]:
        barrier.wait()
        answer = server.say("Hello")
        return answer.status_code, answer.json().get("code", "")

    for _ in range(3):
        with ThreadPoolExecutor(2) as threads:
            found = sorted(threads.map(at_once, (pair.a, pair.b)))
        assert [status for status, _ in found] in ([200, 200], [200, 409], [200, 503])
        for status, code in found:
            assert (status, code) in {(200, ""), (409, "turn-in-progress"), (503, "contended")}
    assert_sound(pair.servers, pair.a)


def test_decisions_made_at_both_are_all_used_once(pair: Pair) -> None:
    turn = pair.a.said(f'{ASK}; add {{"a":3,"b":4}}')
    first, second = (gate["gate_id"] for gate in turn["gates"])

    at_b = pair.b.decide(first)
    at_a = pair.a.decide(second)

    assert (at_b.status_code, at_a.status_code) == (202, 202)
    assert at_b.json()["continuation"]["status"] == "pending"
    assert pair.a.over(turn["turn_id"])["status"] == "completed"
    assert list(pair.servers.calls().values()) == [1, 1]
    assert pair.a.types().count("gate-consumed") == 2
    assert_sound(pair.servers, pair.a)


def test_a_decision_that_several_servers_find_is_used_once(servers: Servers) -> None:
    full = servers.start(pool_capacity=1, pool_approval_ttl_s=0, pool_wait_s=1)
    names = [f"s{number}" for number in range(2)]
    for name in ("busy", *names):
        full.open(name)
    gates: list[str] = []
    for name in names:
        gates.append(full.asked(name))
        full.has_room()
    full.begun("tool: wait {}", "busy")
    eventually(lambda: "tool-call-requested" in full.types("busy"))
    others = [servers.start() for _ in range(2)]

    for gate in gates:
        assert full.decide(gate).status_code == 202

    for name in names:
        turn = others[0].over(others[0].last(name)["turn_id"], name)
        assert turn["status"] == "completed"
        assert list(servers.calls(name).values()) == [1]
        types = others[0].types(name)
        assert (types.count("gate-consumed"), types.count("harness-started")) == (1, 2)
    assert_sound(servers, full, *names)
