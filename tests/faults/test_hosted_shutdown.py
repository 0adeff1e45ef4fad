"""A server that is told to stop begins nothing, ends what runs, and leaves nothing behind."""

import signal
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest

from tests.api.batches import Json
from tests.faults.cluster import kill
from tests.faults.hosting import Servers, assert_sound, eventually, is_alive, user

SHUTDOWN_S = 1
on_one_engine = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
"""What only concerns processes."""
SLACK_S = 60.0
DISPATCHED: Json = {
    "owner": "runner-1",
    "messages": [user("Hello")],
    "begin": {
        "turn_id": "t1",
        "producer": {"id": "runner-1", "epoch": 1, "sequence": 1},
        "lease_s": 60,
    },
}


def test_it_stops_in_time_with_all_that_it_started(servers: Servers) -> None:
    server = servers.start(shutdown_grace_s=SHUTDOWN_S)
    for session_id in ("idle", "asks", "s"):
        server.open(session_id)
    server.said("Hello", "idle")
    gate = server.asked("asks")
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(server.say, "tool: wait {}")
        eventually(lambda: "tool-call-requested" in server.types())
        agents = server.agents()
        assert len(agents) == 3

        began = monotonic()
        server.signal(signal.SIGTERM)
        answer = running.result(SLACK_S)
        code = server.wait()

    assert code == 0, server.words()
    assert SHUTDOWN_S <= monotonic() - began < SHUTDOWN_S + SLACK_S
    assert (answer.status_code, answer.json()["status"]) == (200, "interrupted")
    assert not [pid for pid in agents if is_alive(pid)]
    assert list((servers.state / "servers").iterdir()) == []
    second = servers.start()
    assert second.last()["reason"] == "shutdown"
    (evicted,) = second.events("harness-evicted", session_id="idle")
    assert evicted["data"]["reason"] == "shutdown-idle"
    (evicted,) = second.events("harness-evicted", session_id="asks")
    assert evicted["data"]["reason"] == "shutdown-idle"
    assert second.decide(gate).status_code == 202
    assert second.over(second.last("asks")["turn_id"], "asks")["status"] == "completed"
    assert_sound(servers, second, "idle", "asks", "s")


@on_one_engine
def test_a_turn_that_ends_in_time_is_not_interrupted(servers: Servers) -> None:
    server = servers.start(shutdown_grace_s=60)
    server.open()
    turn_id = server.begun('tool: wait {"ms":1000}')
    eventually(lambda: "tool-call-requested" in server.types())

    server.signal(signal.SIGTERM)

    assert server.wait() == 0
    second = servers.start()
    assert second.turn(turn_id)["status"] == "completed"
    assert_sound(servers, second)


def test_it_begins_nothing_while_it_stops(servers: Servers) -> None:
    server = servers.start(shutdown_grace_s=60)
    for session_id in ("s", "other", "asks"):
        server.open(session_id)
    gate = server.asked("asks")
    server.begun("tool: wait {}")
    server.begun("later", on_busy="queue")
    eventually(lambda: "tool-call-requested" in server.types())

    server.signal(signal.SIGTERM)
    eventually(lambda: server.say("Hello", "other").status_code, lambda code: code == 503)
    for answer in (
        server.say("Hello", "other"),
        server.http.post("/sessions/other/dispatch", json=DISPATCHED),
        server.decide(gate),
        server.http.post(f"/sessions/asks/approvals/{gate}", json={"verdict": "approved"}),
        server.http.post("/sessions/asks/turns", json=answers(gate)),
    ):
        assert (answer.status_code, answer.json()["code"]) == (503, "shutting-down")
        assert int(answer.headers["Retry-After"]) > 0
    for agent in server.agents():
        kill(agent)  # what runs ends with it

    assert server.wait() == 0
    second = servers.start()
    eventually(lambda: second.types().count("turn-completed") == 1)
    assert second.texts()[-2] == "later"
    assert second.http.get("/sessions/other/turns/t1").status_code == 404
    assert second.decide(gate).status_code == 202
    assert second.over(second.last("asks")["turn_id"], "asks")["status"] == "completed"
    assert_sound(servers, second, "s", "other", "asks")


def answers(gate: str) -> Json:
    """Return a request for a turn that answers a gate."""
    return {"answers": [{"gate": gate, "verdict": "approved"}]}


@on_one_engine
def test_a_harness_that_does_not_stop_is_ended(servers: Servers) -> None:
    server = servers.start(shutdown_grace_s=1)
    server.open()
    server.begun("Hear me.\nfail: hang")
    (agent,) = eventually(server.agents, lambda found: len(found) == 1)

    server.signal(signal.SIGTERM)

    assert server.wait() == 0
    assert not is_alive(agent)
    second = servers.start()
    assert second.last()["status"] == "interrupted"
    assert_sound(servers, second)
