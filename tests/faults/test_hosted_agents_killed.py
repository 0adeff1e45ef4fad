"""An agent that is killed costs its session warmth, or a turn that it was in, and nothing else."""

import signal

import pytest

from tests.faults.cluster import kill
from tests.faults.hosting import Servers, assert_sound, eventually

# What is recorded of it is recorded as any other turn is: one engine will do.
pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


def test_a_parked_agent_that_is_killed_is_replaced(servers: Servers) -> None:
    server = servers.start()
    server.open()
    server.said("remember x=1")
    (agent,) = server.agents()

    kill(agent)
    turn = server.said("what is x?")

    assert turn["path"] in {"cold", "evicted"}
    assert turn["messages"][-1]["parts"][-1]["text"] == "x is 1."
    (evicted,) = server.events("harness-evicted")
    assert evicted["data"]["reason"] in {"process-died", "continuation-failed"}
    assert server.said("what is x?")["path"] == "warm"
    assert len(server.agents()) == 1
    assert_sound(servers, server)


def test_an_agent_that_is_killed_in_a_turn_fails_it_and_the_next_one_works(
    servers: Servers,
) -> None:
    server = servers.start()
    server.open()
    server.said("remember x=1")
    turn_id = server.begun("Hear me.\ntool: wait {}")
    eventually(lambda: "tool-call-requested" in server.types())
    (agent,) = server.agents()

    kill(agent)

    turn = server.over(turn_id)
    assert (turn["status"], turn["error"]["code"]) == ("failed", "process-died")
    eventually(server.seats, lambda seats: not seats)
    assert server.said("what is x?")["messages"][-1]["parts"][-1]["text"] == "x is 1."
    assert server.process()["busy"] == 0
    assert_sound(servers, server)


def test_an_agent_that_is_killed_while_it_waits_leaves_its_gate(servers: Servers) -> None:
    server = servers.start()
    server.open()
    gate = server.asked()
    (agent,) = server.agents()

    kill(agent)
    eventually(server.process, lambda told: told["awaiting_approval"] == 0)

    assert server.http.get(f"/approvals/{gate}").json()["status"] == "open"
    answer = server.decide(gate)
    assert answer.json()["continuation"]["status"] == "started"
    assert server.over(server.last()["turn_id"])["status"] == "completed"
    assert list(servers.calls().values()) == [1]
    assert_sound(servers, server)


def test_an_agent_that_is_killed_as_it_is_answered_is_replaced(servers: Servers) -> None:
    server = servers.start()
    server.open()
    for _ in range(2):
        gate = server.asked()
        (agent,) = server.agents()
        kill(agent, signal.SIGKILL)
        assert server.decide(gate).status_code == 202
        turn = server.over(server.last()["turn_id"])
        assert turn["status"] in {"completed", "failed"}
    assert max(servers.calls().values()) == 1
    assert server.process()["busy"] == 0
    assert_sound(servers, server)
