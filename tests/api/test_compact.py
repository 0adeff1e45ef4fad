"""A summary by REST: what it stands for stays on display, and no call loses its result."""

import httpx
import pytest

from tests.api.batches import append, batch, completed, said, started, turn

SUMMARY = {"summary": "They greeted.", "through_message_id": "t1:2"}


def texts(client: httpx.Client, include: str | None = None) -> list[tuple[str, str]]:
    params = {} if include is None else {"include": include}
    shown = client.get("/sessions/s/transcript", params=params).json()
    return [(m["state"], m["parts"][0].get("text", m["parts"][0]["type"])) for m in shown["items"]]


def called(turn_id: str, call: str) -> dict[str, object]:
    data: dict[str, object] = {
        "turn_id": turn_id,
        "tool_call_id": call,
        "name": "read",
        "arguments": {},
    }
    return {"type": "tool-call-requested", "data": data}


def returned(turn_id: str, call: str) -> dict[str, object]:
    data = {"turn_id": turn_id, "tool_call_id": call, "output": "x"}
    return {"type": "tool-call-completed", "data": data}


def test_the_model_sees_the_summary_and_what_follows_the_display_sees_all(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, *turn("t1"), *turn("t2")))
    answer = client.post("/sessions/s/compact", json=SUMMARY)

    assert answer.status_code == 200
    told = answer.json()
    assert (told["compaction_version"], told["messages_archived"]) == (8, 2)
    assert answer.headers["ETag"] == '"8"'
    assert texts(client) == [("live", "They greeted."), ("live", "Hello?"), ("live", "Hello.")]
    assert texts(client, "archived") == [
        ("archived", "Hello?"),
        ("archived", "Hello."),
        ("live", "They greeted."),
        ("live", "Hello?"),
        ("live", "Hello."),
    ]
    assert client.get("/sessions/s/audit").json()["items"][-1]["type"] == "history-compacted"


def test_the_fingerprint_stays_and_the_models_moves(client: httpx.Client) -> None:
    before = append(client, "s", batch(1, *turn("t1"), *turn("t2"))).json()["head"]
    after = client.post("/sessions/s/compact", json=SUMMARY).json()["head"]

    assert after["fingerprint"] == before["fingerprint"]
    assert after["history_version"] == after["version"]
    shown = client.get("/sessions/s/fingerprint").json()
    assert shown["history"] == before["fingerprint"]
    assert shown["model_history"] != shown["history"]


def test_a_runner_records_a_summary_in_its_batch(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    events = [started("t2"), {"type": "history-compacted", "data": SUMMARY}, said("t2", "Hi.")]
    assert append(client, "s", batch(2, *events)).status_code == 201
    assert texts(client) == [("live", "They greeted."), ("live", "Hello?"), ("live", "Hi.")]


def test_a_call_is_never_split_from_its_result(client: httpx.Client) -> None:
    calls = [called("t1", "c1"), called("t1", "c2"), returned("t1", "c2"), returned("t1", "c1")]
    append(client, "s", batch(1, started("t1"), *calls, said("t1", "Done."), completed("t1")))
    for message_id in ("t1:2", "t1:3"):
        body = SUMMARY | {"through_message_id": message_id}
        refused = client.post("/sessions/s/compact", json=body)
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["pointer"] == "/through_message_id"
    body = SUMMARY | {"through_message_id": "t1:4"}
    assert client.post("/sessions/s/compact", json=body).json()["messages_archived"] == 4


def test_what_came_after_the_watermark_is_kept(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    append(client, "s", batch(2, *turn("t2")))
    late = SUMMARY | {"through_message_id": "t2:2", "since_version": 4}
    refused = client.post("/sessions/s/compact", json=late)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-value")

    taken = client.post("/sessions/s/compact", json=SUMMARY | {"since_version": 4})
    assert taken.status_code == 200
    assert texts(client)[1:] == [("live", "Hello?"), ("live", "Hello.")]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"through_message_id": "t1:2"}, "/summary"),
        (SUMMARY | {"summary": " \n"}, "/summary"),
        ({"summary": "x"}, "/through_message_id"),
        (SUMMARY | {"through_message_id": "t9:1"}, "/through_message_id"),
        (SUMMARY | {"through_message_id": ""}, "/through_message_id"),
        (SUMMARY | {"since_version": 0}, "/since_version"),
        (SUMMARY | {"since_version": 99}, "/since_version"),
        (SUMMARY | {"since_version": 2**70}, "/since_version"),
        (SUMMARY | {"watermark": 4}, "/watermark"),
    ],
)
def test_a_summary_of_nothing_is_refused_with_its_place(
    client: httpx.Client, body: dict[str, object], pointer: str
) -> None:
    append(client, "s", batch(1, *turn("t1")))
    refused = client.post("/sessions/s/compact", json=body)

    assert refused.status_code == 422
    assert [flaw["pointer"] for flaw in refused.json()["errors"]] == [pointer]
    assert client.get("/sessions/s").headers["ETag"] == '"4"'


def test_no_summary_is_taken_while_a_turn_runs_or_of_a_session_put_away(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, *turn("t1"), started("t2")))
    busy = client.post("/sessions/s/compact", json=SUMMARY)
    assert (busy.status_code, busy.json()["code"]) == (409, "turn-in-progress")

    append(client, "s", batch(2, completed("t2")))
    client.patch("/sessions/s", json={"archived": True})
    away = client.post("/sessions/s/compact", json=SUMMARY)
    assert (away.status_code, away.json()["code"]) == (409, "session-archived")
    gone = client.post("/sessions/none/compact", json=SUMMARY)
    assert (gone.status_code, gone.json()["code"]) == (404, "no-such-session")


def test_a_summary_of_another_history_than_the_newest_is_refused(client: httpx.Client) -> None:
    head = append(client, "s", batch(1, *turn("t1"))).json()["head"]
    append(client, "s", batch(2, *turn("t2")))
    behind = client.post("/sessions/s/compact", json=SUMMARY | {"head": head})
    assert behind.status_code == 412
    moved = client.post("/sessions/s/compact", json=SUMMARY, headers={"If-Match": '"4"'})
    assert (moved.status_code, moved.json()["code"]) == (412, "version-mismatch")


def test_a_summary_sent_twice_is_recorded_once(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    key = {"Idempotency-Key": "once"}
    first = client.post("/sessions/s/compact", json=SUMMARY, headers=key)
    again = client.post("/sessions/s/compact", json=SUMMARY, headers=key)
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.headers["ETag"] == first.headers["ETag"]
    other = client.post("/sessions/s/compact", json=SUMMARY | {"summary": "?"}, headers=key)
    assert other.status_code == 422

    twice = client.post("/sessions/s/compact", json=SUMMARY)
    assert (twice.status_code, twice.json()["code"]) == (422, "invalid-value")


def test_what_a_summary_answered_is_not_told_of_a_session_that_was_deleted_since(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, *turn("t1")))
    key = {"Idempotency-Key": "once"}
    assert client.post("/sessions/s/compact", json=SUMMARY, headers=key).status_code == 200
    client.delete("/sessions/s")
    gone = client.post("/sessions/s/compact", json=SUMMARY, headers=key)
    assert (gone.status_code, gone.json()["code"]) == (404, "no-such-session")
