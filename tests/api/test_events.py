"""Reading the log: pages, single events, filters."""

import httpx
import pytest

from tests.api.batches import (
    NO_SESSION,
    Json,
    Problem,
    append,
    batch,
    events_of,
    problem,
    turn,
    types_of,
)

NO_EVENT: Problem = (404, "no-such-event", [])


@pytest.fixture
def ten_events(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1"), *turn("t2"), *turn("t3")))


def versions(client: httpx.Client, **query: str | int) -> list[int]:
    answer = client.get("/sessions/s/events", params=query)
    assert answer.status_code == 200, answer.text
    return [item["version"] for item in answer.json()["items"]]


@pytest.mark.usefixtures("ten_events")
def test_events_come_in_the_order_of_their_versions(client: httpx.Client) -> None:
    assert versions(client) == list(range(1, 11))
    assert versions(client, order="desc") == list(range(10, 0, -1))
    assert versions(client, after=7) == [8, 9, 10]
    assert versions(client, after=7, order="desc") == [10, 9, 8]
    assert versions(client, after=0, order="desc", limit=2) == [10, 9]
    assert versions(client, after=10) == []
    assert versions(client, before=4) == [1, 2, 3]
    assert versions(client, before=4, order="desc", limit=2) == [3, 2]
    assert versions(client, after=2, before=5, order="desc") == [4, 3]
    assert versions(client, before=1) == versions(client, after=5, before=6) == []
    assert versions(client, before=99, limit=1, order="desc") == [10]


@pytest.mark.usefixtures("ten_events")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"limit": 3}, list(range(1, 11))),
        ({"limit": 3, "after": 2}, list(range(3, 11))),
        ({"limit": 3, "after": 2, "order": "desc"}, list(range(10, 2, -1))),
        ({"limit": 3, "before": 6}, [1, 2, 3, 4, 5]),
        ({"limit": 2, "after": 1, "before": 7}, [2, 3, 4, 5, 6]),
        ({"limit": 2, "after": 1, "before": 7, "order": "desc"}, [6, 5, 4, 3, 2]),
        ({"limit": 1, "types": "turn-started", "before": 8, "order": "desc"}, [5, 2]),
        ({"limit": 1, "types": "turn-started,turn-completed"}, [2, 4, 5, 7, 8, 10]),
        ({"limit": 2, "types": "turn-started", "order": "desc"}, [8, 5, 2]),
        ({"limit": 2, "types": "turn-started", "after": 2, "order": "desc"}, [8, 5]),
    ],
)
def test_pages_hold_every_event_once(client: httpx.Client, query: Json, found: list[int]) -> None:
    seen: list[int] = []
    rest = query
    while True:
        page = client.get("/sessions/s/events", params=rest).json()
        assert len(page["items"]) <= query["limit"]
        seen += [item["version"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        rest = {name: value for name, value in query.items() if name not in {"after", "before"}}
        rest["cursor"] = page["next_cursor"]

    assert seen == found


@pytest.mark.usefixtures("ten_events")
def test_a_page_says_where_the_session_stands_beyond_it(client: httpx.Client) -> None:
    answer = client.get("/sessions/s/events", params={"limit": 1})

    body = answer.json()
    assert (body["through_version"], body["head"]["version"]) == (10, 10)
    assert answer.headers["etag"] == '"10"'
    assert answer.headers["turnlog-ready"] == "?1"


@pytest.mark.usefixtures("ten_events")
def test_one_event_is_what_the_page_shows(client: httpx.Client) -> None:
    for item in events_of(client, "s"):
        answer = client.get(f"/sessions/s/events/{item['version']}")
        assert answer.json() == item
        assert answer.headers["etag"] == f'"{item["hash"]}"'


def test_an_event_tells_its_envelope_and_its_data_as_they_were_sent(
    client: httpx.Client, project: str
) -> None:
    when = "2026-01-02T03:04:05.123456+02:00"
    body = batch(1, *turn("t1"))
    body["events"][0]["occurred_at"] = when
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    append(client, "s", body, {"traceparent": trace})

    opened, began, *_ = events_of(client, "s")

    assert (opened["type"], opened["data"], "producer" in opened) == ("session-opened", {}, False)
    assert began["data"] == body["events"][0]["data"]
    assert began["producer"] == {"id": "runner", "epoch": 1, "sequence": 1}
    assert began["occurred_at"] == "2026-01-02T01:04:05.123456Z"
    assert began["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert (began["actor"], began["turn_id"], began["schema"]) == ("local", "t1", 1)
    assert int(began["position"]) == int(opened["position"]) + 1
    assert project not in str(began)


@pytest.mark.usefixtures("ten_events")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("11", NO_EVENT),
        ("2147483647", NO_EVENT),
        ("2147483648", (422, "invalid-value", ["/path/version"])),
        ("0", (422, "invalid-value", ["/path/version"])),
        ("-1", (422, "invalid-value", ["/path/version"])),
        ("1.5", (422, "invalid-value", ["/path/version"])),
        ("one", (422, "invalid-value", ["/path/version"])),
        ("9" * 500, (422, "invalid-value", ["/path/version"])),
    ],
)
def test_an_event_that_is_not_there_is_told(
    client: httpx.Client, path: str, expected: Problem
) -> None:
    assert problem(client.get(f"/sessions/s/events/{path}")) == expected


@pytest.mark.usefixtures("ten_events")
def test_a_position_beyond_the_log_is_told_apart_from_no_news(client: httpx.Client) -> None:
    answer = client.get("/sessions/s/events", params={"after": 11})

    assert problem(answer) == (409, "cursor-ahead-of-log", [])
    assert answer.json()["current_version"] == 10


@pytest.mark.usefixtures("ten_events")
@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"after": "bad"}, "/query/after"),
        ({"after": -1}, "/query/after"),
        ({"after": 2**31}, "/query/after"),
        ({"after": "9" * 5_000}, "/query/after"),
        ({"before": 0}, "/query/before"),
        ({"before": 2**31}, "/query/before"),
        ({"limit": 0}, "/query/limit"),
        ({"order": "up"}, "/query/order"),
        ({"types": "turn started"}, "/query/types"),
        ({"types": "a\0b"}, "/query/types"),
        ({"types": "x" * 1_001}, "/query/types"),
    ],
)
def test_a_parameter_that_means_nothing_is_refused_with_its_name(
    client: httpx.Client, query: Json, pointer: str
) -> None:
    answer = client.get("/sessions/s/events", params=query)

    assert problem(answer) == (422, "invalid-value", [pointer])


@pytest.mark.usefixtures("ten_events")
@pytest.mark.parametrize(
    "other", [{"order": "desc"}, {"types": "turn-started"}, {"after": 1}, {"before": 9}]
)
def test_a_cursor_is_refused_with_other_parameters_than_its_own(
    client: httpx.Client, other: Json
) -> None:
    cursor = client.get("/sessions/s/events", params={"limit": 1}).json()["next_cursor"]

    answer = client.get("/sessions/s/events", params={"cursor": cursor, **other})

    assert problem(answer) == (400, "invalid-cursor", [])
    assert versions(client, cursor=cursor, limit=2) == [2, 3]


@pytest.mark.usefixtures("ten_events")
def test_a_cursor_of_another_session_or_route_is_refused(client: httpx.Client) -> None:
    append(client, "s2", batch(1, *turn("t1")))
    ours = client.get("/sessions/s/events", params={"limit": 1}).json()["next_cursor"]
    lists = client.get("/sessions", params={"limit": 1}).json()["next_cursor"]

    for path, cursor in (("/sessions/s2/events", ours), ("/sessions/s/events", lists)):
        assert problem(client.get(path, params={"cursor": cursor})) == (
            400,
            "invalid-cursor",
            [],
        )


def test_an_unknown_type_is_a_filter_that_finds_nothing(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))

    assert versions(client, types="future.v9") == []
    assert types_of(client, "s") == [
        "session-opened",
        "turn-started",
        "message-recorded",
        "turn-completed",
    ]


def test_a_session_that_never_was_has_no_events(client: httpx.Client) -> None:
    assert problem(client.get("/sessions/never/events")) == NO_SESSION
    assert problem(client.get("/sessions/never/events/1")) == NO_SESSION
