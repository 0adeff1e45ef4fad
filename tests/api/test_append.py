"""Appending batches: what is recorded, what is refused whole, and on which version."""

import httpx
import pytest

from api.examples import TURN_BATCH
from tests.api.batches import (
    NO_SESSION,
    Json,
    Problem,
    answered,
    append,
    batch,
    called,
    completed,
    event,
    events_of,
    problem,
    said,
    started,
    turn,
    types_of,
)


def test_the_example_of_the_documentation_is_taken(client: httpx.Client) -> None:
    answer = append(client, "s", TURN_BATCH)

    body = answer.json()
    assert answer.status_code == 201
    assert [item["version"] for item in body["events"]] == [2, 3, 4, 5, 6]
    assert (body["head"]["version"], body["head"]["history_version"]) == (6, 5)
    assert body["readiness"]["ready"] is True
    assert answer.headers["etag"] == '"6"'
    assert "idempotent-replayed" not in answer.headers
    recorded = events_of(client, "s")[1:]
    assert [item["id"] for item in body["events"]] == [item["id"] for item in recorded]
    assert [item["hash"] for item in body["events"]] == [item["hash"] for item in recorded]
    assert [item["data"] for item in recorded] == [item["data"] for item in TURN_BATCH["events"]]
    assert client.get("/sessions/s").json()["title"] == "Sums"


def test_open_leaves_a_session_that_is_there_as_it_is(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "s", "title": "First"})

    answer = append(client, "s", batch(1, *turn("t1"), open={"title": "Second"}))

    assert answer.status_code == 201
    assert client.get("/sessions/s").json()["title"] == "First"
    assert types_of(client, "s")[0:2] == ["session-opened", "turn-started"]


def test_without_open_a_session_must_be_there(client: httpx.Client) -> None:
    assert problem(append(client, "s", batch(1, *turn("t1"), open=None))) == NO_SESSION


def test_a_refused_batch_does_not_open_its_session(client: httpx.Client) -> None:
    answer = append(client, "s", batch(1, said("t1", "no such turn")))

    assert problem(answer) == (404, "no-such-turn", ["/events/0/data/turn_id"])
    assert client.get("/sessions/s").status_code == 404


def test_a_session_is_not_opened_with_a_blank_title(client: httpx.Client) -> None:
    answer = append(client, "s", batch(1, *turn("t1"), open={"title": " "}))

    assert problem(answer) == (422, "invalid-value", ["/open/title"])


def test_a_batch_is_taken_on_the_version_that_it_expects(client: httpx.Client) -> None:
    first = append(client, "s", batch(1, *turn("t1"), expected_version=0))
    second = append(client, "s", batch(2, *turn("t2")), {"If-Match": first.headers["etag"]})

    assert (first.status_code, second.status_code) == (201, 201)
    late = append(client, "s", batch(3, *turn("t3"), expected_version=4))
    assert problem(late) == (412, "version-mismatch", [])
    assert late.json()["current_version"] == 7
    later = append(client, "s", batch(3, *turn("t3")), {"If-Match": '"4"'})
    assert problem(later) == (412, "version-mismatch", [])
    exists = append(client, "s", batch(3, *turn("t3"), expected_version=0))
    assert problem(exists) == (412, "version-mismatch", [])


def test_if_match_and_expected_version_may_not_contradict_each_other(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, *turn("t1")))
    body = batch(2, *turn("t2"), expected_version=4)

    assert problem(append(client, "s", body, {"If-Match": '"3"'})) == (
        422,
        "invalid-value",
        ["/expected_version"],
    )
    assert append(client, "s", body, {"If-Match": '"4"'}).status_code == 201


def claim(client: httpx.Client, **changed: object) -> Json:
    head = client.get("/sessions/s").json()["head"]
    return {**head, **changed}


def test_a_batch_is_taken_on_the_history_that_it_claims(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    head = claim(client)
    client.patch("/sessions/s", json={"title": "moves the version, not the history"})

    assert append(client, "s", batch(2, *turn("t2"), head=head)).status_code == 201


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"history_version": 99}, (409, "head-ahead-of-log", ["/head"])),
        ({"fingerprint": "0" * 64}, (409, "head-mismatch", ["/head"])),
        ({"history_version": 1}, (412, "head-behind", ["/head"])),
        ({"history_version": 0, "fingerprint": "0" * 64}, (412, "head-behind", ["/head"])),
        ({"history_version": -1}, (422, "invalid-value", ["/head/history_version"])),
        ({"fingerprint": "F" * 64}, (422, "invalid-value", ["/head/fingerprint"])),
        ({"fingerprint": "0" * 63}, (422, "invalid-value", ["/head/fingerprint"])),
    ],
)
def test_a_batch_that_claims_another_history_is_refused(
    client: httpx.Client, changed: Json, expected: Problem
) -> None:
    append(client, "s", batch(1, *turn("t1")))

    answer = append(client, "s", batch(2, *turn("t2"), head=claim(client, **changed)))

    assert problem(answer) == expected
    assert client.get("/sessions/s").json()["head"]["version"] == 4
    assert append(client, "s", batch(2, *turn("t2"))).status_code == 201


def test_one_bad_event_of_many_refuses_the_batch_whole_and_says_where(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, *turn("t1")))
    events = [event("data-recorded", kind="n", data=number) for number in range(999)]
    events.insert(700, said("t1", "too late"))

    answer = append(client, "s", batch(2, *events))

    assert problem(answer) == (409, "turn-over", ["/events/700/data/turn_id"])
    assert client.get("/sessions/s").json()["head"]["version"] == 4
    assert append(client, "s", batch(2, *turn("t2"))).status_code == 201


APPROVED = {"verdict": "approved", "decided_by": "person", "via": "in-band"}
TURN_RUNS = [started("t2"), called("t2", "c1")]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([started("t1")], (409, "turn-exists", ["/events/0/data/turn_id"])),
        ([*TURN_RUNS, started("t3")], (409, "turn-in-progress", ["/events/2/data"])),
        ([completed("t9")], (404, "no-such-turn", ["/events/0/data/turn_id"])),
        ([completed("t1")], (409, "turn-over", ["/events/0/data/turn_id"])),
        (
            [*TURN_RUNS, answered("t2", "c1"), answered("t2", "c1")],
            (409, "call-already-completed", ["/events/3/data/tool_call_id"]),
        ),
        (
            [*TURN_RUNS, said("t2", "a", message_id="m"), said("t2", "b", message_id="m")],
            (409, "message-exists", ["/events/3/data/message/message_id"]),
        ),
        (
            [
                *TURN_RUNS,
                said("t2", "a", message_id="m", status="partial"),
                answered("t2", "c1"),
                said("t2", "b", message_id="m"),
            ],
            (409, "message-closed", ["/events/4/data/message/message_id"]),
        ),
        (
            [
                event(
                    "gate-decided",
                    gate_id="g",
                    verdict="approved",
                    decided_by="person",
                    via="in-band",
                )
            ],
            (404, "no-such-gate", ["/events/0/data/gate_id"]),
        ),
        (
            [event("gate-decided", **APPROVED)],
            (422, "invalid-value", ["/events/0/data/gate_id"]),
        ),
        (
            [event("loss-healed", loss_version=1)],
            (404, "no-such-loss", ["/events/0/data/loss_version"]),
        ),
        (
            [
                started("t2"),
                event("gate-opened", turn_id="t2", kind="permission", expires_at="soon"),
            ],
            (422, "invalid-value", ["/events/1/data/expires_at"]),
        ),
    ],
)
def test_an_event_that_contradicts_the_session_is_refused_with_its_place(
    client: httpx.Client, events: list[Json], expected: Problem
) -> None:
    append(client, "s", batch(1, *turn("t1")))

    assert problem(append(client, "s", batch(2, *events))) == expected
    assert client.get("/sessions/s").json()["head"]["version"] == 4


def test_a_gate_gets_its_id_from_the_log_and_is_decided_by_any_of_its_names(
    client: httpx.Client,
) -> None:
    opening = [
        event("gate-opened", turn_id="t1", kind="permission", permission_id=f"p{number}")
        for number in range(3)
    ]
    answer = append(client, "s", batch(1, started("t1"), *opening)).json()
    ids = [item["gate_id"] for item in answer["events"][1:]]
    assert len(set(ids)) == 3

    by_id = event("gate-decided", gate_id=ids[0], **APPROVED)
    by_alias = event("gate-decided", permission_id="p1", **APPROVED)
    decided = append(client, "s", batch(2, by_id, by_alias)).json()

    assert [item["gate_id"] for item in decided["events"]] == ids[:2]
    assert events_of(client, "s")[-1]["data"] == {
        "gate_id": ids[1],
        "permission_id": "p1",
        **APPROVED,
    }
    again = append(client, "s", batch(3, by_id))
    assert problem(again) == (409, "gate-already-decided", ["/events/0/data/gate_id"])
    assert (again.json()["gate_id"], again.json()["gate_status"]) == (ids[0], "allowed")


def test_a_late_result_is_stored_and_stays_out_of_the_history(client: httpx.Client) -> None:
    cut = event("turn-interrupted", turn_id="t1", reason="stopped")
    append(client, "s", batch(1, started("t1"), called("t1", "c1"), cut))
    before = append(client, "s", batch(2, started("t2"), said("t2", "next"))).json()["head"]

    answer = append(client, "s", batch(3, answered("t1", "c1", "too late")))

    assert answer.status_code == 201
    assert answer.json()["head"]["fingerprint"] == before["fingerprint"]
    assert answer.json()["head"]["history_version"] == before["history_version"]
    late = events_of(client, "s")[-1]
    assert (late["affects"], late["turn_id"], late["data"]["output"]) == ("none", "t1", "too late")
    transcript = client.get("/sessions/s/transcript").json()["items"]
    assert "too late" not in str(transcript)
    twice = append(client, "s", batch(4, answered("t1", "c1", "again")))
    assert problem(twice) == (409, "call-already-completed", ["/events/0/data/tool_call_id"])
