"""The turns of a project by the way they got their harness, and by how long they took."""

import httpx
import pytest

from tests.api.batches import append, batch, event, problem, started, turn
from tests.api.harnesses import cold, launched, let_go, told, warm


@pytest.fixture
def talked(client: httpx.Client) -> None:
    """Two sessions with turns of each kind, and one of which nobody told anything."""
    told(client, "a", 1, *cold("a1", reason="no-seat"))
    told(client, "b", 1, *cold("b1", reason="no-seat"))
    told(client, "a", 2, *warm("a2"), let_go())
    told(client, "a", 3, *cold("a3", "seat-2", path="evicted", reason="history"))
    told(client, "b", 2, *warm("b2"))
    append(client, "c", batch(1, *turn("c1")))
    told(client, "b", 3, started("b3"), launched("b3", "seat-2", reason="seat-lost"))


def listed(client: httpx.Client, **query: str | int) -> list[str]:
    answer = client.get("/turns", params=query)
    assert answer.status_code == 200, answer.text
    return [item["turn_id"] for item in answer.json()["items"]]


@pytest.mark.usefixtures("talked")
def test_turns_of_all_sessions_come_newest_first(client: httpx.Client) -> None:
    assert listed(client) == ["b3", "c1", "b2", "a3", "a2", "b1", "a1"]
    [first, *_] = client.get("/turns").json()["items"]
    assert (first["session_id"], first["path"], first["path_reason"]) == ("b", "cold", "seat-lost")
    assert (first["status"], first["history_from"], first["total_ms"]) == ("running", "log", None)


@pytest.mark.usefixtures("talked")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"path": "cold"}, ["b3", "b1", "a1"]),
        ({"path": "warm"}, ["b2", "a2"]),
        ({"path": "evicted"}, ["a3"]),
        ({"reason": "no-seat"}, ["b1", "a1"]),
        ({"path": "warm", "reason": "no-seat"}, []),
        ({"min_ms": 100}, ["a3", "b1", "a1"]),
        ({"min_ms": 40, "path": "warm"}, ["b2", "a2"]),
        ({"min_ms": 901}, []),
        ({"status": "running"}, ["b3"]),
        ({"status": "paused"}, []),
        ({"status": "completed", "limit": 2}, ["c1", "b2"]),
        ({"since": "2999-01-01T00:00:00Z"}, []),
        ({"until": "2999-01-01T00:00:00+01:00", "limit": 1}, ["b3"]),
    ],
)
def test_turns_are_chosen_by_what_is_known_of_them(
    client: httpx.Client, query: dict[str, str | int], expected: list[str]
) -> None:
    assert listed(client, **query) == expected


@pytest.mark.usefixtures("talked")
def test_pages_of_turns_join_without_a_gap(client: httpx.Client) -> None:
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = client.get("/turns", params={"limit": 2, **cursor}).json()
        found += [item["turn_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert found == ["b3", "c1", "b2", "a3", "a2", "b1", "a1"]
    other = client.get("/turns", params={**cursor, "path": "cold"})
    assert problem(other)[:2] == (400, "invalid-cursor")


@pytest.mark.usefixtures("talked")
def test_a_turn_that_waits_is_paused_here_too(client: httpx.Client) -> None:
    told(client, "b", 4, event("gate-opened", turn_id="b3", kind="input", permission_id="p"))
    assert listed(client, status="paused") == ["b3"]
    assert listed(client, status="running") == []


@pytest.mark.usefixtures("talked")
def test_turns_of_a_deleted_session_are_not_listed(client: httpx.Client) -> None:
    client.delete("/sessions/a")
    assert listed(client) == ["b3", "c1", "b2", "b1"]
    client.post("/sessions/a/restore", json={})
    assert len(listed(client)) == 7


def test_a_turn_that_a_fork_shares_is_listed_once(client: httpx.Client) -> None:
    told(client, "s", 1, *cold("t1"), started("t2"))
    assert client.post("/sessions/s/fork", json={"session_id": "f"}).status_code == 201
    told(client, "f", 1, *cold("t3", "seat-9"))

    items = client.get("/turns").json()["items"]

    assert [(item["session_id"], item["turn_id"]) for item in items] == [
        ("f", "t3"),
        ("s", "t2"),
        ("s", "t1"),
    ]
    [shared] = [i for i in client.get("/sessions/f/turns").json()["items"] if i["number"] == 2]
    assert shared["status"] == "interrupted"  # there, and not in the list


@pytest.mark.parametrize(
    "query",
    [
        {"path": "hot"},
        {"min_ms": -1},
        {"min_ms": 2**63},
        {"since": "soon"},
        {"reason": ""},
        {"reason": "\0"},
        {"status": "gone"},
    ],
)
def test_a_filter_that_means_nothing_is_refused(
    client: httpx.Client, query: dict[str, str | int]
) -> None:
    assert problem(client.get("/turns", params=query))[0] == 422


@pytest.mark.usefixtures("talked")
def test_a_session_lists_by_which_way_its_turns_went(client: httpx.Client) -> None:
    items = client.get("/sessions/a/turns").json()["items"]
    assert [(i["path"], i["path_reason"], i["history_from"], i["total_ms"]) for i in items] == [
        ("evicted", "history", "log", 900),
        ("warm", None, "harness", 40),
        ("cold", "no-seat", "log", 900),
    ]
    one = client.get("/sessions/a/turns/a3").json()
    assert (one["path"], one["path_reason"], one["timings"]["harness_start"]) == (
        "evicted",
        "history",
        350,
    )
