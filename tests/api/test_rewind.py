"""Rewinding: what goes out of sight, what it answers, and what is refused without any change."""

import base64
import hashlib

import httpx
import pytest

from tests.api.batches import (
    NO_SESSION,
    Json,
    Problem,
    append,
    batch,
    called,
    event,
    events_of,
    problem,
    said,
    started,
    turn,
    types_of,
)
from tests.api.compacting import compact
from tests.api.going_back import (
    approved,
    asked,
    done,
    head_of,
    redo,
    rewind,
    texts,
    transcript,
)
from tests.api.serving import ON_ONE_DATABASE, Served


def three_turns(client: httpx.Client) -> Json:
    """Record three turns; return the head."""
    body = batch(1, *turn("t1", "one"), *turn("t2", "two"), *turn("t3", "three"))
    head: Json = done(append(client, "s", body))["head"]
    return head


@pytest.mark.parametrize(
    ("target", "first", "turns"),
    [
        ({"turns": 1}, "t3", 1),
        ({"turns": 2}, "t2", 2),
        ({"turns": 3}, "t1", 3),
        ({"turns": 4}, "t1", 3),
        ({"turns": 2**40 - 1}, "t1", 3),
        ({"to_turn": "t2"}, "t2", 2),
        ({"before_message": "t2:1"}, "t2", 2),
        ({"to_version": 1}, "t1", 3),
        ({"to_version": 4}, "t2", 2),
        ({"to_version": 7}, "t3", 1),
    ],
)
def test_what_is_named_goes_out_of_sight_with_all_that_came_after_it(
    client: httpx.Client, target: Json, first: str, turns: int
) -> None:
    three_turns(client)
    words = {"t1": "one", "t2": "two", "t3": "three"}

    body = done(rewind(client, target))

    assert body["target"] == {"turn_id": first, "text": words[first], "attachments": []}
    assert (body["turns_rewound"], body["messages_rewound"]) == (turns, 2 * turns)
    assert body["rewind_version"] == body["head"]["version"] == 11
    assert body["readiness"]["ready"] is True
    assert body["readiness"]["empty"] is (turns == 3)
    assert "dry_run" not in body
    assert head_of(client) == body["head"]
    session = client.get("/sessions/s").json()
    assert (session["turns"], session["messages"]) == (3 - turns, 6 - 2 * turns)
    assert texts(client) == [
        text for word in ("one", "two", "three")[: 3 - turns] for text in (word, "Hello.")
    ]


def test_the_head_after_a_rewind_is_that_of_a_session_that_never_went_further(
    client: httpx.Client,
) -> None:
    three_turns(client)
    append(client, "other", batch(1, *turn("t1", "one")))

    body = done(rewind(client, {"to_turn": "t2"}))

    assert body["head"]["fingerprint"] == head_of(client, "other")["fingerprint"]
    assert body["head"]["history_version"] == 11


def test_a_message_that_has_a_name_of_its_own_can_be_gone_back_to(client: httpx.Client) -> None:
    opening = started("t2", "two", message_id="mine")
    append(client, "s", batch(1, *turn("t1"), opening, *turn("t2")[1:]))

    assert done(rewind(client, {"before_message": "mine"}))["target"]["turn_id"] == "t2"


def test_what_was_said_and_attached_comes_back_for_editing(client: httpx.Client) -> None:
    picture = b"\x89PNG not really"
    digest = hashlib.sha256(picture).hexdigest()
    long = "word " * 20_000  # longer than what stays in an event's body
    content: list[Json] = [
        {"type": "text", "text": "Look:"},
        {"type": "text", "text": long},
        {
            "type": "attachment",
            "attachment_id": "a1",
            "media_type": "image/png",
            "filename": "cat.png",
            "data": base64.b64encode(picture).decode(),
        },
        {"type": "attachment", "attachment_id": "a2", "sha256": "0" * 64},
    ]
    messages: list[Json] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": content},
    ]
    begun = event("turn-started", turn_id="t1", messages=messages)
    append(client, "s", batch(1, begun, *turn("t1")[1:]))

    target = done(rewind(client, {"turns": 1}))["target"]

    assert target == {
        "turn_id": "t1",
        "text": f"Look:{long}",
        "attachments": [
            {
                "attachment_id": "a1",
                "media_type": "image/png",
                "filename": "cat.png",
                "size": len(picture),
                "sha256": digest,
            },
            {"attachment_id": "a2", "sha256": "0" * 64},
        ],
    }


@ON_ONE_DATABASE
def test_what_one_text_cannot_say_comes_back_as_none(client: httpx.Client) -> None:
    content: list[Json] = [
        {"type": "text", "text": "a"},
        {"type": "data", "kind": "chart", "data": [1]},
    ]
    begun = event("turn-started", turn_id="t1", messages=[{"role": "user", "content": content}])
    append(client, "s", batch(1, begun, *turn("t1")[1:]))

    assert done(rewind(client, {"turns": 1}))["target"]["text"] is None


MEANINGLESS: list[tuple[Json, Problem]] = [
    ({"turns": 0}, (422, "invalid-value", ["/turns"])),
    ({"turns": -1}, (422, "invalid-value", ["/turns"])),
    ({"turns": 1.5}, (422, "invalid-value", ["/turns"])),
    ({"turns": True}, (422, "invalid-value", ["/turns"])),
    ({"turns": "1"}, (422, "invalid-value", ["/turns"])),
    ({"turns": 2**70}, (422, "invalid-value", ["/turns"])),
    ({"turns": [1]}, (422, "invalid-value", ["/turns"])),
    ({}, (422, "invalid-value", [""])),
    ({"turns": None}, (422, "invalid-value", [""])),
    ({"dry_run": True}, (422, "invalid-value", [""])),
    ({"turns": 1, "to_turn": "t1"}, (422, "invalid-value", ["/turns", "/to_turn"])),
    ({"to_turn": "t9"}, (404, "no-such-turn", ["/to_turn"])),
    ({"to_turn": "../t1"}, (422, "invalid-value", ["/to_turn"])),
    ({"before_message": "nobody's"}, (404, "no-such-message", ["/before_message"])),
    ({"before_message": "t9:1"}, (404, "no-such-message", ["/before_message"])),
    ({"before_message": "\0"}, (404, "no-such-message", ["/before_message"])),
    ({"before_message": "t2:2"}, (422, "invalid-value", ["/before_message"])),
    ({"to_version": 0}, (422, "invalid-value", ["/to_version"])),
    ({"to_version": 3}, (422, "invalid-value", ["/to_version"])),
    ({"to_version": 99}, (422, "invalid-value", ["/to_version"])),
    ({"to_version": 2**31}, (422, "invalid-value", ["/to_version"])),
    ({"to_version": 10}, (409, "nothing-to-rewind", [])),
    ({"turns": 1, "interrupt": 1}, (422, "invalid-value", ["/interrupt"])),
    ({"turns": 1, "dry_run": "yes"}, (422, "invalid-value", ["/dry_run"])),
    ({"turns": 1, "more": 1}, (422, "invalid-value", ["/more"])),
    ({"turns": 1, "head": {}}, (422, "invalid-value", ["/head/history_version"])),
]


@ON_ONE_DATABASE
@pytest.mark.parametrize(("body", "expected"), MEANINGLESS)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_target_that_means_nothing_is_refused_with_its_place(
    client: httpx.Client, body: Json, expected: Problem, *, dry_run: bool
) -> None:
    before = three_turns(client)
    tried = {**body, "dry_run": True} if dry_run and "dry_run" not in body else body

    status, code, pointers = problem(rewind(client, tried))

    assert (status, code, pointers[:2]) == (
        *expected[:2],
        [*expected[2], *(["/head/fingerprint"] if "head" in body else [])],
    )
    assert head_of(client) == before


@ON_ONE_DATABASE
@pytest.mark.parametrize("body", [{"turns": 1}, {"to_turn": "t1"}, {"to_version": 1}])
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_session_that_is_not_there_cannot_be_rewound(
    client: httpx.Client, body: Json, *, dry_run: bool
) -> None:
    assert problem(rewind(client, {**body, "dry_run": dry_run})) == NO_SESSION
    append(client, "s", batch(1, *turn("t1")))
    client.delete("/sessions/s")
    assert problem(rewind(client, {**body, "dry_run": dry_run})) == NO_SESSION
    client.post("/sessions/s/restore")
    assert rewind(client, body).status_code == 200


@ON_ONE_DATABASE
@pytest.mark.parametrize("dry_run", [False, True])
def test_an_archived_session_is_not_rewound(client: httpx.Client, *, dry_run: bool) -> None:
    three_turns(client)
    client.patch("/sessions/s", json={"archived": True})
    before = head_of(client)

    answer = rewind(client, {"turns": 1, "dry_run": dry_run})

    assert problem(answer) == (409, "session-archived", [])
    assert head_of(client) == before


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_rewind_happens_only_at_the_version_that_it_expects(
    client: httpx.Client, *, dry_run: bool
) -> None:
    before = three_turns(client)
    body = {"turns": 1, "dry_run": dry_run}

    behind = rewind(client, body, {"If-Match": '"9"'})

    assert problem(behind) == (412, "version-mismatch", [])
    assert behind.json()["current_version"] == 10
    assert problem(rewind(client, body, {"If-Match": "nine"})) == (400, "invalid-header", [])
    assert head_of(client) == before
    assert rewind(client, body, {"If-Match": '"10"'}).status_code == 200


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"history_version": 99}, (409, "head-ahead-of-log", ["/head"])),
        ({"history_version": 3}, (412, "head-behind", ["/head"])),
        ({"fingerprint": "0" * 64}, (409, "head-mismatch", ["/head"])),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_rewind_happens_only_to_the_history_that_it_claims(
    client: httpx.Client, changed: Json, expected: Problem, *, dry_run: bool
) -> None:
    before = three_turns(client)

    answer = rewind(client, {"turns": 1, "dry_run": dry_run, "head": {**before, **changed}})

    assert problem(answer) == expected
    if expected[1] != "head-mismatch":
        assert answer.json()["current_history_version"] == before["history_version"]
    assert head_of(client) == before
    client.patch("/sessions/s", json={"title": "moves the version, not the history"})
    assert rewind(client, {"turns": 1, "dry_run": dry_run, "head": before}).status_code == 200


def test_a_turn_that_went_out_of_sight_cannot_be_gone_back_to(client: httpx.Client) -> None:
    three_turns(client)
    rewind(client, {"turns": 1})
    before = head_of(client)

    assert problem(rewind(client, {"to_turn": "t3"})) == (404, "no-such-turn", ["/to_turn"])
    gone = problem(rewind(client, {"before_message": "t3:1"}))
    assert gone == (404, "no-such-message", ["/before_message"])
    assert head_of(client) == before


def test_a_turn_that_runs_is_interrupted_only_if_that_is_asked_for(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1"), started("t2", "two"), called("t2", "c1")))
    before = head_of(client)

    running = rewind(client, {"turns": 1})

    assert problem(running) == (409, "turn-in-progress", [])
    assert (running.json()["turn_id"], running.json()["action"]) == ("t2", "attach")
    assert head_of(client) == before
    body = done(rewind(client, {"turns": 1, "interrupt": True}))
    assert body["target"] == {"turn_id": "t2", "text": "two", "attachments": []}
    assert types_of(client, "s")[-2:] == ["turn-interrupted", "history-rewound"]
    assert events_of(client, "s")[-2]["data"]["reason"] == "rewound"
    assert body["readiness"]["ready"] is True
    late = append(client, "s", batch(2, said("t2", "still here")))
    assert problem(late) == (409, "turn-over", ["/events/0/data/turn_id"])


def test_to_go_back_to_before_a_turn_that_runs_ends_it_as_well(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1"), started("t2")))

    assert problem(rewind(client, {"to_turn": "t1"}))[1] == "turn-in-progress"
    assert done(rewind(client, {"to_turn": "t1", "interrupt": True}))["turns_rewound"] == 2


def test_a_turn_that_waits_ends_and_its_gates_are_withdrawn(client: httpx.Client) -> None:
    waits = [called("t2", "c1"), asked("t2", tool_call_id="c1")]
    append(client, "s", batch(1, *turn("t1"), started("t2"), *waits))
    assert client.get("/sessions/s").json()["turn_status"] == "paused"

    body = done(rewind(client, {"turns": 1}))

    assert types_of(client, "s")[-3:] == ["gate-withdrawn", "turn-interrupted", "history-rewound"]
    assert body["rewind_version"] == body["head"]["version"]
    assert client.get("/sessions/s/approvals").json()["items"] == []
    [gate] = client.get("/sessions/s/approvals", params={"status": "all"}).json()["items"]
    assert gate["status"] == "withdrawn"
    again = append(client, "s", batch(2, approved()))
    assert problem(again)[:2] == (410, "gate-gone")


def test_b11_an_old_answer_does_not_settle_the_same_request_made_again(
    client: httpx.Client,
) -> None:
    request = [called("t1", "c1"), asked("t1", tool_call_id="c1")]
    append(client, "s", batch(1, started("t1"), *request, approved(), *turn("t1")[1:]))
    [old] = client.get("/sessions/s/approvals", params={"status": "all"}).json()["items"]
    assert old["status"] == "allowed"
    rewind(client, {"turns": 1})

    again = [called("t2", "c1"), asked("t2", tool_call_id="c1")]
    append(client, "s", batch(2, started("t2"), *again))

    [gate] = client.get("/sessions/s/approvals").json()["items"]
    assert gate["gate_id"] != old["gate_id"]
    assert (gate["status"], gate["turn_id"]) == ("open", "t2")
    assert client.get("/sessions/s").json()["turn_status"] == "paused"
    settled = done(append(client, "s", batch(3, approved())))
    assert settled["readiness"]["reasons"] == [
        {"code": "turn-running", "detail": "turn t2 has not ended"}
    ]


def test_a18_a_late_result_of_a_rewound_call_stays_out_of_sight_and_in_the_audit(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, *turn("t1", "one"), started("t2"), called("t2", "c1")))
    rewind(client, {"turns": 1, "interrupt": True})
    append(client, "s", batch(2, started("t3", "three")))
    before = head_of(client)

    late = event("tool-call-completed", turn_id="t2", tool_call_id="c1", output="late")
    answer = done(append(client, "s", batch(3, late)))

    assert answer["head"]["history_version"] == before["history_version"]
    assert answer["head"]["fingerprint"] == before["fingerprint"]
    assert events_of(client, "s")[-1]["affects"] == "none"
    kinds = [part["type"] for item in transcript(client) for part in item["parts"]]
    assert kinds == ["text", "text", "text"]
    found = client.get("/sessions/s/audit", params={"limit": 200}).json()["items"]
    assert [item for item in found if item["version"] == answer["events"][0]["version"]]
    once_more = append(client, "s", batch(4, late))
    assert problem(once_more)[:2] == (409, "call-already-completed")


def test_a_late_result_of_a_turn_in_sight_keeps_its_place_when_others_go(
    client: httpx.Client,
) -> None:
    cut = event("turn-interrupted", turn_id="t1", reason="aborted")
    append(client, "s", batch(1, started("t1"), called("t1", "c1"), cut, *turn("t2")))
    rewind(client, {"to_turn": "t2"})
    before = head_of(client)

    late = event("tool-call-completed", turn_id="t1", tool_call_id="c1", output="late")
    answer = done(append(client, "s", batch(2, late)))

    assert answer["head"]["fingerprint"] == before["fingerprint"]


def test_a_rewind_across_a_summary_brings_back_what_it_stood_for(
    client: httpx.Client, server: Served, project: str
) -> None:
    append(client, "s", batch(1, *turn("t1", "one"), *turn("t2", "two")))
    plain = head_of(client)["fingerprint"]
    compact(server, project, "s", "t1:2")
    append(client, "s", batch(2, *turn("t3", "three")))
    assert texts(client) == ["so far", "two", "Hello.", "three", "Hello."]

    done(rewind(client, {"to_turn": "t3"}))
    assert texts(client) == ["so far", "two", "Hello."]
    assert head_of(client)["fingerprint"] == plain
    done(rewind(client, {"to_turn": "t2"}))

    assert texts(client) == ["one", "Hello."]
    assert {item["state"] for item in transcript(client)} == {"live"}
    assert done(redo(client))["messages_restored"] == 2
    assert texts(client) == ["so far", "two", "Hello."]
    states = [item["state"] for item in transcript(client, include="archived")]
    assert states == ["archived", "archived", "live", "live", "live"]


def test_turns_that_a_rewind_takes_out_no_longer_count_against_readiness(
    client: httpx.Client,
) -> None:
    miscounted = [*turn("t2")[:-1], event("turn-completed", turn_id="t2", record_count=9)]
    append(client, "s", batch(1, *turn("t1"), *miscounted))
    assert client.get("/sessions/s/readiness").json()["ready"] is False

    assert done(rewind(client, {"turns": 1}))["readiness"]["ready"] is True
    restored = done(redo(client))["readiness"]
    assert [reason["code"] for reason in restored["reasons"]] == ["record-count-mismatch"]


def test_a_loss_counts_against_readiness_even_if_its_turn_is_out_of_sight(
    client: httpx.Client,
) -> None:
    lost = event("records-lost", count=None, reason="crashed", turn_id="t2")
    append(client, "s", batch(1, *turn("t1"), started("t2"), lost, *turn("t2")[1:]))

    readiness = done(rewind(client, {"turns": 1}))["readiness"]

    assert [reason["code"] for reason in readiness["reasons"]] == ["records-lost"]


def test_a_rewound_turn_keeps_its_id_and_its_messages_theirs(client: httpx.Client) -> None:
    opening = started("t1", message_id="m")
    append(client, "s", batch(1, opening, *turn("t1")[1:]))
    rewind(client, {"turns": 1})

    again = append(client, "s", batch(2, *turn("t1")))
    assert problem(again) == (409, "turn-exists", ["/events/0/data/turn_id"])
    named = append(client, "s", batch(2, started("t2", message_id="m")))
    assert problem(named)[:2] == (409, "message-exists")


def test_the_same_key_rewinds_once(client: httpx.Client) -> None:
    three_turns(client)
    key = {"Idempotency-Key": "undo-1"}

    first = rewind(client, {"turns": 1}, key)
    append(client, "s", batch(2, *turn("t4")))
    again = rewind(client, {"turns": 1}, key)

    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json() == first.json()
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.headers["ETag"] == '"14"'
    assert types_of(client, "s").count("history-rewound") == 1
    other = rewind(client, {"turns": 2}, key)
    assert problem(other) == (422, "idempotency-key-reused", [])
    elsewhere = redo(client, {"turns": 1}, key)
    assert problem(elsewhere)[0] == 422
    client.delete("/sessions/s")
    assert problem(rewind(client, {"turns": 1}, key)) == NO_SESSION


def test_a_refused_rewind_does_not_use_up_its_key(client: httpx.Client) -> None:
    append(client, "s", batch(1, started("t1")))
    key = {"Idempotency-Key": "undo-2"}
    assert problem(rewind(client, {"turns": 1}, key))[1] == "turn-in-progress"

    append(client, "s", batch(2, *turn("t1")[1:]))

    assert "Idempotent-Replayed" not in rewind(client, {"turns": 1}, key).headers


def test_a_dry_run_tells_the_consequence_and_leaves_nothing(client: httpx.Client) -> None:
    before = three_turns(client)
    key = {"Idempotency-Key": "undo-3"}

    tried = rewind(client, {"turns": 2, "dry_run": True}, key)

    assert tried.headers["ETag"] == '"10"'
    told = done(tried)
    assert head_of(client) == before
    assert len(events_of(client, "s")) == 10
    body = done(rewind(client, {"turns": 2}, key))
    foreseen = {
        **body,
        "dry_run": True,
        "rewind_version": None,
        "head": {**body["head"], "hash": None},
        "readiness": {**body["readiness"], "head": {**body["head"], "hash": None}},
    }
    assert told == foreseen


def test_a_dry_run_foresees_that_a_turn_that_waits_is_ended(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1"), started("t2"), asked("t2")))

    told = done(rewind(client, {"turns": 1, "dry_run": True}))

    assert told["head"]["version"] == head_of(client)["version"] + 3
    assert client.get("/sessions/s").json()["turn_status"] == "paused"


def test_another_project_s_session_cannot_be_rewound(client: httpx.Client, server: Served) -> None:
    three_turns(client)
    with server.client("somebody-else") as other:
        assert problem(rewind(other, {"turns": 1})) == NO_SESSION
        assert problem(redo(other)) == NO_SESSION
