"""What a session's turns were cut off by is told, counted and, if that is wanted, gone on with."""

import signal
import sqlite3
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from time import monotonic

import httpx  # noqa: TC002 - as elsewhere
import pytest
from sqlalchemy import create_engine, make_url, text

from tests.api.batches import Json
from tests.faults.hosting import Served, Servers, assert_sound, eventually, is_alive, quiet, user

RESTARTED = "server-restarted"
on_one_engine = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
"""What is decided by the log alone, which both engines keep alike."""


@contextmanager
def held_up(url: str) -> Generator[None]:
    """Have nobody write to the runs of a database, as long transactions of others do."""
    made = make_url(url)
    if made.get_backend_name() == "sqlite":
        assert made.database is not None
        with closing(sqlite3.connect(made.database, timeout=30)) as held:
            held.execute("BEGIN IMMEDIATE")
            yield
        return
    engine = create_engine(made)
    with engine.connect() as connection, connection.begin():
        connection.execute(text("LOCK TABLE runs IN EXCLUSIVE MODE"))
        yield
    engine.dispose()


def cut_off(server: Served, text: str = "tool: wait {}") -> str:
    """Kill a server in the middle of a turn; return the turn."""
    turn_id = server.begun(text)
    server.kill()
    return turn_id


def resolved(server: Served) -> Json:
    """Return which session a message of a chat belongs to."""
    source = {"platform": "telegram", "chat_id": "99"}
    found: Json = server.http.post("/lanes/resolve", json={"source": source}).json()
    return found


def pending(server: Served) -> Json | None:
    """Return what there is to go on with in the session."""
    found: Json | None = server.http.get("/sessions/s").json()["resume_pending"]
    return found


def test_a_session_that_three_servers_do_not_outlive_is_held_back(servers: Servers) -> None:
    server = servers.start()
    server.open()
    lane = resolved(server)
    for _ in range(2):
        in_lane = server.begun("tool: wait {}", lane["session_id"])
        turn_id = cut_off(server)
        server = servers.start()
        assert server.over(turn_id)["reason"] == RESTARTED
        server.over(in_lane, lane["session_id"])
        same = resolved(server)
        assert (same["session_id"], same["reason"]) == (lane["session_id"], "resume-pending")
    server.begun("tool: wait {}", lane["session_id"])
    server.begun("tool: wait {}")
    server.begun("later", on_busy="queue")
    server.kill()
    server = servers.start()

    refused = server.say("Hello")

    assert (refused.status_code, refused.json()["code"]) == (409, "session-suspended")
    stuck = resolved(server)
    assert (stuck["reason"], stuck["created"], stuck["had_activity"]) == ("suspended", True, True)
    assert stuck["previous_session_id"] == lane["session_id"] != stuck["session_id"]
    assert server.said("Hello", stuck["session_id"])["status"] == "completed"
    assert resolved(server)["reason"] == "existing"
    assert server.http.get("/sessions/s").json()["status"] == "suspended"
    assert pending(server) is None
    (item,) = server.http.get("/sessions", params={"status": "suspended"}).json()["items"]
    assert item["session_id"] == "s"
    (suspended,) = server.events("session-suspended")
    assert suspended["data"] == {"reason": "restart-loop", "count": 3}
    assert "input-dequeued" not in server.types()
    no = server.http.patch("/sessions/s", json={"suspended": True})
    assert (no.status_code, no.json()["code"]) == (422, "invalid-value")
    again = server.http.patch("/sessions/s", json={"suspended": False})
    assert again.json()["status"] == "open"
    quiet(server)
    assert server.texts()[-2] == "later"
    assert_sound(servers, server)


@on_one_engine
def test_a_turn_that_ends_well_begins_the_count_anew(servers: Servers) -> None:
    server = servers.start()
    server.open()
    cut_off(server)
    server = servers.start()
    turn_id = cut_off(server)
    server = servers.start()
    eventually(
        lambda: pending(server) or {},
        lambda found: (found.get("turn_id"), found.get("reason")) == (turn_id, RESTARTED),
    )

    assert server.said("Hello")["status"] == "completed"

    assert pending(server) is None
    assert server.events("resume-cleared")[-1]["data"]["reason"] == "completed"
    cut_off(server)
    server = servers.start()
    assert server.said("Hello")["status"] == "completed"
    assert "session-suspended" not in server.types()
    assert_sound(servers, server)


def test_reads_are_served_and_turns_wait_while_a_server_recovers(servers: Servers) -> None:
    first = servers.start()
    first.open()
    turn_id = cut_off(first)
    runner = {"owner": "runner", "messages": [user("Hello")]}
    asking: list[Callable[[Served], httpx.Response]] = [
        lambda server: server.say("Hello"),
        lambda server: server.decide("any"),
        lambda server: server.http.post("/sessions/s/dispatch", json=runner),
        lambda server: server.http.post("/sessions/s/compact", json={}),
    ]

    with ThreadPoolExecutor(len(asking)) as threads:
        with held_up(servers.database_url):
            hasty = servers.start(recovery_wait_s=1)
            server = servers.start(recovery_wait_s=600)
            asked = [threads.submit(ask, hasty) for ask in asking]
            for answer in [each.result() for each in asked]:
                assert (answer.status_code, answer.json()["code"]) == (503, "recovering")
                assert int(answer.headers["Retry-After"]) > 0
            waiting = threads.submit(server.said, "Hello")
            assert server.turn(turn_id)["status"] == "running"
            ready = server.http.get(f"{server.url}/readyz")
            assert (ready.status_code, ready.json()["recovering"]) == (200, True)
            assert not waiting.done()
        assert waiting.result()["status"] == "completed"

    eventually(lambda: not hasty.http.get(f"{hasty.url}/readyz").json()["recovering"])
    assert server.turn(turn_id)["reason"] == RESTARTED
    assert server.http.get(f"{server.url}/readyz").json()["recovering"] is False
    assert_sound(servers, server)


def test_a_turn_that_was_cut_off_is_gone_on_with_once_where_that_is_wanted(
    servers: Servers,
) -> None:
    first = servers.start()
    first.open()
    first.said("remember x=1")
    turn_id = cut_off(first)
    second = servers.start()
    assert second.over(turn_id)["reason"] == RESTARTED
    second.signal(signal.SIGTERM)
    assert second.wait() == 0

    third, also = servers.start(auto_resume="on"), servers.start(auto_resume="on")
    eventually(lambda: third.types().count("turn-completed") == 2)
    quiet(also)

    assert pending(third) is None
    items = third.http.get("/sessions/s/transcript", params={"limit": 200}).json()["items"]
    (note,) = [item for item in items if item.get("author")]
    assert note["author"] == {"subject_id": "turnlog", "display": "turnlog"}
    assert note["message_id"] == f"resume-{turn_id}"
    assert note["parts"][0]["text"].startswith("[turnlog] Nobody wrote this.")
    assert third.types().count("turn-started") == 3
    assert third.said("what is x?")["messages"][-1]["parts"][-1]["text"] == "x is 1."
    assert_sound(servers, third)


@on_one_engine
def test_what_waits_comes_before_what_was_cut_off(servers: Servers) -> None:
    first = servers.start()
    first.open()
    first.begun("tool: wait {}")
    first.begun("later", on_busy="queue")
    first.kill()

    second = servers.start(auto_resume="on")

    eventually(lambda: "resume-cleared" in second.types())
    assert second.types().count("turn-started") == 2
    assert "later" in second.texts()
    assert_sound(servers, second)


@on_one_engine
def test_what_was_cut_off_too_long_ago_is_gone_on_with_by_nobody(servers: Servers) -> None:
    first = servers.start(shutdown_grace_s=0)
    first.open()
    turn_id = first.begun("Hear me.\ntool: wait {}")
    first.signal(signal.SIGTERM)
    assert first.wait() == 0
    long_ago = monotonic() + 1.5
    eventually(lambda: monotonic() > long_ago)

    second = servers.start(auto_resume_fresh_s=1)

    (cleared,) = eventually(lambda: second.events("resume-cleared"))
    assert cleared["data"] == {"turn_id": turn_id, "reason": "stale"}
    assert pending(second) is None
    third = servers.start(auto_resume="on")
    third.said("Hello")
    quiet(third)
    assert third.types().count("turn-started") == 2
    assert_sound(servers, third)


@on_one_engine
def test_what_is_put_away_or_went_on_is_not_gone_on_with(servers: Servers) -> None:
    first = servers.start(shutdown_grace_s=0)
    for session_id in ("archived", "deleted", "newer", "s"):
        first.open(session_id)
        first.begun("Hear me.\ntool: wait {}", session_id)
    first.signal(signal.SIGTERM)
    assert first.wait() == 0
    second = servers.start()
    second.http.patch("/sessions/archived", json={"archived": True})
    second.http.delete("/sessions/deleted")
    assert second.said("Hear me.\nfail: error", "newer")["status"] == "failed"
    second.signal(signal.SIGTERM)
    assert second.wait() == 0

    third = servers.start(auto_resume="on")

    eventually(lambda: "resume-cleared" in third.types())
    assert third.types("archived").count("turn-started") == 1
    assert third.types("newer").count("turn-started") == 2
    third.http.post("/sessions/deleted/restore")
    third.http.patch("/sessions/archived", json={"archived": False})
    for session_id in ("archived", "deleted"):
        eventually(lambda: "resume-cleared" in third.types(session_id))  # noqa: B023
        assert third.types(session_id).count("turn-started") == 2
    assert third.types("newer").count("turn-started") == 2
    assert_sound(servers, third, "archived", "deleted", "newer", "s")


@on_one_engine
def test_a_turn_that_a_shutdown_cut_off_is_marked_and_not_counted(servers: Servers) -> None:
    server = servers.start(shutdown_grace_s=0)
    server.open()
    for _ in range(3):  # three restarts that were no accident
        server.begun("Hear me.\ntool: wait {}")
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
        server = servers.start(shutdown_grace_s=0)
        assert (pending(server) or {})["reason"] == "shutdown"
    assert server.said("Hello")["status"] == "completed"
    assert_sound(servers, server)


@on_one_engine
def test_a_second_signal_ends_it_at_once(servers: Servers) -> None:
    server = servers.start(shutdown_grace_s=600)
    server.open()
    turn_id = server.begun("tool: wait {}")
    (agent,) = eventually(server.agents, lambda found: len(found) == 1)
    server.signal(signal.SIGTERM)
    eventually(lambda: "SIGTERM" in server.words())

    server.signal(signal.SIGTERM)

    assert server.wait() == 1
    eventually(lambda: not is_alive(agent))
    second = servers.start()
    assert second.over(turn_id)["reason"] == RESTARTED
    assert_sound(servers, second)
