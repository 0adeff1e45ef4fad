"""Servers of one database, many messages from one place at once: one lane, one session."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from typing import Any

import httpx
import pytest

from infrastructure.rebuilding import rebuild
from infrastructure.verification import verify_all
from tests.faults.forked import forked
from tests.infrastructure.writing import opened

SERVERS = 4
AT_ONCE = 25
"""Of each server."""
PERSON = {"platform": "whatsapp", "chat_id": "15551234567@s.whatsapp.net"}
SAME = {"platform": "whatsapp", "chat_id": "999999999999999@lid"}


@pytest.fixture
def servers(database_url: str) -> Iterator[list[httpx.Client]]:
    with forked(database_url) as processes, ExitStack() as stack:
        ports = [processes.start("serve")[1] for _ in range(SERVERS)]
        yield [
            stack.enter_context(
                httpx.Client(
                    base_url=f"http://127.0.0.1:{port}/v1/projects/default",
                    timeout=60,
                    verify=False,  # noqa: S501
                    limits=httpx.Limits(max_connections=AT_ONCE),
                )
            )
            for port in ports
        ]


def at_once(servers: list[httpx.Client], *bodies: dict[str, Any]) -> list[dict[str, Any]]:
    """Resolve each of the bodies in turn, all at the same moment."""
    barrier = Barrier(SERVERS * AT_ONCE)

    def go(number: int) -> dict[str, Any]:
        http, body = servers[number % SERVERS], bodies[number % len(bodies)]
        barrier.wait(60)
        while (answer := http.post("/lanes/resolve", json=body)).status_code == 503:
            pass
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    with ThreadPoolExecutor(SERVERS * AT_ONCE) as threads:
        return list(threads.map(go, range(SERVERS * AT_ONCE)))


def test_a_hundred_messages_at_once_find_one_session_whatever_the_place_is_called(
    database_url: str, servers: list[httpx.Client]
) -> None:
    known = {"whatsapp": {"15551234567": ["999999999999999"]}}
    assert servers[0].put("/lanes/aliases", json=known).status_code == 200
    found = at_once(servers, {"source": PERSON}, {"source": SAME})
    assert len({(each["lane_id"], each["session_id"]) for each in found}) == 1
    assert sum(each["created"] for each in found) == 1

    suspended = servers[0].post(f"/lanes/{found[0]['lane_id']}/suspend", json={"reason": "stuck"})
    assert suspended.status_code == 200, suspended.text
    again = at_once(servers, {"source": PERSON})
    assert sum(each["reason"] == "suspended" for each in again) == 1
    assert len({each["session_id"] for each in again}) == 1
    assert again[0]["session_id"] != found[0]["session_id"]

    new = {"source": PERSON | {"message_id": "7"}, "force_new": True}
    forced = at_once(servers, new)
    assert len({each["session_id"] for each in forced}) == 1, "once for one message"

    assert len(servers[1].get("/sessions", params={"status": "all"}).json()["items"]) == 3
    assert len(servers[2].get("/lanes").json()["items"]) == 1
    with opened(database_url) as store:
        assert all(each.ok for each in verify_all(store.database))
        assert rebuild(store.database, store.runner, check_only=True).differences == ()
