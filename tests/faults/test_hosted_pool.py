"""Agents that hang, flood, die or change their mind cost a turn at most, and never a place."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import monotonic

import pytest

from tests.faults.cluster import kill
from tests.faults.hosting import PATIENCE_S, Served, Servers, assert_sound, eventually, is_alive

WAIT_S = 1
# What agents and places do is no matter of the database: one engine will do.
pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


def served(servers: Servers, *command: str, **more: int) -> Served:
    """Start a server whose harness is another one; with a session."""
    config = servers.folder / "settings.toml"
    config.write_text(
        "[harnesses.other]\n"
        f"command = {json.dumps(command)}\n"
        f"environment = {{ PYTHONPATH = {json.dumps(servers.root)} }}\n"
        + "".join(f"{name} = {value}\n" for name, value in more.items())
    )
    server = servers.start(config=config, default_harness="other")
    server.open()
    return server


def test_a_full_pool_refuses_after_a_bounded_wait(servers: Servers) -> None:
    server = servers.start(pool_capacity=2, pool_wait_s=WAIT_S)
    for session_id in ("a", "b", "c"):
        server.open(session_id)
    for session_id in ("a", "b"):
        server.begun("tool: wait {}", session_id)

    began = monotonic()
    answer = server.say("Hello", "c")

    assert (answer.status_code, answer.json()["code"]) == (503, "pool-full")
    assert WAIT_S <= monotonic() - began < PATIENCE_S
    assert int(answer.headers["Retry-After"]) >= 1
    assert "turn-started" not in server.types("c")
    server.http.post("/sessions/a/interrupt", json={})
    assert server.said("Hello", "c")["status"] == "completed"
    assert_sound(servers, server, "a", "b", "c")


def test_many_turns_of_a_session_have_one_process(servers: Servers) -> None:
    server = servers.start()
    server.open()
    for _ in range(6):
        server.said("Hello")
        assert len(server.agents()) == 1
    assert server.types().count("harness-started") == 1
    assert server.types().count("harness-resumed") == 5
    assert_sound(servers, server)


def test_agents_that_end_by_themselves_leave_no_process(servers: Servers) -> None:
    server = servers.start()
    server.open()
    for text in ("Hello", "fail: die", "Hello", "fail: die-if-warm", "fail: error", "Hello"):
        assert server.say(text).status_code == 200
        assert len(server.agents()) <= 1
    assert server.process()["busy"] == 0
    assert server.last()["status"] == "completed"
    assert_sound(servers, server)


@pytest.mark.parametrize("kind", ["garbage", "bigline", "stderr"])
def test_an_agent_that_floods_is_endured(servers: Servers, kind: str) -> None:
    server = servers.start()
    server.open()
    turn = server.said(f"fail: {kind}")
    assert turn["status"] == "completed"
    assert server.said("Hello")["path"] == "warm"
    assert_sound(servers, server)


def test_an_agent_that_hangs_as_it_starts_is_given_up(servers: Servers) -> None:
    server = served(servers, "sh", "-c", "sleep 4711", start_timeout_s=1)
    turn = server.said("Hello")
    assert (turn["status"], turn["error"]["code"]) == ("failed", "start-timeout")
    eventually(servers.marked, lambda found: not found)
    assert server.process()["busy"] == 0
    assert_sound(servers, server)


def test_all_that_an_agent_started_goes_with_it(servers: Servers) -> None:
    program = "trap '' TERM; sleep 4711 & exec \"$0\" -P -m infrastructure.demo_agent"
    server = served(servers, "sh", "-c", program, servers.python)
    server.said("Hello")
    assert len(servers.marked()) == 2

    assert server.http.delete("/pool/s").status_code == 204

    assert servers.marked() == []
    assert server.said("Hello")["status"] == "completed"
    (wrapper,) = server.agents()
    left = [pid for pid in servers.marked() if pid != wrapper]
    kill(wrapper)
    eventually(lambda: [pid for pid in left if is_alive(pid)], lambda found: not found)
    assert_sound(servers, server)


def test_an_agent_that_drops_its_question_does_not_wait_for_ever(servers: Servers) -> None:
    server = served(servers, servers.python, str(Path(__file__).with_name("dropping_agent.py")))
    turn = server.said("Deploy")
    assert turn["status"] == "paused"
    gate = turn["gates"][0]["gate_id"]

    over = server.over(turn["turn_id"])

    assert over["status"] == "completed"
    eventually(server.process, lambda told: told["awaiting_approval"] == 0)
    assert server.process()["busy"] == 0
    assert server.http.get(f"/approvals/{gate}").json()["status"] == "withdrawn"
    assert server.decide(gate).status_code == 410
    assert server.said("Hello")["status"] == "completed"
    assert len(server.agents()) == 1
    assert_sound(servers, server)


def test_sessions_at_once_take_turns_at_few_places(servers: Servers) -> None:
    server = servers.start(pool_capacity=2, pool_wait_s=60)
    names = [f"s{number}" for number in range(5)]
    for name in names:
        server.open(name)

    with ThreadPoolExecutor(len(names)) as threads:
        turns = list(threads.map(partial(server.said, "Hello"), names))

    assert {turn["status"] for turn in turns} == {"completed"}
    assert len(server.agents()) <= 2
    assert_sound(servers, server, *names)
