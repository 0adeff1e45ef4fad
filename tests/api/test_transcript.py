"""The transcript by REST: pages, moments, forms."""

from base64 import urlsafe_b64encode
from typing import Any

import httpx
import pytest

from tests.api.batches import (
    NO_SESSION,
    Json,
    answered,
    append,
    batch,
    called,
    completed,
    event,
    problem,
    started,
    turn,
)
from tests.api.compacting import compact
from tests.api.serving import ON_ONE_DATABASE, Served


def ids(page: Json) -> list[str]:
    return [item["message_id"] for item in page["items"]]


def read(client: httpx.Client, **query: str | int) -> Json:
    answer = client.get("/sessions/s/transcript", params=query)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def follow(client: httpx.Client, name: str = "next_cursor", **query: str | int) -> list[str]:
    """Return the ids of every message, page by page."""
    page = read(client, **query)
    found = ids(page)
    query.pop("around", None)
    while page[name] is not None:
        page = read(client, **query, cursor=page[name])
        found += ids(page)
    return found


@pytest.fixture
def three_turns(client: httpx.Client) -> None:
    assert append(client, "s", batch(1, *turn("t1"), *turn("t2"), *turn("t3"))).is_success


@pytest.fixture
def compacted(client: httpx.Client, server: Served, project: str, three_turns: None) -> None:
    assert three_turns is None
    compact(server, project, "s", "t2:2")
    assert append(client, "s", batch(2, *turn("t4"))).is_success


ALL = ["t1:1", "t1:2", "t2:1", "t2:2", "t3:1", "t3:2"]


@pytest.mark.usefixtures("three_turns")
def test_a_page_tells_where_the_session_stands(client: httpx.Client) -> None:
    answer = client.get("/sessions/s/transcript", params={"limit": 1})
    page = answer.json()

    assert page["items"] == [
        {
            "index": 0,
            "message_id": "t1:1",
            "turn_id": "t1",
            "version": 2,
            "role": "user",
            "state": "live",
            "parts": [{"type": "text", "text": "Hello?"}],
        }
    ]
    assert page["through_version"] == page["head"]["version"] == 10
    assert page["readiness"]["ready"] is True
    assert page["readiness"]["head"] == page["head"]
    assert answer.headers["ETag"] == '"10"'
    assert answer.headers["Turnlog-Ready"] == "?1"
    assert answer.headers["Turnlog-History-Version"] == str(page["head"]["history_version"])


@pytest.mark.usefixtures("three_turns")
@pytest.mark.parametrize("limit", [1, 2, 4, 200])
def test_every_message_comes_once_in_either_order(client: httpx.Client, limit: int) -> None:
    assert follow(client, limit=limit) == ALL
    assert follow(client, limit=limit, order="desc") == ALL[::-1]


@pytest.mark.usefixtures("three_turns")
def test_pages_are_stable_while_the_session_grows(
    client: httpx.Client, server: Served, project: str
) -> None:
    first = read(client, limit=4, order="desc")
    append(client, "s", batch(2, *turn("t4")))
    compact(server, project, "s", "t3:2")
    second = read(client, limit=4, order="desc", cursor=first["next_cursor"])

    assert ids(first) + ids(second) == ALL[::-1]
    assert (second["through_version"], second["head"]["version"]) == (10, 14)
    assert second["next_cursor"] is None


@pytest.mark.usefixtures("three_turns")
def test_the_page_around_a_message_goes_on_in_both_directions(client: httpx.Client) -> None:
    page = read(client, around="t2:1", limit=3)

    assert ids(page) == ["t1:2", "t2:1", "t2:2"]
    assert follow(client, around="t2:1", limit=3) == ALL[1:]
    assert ids(read(client, limit=3, cursor=page["previous_cursor"])) == ["t1:1"]
    assert ids(read(client, around="t2:1", limit=3, order="desc")) == ["t2:2", "t2:1", "t1:2"]
    assert follow(client, "previous_cursor", around="t2:1", limit=3, order="desc") == [
        "t2:2", "t2:1", "t1:2", "t3:2", "t3:1",
    ]  # fmt: skip


@ON_ONE_DATABASE
@pytest.mark.usefixtures("three_turns")
@pytest.mark.parametrize("name", ["t9:1", "t1:9", "t1", "summary:10", "summary:0", "\x00", ""])
def test_there_is_no_page_around_a_message_that_is_not_there(
    client: httpx.Client, name: str
) -> None:
    answer = client.get("/sessions/s/transcript", params={"around": name})

    assert problem(answer) == (404, "no-such-message", ["/query/around"])


@pytest.mark.usefixtures("compacted")
def test_a_compacted_transcript_begins_with_its_summary(client: httpx.Client) -> None:
    live = read(client)
    whole = read(client, include="archived,rewound")

    assert ids(live) == ["summary:11", "t3:1", "t3:2", "t4:1", "t4:2"]
    assert live["items"][0] == {
        "index": 3,
        "message_id": "summary:11",
        "turn_id": None,
        "version": 11,
        "role": "user",
        "state": "live",
        "parts": [{"type": "text", "text": "so far"}],
        "summary": True,
    }
    assert ids(whole) == [*ALL[:4], "summary:11", *ids(live)[1:]]
    assert [item["state"] for item in whole["items"]] == ["archived"] * 4 + ["live"] * 5
    assert follow(client, limit=2, include="archived", order="desc") == ids(whole)[::-1]
    assert ids(read(client, around="summary:11", limit=1)) == ["summary:11"]


@pytest.mark.usefixtures("compacted")
def test_an_archived_message_is_found_if_archived_ones_are_asked_for(client: httpx.Client) -> None:
    hidden = client.get("/sessions/s/transcript", params={"around": "t1:2"})

    assert problem(hidden) == (404, "no-such-message", ["/query/around"])
    assert "include=archived" in hidden.json()["detail"]
    assert ids(read(client, around="t1:2", limit=1, include="archived")) == ["t1:2"]


@pytest.mark.usefixtures("compacted")
def test_as_of_a_version_the_transcript_is_what_it_was_then(client: httpx.Client) -> None:
    assert ids(read(client, at=10)) == ALL
    assert ids(read(client, at=5)) == ALL[:3]
    assert ids(read(client, at=1)) == []
    assert ids(read(client, at=11)) == ["summary:11", "t3:1", "t3:2"]
    assert read(client, at=5)["through_version"] == 5
    assert read(client, at=5)["head"]["version"] == 14


@pytest.mark.usefixtures("compacted")
def test_as_of_a_time_the_transcript_is_what_it_was_then(client: httpx.Client) -> None:
    times = [
        client.get(f"/sessions/s/events/{version}").json()["recorded_at"] for version in (1, 10)
    ]

    assert read(client, at="2999-01-01T00:00:00+01:00")["through_version"] == 14
    assert read(client, at=times[1])["through_version"] in {10, 14}
    assert read(client, at=times[0])["through_version"] >= 1


@ON_ONE_DATABASE
@pytest.mark.usefixtures("three_turns")
@pytest.mark.parametrize("at", ["0", "11", "999999999999999999", "1970-01-01T00:00:00Z"])
def test_a_moment_that_never_was_is_a_problem(client: httpx.Client, at: str) -> None:
    answer = client.get("/sessions/s/transcript", params={"at": at})

    assert problem(answer) == (404, "no-such-event", ["/query/at"])


@ON_ONE_DATABASE
@pytest.mark.usefixtures("three_turns")
@pytest.mark.parametrize(
    ("query", "pointers"),
    [
        ({"at": "yesterday"}, ["/query/at"]),
        ({"at": "-1"}, ["/query/at"]),
        ({"at": "2026-01-01T00:00:00"}, ["/query/at"]),
        ({"limit": 0}, ["/query/limit"]),
        ({"limit": 201}, ["/query/limit"]),
        ({"order": "up"}, ["/query/order"]),
        ({"include": "everything"}, ["/query/include"]),
        ({"format": "telegram"}, ["/query/format"]),
        ({"format": "openai", "include": "archived"}, ["/query/format"]),
        ({"format": "openai", "around": "t1:1"}, ["/query/format"]),
        ({"format": "openai", "cursor": "x"}, ["/query/format"]),
        ({"format": "anthropic", "cursor": "x"}, ["/query/format"]),
        ({"format": "ui", "around": "t1:1"}, ["/query/format"]),
    ],
)
def test_a_parameter_that_means_nothing_is_a_problem(
    client: httpx.Client, query: dict[str, Any], pointers: list[str]
) -> None:
    answer = client.get("/sessions/s/transcript", params=query)

    assert problem(answer) == (422, "invalid-value", pointers)


@pytest.mark.usefixtures("three_turns")
def test_a_cursor_goes_only_with_what_it_was_made_for(client: httpx.Client) -> None:
    cursor = read(client, limit=2)["next_cursor"]

    for query in (
        {"order": "desc"},
        {"include": "archived"},
        {"at": "5"},
        {"around": "t1:1"},
    ):
        answer = client.get("/sessions/s/transcript", params={"cursor": cursor, **query})
        assert problem(answer)[:2] == (400, "invalid-cursor")
    append(client, "other", batch(1, *turn("t1")))
    answer = client.get("/sessions/other/transcript", params={"cursor": cursor})
    assert problem(answer)[:2] == (400, "invalid-cursor")


@ON_ONE_DATABASE
@pytest.mark.usefixtures("three_turns")
@pytest.mark.parametrize(
    "text",
    [
        "x",
        "",
        "é",
        "5",
        "null",
        "[]",
        "{}",
        '["x"]',
        '["x",1,2,3]',
        "[" * 900,
        "NaN",
        '["x",1e400]',
    ],
)
@pytest.mark.parametrize("view", ["transcript", "turns", "approvals", "audit"])
def test_a_damaged_cursor_is_a_problem(client: httpx.Client, view: str, text: str) -> None:
    for cursor in (text, urlsafe_b64encode(text.encode()).rstrip(b"=").decode()):
        answer = client.get(f"/sessions/s/{view}", params={"cursor": cursor})
        assert problem(answer)[:2] == (400, "invalid-cursor")


@pytest.mark.usefixtures("three_turns")
def test_an_answer_that_the_caller_has_is_not_sent_again(client: httpx.Client) -> None:
    first = client.get("/sessions/s/transcript")
    again = client.get("/sessions/s/transcript", headers={"If-None-Match": first.headers["ETag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.headers["Turnlog-Ready"] == "?1"
    append(client, "s", batch(2, *turn("t4")))
    moved = client.get("/sessions/s/transcript", headers={"If-None-Match": first.headers["ETag"]})
    assert moved.status_code == 200


def test_a_session_that_is_unknown_deleted_or_elsewhere_has_no_transcript(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, *turn("t1")))
    client.delete("/sessions/s")

    for session_id in ("s", "unknown"):
        for view in ("transcript", "turns", "readiness", "fingerprint", "audit", "approvals"):
            assert problem(client.get(f"/sessions/{session_id}/{view}")) == NO_SESSION


def test_a_log_that_begins_with_a_result_is_readable_everywhere(client: httpx.Client) -> None:
    append(client, "s", batch(1, started("t1"), answered("t1", "t0"), completed("t1")))

    for view in (
        "transcript",
        "transcript?format=openai",
        "transcript?order=desc",
        "turns",
        "turns/t1",
        "readiness",
        "fingerprint?v1=true",
        "audit",
        "approvals?status=all",
    ):
        assert client.get(f"/sessions/s/{view}").status_code == 200, view
    assert [i["parts"][0]["type"] for i in read(client)["items"]] == ["text", "tool_result"]


@ON_ONE_DATABASE
def test_results_of_parallel_calls_are_all_there_in_the_order_of_their_arrival(
    client: httpx.Client,
) -> None:
    calls = [called("t1", name) for name in "abc"]
    results = [answered("t1", name, name.upper()) for name in "bac"]
    append(client, "s", batch(1, started("t1"), *calls, *results, completed("t1")))

    parts = [part for item in read(client)["items"] for part in item["parts"]]
    assert [p["output"] for p in parts if p["type"] == "tool_result"] == ["B", "A", "C"]
    assert [p["status"] for p in parts if p["type"] == "tool_call"] == ["completed"] * 3


def test_a_late_result_stays_out_of_the_next_turn(client: httpx.Client) -> None:
    stop = event("turn-interrupted", turn_id="t1", reason="cancelled")
    append(client, "s", batch(1, started("t1"), called("t1", "x"), stop, started("t2")))
    append(client, "s", batch(2, answered("t1", "x", "late")))

    assert ids(read(client)) == ["t1:1", "t1:2", "t2:1"]
    assert read(client)["items"][1]["parts"][0]["status"] == "interrupted"
    lines = client.get("/sessions/s/audit").json()["items"]
    assert [line["version"] for line in lines if line.get("late")] == [6]


@ON_ONE_DATABASE
def test_opaque_json_comes_back_as_it_was_sent(client: httpx.Client) -> None:
    body = (
        b'{"producer":{"id":"p","epoch":1,"sequence":1},"open":{},"events":['
        b'{"type":"turn-started","data":{"turn_id":"t1","messages":[{"role":"user","content":"x"}]}},'
        b'{"type":"tool-call-requested","data":{"turn_id":"t1","tool_call_id":"c","name":"n",'
        b'"arguments":{"b": 1.50, "a":9007199254740993}}}]}'
    )
    headers = {"Content-Type": "application/json"}
    assert client.post("/sessions/s/events", content=body, headers=headers).is_success

    shown = client.get("/sessions/s/transcript").content
    assert b'"arguments":{"b": 1.50, "a":9007199254740993}' in shown
    export = read(client, format="openai")["messages"][1]
    assert export["tool_calls"][0]["function"]["arguments"] == '{"b": 1.50, "a":9007199254740993}'


def test_a_provider_gets_the_whole_model_view_and_the_list_of_losses(client: httpx.Client) -> None:
    author = {"author": {"subject_id": "u1"}}
    parts = [{"type": "reasoning", "text": ""}, {"type": "text", "text": "  "}]
    silent = {"role": "assistant", "content": parts}
    append(
        client,
        "s",
        batch(
            1,
            started("t1", "go", **author),
            answered("t1", "t0"),
            called("t1", "k"),
            event("turn-interrupted", turn_id="t1", reason="cancelled"),
            started("t2", "again"),
            called("t2", "k"),
            answered("t2", "k"),
            event("message-recorded", turn_id="t2", message=silent),
            completed("t2"),
        ),
    )
    export = read(client, format="openai")

    assert [(m["role"], m.get("tool_call_id"), m["content"]) for m in export["messages"]] == [
        ("user", None, "go"),
        ("assistant", None, None),
        ("tool", "k", "[This tool call was interrupted. It has no result.]"),
        ("user", None, "again"),
        ("assistant", None, None),
        ("tool", "k~2", "done"),
    ]
    assert export["messages"][0]["name"] == "u1"
    assert [(x.get("tool_call_id"), x.get("message_id"), x["code"]) for x in export["losses"]] == [
        ("t0", None, "orphan-result"),
        ("k", None, "result-synthesised"),
        ("k", None, "call-id-renamed"),
        (None, "t2:4", "reasoning"),
        (None, "t2:4", "empty-message"),
    ]
    assert export["through_version"] == 10
    assert len(read(client, format="openai", at=2)["messages"]) == 1


@pytest.mark.usefixtures("compacted")
def test_a_provider_sees_the_summary_first(client: httpx.Client) -> None:
    first, second, *_ = read(client, format="openai")["messages"]

    assert first == {"role": "user", "content": "so far"}
    assert second == {"role": "user", "content": "Hello?"}


@ON_ONE_DATABASE
def test_the_model_s_view_comes_in_the_form_that_a_program_takes(client: httpx.Client) -> None:
    brief = event(
        "turn-started",
        turn_id="t1",
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Read it."},
        ],
    )
    events = [brief, called("t1", "c:1", {"n": 1.50}), answered("t1", "c:1"), completed("t1")]
    assert append(client, "s", batch(1, *events)).is_success
    anthropic, ui = read(client, format="anthropic"), read(client, format="ui")

    assert anthropic["system"] == [{"type": "text", "text": "Be brief."}]
    assert [message["role"] for message in anthropic["messages"]] == ["user", "assistant", "user"]
    assert [loss["code"] for loss in anthropic["losses"]] == ["call-id-renamed"]
    assert "system" not in ui
    assert [message["role"] for message in ui["messages"]] == ["system", "user", "assistant"]
    assert [part["type"] for part in ui["messages"][2]["parts"]] == ["step-start", "tool-bash"]
    assert ui["losses"] == []
    assert ui["through_version"] == ui["head"]["version"] == 5
