"""The difference of two points, by REST: for programs, and for people."""

import httpx

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
    said,
    started,
    turn,
)
from tests.api.going_back import redo, rewind, transcript

GATE = event(
    "gate-opened",
    turn_id="t2",
    kind="permission",
    permission_id="p",
    tool_call_id="c1",
    tool="rm",
    arguments={"path": "notes"},
)
ALLOWED = event(
    "gate-decided", permission_id="p", verdict="approved", decided_by="person", via="in-band"
)


PART = {"message_id": "m1", "status": "partial"}
PAUSED = (
    "status running -> paused, messages 1 -> 2, calls 0 -> 1, open calls 0 -> 1, open gates 0 -> 1"
)


def diff(client: httpx.Client, **query: str | int) -> Json:
    """Return the difference as JSON."""
    answer = client.get("/sessions/s/diff", params={k.rstrip("_"): v for k, v in query.items()})
    assert answer.status_code == 200, answer.text
    assert answer.headers["Vary"] == "Accept"
    found: Json = answer.json()
    return found


def words(client: httpx.Client, session: str = "s", **query: str | int) -> list[str]:
    """Return the difference as lines."""
    answer = client.get(
        f"/sessions/{session}/diff",
        params={k.rstrip("_"): v for k, v in query.items()},
        headers={"Accept": "text/plain"},
    )
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    return answer.text.splitlines()


def gated(client: httpx.Client) -> None:
    """Record a whole turn (2 to 4), and one with a gate, a call, its result, its end (5 to 10)."""
    append(client, "s", batch(1, *turn("t1")))
    append(client, "s", batch(2, started("t2", "Go."), GATE, ALLOWED, called("t2", "c1")))
    append(client, "s", batch(3, answered("t2", "c1"), completed("t2", record_count=5)))


def test_each_step_says_what_it_changed(client: httpx.Client) -> None:
    gated(client)
    client.patch("/sessions/s", json={"title": "A\u202etrip\n"[:6]})
    rewind(client, {"turns": 1})
    redo(client)

    steps = [words(client, from_=version, to=version + 1) for version in range(4, 13)]
    gate = client.get("/sessions/s/approvals", params={"status": "all"}).json()["items"][0]
    about = f"gate {gate['gate_id']} (permission)"
    assert steps == [
        ["~ reasons: none -> turn-running", "+ turn 2 t2 (running): new", "+ #2 user: Go."],
        [
            "~ reasons: turn-running -> none",
            f"~ turn 2 t2: {PAUSED}",
            "+ call c1 (rm) waits",
            f"+ {about} waits",
            '+ #3 assistant: [calls rm] {"path":"notes"}',
        ],
        [
            "~ reasons: none -> turn-running",
            "~ turn 2 t2: status paused -> running, open gates 1 -> 0",
            f"- {about}: allowed",
        ],
        [
            '~ #3 assistant: [calls rm] {"path":"notes"}',
            "~ #3 assistant: [calls bash] {}",
        ],
        [
            "~ turn 2 t2: messages 2 -> 3, open calls 1 -> 0",
            "- call c1 (bash): completed",
            "+ #4 tool: [result] done",
        ],
        ["~ reasons: turn-running -> none", "~ turn 2 t2: status running -> completed"],
        ["~ title: Hello? -> A<U+202E>trip"],
        [
            "~ redo version: none -> 12",
            "- turn 2 t2 (completed): rewound",
            "- #2 user: Go.",
            "- #3 assistant: [calls bash] {}",
            "- #4 tool: [result] done",
        ],
        [
            "~ redo version: 12 -> none",
            "+ turn 2 t2 (completed): restored",
            "+ #2 user: Go.",
            "+ #3 assistant: [calls bash] {}",
            "+ #4 tool: [result] done",
        ],
    ]


def test_two_branches_differ_by_what_each_has_alone(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1"), *turn("t2", "In Oslo?")))
    rewind(client, {"turns": 1})
    append(client, "s", batch(2, *turn("t3", "In Rome?")))
    told = diff(client, from_=7)

    assert (told["from"]["version"], told["to"]["version"], told["through_version"]) == (7, 11, 11)
    assert told["head"] == told["to"]["head"] == told["readiness"]["head"]
    assert told["from"]["head"]["version"] == 7
    oslo, rome = (transcript(client, at=at)[2:] for at in ("7", "11"))
    messages = told["messages"]
    assert (messages["shared"], messages["changed"]) == (2, [])
    assert [item["message"] for item in messages["removed"]["items"]] == oslo
    assert [item["message"] for item in messages["added"]["items"]] == rome
    assert {item["change"] for item in messages["removed"]["items"]} == {"rewound"}
    assert {item["change"] for item in messages["added"]["items"]} == {"new"}
    assert told["turns"]["removed"]["items"] == [
        {
            "change": "rewound",
            "turn_id": "t2",
            "number": 2,
            "status": "completed",
            "started_version": 5,
        }
    ]
    assert told["state"].keys() == {
        "history_version",
        "fingerprint",
        "model_fingerprint",
        "branch",
    }
    back = diff(client, from_=11, to=7)
    assert back["messages"]["added"] == {
        "count": 2,
        "restored": 2,
        "new": 0,
        "items": [{"change": "restored", "message": message} for message in oslo],
        "next_cursor": None,
    }
    assert {item["change"] for item in back["messages"]["removed"]["items"]} == {"later"}


def test_what_is_the_same_differs_in_nothing(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    append(client, "s", batch(2, event("data-recorded", kind="note", data=1)))
    assert words(client, from_=4) == words(client, from_=3, to=3) == []
    told = diff(client, from_=4)
    assert (told["state"], told["messages"]["shared"], told["turns"]["shared"]) == ({}, 2, 1)


def test_a_message_that_grew_is_shown_at_both_points(client: httpx.Client) -> None:
    part = {"message_id": "m1", "status": "partial"}
    whole = {"message_id": "m1", "status": "complete"}
    append(
        client,
        "s",
        batch(1, started("t1"), said("t1", "Hel", **part), said("t1", "Hello", **whole)),
    )
    assert words(client, from_=3, to=4) == ["~ #1 assistant: Hel", "~ #1 assistant: Hello"]
    assert words(client, from_=4, to=3) == ["~ #1 assistant: Hello", "~ #1 assistant: Hel"]


def test_long_differences_come_in_pages(client: httpx.Client) -> None:
    for number in range(1, 5):
        append(client, "s", batch(number, *turn(f"t{number}")))
    first = diff(client, from_=4, limit=3)
    assert first["messages"]["added"]["count"] == 6
    assert len(first["turns"]["added"]["items"]) == 3
    cursor = first["messages"]["added"]["next_cursor"]
    append(client, "s", batch(5, *turn("t5")))
    rest = diff(client, from_=4, limit=3, cursor=cursor)
    assert rest["to"]["version"] == 13
    assert rest["messages"]["added"]["next_cursor"] is None
    shown = first["messages"]["added"]["items"] + rest["messages"]["added"]["items"]
    assert [item["message"]["index"] for item in shown] == [2, 3, 4, 5, 6, 7]
    told = words(client, from_=4, to=13, limit=2)
    assert told[3:] == [
        "+ ... 1 more turn",
        "+ #2 user: Hello?",
        "+ #3 assistant: Hello.",
        "+ ... 4 more messages",
    ]
    assert problem(client.get("/sessions/s/diff", params={"from": 5, "cursor": cursor})) == (
        400,
        "invalid-cursor",
        [],
    )


def test_points_are_versions_or_times_and_must_have_been(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    began = client.get("/sessions/s").json()["created_at"]
    assert diff(client, from_=began)["from"]["version"] >= 1
    for query, expected in (
        ({}, (422, "invalid-value", ["/query/from"])),
        ({"from": "x"}, (422, "invalid-value", ["/query/from"])),
        ({"from": "1", "to": "soon"}, (422, "invalid-value", ["/query/to"])),
        ({"from": "9"}, (404, "no-such-event", ["/query/from"])),
        ({"from": "1", "to": "0"}, (404, "no-such-event", ["/query/to"])),
    ):
        assert problem(client.get("/sessions/s/diff", params=query)) == expected
    assert problem(client.get("/sessions/none/diff", params={"from": 1})) == NO_SESSION


def test_an_answer_that_the_caller_has_is_not_sent_again(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    first = client.get("/sessions/s/diff", params={"from": 1})
    again = client.get(
        "/sessions/s/diff", params={"from": 1}, headers={"If-None-Match": first.headers["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")


def test_a_fork_differs_from_what_it_shares_as_its_source_would(client: httpx.Client) -> None:
    gated(client)
    open_call = batch(4, started("t3", "Go on."), called("t3", "c2"), said("t3", "Wa", **PART))
    append(client, "s", open_call)
    fork = client.post("/sessions/s/fork", json={"session_id": "f", "at": 13})
    assert fork.status_code == 201, fork.text
    append(client, "s", batch(5, answered("t3", "c2", "late for the fork"), completed("t3")))
    append(client, "f", batch(1, *turn("t4", "Another way."), producer="other"))
    assert rewind(client, {"to_turn": "t2"}, session="f").status_code == 200
    append(client, "f", batch(2, *turn("t5", "From the start."), producer="other"))
    last = client.get("/sessions/f").json()["head"]["version"]

    shown = {v: transcript(client, "f", at=str(v)) for v in range(1, last + 1)}
    for a in range(1, last + 1):
        for b in (a + 1, last, 14, 12, 3):
            if b > last:
                continue
            told = client.get("/sessions/f/diff", params={"from": a, "to": b}).json()
            shared = told["messages"]["shared"]
            ids = [[message["message_id"] for message in shown[v][:shared]] for v in (a, b)]
            assert ids[0] == ids[1]
            for name, version in (("removed", a), ("added", b)):
                items = told["messages"][name]["items"]
                assert [item["message"] for item in items] == shown[version][shared:]
                assert len(told["turns"][name]["items"]) == told["turns"][name]["count"]
    assert words(client, from_=13, to=15, session="f")[-1].startswith(
        "- call c2 (bash): interrupted"
    )
