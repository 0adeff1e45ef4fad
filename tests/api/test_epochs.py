"""Epochs: minting the next, fencing the last, and what a new one must state."""

import json

import httpx
import pytest

from tests.api.batches import (
    Json,
    append,
    batch,
    called,
    completed,
    event,
    events_of,
    problem,
    started,
    turn,
    types_of,
)


def mint(client: httpx.Client, producer: str = "runner", **body: object) -> httpx.Response:
    return client.post(f"/producers/{producer}/epochs", json=body)


def lost(count: int | None = None) -> Json:
    return event("records-lost", count=count, reason="disk-full")


def test_epochs_are_minted_one_after_the_other_from_two(client: httpx.Client) -> None:
    answers = [mint(client) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [201] * 3
    assert [answer.json() for answer in answers] == [
        {"epoch": epoch, "open_turns": []} for epoch in (2, 3, 4)
    ]
    assert mint(client, "another").json()["epoch"] == 2


def test_an_epoch_that_was_not_minted_may_not_write(client: httpx.Client) -> None:
    answer = append(client, "s", batch(1, *turn("t1"), epoch=2))

    assert problem(answer) == (409, "unknown-epoch", [])
    assert answer.json()["current_epoch"] == 1


def test_an_older_epoch_may_not_write_from_the_mint_on(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    mint(client)

    answer = append(client, "s", batch(2, *turn("t2")))

    assert problem(answer) == (409, "fenced", [])
    assert (answer.json()["current_epoch"], answer.json()["action"]) == (2, "give-up")
    assert append(client, "fresh", batch(1, *turn("t1"), epoch=2)).status_code == 201


@pytest.mark.parametrize(
    ("previous", "status"),
    [
        ({"epoch": 1, "sequence": 2}, 201),
        ({"epoch": 1, "sequence": 1}, 409),
        ({"epoch": 1, "sequence": 3}, 409),
        ({"epoch": 2, "sequence": 2}, 409),
        ({"epoch": 1, "sequence": 0}, 409),
        (None, 409),
    ],
)
def test_a_later_epoch_states_the_last_batch_before_it(
    client: httpx.Client, previous: Json | None, status: int
) -> None:
    append(client, "s", batch(1, *turn("t1")))
    append(client, "s", batch(2, *turn("t2")))
    mint(client)
    body = batch(1, *turn("t3"), epoch=2)
    body["producer"]["previous"] = previous

    answer = append(client, "s", body)

    assert answer.status_code == status
    if status == 409:
        assert problem(answer) == (409, "sequence-gap", ["/producer"])
        assert append(client, "s", batch(1, lost(), *turn("t3"), epoch=2)).status_code == 201


@pytest.mark.parametrize("previous", [None, {"epoch": 1, "sequence": 0}])
def test_a_later_epoch_has_nothing_to_state_where_nothing_was_written(
    client: httpx.Client, previous: Json | None
) -> None:
    mint(client)
    body = batch(1, *turn("t1"), epoch=2)
    body["producer"]["previous"] = previous

    assert append(client, "s", body).status_code == 201


def test_a_declared_loss_holds_the_session_until_it_is_healed(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    declared = append(client, "s", batch(2, lost(3)))

    readiness = declared.json()["readiness"]
    assert (readiness["ready"], [r["code"] for r in readiness["reasons"]]) == (
        False,
        ["records-lost"],
    )
    assert declared.headers["turnlog-ready"] == "?0"
    assert declared.headers["turnlog-reasons"] == "records-lost"
    healing = event("loss-healed", loss_version=declared.json()["events"][0]["version"])
    healed = append(client, "s", batch(3, healing))
    assert healed.json()["readiness"]["ready"] is True
    assert problem(append(client, "s", batch(4, healing))) == (
        404,
        "no-such-loss",
        ["/events/0/data/loss_version"],
    )


def test_a_new_epoch_lists_the_turns_that_were_left_open(client: httpx.Client) -> None:
    gate = event("gate-opened", turn_id="t1", kind="permission", tool_call_id="c1")
    append(client, "b", batch(1, started("t1"), called("t1", "c1"), called("t1", "c2"), gate))
    append(client, "A", batch(1, *turn("t1")))
    append(client, "A", batch(2, started("t2")))
    append(client, "a", batch(1, started("t1"), producer="somebody-else"))

    body = mint(client, on_open_turns="list").json()

    assert body == {
        "epoch": 2,
        "open_turns": [
            {
                "session_id": "A",
                "turn_id": "t2",
                "last_sequence": 2,
                "open_calls": 0,
                "open_gates": 0,
            },
            {
                "session_id": "b",
                "turn_id": "t1",
                "last_sequence": 1,
                "open_calls": 2,
                "open_gates": 1,
            },
        ],
    }
    assert client.get("/sessions/b").json()["turn_id"] == "t1"


def test_a_new_epoch_interrupts_what_was_left_open_if_asked(client: httpx.Client) -> None:
    gate = event("gate-opened", turn_id="t1", kind="permission", tool_call_id="c1")
    append(client, "a", batch(1, started("t1"), called("t1", "c1"), gate))
    append(client, "b", batch(1, started("t1")))
    append(client, "c", batch(1, started("t1"), producer="somebody-else"))

    body = mint(client, on_open_turns="interrupt").json()

    assert [turn["session_id"] for turn in body["open_turns"]] == ["a", "b"]
    assert types_of(client, "a")[-2:] == ["gate-withdrawn", "turn-interrupted"]
    assert events_of(client, "b")[-1]["data"] == {
        "turn_id": "t1",
        "reason": "producer-restarted",
        "by": "runner",
    }
    assert client.get("/sessions/c").json()["turn_id"] == "t1"
    assert mint(client).json()["open_turns"] == []


@pytest.mark.parametrize("body", [{"on_open_turns": "keep"}, {"epoch": 7}, {"on_open_turns": None}])
def test_a_mint_that_means_nothing_mints_nothing(client: httpx.Client, body: Json) -> None:
    assert problem(mint(client, **body))[0:2] == (422, "invalid-value")
    assert mint(client).json()["epoch"] == 2


def test_a_turn_may_be_taken_to_its_end_by_the_next_epoch(client: httpx.Client) -> None:
    append(client, "s", batch(1, started("t1")))
    mint(client)
    body = batch(1, completed("t1", record_count=1), epoch=2)
    body["producer"]["previous"] = {"epoch": 1, "sequence": 1}

    answer = append(client, "s", body)

    assert answer.status_code == 201
    assert answer.json()["readiness"]["ready"] is True
    assert json.loads(client.get("/sessions/s/events/3").content)["producer"]["epoch"] == 2
