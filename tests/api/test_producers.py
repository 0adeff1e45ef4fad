"""A producer's batches: duplicates, gaps, and the order of the checks."""

import httpx
import pytest

from tests.api.batches import (
    Json,
    Problem,
    append,
    batch,
    completed,
    event,
    events_of,
    problem,
    said,
    started,
    turn,
    types_of,
)

FIRST = b'{"type":"data-recorded","data":{"kind":"k","data":0.1000000000000000055}}'
JSON = {"content-type": "application/json"}

REFUSED: list[tuple[Json, Problem]] = [
    (batch(2, said("t1", "over")), (409, "turn-over", ["/events/0/data/turn_id"])),
    (batch(2, *turn("t2"), expected_version=1), (412, "version-mismatch", [])),
    (
        batch(2, *turn("t2"), head={"history_version": 99, "fingerprint": "0" * 64}),
        (409, "head-ahead-of-log", ["/head"]),
    ),
    (batch(2, {"type": "nope", "data": {}}), (422, "unknown-event-type", ["/events/0/type"])),
    (batch(3, *turn("t2")), (409, "sequence-gap", ["/producer"])),
    (batch(1, *turn("t2"), epoch=2), (409, "unknown-epoch", [])),
]


def test_the_same_batch_again_gets_the_first_answer(client: httpx.Client) -> None:
    first = append(client, "s", batch(1, *turn("t1")))
    append(client, "s", batch(2, *turn("t2")))

    again = append(client, "s", batch(1, *turn("t1")))

    assert again.status_code == 201
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["events"] == first.json()["events"]
    assert again.json()["head"]["version"] == 7
    assert len(events_of(client, "s")) == 7


def test_a_batch_is_the_same_however_it_is_spelled(client: httpx.Client) -> None:
    first = rb"""{"producer":{"id":"runner","epoch":1,"sequence":1},"open":{},"events":[
      {"type":"turn-started","data":{"turn_id":"t1","messages":[{"role":"user","content":"\u00e9"}]}},
      {"type":"tool-call-requested","data":{"turn_id":"t1","tool_call_id":"c","name":"bash",
       "arguments":{"a":1.50,"b":100,"c":"/"}}}]}"""
    second = """{"open":{},"events":[
      {"data":{"messages":[{"content":"é","role":"user"}],"turn_id":"t1"},"type":"turn-started"},
      {"data":{"name":"bash","turn_id":"t1","tool_call_id":"c",
       "arguments":{"c":"\\/","b":1e2,"a":1.5}},"type":"tool-call-requested"}],
      "producer":{"sequence":1,"epoch":1,"id":"runner"}}"""
    one = client.post("/sessions/s/events", content=first, headers=JSON)

    two = client.post("/sessions/s/events", content=second.encode(), headers=JSON)

    assert (one.status_code, two.status_code) == (201, 201)
    assert two.json()["events"] == one.json()["events"]
    assert len(events_of(client, "s")) == 3


@pytest.mark.parametrize(
    "other",
    [
        b'{"type":"data-recorded","data":{"kind":"k","data":"0.1000000000000000055"}}',
        b'{"type":"data-recorded","data":{"kind":"k","data":0.1}}',
        b'{"type":"data-recorded","data":{"kind":"k","data":0.1000000000000000055,"turn_id":"t"}}',
        b'{"type":"data-recorded","data":{"kind":"K","data":0.1000000000000000055}}',
        FIRST[:-1] + b',"occurred_at":"2026-01-01T00:00:00Z"}',
        FIRST + b"," + FIRST,
        b'{"type":"records-lost","data":{"count":1,"reason":"k"}}',
    ],
)
def test_other_events_under_a_number_that_was_taken_are_a_conflict(
    client: httpx.Client, other: bytes
) -> None:
    def send(events: bytes) -> httpx.Response:
        who = b'"producer":{"id":"runner","epoch":1,"sequence":1},"open":{}'
        body = b"{" + who + b',"events":[' + events + b"]}"
        return client.post("/sessions/s/events", content=body, headers=JSON)

    assert send(FIRST).status_code == 201

    assert problem(send(other)) == (409, "record-conflict", ["/producer/sequence"])
    assert send(FIRST).headers["idempotent-replayed"] == "true"
    assert len(events_of(client, "s")) == 2


def test_true_is_not_one(client: httpx.Client) -> None:
    append(client, "s", batch(1, event("data-recorded", kind="k", data=1)))

    answer = append(client, "s", batch(1, event("data-recorded", kind="k", data=True)))

    assert problem(answer) == (409, "record-conflict", ["/producer/sequence"])


def test_a_batch_with_gates_is_known_again_by_what_was_sent(client: httpx.Client) -> None:
    opened = event("gate-opened", turn_id="t1", kind="permission", permission_id="p")
    decided = event(
        "gate-decided", permission_id="p", verdict="denied", decided_by="policy", via="in-band"
    )
    body = batch(1, started("t1"), opened, decided, completed("t1"))
    first = append(client, "s", body)

    again = append(client, "s", body)

    assert first.status_code == 201, first.text
    assert again.json()["events"] == first.json()["events"]
    assert again.json()["events"][1]["gate_id"] == again.json()["events"][2]["gate_id"]


def test_a_batch_whose_end_withdrew_a_gate_is_known_again(client: httpx.Client) -> None:
    opened = event("gate-opened", turn_id="t1", kind="permission", permission_id="p")
    body = batch(1, started("t1"), opened, completed("t1"))
    first = append(client, "s", body)

    again = append(client, "s", body)

    assert types_of(client, "s")[-2:] == ["gate-withdrawn", "turn-completed"]
    assert [item["version"] for item in first.json()["events"]] == [2, 3, 5]
    assert again.json()["events"] == first.json()["events"]


def test_a_missing_batch_is_told_with_the_number_that_is_expected(client: httpx.Client) -> None:
    first = append(client, "s", batch(2, *turn("t1")))
    append(client, "s", batch(1, *turn("t1")))
    third = append(client, "s", batch(3, *turn("t2")))

    assert problem(first) == (409, "sequence-gap", ["/producer"])
    assert (first.json()["expected_sequence"], first.json()["action"]) == (1, "retry")
    assert third.json()["expected_sequence"] == 2
    assert append(client, "s", batch(2, *turn("t2"))).status_code == 201


def test_sequence_numbers_are_counted_for_each_session_and_producer(client: httpx.Client) -> None:
    assert append(client, "a", batch(1, *turn("t1"))).status_code == 201
    assert append(client, "b", batch(1, *turn("t1"))).status_code == 201
    assert append(client, "a", batch(1, *turn("t2"), producer="other")).status_code == 201
    assert append(client, "a", batch(1, *turn("t3"), producer="Runner")).status_code == 201
    assert append(client, "a", batch(2, *turn("t4"))).status_code == 201


@pytest.mark.parametrize(("bad", "expected"), REFUSED)
def test_a_refused_batch_uses_no_sequence_number(
    client: httpx.Client, bad: Json, expected: Problem
) -> None:
    append(client, "s", batch(1, *turn("t1")))

    assert problem(append(client, "s", bad)) == expected
    assert problem(append(client, "s", bad)) == expected
    assert append(client, "s", batch(2, *turn("t2"))).json()["events"][0]["version"] == 5


def test_the_checks_come_in_their_order(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    client.post("/producers/runner/epochs", json={})
    wrong: Json = {"expected_version": 99}
    impossible = said("t9", "no such turn")

    # An old epoch is told before anything else: even of a batch that was taken.
    fenced: Problem = (409, "fenced", [])
    assert problem(append(client, "s", batch(1, *turn("t1")))) == fenced
    assert problem(append(client, "s", batch(9, impossible, **wrong))) == fenced
    # A duplicate is told before its version and its events are looked at.
    previous = {"previous": {"epoch": 1, "sequence": 1}}
    body = batch(1, *turn("t2"), epoch=2)
    body["producer"] |= previous
    assert append(client, "s", body).status_code == 201
    assert append(client, "s", {**body, **wrong}).headers["idempotent-replayed"] == "true"
    conflict = (409, "record-conflict", ["/producer/sequence"])
    assert problem(append(client, "s", batch(1, impossible, epoch=2, **wrong))) == conflict
    # A gap before the version, the version before the claim, the claim before the rules.
    claim: Json = {"head": {"history_version": 99, "fingerprint": "0" * 64}}
    gap = append(client, "s", batch(7, impossible, epoch=2, **wrong, **claim))
    assert problem(gap) == (409, "sequence-gap", ["/producer"])
    moved = append(client, "s", batch(2, impossible, epoch=2, **wrong, **claim))
    assert problem(moved) == (412, "version-mismatch", [])
    ahead = append(client, "s", batch(2, impossible, epoch=2, **claim))
    assert problem(ahead) == (409, "head-ahead-of-log", ["/head"])
    rules = append(client, "s", batch(2, impossible, epoch=2))
    assert problem(rules) == (404, "no-such-turn", ["/events/0/data/turn_id"])
