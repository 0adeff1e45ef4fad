"""Opening, reading, deleting and restoring sessions."""

import re

import httpx
import pytest

from tests.api.batches import (
    NO_SESSION,
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


def open_session(client: httpx.Client, **body: object) -> httpx.Response:
    return client.post("/sessions", json=body)


def test_a_new_session_answers_201_with_its_place_and_where_it_stands(
    client: httpx.Client, project: str
) -> None:
    answer = open_session(client, session_id="chat-1", title="A title", source={"app": "ide"})

    body = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/projects/{project}/sessions/chat-1"
    assert answer.headers["etag"] == '"1"'
    assert answer.headers["turnlog-ready"] == "?1"
    assert (body["session_id"], body["title"], body["status"]) == ("chat-1", "A title", "open")
    assert (body["head"]["version"], body["head"]["history_version"]) == (1, 0)
    assert (body["turn_id"], body["ready"], body["through_version"]) == (None, True, 1)
    assert body["source"] == {"app": "ide"}
    assert client.get(answer.headers["location"].partition(project)[2]).json() == body


def test_a_session_without_an_id_gets_one_of_its_own(client: httpx.Client) -> None:
    ids = {open_session(client).json()["session_id"] for _ in range(5)}

    assert len(ids) == 5
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in ids)


@pytest.mark.parametrize(
    "again",
    [
        b'{"session_id":"s","title":"T","config":{"a":1.50,"b":[true,"x"]},"source":null}',
        b'{"config": {"b":[true,"\\u0078"], "a":1.5e0}, "title":"T", "session_id":"s"}',
    ],
)
def test_the_same_id_and_body_again_answers_200_however_it_is_spelled(
    client: httpx.Client, again: bytes
) -> None:
    body = b'{"session_id":"s","title":"T","config":{"a":1.50,"b":[true,"x"]}}'
    headers = {"content-type": "application/json"}
    first = client.post("/sessions", content=body, headers=headers)

    second = client.post("/sessions", content=again, headers=headers)

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    assert types_of(client, "s") == ["session-opened"]


@pytest.mark.parametrize(
    "other",
    [
        {"title": "U"},
        {"title": "T"},
        {"title": "T", "config": {"a": True}},
        {"title": "T", "config": {"a": "1"}},
        {"title": "T", "config": {"a": 1}, "approval_mode": "allow-all"},
        {"title": "T", "config": {"a": 1}, "source": {}},
    ],
)
def test_the_same_id_with_another_body_is_a_conflict(client: httpx.Client, other: Json) -> None:
    open_session(client, session_id="s", title="T", config={"a": 1})

    answer = open_session(client, session_id="s", **other)

    assert problem(answer) == (409, "session-exists", ["/session_id"])
    assert types_of(client, "s") == ["session-opened"]


def test_a_session_opened_again_after_it_was_renamed_is_still_the_same(
    client: httpx.Client,
) -> None:
    open_session(client, session_id="s", title="T")
    client.patch("/sessions/s", json={"title": "U"})

    answer = open_session(client, session_id="s", title="T")

    assert (answer.status_code, answer.json()["title"]) == (200, "U")


def test_what_a_session_was_configured_with_comes_back_as_it_was_sent(
    client: httpx.Client,
) -> None:
    config = b'{"temperature": 1.50, "seed": 9007199254740993, "tools": []}'
    client.post(
        "/sessions",
        content=b'{"session_id":"s","config":' + config + b"}",
        headers={"content-type": "application/json"},
    )

    assert b'"config":' + config in client.get("/sessions/s").content


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"title": 5}, "/title"),
        ({"title": ""}, "/title"),
        ({"title": " \n "}, "/title"),
        ({"title": "x" * 1_001}, "/title"),
        ({"title": "a\0b"}, "/title"),
        ({"config": []}, "/config"),
        ({"source": "ide"}, "/source"),
        ({"approval_mode": "sometimes"}, "/approval_mode"),
        ({"name": "s"}, "/name"),
        ({"session_id": None, "parent": "p"}, "/parent"),
    ],
)
def test_a_session_is_not_opened_with_what_means_nothing(
    client: httpx.Client, body: Json, pointer: str
) -> None:
    assert problem(open_session(client, **body)) == (422, "invalid-value", [pointer])
    assert client.get("/sessions").json()["items"] == []


def test_a_session_that_the_client_holds_already_is_not_sent_again(client: httpx.Client) -> None:
    tag = open_session(client, session_id="s").headers["etag"]

    for known in (tag, f"W/{tag}", f'"7", {tag}', "*"):
        answer = client.get("/sessions/s", headers={"If-None-Match": known})
        assert (answer.status_code, answer.content) == (304, b""), known
        assert answer.headers["etag"] == tag
    client.patch("/sessions/s", json={"title": "New"})
    answer = client.get("/sessions/s", headers={"If-None-Match": tag})
    assert (answer.status_code, answer.headers["etag"]) == (200, '"2"')


def test_a_running_turn_shows_in_its_session(client: httpx.Client) -> None:
    append(client, "s", batch(1, started("t1")))

    body = client.get("/sessions/s").json()

    assert (body["turn_id"], body["turn_status"], body["ready"]) == ("t1", "running", False)
    assert (body["turns"], body["messages"]) == (1, 1)


def test_a_full_session_is_deleted_all_the_same(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(client, "s", batch(1, started("t1")))
    monkeypatch.setattr("domain.decide.SESSION_LIMIT", 2)

    assert problem(client.patch("/sessions/s", json={"title": "X"})) == (409, "session-full", [])
    assert client.delete("/sessions/s").status_code == 204


def test_a_deleted_session_is_not_there_until_it_is_restored(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))

    assert client.delete("/sessions/s").status_code == 204

    assert problem(client.get("/sessions/s")) == NO_SESSION
    assert problem(client.get("/sessions/s/events")) == NO_SESSION
    assert problem(client.get("/sessions/s/events/1")) == NO_SESSION
    assert problem(client.get("/sessions/s/events/stream")) == NO_SESSION
    assert problem(client.patch("/sessions/s", json={"title": "X"})) == NO_SESSION
    assert problem(client.delete("/sessions/s")) == NO_SESSION
    assert problem(append(client, "s", batch(2, *turn("t2")))) == NO_SESSION
    assert problem(append(client, "s", batch(1, *turn("t1")))) == NO_SESSION
    restored = client.post("/sessions/s/restore")
    assert (restored.status_code, restored.headers["etag"]) == (200, '"6"')
    assert types_of(client, "s")[-2:] == ["session-deleted", "session-restored"]
    assert append(client, "s", batch(2, *turn("t2"))).status_code == 201


def test_a_session_that_was_archived_is_archived_again_once_restored(
    client: httpx.Client,
) -> None:
    open_session(client, session_id="s")
    client.patch("/sessions/s", json={"archived": True})
    client.delete("/sessions/s")
    client.post("/sessions/s/restore")

    assert client.get("/sessions/s").json()["status"] == "archived"


def test_a_deleted_session_keeps_its_id(client: httpx.Client) -> None:
    open_session(client, session_id="s")
    client.delete("/sessions/s")

    assert problem(open_session(client, session_id="s")) == (
        409,
        "session-exists",
        ["/session_id"],
    )


def test_deleting_a_session_ends_what_runs_in_it(client: httpx.Client) -> None:
    append(client, "s", batch(1, started("t1")))

    client.delete("/sessions/s")
    client.post("/sessions/s/restore")

    assert types_of(client, "s")[-3:] == [
        "turn-interrupted",
        "session-deleted",
        "session-restored",
    ]
    assert events_of(client, "s")[2]["data"]["reason"] == "session-deleted"


def test_only_a_deleted_session_is_restored(client: httpx.Client) -> None:
    open_session(client, session_id="s")

    assert problem(client.post("/sessions/s/restore")) == (409, "session-not-deleted", [])
    assert problem(client.post("/sessions/never/restore")) == NO_SESSION


def test_a_delete_that_expects_another_version_is_refused(client: httpx.Client) -> None:
    open_session(client, session_id="s")

    answer = client.delete("/sessions/s", headers={"If-Match": '"7"'})

    assert problem(answer) == (412, "version-mismatch", [])
    assert answer.json()["current_version"] == 1
    assert client.delete("/sessions/s", headers={"If-Match": '"1"'}).status_code == 204


def test_two_projects_with_a_session_of_one_id_do_not_mix(
    client: httpx.Client, server: Served
) -> None:
    with server.client("other-tenant") as other:
        append(client, "s", batch(1, *turn("t1", "mine"), open={"title": "Mine"}))
        append(other, "s", batch(1, *turn("t1", "theirs"), open={"title": "Theirs"}))
        append(other, "only-theirs", batch(1, *turn("t1", "theirs")))

        assert client.get("/sessions/s").json()["title"] == "Mine"
        assert other.get("/sessions/s").json()["title"] == "Theirs"
        mine = events_of(client, "s")
        theirs = events_of(other, "s")
        assert [item["id"] for item in mine] != [item["id"] for item in theirs]
        assert "theirs" not in str(mine)
        assert [s["session_id"] for s in client.get("/sessions").json()["items"]] == ["s"]


def test_what_another_project_has_is_not_there(client: httpx.Client, server: Served) -> None:
    with server.client("another-tenant") as other:
        append(other, "theirs", batch(1, *turn("t1")))

    for path in ("", "/events", "/events/1", "/events/stream"):
        assert problem(client.get(f"/sessions/theirs{path}")) == NO_SESSION
    assert problem(client.patch("/sessions/theirs", json={"title": "X"})) == NO_SESSION
    assert problem(client.delete("/sessions/theirs")) == NO_SESSION
    assert problem(client.post("/sessions/theirs/restore")) == NO_SESSION
    assert problem(append(client, "theirs", batch(2, *turn("t2"), open=None))) == NO_SESSION
