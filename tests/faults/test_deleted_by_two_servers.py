"""Two servers of one database delete a session: whose turn it is, whose harness, is no matter."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.faults.hosting import Served, Servers, assert_sound, eventually, is_alive

WAITS = "tool: wait {}"


@pytest.fixture
def pair(servers: Servers) -> tuple[Served, Served]:
    """Two servers of one database, with a session."""
    a, b = servers.start(), servers.start()
    a.open()
    return a, b


def delete(server: Served) -> httpx.Response:
    return server.http.delete("/sessions/s")


def restored(server: Served) -> list[str]:
    assert server.http.post("/sessions/s/restore").status_code == 200
    return server.types()


def test_a_turn_of_the_other_server_is_asked_to_stop_and_its_harness_goes(
    pair: tuple[Served, Served], servers: Servers
) -> None:
    a, b = pair
    turn_id = a.begun(WAITS)
    eventually(a.types, lambda types: "tool-call-requested" in types)
    agents = a.agents()

    assert delete(b).status_code == 204

    assert delete(a).status_code == 404
    assert a.say("Hello").status_code == 404
    eventually(lambda: [pid for pid in agents if is_alive(pid)], lambda left: not left)
    eventually(a.process, lambda told: told["busy"] + told["idle"] == 0)
    types = restored(b)
    assert types.count("turn-interrupted") == types.count("session-deleted") == 1
    assert types.index("interrupt-requested") < types.index("turn-interrupted")
    assert types.index("turn-interrupted") < types.index("session-deleted")
    assert b.turn(turn_id)["reason"] == "session-deleted"
    assert b.said("Hello")["status"] == "completed"
    assert_sound(servers, b)


def test_a_harness_that_the_other_server_keeps_is_let_go_on_record(
    pair: tuple[Served, Served],
) -> None:
    a, b = pair
    a.said("Hello")
    agents = a.agents()

    assert delete(b).status_code == 204

    eventually(lambda: [pid for pid in agents if is_alive(pid)], lambda left: not left)
    eventually(a.process, lambda told: told["idle"] == 0)
    types = restored(b)
    assert types.count("harness-evicted") == 1
    assert b.seats() == []


def test_a_server_that_does_not_hear_is_not_waited_for_long(servers: Servers) -> None:
    a, b = servers.start(), servers.start(delete_wait_s=1)
    a.open()
    turn_id = a.begun(WAITS)
    eventually(a.types, lambda types: "tool-call-requested" in types)
    a.kill()

    assert delete(b).status_code == 204

    types = restored(b)
    assert types.count("turn-interrupted") == 1
    assert b.turn(turn_id)["reason"] == "session-deleted"


def test_both_delete_and_one_did(pair: tuple[Served, Served]) -> None:
    a, b = pair
    a.begun(WAITS)
    eventually(a.types, lambda types: "tool-call-requested" in types)

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(answer.status_code for answer in pool.map(delete, [a, b, a, b]))

    assert answers == [204, 404, 404, 404]
    assert restored(a).count("session-deleted") == 1
