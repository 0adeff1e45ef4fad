"""Search over HTTP: what is found, and what it says when its index is not there."""

import httpx
import pytest

from tests.api.batches import append, batch, turn
from tests.api.going_back import done, redo, rewind
from tests.api.serving import Served
from tests.api.waiting import caught_up, in_time


def say(client: httpx.Client, session_id: str, text: str) -> None:
    event = {
        "type": "turn-started",
        "data": {"turn_id": "t1", "messages": [{"role": "user", "content": text}]},
    }
    body = {"producer": {"id": "p1", "epoch": 1, "sequence": 1}, "open": {}, "events": [event]}
    answer = client.post(f"/sessions/{session_id}/events", json=body)
    assert answer.status_code == 201, answer.text


def sessions(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [item["session_id"] for item in answer.json()["items"]]


def search(client: httpx.Client, query: str, **more: str | int) -> list[str]:
    return sessions(client.get("/search", params={"q": query, **more}))


def test_texts_are_found_with_marks_and_where_they_stand(
    client: httpx.Client, server: Served
) -> None:
    say(client, "s1", "fix <b>read_config</b> & 配置文件")
    caught_up(server)

    answer = client.get("/search", params={"q": "readConfig 配置"}).json()

    [item] = answer["items"]
    assert (item["session_id"], item["version"], item["turn_id"]) == ("s1", 2, "t1")
    assert (item["message_id"], item["role"]) == ("t1:1", "user")
    snippet = item["snippet"]
    assert snippet["text"] == "fix <b>read_config</b> & 配置文件"
    assert [snippet["text"][low:high] for low, high in snippet["marks"]] == ["read_config", "配置"]
    assert in_time(client, "/search?q=door")


def test_each_of_many_messages_is_named(client: httpx.Client, server: Served) -> None:
    said = [{"role": "user", "content": f"word{n}"} for n in range(40)]
    event = {"type": "turn-started", "data": {"turn_id": "t1", "messages": said}}
    body = {"producer": {"id": "p1", "epoch": 1, "sequence": 1}, "open": {}, "events": [event]}
    assert client.post("/sessions/s1/events", json=body).status_code == 201
    caught_up(server)

    for n in (0, 1, 15, 16, 17, 31, 32, 39):
        [item] = client.get("/search", params={"q": f"word{n}"}).json()["items"]
        assert item["message_id"] == f"t1:{n + 1}"


def test_filters_and_pages_hold(client: httpx.Client, server: Served) -> None:
    for number in range(3):
        say(client, f"s{number}", f"common {number}")
    caught_up(server)

    first = client.get("/search", params={"q": "common", "limit": 2})
    page = first.json()["next_cursor"]
    say(client, "s3", "common 3")
    caught_up(server)

    assert sessions(first) == ["s2", "s1"]
    assert search(client, "common", limit=2, cursor=page) == ["s0"]
    assert search(client, "common", session="s1") == ["s1"]
    assert search(client, "common", role="assistant") == []
    assert search(client, "common", to="2001-01-01T00:00:00Z") == []
    assert len(search(client, "common", **{"from": "2001-01-01T00:00:00Z"})) == 4


def test_deleted_sessions_and_other_projects_are_not_searched(
    client: httpx.Client, server: Served
) -> None:
    say(client, "s1", "secretive")
    caught_up(server)
    assert search(client, "secretive") == ["s1"]
    with server.client("elsewhere") as other:
        assert search(other, "secretive") == []
    assert client.delete("/sessions/s1").status_code < 300
    assert search(client, "secretive") == []
    assert client.post("/sessions/s1/restore").status_code < 300
    assert search(client, "secretive") == ["s1"]


@pytest.mark.parametrize("query", ['"', "a-b*", "(", "NOT", "x:y", "'", "\\", "%", "<->", "^"])
def test_ordinary_text_is_never_an_error(client: httpx.Client, query: str) -> None:
    assert search(client, query) == []


def test_values_that_mean_nothing_are_refused(client: httpx.Client) -> None:
    wanted: tuple[dict[str, str], ...] = (
        {},
        {"q": ""},
        {"q": "x", "from": "soon"},
        {"q": "x", "session": "a b"},
        {"q": "x", "role": "king"},
    )
    for params in wanted:
        answer = client.get("/search", params=params)
        assert answer.status_code == 422, params
    assert client.get("/search", params={"q": "x", "session": "none"}).status_code == 404
    answer = client.get("/search", params={"q": "x", "cursor": "AAAA"})
    assert answer.json()["code"] == "invalid-cursor"


def test_a_missing_index_is_told_and_stops_no_writer(own_server: Served) -> None:
    with own_server.client("default") as client:
        say(client, "s1", "before")
        caught_up(own_server)
        with own_server.log.database.write() as connection:
            connection.exec_driver_sql("DROP TABLE search_index_1")
        answer = client.get("/search", params={"q": "before"})
        assert answer.status_code == 503
        assert answer.json()["code"] == "index-unavailable"
        assert "turnlog rebuild --view search" in answer.json()["detail"]
        say(client, "s2", "before and after")
        own_server.log.following.rebuild("search")
        caught_up(own_server)
        assert search(client, "before") == ["s2", "s1"]


def test_a_search_that_waits_finds_what_was_just_said(client: httpx.Client) -> None:
    for number in range(1, 6):
        say(client, f"s{number}", f"word{number}")
        answer = client.get("/search", params={"q": f"word{number}"}, headers={"Prefer": "wait=20"})
        assert sessions(answer) == [f"s{number}"]


def test_what_was_rewound_is_not_found_until_it_is_brought_back(
    client: httpx.Client, server: Served
) -> None:
    turns = [event for n in range(1, 6) for event in turn(f"t{n}", f"needle number {n}")]
    done(append(client, "s1", batch(1, *turns)))
    say(client, "s2", "a needle elsewhere")
    done(rewind(client, {"to_turn": "t3"}, session="s1"))
    done(append(client, "s1", batch(2, *turn("t6", "needle number 6"))))
    caught_up(server)

    def found(**more: str | int) -> list[str | None]:
        page = client.get("/search", params={"q": "needle", **more}).json()
        items = page["items"]
        while page["next_cursor"] is not None:
            more["cursor"] = page["next_cursor"]
            page = client.get("/search", params={"q": "needle", **more}).json()
            items += page["items"]
        return [item["message_id"] for item in items if item["session_id"] == "s1"]

    assert found() == ["t6:1", "t2:1", "t1:1"]
    assert found(limit=1) == found(limit=2) == found(session="s1") == found()
    page = client.get("/search", params={"q": "needle", "limit": 4}).json()
    assert len(page["items"]) == 4

    done(redo(client, {"rewind_version": 17}, session="s1"))
    assert found() == ["t5:1", "t4:1", "t3:1", "t2:1", "t1:1"]


def test_a_page_of_hits_is_full_however_much_was_rewound(
    client: httpx.Client, server: Served
) -> None:
    turns = [event for n in range(1, 31) for event in turn(f"t{n}", f"needle number {n}")]
    done(append(client, "s1", batch(1, *turns)))
    done(rewind(client, {"to_turn": "t4"}, session="s1"))
    caught_up(server)

    page = client.get("/search", params={"q": "needle", "limit": 2}).json()
    assert [item["message_id"] for item in page["items"]] == ["t3:1", "t2:1"]
