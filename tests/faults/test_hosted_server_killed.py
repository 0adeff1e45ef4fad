"""A server that is killed loses no input and no answer, and nothing of either happens twice."""

import json

import pytest

from domain.times import microseconds
from tests.api.batches import Json
from tests.faults.hosting import ASK, Servers, assert_sound, eventually, is_alive, quiet

LEASE_S = 2
on_one_engine = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
"""What is decided by the log alone, which both engines keep alike."""


def passed_s(one: Json, other: Json) -> float:
    """Return how much later an event was recorded than another."""
    times = [microseconds(each["recorded_at"]) for each in (one, other)]
    assert times[0] is not None
    assert times[1] is not None
    return (times[1] - times[0]) / 1_000_000


def test_a_turn_that_ran_is_interrupted_and_the_next_one_knows_its_input(
    servers: Servers,
) -> None:
    first = servers.start()
    first.open()
    first.said("remember x=1")
    turn_id = first.begun("remember y=2\ntool: wait {}")
    eventually(lambda: "tool-call-requested" in first.types())
    agents = first.agents()

    first.kill()
    second = servers.start()

    turn = second.over(turn_id)
    assert (turn["status"], turn["reason"]) == ("interrupted", "server-restarted")
    (outcome,) = second.events("tool-call-completed")
    assert outcome["data"]["output"] == {"turnlog": "outcome-unknown"}
    assert not [agent for agent in agents if is_alive(agent)]
    known = second.said("what is x?\nwhat is y?")
    assert known["path"] in {"cold", "evicted"}
    texts = second.texts()
    assert "x is 1." in "".join(texts)
    assert sum("remember y=2" in text for text in texts) == 1
    lost = [each for each in second.events("harness-evicted") if each["data"]["reason"]]
    assert lost[0]["data"]["reason"] == "seat-lost"
    assert_sound(servers, second)


def test_without_the_servers_record_its_turn_is_over_with_its_lease(servers: Servers) -> None:
    first = servers.start(harness_lease_s=LEASE_S, state_dir=servers.folder / "elsewhere")
    first.open()
    turn_id = first.begun("tool: wait {}")

    first.kill()
    second = servers.start(harness_lease_s=LEASE_S)

    turn = second.over(turn_id)
    assert (turn["status"], turn["reason"]) == ("interrupted", "owner-lost")
    began, ended = second.events("turn-started", "turn-interrupted")
    assert passed_s(began, ended) >= LEASE_S
    assert_sound(servers, second)


@on_one_engine
def test_what_an_agent_left_running_is_ended_by_the_next_server(servers: Servers) -> None:
    config = servers.folder / "settings.toml"
    program = "sleep 4711 & trap '' TERM; exec \"$0\" -P -m infrastructure.demo_agent"
    config.write_text(
        "[harnesses.wrapped]\n"
        f"command = {json.dumps(['sh', '-c', program, servers.python])}\n"
        f"environment = {{ PYTHONPATH = {json.dumps(servers.root)} }}\n"
    )
    first = servers.start(config=config, default_harness="wrapped")
    first.open()
    first.said("Hello")
    marked = eventually(servers.marked, lambda found: len(found) == 2)

    first.kill()
    servers.start(config=config, default_harness="wrapped")

    eventually(lambda: [pid for pid in marked if is_alive(pid)], lambda left: not left)


def test_a_gate_outlives_its_server_and_is_answered_once(servers: Servers) -> None:
    first = servers.start()
    first.open()
    gate = first.asked()

    first.kill()
    second = servers.start()

    listed = second.http.get("/approvals", params={"status": "open"}).json()["items"]
    assert [each["gate_id"] for each in listed] == [gate]
    assert second.decide(gate).json()["continuation"]["status"] == "started"
    turn = second.over(second.last()["turn_id"])
    assert turn["status"] == "completed"
    assert list(servers.calls().values()) == [1]
    assert second.types().count("turn-started") == 1
    assert_sound(servers, second)


def test_an_answer_that_no_harness_was_told_is_gone_on_with(servers: Servers) -> None:
    first = servers.start(pool_capacity=1, pool_approval_ttl_s=0, pool_wait_s=1)
    first.open()
    first.open("other")
    gate = first.asked()
    first.has_room()
    first.begun("tool: wait {}", "other")
    eventually(lambda: "tool-call-requested" in first.types("other"))
    answer = first.decide(gate)
    assert answer.json()["continuation"]["status"] == "blocked", answer.text
    turn_id = first.last()["turn_id"]

    first.kill()
    second = servers.start()

    assert second.over(turn_id)["status"] == "completed"
    assert list(servers.calls().values()) == [1]
    assert second.types().count("gate-consumed") == 1
    assert_sound(servers, second, "s", "other")


@on_one_engine
def test_an_answer_whose_new_harness_was_being_started_is_gone_on_with(servers: Servers) -> None:
    first = servers.start(pool_approval_ttl_s=0)
    first.open()
    gate = first.asked()
    first.kill()
    slow = servers.start(demo_start_ms=20_000)
    assert slow.decide(gate).json()["continuation"]["status"] == "started"
    eventually(lambda: slow.types().count("harness-started") == 2)

    slow.kill()
    last = servers.start()

    assert last.over(last.last()["turn_id"])["status"] == "completed"
    assert list(servers.calls().values()) == [1]
    assert last.types().count("gate-consumed") == 1
    assert last.types().count("turn-started") == 1
    assert_sound(servers, last)


@on_one_engine
def test_an_answer_to_a_turn_that_was_interrupted_is_not_gone_on_with(servers: Servers) -> None:
    first = servers.start(pool_capacity=1, pool_approval_ttl_s=0, pool_wait_s=1)
    first.open()
    first.open("other")
    gate = first.asked()
    first.has_room()
    first.begun("tool: wait {}", "other")
    eventually(lambda: "tool-call-requested" in first.types("other"))
    assert first.decide(gate).json()["continuation"]["status"] == "blocked"

    stopped = first.http.post("/sessions/s/interrupt", json={})
    assert (stopped.status_code, stopped.json()) == (202, {"delivered": True})
    first.kill()
    second = servers.start()
    quiet(second, "other")

    assert second.said("Hello")["status"] == "completed"
    assert servers.calls() == {}
    assert_sound(servers, second, "s", "other")


@on_one_engine
def test_inputs_that_waited_become_turns_in_order(servers: Servers) -> None:
    first = servers.start()
    first.open()
    first.begun("tool: wait {}")
    for number in range(3):
        first.begun(f"number {number}", on_busy="queue")

    first.kill()
    second = servers.start()

    quiet(second)
    texts = [text for text in second.texts() if text.startswith("number")]
    assert texts == ["number 0", "number 1", "number 2"]
    assert second.types().count("input-dequeued") == 3
    assert second.types().count("turn-completed") == 3
    assert_sound(servers, second)


@on_one_engine
@pytest.mark.parametrize("text", ["Hello", ASK])
def test_a_request_that_was_cut_off_is_answered_when_it_comes_again(
    servers: Servers, text: str
) -> None:
    first = servers.start()
    first.open()
    turn_id = first.begun(f"delay: 300 {text}", message_id="m1")
    first.kill()
    second = servers.start()
    second.over(turn_id)

    again = second.say(f"delay: 300 {text}", message_id="m1")

    assert again.status_code == 200, again.text
    assert again.json()["turn_id"] == turn_id
    assert second.types().count("turn-started") == 1
    assert_sound(servers, second)
