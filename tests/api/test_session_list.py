"""Listing sessions: order, filters, pages."""

import base64
import json

import httpx
import pytest

from tests.api.batches import Json, append, batch, problem, started, turn
from tests.api.serving import ON_ONE_DATABASE, Served


def ids(client: httpx.Client, **query: str | int) -> list[str]:
    answer = client.get("/sessions", params=query)
    assert answer.status_code == 200, answer.text
    return [item["session_id"] for item in answer.json()["items"]]


def open_all(client: httpx.Client, *names: str) -> None:
    for name in names:
        assert client.post("/sessions", json={"session_id": name}).status_code == 201


def test_the_session_with_the_newest_activity_comes_first(client: httpx.Client) -> None:
    open_all(client, "a", "b", "c")
    append(client, "a", batch(1, *turn("t1")))

    assert ids(client) == ["a", "c", "b"]
    assert ids(client, order="asc") == ["b", "c", "a"]


def test_pages_hold_every_session_once_while_others_are_opened(client: httpx.Client) -> None:
    open_all(client, *(f"s{number}" for number in range(7)))
    found: list[str] = []
    cursor: str | None = None
    while True:
        at = {} if cursor is None else {"cursor": cursor}
        page = client.get("/sessions", params={"limit": 3, **at}).json()
        found += [item["session_id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        open_all(client, f"late-{len(found)}")

    assert found == [f"s{number}" for number in reversed(range(7))]


def test_a_page_that_ends_with_the_last_session_has_no_next(client: httpx.Client) -> None:
    open_all(client, "a", "b")

    assert client.get("/sessions", params={"limit": 2}).json()["next_cursor"] is None
    assert client.get("/sessions", params={"limit": 1}).json()["next_cursor"] is not None


def test_a_list_shows_where_each_session_stands(client: httpx.Client) -> None:
    append(client, "s", batch(1, started("t1"), open={"title": "T", "config": {"a": 1}}))

    [item] = client.get("/sessions").json()["items"]

    one = client.get("/sessions/s").json()
    assert item == {name: one[name] for name in item}
    assert one.keys() - item.keys() == {
        "config",
        "source",
        "agent_id",
        "parent_turn_id",
        "parent_tool_call_id",
    }


def test_sessions_are_found_by_status(client: httpx.Client) -> None:
    open_all(client, "open", "archived", "deleted")
    client.patch("/sessions/archived", json={"archived": True})
    client.delete("/sessions/deleted")

    assert ids(client) == ["open"]
    assert ids(client, status="archived") == ["archived"]
    assert ids(client, status="deleted") == ["deleted"]
    assert ids(client, status="all") == ["deleted", "archived", "open"]


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("plan", ["p"]),
        ("THE PL", ["p"]),
        ("100%", ["percent"]),
        ("_", []),
        ("%", ["percent"]),
        ("\\", []),
        ("ÄRA", ["umlaut"]),
        ("ära", []),
        ("😀", ["umlaut"]),
        ("", ["umlaut", "percent", "p"]),
    ],
)
def test_sessions_are_found_by_a_part_of_their_title(
    client: httpx.Client, part: str, found: list[str]
) -> None:
    for name, title in (("p", "The Plan"), ("percent", "100% done"), ("umlaut", "ÄRA 😀")):
        client.post("/sessions", json={"session_id": name, "title": title})
    open_all(client, "untitled")

    assert ids(client, title=part) == found


def test_sessions_are_found_by_their_newest_activity(client: httpx.Client) -> None:
    open_all(client, "before", "after")
    since = client.get("/sessions/after").json()["updated_at"]

    assert ids(client, updated_since=since) == ["after"]
    assert ids(client, updated_since="1970-01-01T00:00:00+02:00") == ["after", "before"]


def test_sessions_without_a_parent_are_found(client: httpx.Client) -> None:
    open_all(client, "none", "other")

    assert ids(client, parent="-") == ["other", "none"]
    assert ids(client, parent="none") == []


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"limit": 0}, "/query/limit"),
        ({"limit": 201}, "/query/limit"),
        ({"limit": "many"}, "/query/limit"),
        ({"limit": "9" * 400}, "/query/limit"),
        ({"order": "newest"}, "/query/order"),
        ({"status": "closed"}, "/query/status"),
        ({"parent": "*"}, "/query/parent"),
        ({"parent": "a\0"}, "/query/parent"),
        ({"title": "x" * 201}, "/query/title"),
        ({"title": "a\0b"}, "/query/title"),
        ({"updated_since": "yesterday"}, "/query/updated_since"),
        ({"updated_since": "2026-02-30T00:00:00Z"}, "/query/updated_since"),
    ],
)
def test_a_filter_that_means_nothing_is_refused_with_its_name(
    client: httpx.Client, query: Json, pointer: str
) -> None:
    assert problem(client.get("/sessions", params=query)) == (422, "invalid-value", [pointer])


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    "other", [{"order": "asc"}, {"status": "all"}, {"title": "x"}, {"include": "subagents"}]
)
def test_a_cursor_is_refused_with_other_parameters_than_its_own(
    client: httpx.Client, other: Json
) -> None:
    open_all(client, "a", "b")
    cursor = client.get("/sessions", params={"limit": 1}).json()["next_cursor"]

    answer = client.get("/sessions", params={"cursor": cursor, **other})

    assert problem(answer) == (400, "invalid-cursor", [])
    assert ids(client, cursor=cursor, limit=200) == ["a"]


def test_a_cursor_of_another_project_is_refused(client: httpx.Client, server: Served) -> None:
    open_all(client, "a", "b")
    cursor = client.get("/sessions", params={"limit": 1}).json()["next_cursor"]

    with server.client("with-a-foreign-cursor") as other:
        answer = other.get("/sessions", params={"cursor": cursor})

    assert problem(answer) == (400, "invalid-cursor", [])


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    "place",
    [
        [10**30, 1],
        [1, -(10**30)],
        [True, 1],
        [1.5, 1],
        [None, None],
        ["a", "b"],
        [1],
        [1, 2, 3],
        [[1], 2],
        {"a": 1},
    ],
)
def test_a_cursor_that_we_could_not_have_made_is_refused(
    client: httpx.Client, place: list[object] | Json
) -> None:
    open_all(client, "a", "b")
    ours = client.get("/sessions", params={"limit": 1}).json()["next_cursor"]
    digest = json.loads(base64.urlsafe_b64decode(ours + "=="))[0]
    forged = place if isinstance(place, dict) else [digest, *place]
    cursor = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("=")

    answer = client.get("/sessions", params={"cursor": cursor})

    assert problem(answer) == (400, "invalid-cursor", [])


@ON_ONE_DATABASE
@pytest.mark.parametrize("cursor", ["", "x", "🦊", "a\0b", "W10", "bnVsbA", "////", "W1tb" * 400])
def test_a_cursor_that_cannot_be_read_is_refused(client: httpx.Client, cursor: str) -> None:
    answer = client.get("/sessions", params={"cursor": cursor})

    assert problem(answer) == (400, "invalid-cursor", [])
