"""Usage over HTTP: sums by session, model and day, exact, and how far they go."""

import httpx

from tests.api.batches import Json, started
from tests.api.serving import Served
from tests.api.waiting import caught_up, in_time


def record(client: httpx.Client, session_id: str, *used: Json) -> None:
    events: list[Json] = [
        started("t1"),
        *({"type": "usage-recorded", "data": {"turn_id": "t1"} | each} for each in used),
    ]
    body = {"producer": {"id": "p1", "epoch": 1, "sequence": 1}, "open": {}, "events": events}
    answer = client.post(f"/sessions/{session_id}/events", json=body)
    assert answer.status_code == 201, answer.text


def tokens(model: str, count: int, cost: object = None) -> Json:
    return {"model": model, "input_tokens": count, "output_tokens": 1, "cost": cost}


def test_usage_is_summed_and_says_how_far_it_goes(client: httpx.Client, server: Served) -> None:
    record(client, "s1", tokens("m1", 10, 0.1), tokens("m2", 5, {"amount": "2", "currency": "EUR"}))
    record(client, "s2", tokens("m1", 7, 0.2))
    caught_up(server)

    by_model = client.get("/usage", params={"by": "model"}).json()
    by_session = client.get("/usage", params={"by": "session"}).json()
    by_day = client.get("/usage").json()

    assert [(item["model"], item["input_tokens"]) for item in by_model["items"]] == [
        ("m1", 17),
        ("m2", 5),
    ]
    assert [(item["session"], item["input_tokens"]) for item in by_session["items"]] == [
        ("s1", 15),
        ("s2", 7),
    ]
    assert by_day["total"]["costs"] == [
        {"amount": "0.3", "currency": None},
        {"amount": "2", "currency": "EUR"},
    ]
    assert [item["input_tokens"] for item in by_day["items"]] == [22]
    assert in_time(client, "/usage")
    assert int(by_day["through_position"]) > 0
    day = by_day["items"][0]["day"]
    assert client.get("/usage", params={"from": day, "to": day}).json()["total"]["records"] == 3
    assert client.get("/usage", params={"to": "1999-12-31"}).json()["items"] == []


def test_usage_of_a_session_names_its_version(client: httpx.Client, server: Served) -> None:
    record(client, "s1", tokens("m1", 10), tokens("m1", 5))
    caught_up(server)
    answer = client.get("/sessions/s1/usage").json()
    assert [(item["model"], item["records"]) for item in answer["items"]] == [("m1", 2)]
    assert answer["through_version"] == 4
    assert client.get("/sessions/none/usage").json()["code"] == "no-such-session"


def test_usage_is_paged_by_any_key(client: httpx.Client, server: Served) -> None:
    for number in range(3):
        record(client, f"s{number}", tokens(f"m{number}", 1))
    caught_up(server)
    for by in ("session", "model"):
        seen: list[str] = []
        page: str | None = None
        while True:
            params: dict[str, str | int] = {"by": by, "limit": 2} | (
                {} if page is None else {"cursor": page}
            )
            answer = client.get("/usage", params=params).json()
            seen += [item[by] for item in answer["items"]]
            page = answer["next_cursor"]
            if page is None:
                break
        assert [name[1:] for name in seen] == ["0", "1", "2"]


def test_usage_of_a_session_is_summed_as_asked_and_paged(
    client: httpx.Client, server: Served
) -> None:
    record(client, "s1", tokens("m1", 10), tokens("m2", 5), tokens("m3", 1))
    caught_up(server)

    first = client.get("/sessions/s1/usage", params={"limit": 2}).json()
    cursor = {"limit": 2, "cursor": first["next_cursor"]}
    rest = client.get("/sessions/s1/usage", params=cursor).json()
    by_day = client.get("/sessions/s1/usage", params={"by": "day"}).json()
    by_session = client.get("/sessions/s1/usage", params={"by": "session"}).json()

    assert [item["model"] for item in [*first["items"], *rest["items"]]] == ["m1", "m2", "m3"]
    assert rest["next_cursor"] is None
    assert first["total"]["unpriced"] == 3
    assert [item["input_tokens"] for item in by_day["items"]] == [16]
    assert [(item["session"], item["unpriced"]) for item in by_session["items"]] == [("s1", 3)]


def test_turns_are_told_apart_by_how_they_ended(client: httpx.Client, server: Served) -> None:
    record(client, "s1", tokens("m1", 10))
    body: Json = {"type": "turn-interrupted", "data": {"turn_id": "t1", "reason": "stop"}}
    batch: Json = {"producer": {"id": "p1", "epoch": 1, "sequence": 2}, "events": [body]}
    assert client.post("/sessions/s1/events", json=batch).status_code == 201
    caught_up(server)

    answer = client.get("/usage", params={"by": "model"}).json()

    assert answer["total"]["turns"] == {
        "completed": 0,
        "failed": 0,
        "interrupted": 1,
        "success_rate": None,
    }
    assert "turns" not in answer["items"][0]


def test_a_day_that_is_none_is_refused(client: httpx.Client) -> None:
    record(client, "s1", tokens("m1", 10))
    for path in ("/usage", "/sessions/s1/usage"):
        answer = client.get(path, params={"from": "2026-02-30"})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-value")


def test_usage_of_a_session_is_bounded_by_days(client: httpx.Client, server: Served) -> None:
    record(client, "s1", tokens("m1", 10), tokens("m2", 5))
    caught_up(server)
    path = "/sessions/s1/usage"
    [day] = [item["day"] for item in client.get(path, params={"by": "day"}).json()["items"]]

    within = client.get(path, params={"from": day, "to": day, "limit": 1}).json()
    before = client.get(path, params={"to": "1999-12-31"}).json()
    other = client.get(path, params={"limit": 1, "cursor": within["next_cursor"]})

    assert within["total"]["records"] == 2
    assert (before["items"], before["total"]["records"]) == ([], 0)
    assert other.json()["code"] == "invalid-cursor"


def test_a_reader_who_waits_reads_what_was_just_written(client: httpx.Client) -> None:
    for number in range(1, 6):
        record(client, f"s{number}", tokens("m1", 10))
        answer = client.get("/usage", headers={"Prefer": "respond-async, wait=20"})
        assert answer.json()["total"]["input_tokens"] == 10 * number
        assert answer.headers["Preference-Applied"] == "wait=20"
    assert "Preference-Applied" not in client.get("/usage").headers


def test_a_reader_waits_no_longer_than_it_said(own_server: Served, project: str) -> None:
    own_server.log.following.stop()
    with own_server.client(project) as client:
        record(client, "s1", tokens("m1", 10))
        answer = client.get("/sessions/s1/usage", headers={"Prefer": "wait=1"})
    assert answer.status_code == 200
    assert "Preference-Applied" not in answer.headers
    assert answer.json()["lag"]["events"] > 0
