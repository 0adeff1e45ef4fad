"""The audit by REST."""

import csv
import json
from io import StringIO

import httpx
import pytest

from tests.api.batches import (
    Json,
    answered,
    append,
    batch,
    called,
    completed,
    event,
    problem,
    said,
    started,
    turn,
)


def lines(client: httpx.Client, **query: str | int) -> list[Json]:
    answer = client.get("/sessions/s/audit", params=query)
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()["items"]
    return found


@pytest.fixture
def two_turns(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    append(client, "s", batch(1, *turn("t2"), producer="other"))


@pytest.mark.usefixtures("two_turns")
def test_a_line_says_who_did_what_with_which_effect(client: httpx.Client) -> None:
    line = lines(client)[1]
    recorded = client.get("/sessions/s/events/2").json()

    assert line == {
        "version": 2,
        "id": recorded["id"],
        "at": recorded["recorded_at"],
        "actor": recorded["actor"],
        "producer": {"id": "runner", "epoch": 1, "sequence": 1},
        "type": "turn-started",
        "turn_id": "t1",
        "what": "a turn began with 1 message",
        "effect": "history",
        "bears_on": ["turn", "transcript"],
        "hash": recorded["hash"],
    }


@pytest.mark.usefixtures("two_turns")
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_the_audit_is_paged_in_either_order(client: httpx.Client, order: str) -> None:
    found: list[int] = []
    query: dict[str, str | int] = {"limit": 3, "order": order}
    while True:
        page = client.get("/sessions/s/audit", params=query).json()
        assert page["through_version"] == 7
        found += [line["version"] for line in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]

    assert found == (list(range(1, 8)) if order == "asc" else list(range(7, 0, -1)))


@pytest.mark.usefixtures("two_turns")
def test_the_audit_is_filtered(client: httpx.Client) -> None:
    assert [line["version"] for line in lines(client, type="turn-started")] == [2, 5]
    assert [line["version"] for line in lines(client, turn_id="t2")] == [5, 6, 7]
    assert [line["version"] for line in lines(client, turn_id="t2", type="turn-started")] == [5]
    assert [line["version"] for line in lines(client, type="turn-started, turn-completed")] == [
        2,
        4,
        5,
        7,
    ]
    assert [line["version"] for line in lines(client, effect="none")] == [1, 4, 7]
    second = lines(client)[4]["at"]
    assert [line["version"] for line in lines(client, since=second)] == [5, 6, 7]
    assert [line["version"] for line in lines(client, until=second)] == [1, 2, 3, 4]
    assert lines(client, since=second, until=second.replace("Z", "+00:00")) == []
    assert [line["version"] for line in lines(client, at=3)] == [1, 2, 3]
    assert lines(client, actor="nobody") == lines(client, tool="nothing") == []
    assert len(lines(client, actor=lines(client)[0]["actor"])) == 7


@pytest.mark.usefixtures("two_turns")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("type", "\x00"),
        ("actor", "\x00"),
        ("turn_id", "\x00"),
        ("tool", "read my diary"),
        ("tool", ""),
        ("since", "yesterday"),
        ("until", "2026-01-01"),
        ("effect", "some"),
        ("format", "xml"),
        ("limit", "0"),
        ("limit", "201"),
    ],
)
def test_a_filter_that_nothing_can_match_is_a_problem(
    client: httpx.Client, name: str, value: str
) -> None:
    answer = client.get("/sessions/s/audit", params={name: value})

    assert problem(answer) == (422, "invalid-value", [f"/query/{name}"])


@pytest.mark.usefixtures("two_turns")
@pytest.mark.parametrize("name", ["limit", "cursor"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_comes_whole_has_no_pages(client: httpx.Client, form: str, name: str) -> None:
    answer = client.get("/sessions/s/audit", params={"format": form, name: "1"})

    assert problem(answer) == (422, "invalid-value", ["/query/format"])


@pytest.mark.usefixtures("two_turns")
def test_a_cursor_goes_with_its_filters(client: httpx.Client) -> None:
    page = client.get("/sessions/s/audit", params={"limit": 2, "effect": "history"}).json()
    query = {"limit": "2", "cursor": page["next_cursor"]}

    assert problem(client.get("/sessions/s/audit", params=query))[1] == "invalid-cursor"
    rest = client.get("/sessions/s/audit", params={**query, "effect": "history"}).json()
    assert [line["version"] for line in rest["items"]] == [5, 6]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("text/html,application/xml;q=0.9,*/*;q=0.8", "application/json"),
        ("image/png", "application/json"),
        ("text/csv", "text/csv; charset=utf-8"),
        ("text/*", "text/csv; charset=utf-8"),
        ("application/json;q=0.5, TEXT/CSV; header=present; q=0.6", "text/csv; charset=utf-8"),
        ("application/jsonl", "application/jsonl"),
        ("application/x-ndjson", "application/jsonl"),
        ("text/csv;q=0, ;;, application/json;q=9", "application/json"),
    ],
)
@pytest.mark.usefixtures("two_turns")
def test_the_form_is_the_one_that_is_wanted_most(
    client: httpx.Client, accept: str, media: str
) -> None:
    answer = client.get("/sessions/s/audit", headers={"Accept": accept})

    assert (answer.headers["content-type"], answer.headers["vary"]) == (media, "Accept")


@pytest.mark.usefixtures("two_turns")
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_json_lines_are_the_items_of_all_pages(client: httpx.Client, order: str) -> None:
    query = {"format": "jsonl", "order": order, "effect": "history"}
    answer = client.get("/sessions/s/audit", params=query)

    found = [json.loads(line) for line in answer.text.splitlines()]
    assert found == lines(client, order=order, effect="history")
    assert answer.headers["turnlog-through-version"] == "7"
    assert answer.headers["content-disposition"] == 'attachment; filename="s.audit.jsonl"'


@pytest.mark.usefixtures("two_turns")
def test_a_table_has_a_row_for_each_line(client: httpx.Client) -> None:
    query = {"format": "csv", "at": "5", "type": "turn-started"}
    answer = client.get("/sessions/s/audit", params=query)

    rows = [*csv.DictReader(StringIO(answer.text, newline=""))]
    assert [(row["version"], row["producer_id"], row["turn_id"]) for row in rows] == [
        ("2", "runner", "t1"),
        ("5", "other", "t2"),
    ]
    assert rows[0]["hash"] == lines(client)[1]["hash"]
    assert answer.headers["turnlog-through-version"] == "5"
    assert answer.headers["content-disposition"] == 'attachment; filename="s.audit.csv"'


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_what_cannot_be_told_is_a_problem_before_any_line(client: httpx.Client, form: str) -> None:
    query = {"format": form}
    assert problem(client.get("/sessions/s/audit", params=query))[1] == "no-such-session"
    append(client, "s", batch(1, *turn("t1")))
    answer = client.get("/sessions/s/audit", params={**query, "at": "99"})
    assert problem(answer)[1] == "no-such-event"


@pytest.mark.usefixtures("two_turns")
def test_what_was_rewound_stays_in_the_audit_and_says_by_which_rewind(
    client: httpx.Client,
) -> None:
    assert client.post("/sessions/s/rewind", json={"turns": 1}).status_code == 200

    found = {line["version"]: line.get("rewound_by") for line in lines(client)}
    assert found == dict.fromkeys([1, 2, 3, 4, 8]) | dict.fromkeys([5, 6, 7], 8)
    assert lines(client)[-1]["what"] == "1 turn and 2 messages went out of sight, from version 5 on"
    assert not any("rewound_by" in line for line in lines(client, at=7))
    table = client.get("/sessions/s/audit", params={"format": "csv"}).text
    rows = [*csv.DictReader(StringIO(table, newline=""))]
    assert [row["rewound_by"] for row in rows] == ["", "", "", "", "8", "8", "8", ""]


def test_a_tool_is_named_and_found_also_where_the_fact_does_not_name_it(
    client: httpx.Client,
) -> None:
    append(
        client,
        "s",
        batch(
            1,
            started("t1"),
            called("t1", "c1"),
            answered("t1", "c1"),
            event("gate-opened", turn_id="t1", kind="permission", permission_id="p", tool="rm"),
            event(
                "gate-decided",
                permission_id="p",
                verdict="approved",
                decided_by="person",
                via="in-band",
            ),
            completed("t1"),
        ),
    )
    tools = {line["version"]: line.get("tool") for line in lines(client)}
    name = tools[3]

    assert tools == {1: None, 2: None, 3: name, 4: name, 5: "rm", 6: "rm", 7: None}
    assert [line["version"] for line in lines(client, tool=str(name))] == [3, 4]
    assert [line["version"] for line in lines(client, tool="rm", order="desc")] == [6, 5]


def test_nothing_that_was_said_is_in_the_audit(client: httpx.Client) -> None:
    secret = "SECRET words"
    client.post("/sessions", json={"session_id": "s", "title": secret, "config": {"k": secret}})
    append(
        client,
        "s",
        batch(
            1,
            started("t1", secret, author={"subject_id": secret}),
            said("t1", secret, message_id=secret),
            event(
                "tool-call-requested",
                turn_id="t1",
                tool_call_id=secret,
                name=secret,
                arguments={secret: secret},
            ),
            event(
                "gate-opened",
                turn_id="t1",
                kind="permission",
                permission_id=secret,
                tool_call_id=secret,
                tool=secret,
                arguments={secret: secret},
            ),
            event(
                "gate-decided",
                permission_id=secret,
                verdict="denied",
                decided_by="person",
                via="in-band",
                message=secret,
            ),
            event("tool-call-completed", turn_id="t1", tool_call_id=secret, output=secret),
            event("data-recorded", kind=secret, data=secret),
            event("records-lost", count=1, reason=secret),
            event("turn-failed", turn_id="t1", error={"code": secret, "message": secret}),
        ),
    )
    answer = client.get("/sessions/s/audit", params={"limit": 200})

    assert len(answer.json()["items"]) == 10
    for form in ("json", "csv", "jsonl"):
        assert "SECRET" not in client.get("/sessions/s/audit", params={"format": form}).text
