"""Turns by REST."""

import httpx
import pytest

from tests.api.batches import Json, append, batch, called, event, problem, said, started, turn
from tests.api.going_back import done, rewind


def listed(client: httpx.Client, **query: str | int) -> list[str]:
    page = client.get("/sessions/s/turns", params=query)
    assert page.status_code == 200, page.text
    return [item["turn_id"] for item in page.json()["items"]]


@pytest.fixture
def four_turns(client: httpx.Client) -> None:
    failed = event("turn-failed", turn_id="t2", error={"code": "overloaded", "message": "later"})
    stopped = event("turn-interrupted", turn_id="t3", reason="cancelled", by="u1")
    used = event("usage-recorded", turn_id="t4", model="m", input_tokens=5, output_tokens=7)
    gate = event("gate-opened", turn_id="t4", kind="permission", tool_call_id="c")
    append(
        client,
        "s",
        batch(
            1,
            started("t1"),
            said("t1", "Hello."),
            event(
                "turn-completed",
                turn_id="t1",
                stop_reason="end_turn",
                record_count=2,
                timings={"total": 12},
            ),
            started("t2"),
            failed,
            started("t3"),
            stopped,
            started("t4"),
            used,
            called("t4", "c"),
            gate,
        ),
    )


@pytest.mark.usefixtures("four_turns")
def test_turns_come_newest_first_or_in_their_order(client: httpx.Client) -> None:
    assert listed(client) == ["t4", "t3", "t2", "t1"]
    assert listed(client, order="asc") == ["t1", "t2", "t3", "t4"]


@pytest.mark.usefixtures("four_turns")
def test_turns_are_paged(client: httpx.Client) -> None:
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page: Json = client.get("/sessions/s/turns", params={"limit": 3, **cursor}).json()
        found += [item["turn_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert found == ["t4", "t3", "t2", "t1"]
    answer = client.get("/sessions/s/turns", params={**cursor, "order": "asc"})
    assert problem(answer)[:2] == (400, "invalid-cursor")


@pytest.mark.usefixtures("four_turns")
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("paused", ["t4"]),
        ("running", []),
        ("completed", ["t1"]),
        ("failed", ["t2"]),
        ("interrupted", ["t3"]),
    ],
)
def test_turns_are_filtered_by_status(
    client: httpx.Client, status: str, expected: list[str]
) -> None:
    assert listed(client, status=status) == expected


@pytest.mark.usefixtures("four_turns")
def test_a_turn_tells_how_it_went(client: httpx.Client) -> None:
    answer = client.get("/sessions/s/turns/t1")
    shown = answer.json()

    assert answer.headers["ETag"] == '"12"'
    assert (shown["status"], shown["stop_reason"]) == ("completed", "end_turn")
    assert shown["timings"] == {"total": 12}
    assert shown["record_count"] == {"declared": 2, "recorded": 2}
    assert shown["versions"] == {"started": 2, "ended": 4}
    assert shown["through_version"] == 12
    assert shown["started_at"].endswith("Z")
    assert shown["ended_at"].endswith("Z")


@pytest.mark.usefixtures("four_turns")
def test_a_turn_tells_why_it_did_not_complete(client: httpx.Client) -> None:
    failed = client.get("/sessions/s/turns/t2").json()
    stopped = client.get("/sessions/s/turns/t3").json()

    assert failed["error"] == {"code": "overloaded", "message": "later"}
    assert (stopped["reason"], stopped["by"]) == ("cancelled", "u1")


@pytest.mark.usefixtures("four_turns")
def test_a_turn_that_waits_tells_for_what(client: httpx.Client) -> None:
    shown = client.get("/sessions/s/turns/t4").json()

    assert (shown["status"], shown["ended_at"]) == ("paused", None)
    assert (shown["calls"], shown["open_calls"], shown["open_gates"]) == (1, 1, 1)
    assert (shown["usage"]["input_tokens"], shown["usage"]["output_tokens"]) == (5, 7)


@pytest.mark.usefixtures("four_turns")
@pytest.mark.parametrize("turn_id", ["t9", "T1", "%00", "t1%20"])
def test_a_turn_that_is_not_there_is_a_problem(client: httpx.Client, turn_id: str) -> None:
    assert problem(client.get(f"/sessions/s/turns/{turn_id}"))[:2] == (404, "no-such-turn")


@pytest.mark.usefixtures("four_turns")
def test_turns_are_seen_as_they_stood_at_a_version(client: httpx.Client) -> None:
    assert listed(client, at=5) == ["t2", "t1"]
    assert listed(client, at=5, status="running") == ["t2"]
    assert listed(client, at=3, status="running", limit=1) == ["t1"]
    then = client.get("/sessions/s/turns/t1", params={"at": 3}).json()
    assert (then["status"], then["ended_at"], then["messages"]) == ("running", None, 2)
    assert (then["versions"], then["through_version"]) == ({"started": 2, "ended": None}, 3)
    answer = client.get("/sessions/s/turns/t2", params={"at": 3})
    assert problem(answer)[:2] == (404, "no-such-turn")


def test_a_session_without_turns_lists_none(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "s"})

    assert listed(client) == []
    append(client, "s", batch(1, *turn("t1")))
    assert listed(client) == ["t1"]


def test_rewound_turns_are_listed_on_request_and_each_is_read_by_its_id(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, *turn("t1"), *turn("t2"), *turn("t3")))
    done(rewind(client, {"to_turn": "t2"}))
    append(client, "s", batch(2, *turn("t4")))
    page = client.get("/sessions/s/turns", params={"include": "rewound"}).json()

    assert listed(client) == ["t4", "t1"]
    assert listed(client, order="asc", limit=1) == ["t1"]
    assert [(item["turn_id"], item["state"]) for item in page["items"]] == [
        ("t4", "live"),
        ("t3", "rewound"),
        ("t2", "rewound"),
        ("t1", "live"),
    ]
    assert listed(client, at="10") == ["t3", "t2", "t1"]
    states = [client.get(f"/sessions/s/turns/{name}").json()["state"] for name in ("t3", "t4")]
    assert states == ["rewound", "live"]
    assert client.get("/sessions/s/turns/t3", params={"at": "10"}).json()["state"] == "live"
    answer = client.get("/sessions/s/turns", params={"include": "archived"})
    assert problem(answer)[:2] == (422, "invalid-value")
