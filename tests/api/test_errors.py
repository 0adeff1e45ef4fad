"""Errors over HTTP: what went wrong, told by code and place."""

import re

import httpx

from tests.api.batches import Json, append, batch, called, problem, started
from tests.api.serving import Served
from tests.api.waiting import caught_up, in_time

SECRET = "what nobody may read"


def broken(turn_id: str, code: str = "process-died") -> list[Json]:
    error = {"code": code, "message": SECRET}
    return [
        started(turn_id, SECRET),
        called(turn_id, "c1"),
        {
            "type": "tool-call-completed",
            "data": {
                "turn_id": turn_id,
                "tool_call_id": "c1",
                "output": SECRET,
                "is_error": True,
            },
        },
        {"type": "turn-failed", "data": {"turn_id": turn_id, "error": error}},
    ]


def listed(client: httpx.Client, **chosen: str | int) -> list[tuple[str, str]]:
    answer = client.get("/errors", params=chosen)
    assert answer.status_code == 200, answer.text
    assert SECRET not in answer.text
    return [(item["session_id"], item["code"]) for item in answer.json()["items"]]


def counted(client: httpx.Client, server: Served) -> float:
    """Return how many errors of harnesses the server has found that somebody has to look into."""
    told = client.get(server.url + "/metrics").text
    found = re.search(
        r'^turnlog_errors_total\{kind="unexpected",source="harness"\} (.+)$', told, re.MULTILINE
    )
    return 0.0 if found is None else float(found[1])


def test_errors_are_listed_and_chosen_by_what_they_are(
    client: httpx.Client, server: Served
) -> None:
    before = counted(client, server)
    append(client, "s1", batch(1, *broken("t1"), open={}))
    append(client, "s2", batch(1, *broken("t1", "idle-timeout"), open={}))
    caught_up(server)

    everything = client.get("/errors").json()
    tool = everything["items"][-1]["code"]

    assert listed(client, kind="unexpected") == [("s1", "process-died")]
    assert listed(client, source="harness", session="s2") == [("s2", "idle-timeout")]
    assert listed(client, code=tool) == [("s1", tool)]
    assert listed(client, since="2999-01-01T00:00:00Z") == []
    item = everything["items"][0]
    assert item | {"first_at": "", "last_at": ""} == {
        "source": "harness",
        "code": "idle-timeout",
        "kind": "expected",
        "session_id": "s2",
        "turn_id": "t1",
        "first_at": "",
        "last_at": "",
        "count": 1,
    }
    assert in_time(client, "/errors")
    assert counted(client, server) > before


def test_errors_are_paged(client: httpx.Client, server: Served) -> None:
    for number in range(3):
        append(client, f"s{number}", batch(1, *broken("t1", f"e{number}"), open={}))
    caught_up(server)

    seen: list[str] = []
    page: Json = {}
    while page.get("next_cursor", "") is not None:
        cursor = {"cursor": page["next_cursor"]} if page else {}
        page = client.get("/errors", params={"source": "harness", "limit": "2"} | cursor).json()
        seen += [item["code"] for item in page["items"]]

    assert seen == ["e2", "e1", "e0"]


def test_what_names_no_error_is_refused(client: httpx.Client) -> None:
    assert problem(client.get("/errors", params={"since": "soon"}))[:2] == (422, "invalid-value")
    assert problem(client.get("/errors", params={"kind": "bad"}))[0] == 422
    assert problem(client.get("/errors", params={"session": "none"}))[0] == 404
