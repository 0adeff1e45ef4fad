"""Edit and regenerate in one request: a rewind that comes with the turn that takes its place."""

import httpx
import pytest

from tests.api.batches import (
    Json,
    Problem,
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
from tests.api.going_back import asked, done, head_of, redo, texts
from tests.api.test_rewind import three_turns


def test_what_was_said_is_edited_and_answered_anew_in_one_request(client: httpx.Client) -> None:
    three_turns(client)

    answer = append(client, "s", batch(2, *turn("t4", "zwei"), rewind={"to_turn": "t2"}))

    body = answer.json()
    assert answer.status_code == 201, answer.text
    assert body["rewind"] == {
        "target": {"turn_id": "t2", "text": "two", "attachments": []},
        "turns_rewound": 2,
        "messages_rewound": 4,
        "rewind_version": 11,
    }
    assert [item["version"] for item in body["events"]] == [12, 13, 14]
    assert types_of(client, "s")[10:] == [
        "history-rewound",
        "turn-started",
        "message-recorded",
        "turn-completed",
    ]
    assert body["head"] == head_of(client)
    assert body["readiness"]["ready"] is True
    assert texts(client) == ["one", "Hello.", "zwei", "Hello."]
    rewound, begun = events_of(client, "s")[10:12]
    assert "producer" not in rewound
    assert begun["producer"]["sequence"] == 2
    assert done(redo(client, {"rewind_version": 11}))["turns_restored"] == 2


def test_without_a_rewind_the_answer_says_nothing_of_one(client: httpx.Client) -> None:
    assert "rewind" not in append(client, "s", batch(1, *turn("t1"))).json()
    assert "rewind" not in append(client, "s", batch(2, *turn("t2"), rewind=None)).json()


def test_a_turn_that_runs_or_waits_is_ended_in_the_same_request(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1"), started("t2"), called("t2", "c1")))
    again = batch(2, started("t3", "anew"), rewind={"turns": 1})
    assert problem(append(client, "s", again)) == (409, "turn-in-progress", ["/rewind"])

    again["rewind"]["interrupt"] = True
    assert done(append(client, "s", again))["rewind"]["turns_rewound"] == 1
    assert client.get("/sessions/s").json()["turn_id"] == "t3"
    append(client, "s", batch(3, asked("t3")))
    waiting = batch(4, started("t4", "once more"), rewind={"turns": 1})
    assert done(append(client, "s", waiting))["rewind"]["target"]["turn_id"] == "t3"
    assert types_of(client, "s")[-4:] == [
        "gate-withdrawn",
        "turn-interrupted",
        "history-rewound",
        "turn-started",
    ]


@pytest.mark.parametrize(
    ("rewind", "expected"),
    [
        ({}, (422, "invalid-value", ["/rewind"])),
        (
            {"turns": 1, "to_turn": "t1"},
            (422, "invalid-value", ["/rewind/turns", "/rewind/to_turn"]),
        ),
        ({"turns": 0}, (422, "invalid-value", ["/rewind/turns"])),
        ({"turns": True}, (422, "invalid-value", ["/rewind/turns"])),
        ({"turns": 2**70}, (422, "invalid-value", ["/rewind/turns"])),
        ({"turns": 1, "dry_run": True}, (422, "invalid-value", ["/rewind/dry_run"])),
        ({"turns": 1, "head": None}, (422, "invalid-value", ["/rewind/head"])),
        (1, (422, "invalid-value", ["/rewind"])),
        ({"to_turn": "t9"}, (404, "no-such-turn", ["/rewind/to_turn"])),
        ({"before_message": "m"}, (404, "no-such-message", ["/rewind/before_message"])),
        ({"before_message": "t1:2"}, (422, "invalid-value", ["/rewind/before_message"])),
        ({"to_version": 3}, (422, "invalid-value", ["/rewind/to_version"])),
        ({"to_version": 10}, (409, "nothing-to-rewind", ["/rewind"])),
    ],
)
def test_a_rewind_that_means_nothing_refuses_the_whole_batch(
    client: httpx.Client, rewind: object, expected: Problem
) -> None:
    before = three_turns(client)

    answer = append(client, "s", batch(2, *turn("t4"), rewind=rewind))

    assert problem(answer) == expected
    assert head_of(client) == before
    assert append(client, "s", batch(2, *turn("t4"))).status_code == 201


def test_a_rewind_goes_with_a_turn_that_begins(client: httpx.Client) -> None:
    before = three_turns(client)
    note = event("data-recorded", kind="note", data={})

    answer = append(client, "s", batch(2, note, rewind={"turns": 1}))

    assert problem(answer) == (422, "invalid-value", ["/rewind"])
    assert head_of(client) == before


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([started("t3")], (409, "turn-exists", ["/events/0/data/turn_id"])),
        ([started("t4"), said("t9", "?")], (404, "no-such-turn", ["/events/1/data/turn_id"])),
        ([said("t3", "?"), started("t4")], (409, "turn-over", ["/events/0/data/turn_id"])),
    ],
)
def test_nothing_is_rewound_if_nothing_could_begin(
    client: httpx.Client, events: list[Json], expected: Problem
) -> None:
    before = three_turns(client)

    answer = append(client, "s", batch(2, *events, rewind={"turns": 1}))

    assert problem(answer) == expected
    assert head_of(client) == before
    assert len(events_of(client, "s")) == 10
    taken = append(client, "s", batch(2, *turn("t4"), rewind={"turns": 1}))
    assert taken.status_code == 201


@pytest.mark.parametrize(
    ("rewind", "expected"),
    [
        ({"turns": 1}, (409, "nothing-to-rewind", ["/rewind"])),
        ({"to_version": 1}, (409, "nothing-to-rewind", ["/rewind"])),
        ({"to_turn": "t1"}, (404, "no-such-turn", ["/rewind/to_turn"])),
    ],
)
def test_a_session_that_the_batch_would_open_has_nothing_to_rewind(
    client: httpx.Client, rewind: Json, expected: Problem
) -> None:
    answer = append(client, "s", batch(1, *turn("t1"), rewind=rewind))

    assert problem(answer) == expected
    assert client.get("/sessions/s").status_code == 404


def test_the_checks_of_a_batch_come_before_its_rewind(client: httpx.Client) -> None:
    head = three_turns(client)
    one: Json = {"turns": 1}

    def tried(sequence: int, epoch: int = 1, **more: object) -> tuple[int, str]:
        body = {**batch(sequence, *turn("t4"), epoch=epoch, rewind=one), **more}
        return problem(append(client, "s", body))[:2]

    assert tried(5) == (409, "sequence-gap")
    assert tried(2, epoch=2) == (409, "unknown-epoch")
    assert tried(2, expected_version=9) == (412, "version-mismatch")
    assert tried(2, head={**head, "history_version": 3}) == (412, "head-behind")
    assert tried(2, head={**head, "fingerprint": "0" * 64}) == (409, "head-mismatch")
    client.patch("/sessions/s", json={"archived": True})
    assert tried(2) == (409, "session-archived")
    client.patch("/sessions/s", json={"archived": False})
    good = batch(2, *turn("t4"), rewind=one, head=head)
    assert append(client, "s", good).status_code == 201


def test_the_same_batch_again_gets_the_first_answer_with_its_rewind(client: httpx.Client) -> None:
    three_turns(client)
    body = batch(2, *turn("t4", "zwei"), rewind={"turns": 2})
    first = append(client, "s", body)

    again = append(client, "s", body)

    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json()["events"] == first.json()["events"]
    assert again.json()["rewind"] == first.json()["rewind"]
    assert types_of(client, "s").count("history-rewound") == 1
    append(client, "s", batch(3, *turn("t5")))
    spelled = {**body, "rewind": {"turns": 2, "interrupt": False, "to_turn": None}}
    later = append(client, "s", spelled)
    assert later.json()["rewind"] == first.json()["rewind"]


@pytest.mark.parametrize(
    "other",
    [{"turns": 2}, {"to_turn": "t3"}, {"turns": 1, "interrupt": True}, None],
)
def test_a_rewind_is_part_of_what_makes_a_batch_the_same(
    client: httpx.Client, other: Json | None
) -> None:
    three_turns(client)
    body = batch(2, *turn("t4"), rewind={"turns": 1})
    append(client, "s", body)

    answer = append(client, "s", batch(2, *turn("t4"), rewind=other))

    assert problem(answer) == (409, "record-conflict", ["/producer/sequence"])


def test_a_rewind_that_came_by_itself_is_no_part_of_the_batch_after_it(
    client: httpx.Client,
) -> None:
    three_turns(client)
    client.post("/sessions/s/rewind", json={"turns": 1})
    append(client, "s", batch(2, *turn("t4")))

    again = append(client, "s", batch(2, *turn("t4")))
    other = append(client, "s", batch(2, *turn("t4"), rewind={"turns": 1}))

    assert again.headers["Idempotent-Replayed"] == "true"
    assert "rewind" not in again.json()
    assert problem(other)[1] == "record-conflict"


def test_with_a_key_the_first_answer_is_rebuilt_with_its_rewind(client: httpx.Client) -> None:
    three_turns(client)
    body = batch(2, started("t4", "zwei"), rewind={"turns": 2})
    key = {"Idempotency-Key": "edit-1"}
    first = append(client, "s", body, key)
    append(client, "s", batch(3, completed("t4")))

    again = append(client, "s", body, key)

    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json() == first.json()
    other = {**body, "rewind": {"turns": 1}}
    assert problem(append(client, "s", other, key))[1] == "idempotency-key-reused"
    fresh = append(client, "s", body, {"Idempotency-Key": "edit-2"})
    assert fresh.json()["rewind"] == first.json()["rewind"]
    kept = append(client, "s", body, {"Idempotency-Key": "edit-2"})
    assert kept.json() == fresh.json()


def test_regenerating_again_and_again_leaves_every_answer_to_be_found(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, *turn("t1", "one"), *turn("t2", "two")))
    versions: list[int] = []
    for number in range(3, 8):
        body = batch(number - 1, *turn(f"t{number}", f"two ({number})"), rewind={"turns": 1})
        versions.append(done(append(client, "s", body))["rewind"]["rewind_version"])

    session = client.get("/sessions/s").json()
    assert (session["turns"], session["messages"]) == (2, 4)
    for number, version in enumerate(versions, start=2):
        redo(client, {"rewind_version": version})
        assert texts(client)[2] == ("two" if number == 2 else f"two ({number})")
