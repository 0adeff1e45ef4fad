"""Idempotency keys: one request, one write, one answer."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.api.batches import (
    Json,
    append,
    batch,
    events_of,
    problem,
    started,
    turn,
    types_of,
)
from tests.api.serving import Served

KEY = {"Idempotency-Key": "key-1"}
WRITES: list[tuple[str, Json, Json, int]] = [
    ("/sessions", {"title": "A"}, {"title": "B"}, 201),
    ("/sessions/s/events", batch(2, *turn("t2")), batch(2, *turn("t3")), 201),
    ("/producers/runner/epochs", {"on_open_turns": "interrupt"}, {}, 201),
    ("/sessions/deleted/restore", {}, {"a": 1}, 200),
]


@pytest.fixture(autouse=True)
def sessions(client: httpx.Client) -> None:
    append(client, "s", batch(1, started("t1")))
    client.post("/sessions", json={"session_id": "deleted"})
    client.delete("/sessions/deleted")


def finish(client: httpx.Client) -> None:
    end = {"type": "turn-completed", "data": {"turn_id": "t1"}}
    assert append(client, "s", batch(1, end, producer="other")).status_code == 201


@pytest.mark.parametrize(("path", "body", "other", "status"), WRITES)
def test_a_key_again_gets_the_first_answer_and_writes_nothing(
    client: httpx.Client, path: str, body: Json, other: Json, status: int
) -> None:
    finish(client)
    first = client.post(path, json=body, headers=KEY)
    sessions = client.get("/sessions", params={"status": "all"}).json()

    again = client.post(path, json=body, headers=KEY)

    assert (first.status_code, again.status_code) == (status, status), first.text
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json() == first.json()
    assert again.headers.get("location") == first.headers.get("location")
    assert client.get("/sessions", params={"status": "all"}).json() == sessions
    refused = client.post(path, json=other, headers=KEY)
    assert problem(refused) == (422, "idempotency-key-reused", [])


@pytest.mark.parametrize(
    ("path", "body", "status"), [(path, body, status) for path, body, _, status in WRITES]
)
def test_one_key_at_the_same_time_is_one_write(
    client: httpx.Client, path: str, body: Json, status: int
) -> None:
    finish(client)
    with ThreadPoolExecutor(6) as pool:
        sent = [pool.submit(client.post, path, json=body, headers=KEY) for _ in range(6)]
        answers = [answer.result() for answer in sent]

    assert [answer.status_code for answer in answers] == [status] * 6
    assert len({answer.content for answer in answers}) == 1
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == 5


def test_a_key_belongs_to_its_route(client: httpx.Client) -> None:
    client.post("/sessions", json={}, headers=KEY)

    answer = client.post("/producers/runner/epochs", json={}, headers=KEY)

    assert problem(answer) == (422, "idempotency-key-reused", [])


def test_a_key_belongs_to_its_project(client: httpx.Client, server: Served) -> None:
    first = client.post("/sessions", json={}, headers=KEY)

    with server.client("with-the-same-key") as other:
        second = other.post("/sessions", json={}, headers=KEY)

    assert second.status_code == 201
    assert second.json()["session_id"] != first.json()["session_id"]


def test_a_refused_request_does_not_use_its_key_up(client: httpx.Client) -> None:
    body = batch(2, *turn("t2"))
    refused = append(client, "s", body, KEY)
    assert problem(refused) == (409, "turn-in-progress", ["/events/0/data"])
    finish(client)

    assert append(client, "s", body, KEY).status_code == 201


def test_a_key_comes_before_the_epoch_and_the_version(client: httpx.Client) -> None:
    finish(client)
    version = client.get("/sessions/s").json()["head"]["version"]
    body = batch(2, *turn("t2"), expected_version=version)
    first = append(client, "s", body, KEY)
    client.post("/producers/runner/epochs", json={})

    again = append(client, "s", body, KEY)

    assert first.status_code == 201
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json() == first.json()
    assert problem(append(client, "s", body)) == (409, "fenced", [])


def test_a_replayed_answer_is_the_first_one_though_the_session_moved_on(
    client: httpx.Client,
) -> None:
    finish(client)
    gate = {"type": "gate-opened", "data": {"turn_id": "t2", "kind": "permission"}}
    body = batch(2, started("t2"), gate, {"type": "turn-completed", "data": {"turn_id": "t2"}})
    first = append(client, "s", body, KEY)
    append(client, "s", batch(3, *turn("t3")))

    again = append(client, "s", body, KEY)

    assert again.content == first.content
    assert again.json()["events"][1]["gate_id"].startswith("gate-")
    assert types_of(client, "s").count("gate-opened") == 1
    assert len(events_of(client, "s")) == 10


@pytest.mark.parametrize(
    "key", [b"", b"x" * 256, "schlüssel".encode(), "ключ".encode(), b"a\tb", b"\xff", b"\x7f"]
)
def test_a_key_that_cannot_be_one_is_refused(client: httpx.Client, key: bytes) -> None:
    answer = client.post("/sessions", json={}, headers=[(b"Idempotency-Key", key)])

    assert problem(answer) == (400, "invalid-header", [])


def test_any_visible_text_is_a_key(client: httpx.Client) -> None:
    for key in ('"8e03978e-40d5-43dd-bc93-6894a57f9324"', "x" * 255, "a b;c,d=%2f\\"):
        headers = {"Idempotency-Key": key}
        first = client.post("/sessions", json={}, headers=headers)
        assert client.post("/sessions", json={}, headers=headers).json() == first.json()
