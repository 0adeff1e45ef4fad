"""Redo and branches: what comes back, to which branch one can switch, and what is refused."""

import httpx
import pytest

from tests.api.batches import (
    NO_SESSION,
    Json,
    Problem,
    append,
    batch,
    events_of,
    problem,
    started,
    turn,
    types_of,
)
from tests.api.going_back import (
    approved,
    asked,
    done,
    head_of,
    redo,
    rewind,
    texts,
    transcript,
    whole_transcript,
)
from tests.api.test_rewind import three_turns


def branched(client: httpx.Client) -> tuple[Json, Json]:
    """Ask "two" after "one", go back, ask "anders"; return the heads before and after."""
    append(client, "s", batch(1, *turn("t1", "one"), *turn("t2", "two")))
    before = head_of(client)
    rewind(client, {"turns": 1})  # version 8
    append(client, "s", batch(2, *turn("t3", "anders")))
    return before, head_of(client)


def test_a_redo_gives_the_very_transcript_and_fingerprint_of_before(client: httpx.Client) -> None:
    before = three_turns(client)
    shown, everything = transcript(client), whole_transcript(client)
    rewind(client, {"turns": 2})

    body = done(redo(client))

    assert body["rewind_version"] == 11
    assert (body["turns_restored"], body["messages_restored"]) == (2, 4)
    assert (body["turns_rewound"], body["messages_rewound"]) == (0, 0)
    assert body["readiness"]["ready"] is True
    assert "target" not in body
    assert body["head"] == head_of(client)
    assert body["head"]["fingerprint"] == before["fingerprint"]
    assert (body["head"]["version"], body["head"]["history_version"]) == (12, 12)
    assert transcript(client) == shown
    assert whole_transcript(client) == everything
    session = client.get("/sessions/s").json()
    assert (session["turns"], session["messages"]) == (3, 6)


def test_each_undo_is_redone_in_turn_back_to_the_beginning(client: httpx.Client) -> None:
    before = three_turns(client)
    for version in (11, 12, 13):
        assert done(rewind(client, {"turns": 1}))["rewind_version"] == version
    assert problem(rewind(client, {"turns": 1})) == (409, "nothing-to-rewind", [])
    assert texts(client) == []

    seen = [done(redo(client)) for _ in range(3)]

    assert [body["rewind_version"] for body in seen] == [13, 12, 11]
    assert [body["turns_restored"] for body in seen] == [1, 1, 1]
    assert head_of(client)["fingerprint"] == before["fingerprint"]
    assert problem(redo(client)) == (409, "nothing-to-redo", [])
    assert texts(client) == ["one", "Hello.", "two", "Hello.", "three", "Hello."]


def test_undo_redo_undo_goes_back_again(client: httpx.Client) -> None:
    three_turns(client)
    first = done(rewind(client, {"turns": 1}))
    redo(client)
    second = done(rewind(client, {"turns": 1}))
    redo(client)
    third = done(rewind(client, {"turns": 1}))

    assert first["head"]["fingerprint"] == second["head"]["fingerprint"]
    assert third["head"]["fingerprint"] == first["head"]["fingerprint"]
    assert (third["turns_rewound"], third["rewind_version"]) == (1, 15)
    assert texts(client) == ["one", "Hello.", "two", "Hello."]


@pytest.mark.parametrize(
    "between",
    [
        {"title": "A title is no history"},
        {"config": {"model": "other"}},
    ],
)
def test_what_changes_no_history_does_not_prevent_a_redo(
    client: httpx.Client, between: Json
) -> None:
    three_turns(client)
    rewind(client, {"turns": 1})
    client.patch("/sessions/s", json=between)

    assert done(redo(client))["turns_restored"] == 1


def test_a_new_turn_ends_redo_and_leaves_the_switch(client: httpx.Client) -> None:
    before, after = branched(client)
    assert problem(redo(client)) == (409, "nothing-to-redo", [])

    body = done(redo(client, {"rewind_version": 8}))

    assert body["rewind_version"] == 8
    assert (body["turns_restored"], body["messages_restored"]) == (1, 2)
    assert (body["turns_rewound"], body["messages_rewound"]) == (1, 2)
    assert types_of(client, "s")[-2:] == ["history-rewound", "rewind-reverted"]
    assert body["head"]["fingerprint"] == before["fingerprint"]
    assert texts(client) == ["one", "Hello.", "two", "Hello."]
    back = done(redo(client, {"rewind_version": 12}))
    assert back["head"]["fingerprint"] == after["fingerprint"]
    assert texts(client) == ["one", "Hello.", "anders", "Hello."]


def test_a_session_is_read_as_it_was_before_and_after_each_move(client: httpx.Client) -> None:
    branched(client)
    redo(client, {"rewind_version": 8})

    seen = {at: texts(client, at=str(at)) for at in (4, 7, 8, 9, 11, 12, 13)}

    assert seen == {
        4: ["one", "Hello."],
        7: ["one", "Hello.", "two", "Hello."],
        8: ["one", "Hello."],
        9: ["one", "Hello.", "anders"],
        11: ["one", "Hello.", "anders", "Hello."],
        12: ["one", "Hello."],
        13: ["one", "Hello.", "two", "Hello."],
    }


def test_after_a_switch_a_redo_goes_on_with_what_could_be_redone_before_that_rewind(
    client: httpx.Client,
) -> None:
    three_turns(client)
    rewind(client, {"turns": 1})  # 11
    rewind(client, {"turns": 1})  # 12
    append(client, "s", batch(2, *turn("t4", "four")))
    assert done(redo(client, {"rewind_version": 12}))["turns_restored"] == 1
    assert texts(client) == ["one", "Hello.", "two", "Hello."]

    assert done(redo(client))["rewind_version"] == 11

    assert texts(client) == ["one", "Hello.", "two", "Hello.", "three", "Hello."]


MEANINGLESS: list[tuple[Json, Problem]] = [
    ({"rewind_version": 7}, (404, "no-such-rewind", ["/rewind_version"])),
    ({"rewind_version": 2}, (404, "no-such-rewind", ["/rewind_version"])),
    ({"rewind_version": 99}, (404, "no-such-rewind", ["/rewind_version"])),
    ({"rewind_version": 2**31 - 1}, (404, "no-such-rewind", ["/rewind_version"])),
    ({"rewind_version": 2**31}, (422, "invalid-value", ["/rewind_version"])),
    ({"rewind_version": 0}, (422, "invalid-value", ["/rewind_version"])),
    ({"rewind_version": -1}, (422, "invalid-value", ["/rewind_version"])),
    ({"rewind_version": 1.5}, (422, "invalid-value", ["/rewind_version"])),
    ({"rewind_version": True}, (422, "invalid-value", ["/rewind_version"])),
    ({"rewind_version": "8"}, (422, "invalid-value", ["/rewind_version"])),
    ({"turns": 1}, (422, "invalid-value", ["/turns"])),
    ({}, (409, "nothing-to-redo", [])),
]


@pytest.mark.parametrize(("body", "expected"), MEANINGLESS)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_redo_that_means_nothing_is_refused_with_its_place(
    client: httpx.Client, body: Json, expected: Problem, *, dry_run: bool
) -> None:
    _, before = branched(client)

    assert problem(redo(client, {**body, "dry_run": dry_run})) == expected
    assert head_of(client) == before


def test_a_rewind_whose_turns_are_all_in_sight_cannot_be_redone(client: httpx.Client) -> None:
    three_turns(client)
    rewind(client, {"turns": 1})
    redo(client)

    again = redo(client, {"rewind_version": 11})

    assert problem(again) == (409, "nothing-to-redo", [])


def test_a_redo_of_nothing_is_refused(client: httpx.Client) -> None:
    assert problem(redo(client)) == NO_SESSION
    client.post("/sessions", json={"session_id": "s"})
    assert problem(redo(client)) == (409, "nothing-to-redo", [])
    three_turns(client)
    assert problem(redo(client)) == (409, "nothing-to-redo", [])


def test_guards_hold_for_a_redo_as_for_a_rewind(client: httpx.Client) -> None:
    three_turns(client)
    rewind(client, {"turns": 1})
    before = head_of(client)
    stale = {**before, "history_version": 9}
    other = {**before, "fingerprint": "0" * 64}
    ahead = {**before, "history_version": 99}

    assert problem(redo(client, {}, {"If-Match": '"10"'}))[:2] == (412, "version-mismatch")
    assert problem(redo(client, {"head": stale})) == (412, "head-behind", ["/head"])
    assert problem(redo(client, {"head": other})) == (409, "head-mismatch", ["/head"])
    assert problem(redo(client, {"head": ahead})) == (409, "head-ahead-of-log", ["/head"])
    client.patch("/sessions/s", json={"archived": True})
    assert problem(redo(client)) == (409, "session-archived", [])
    client.patch("/sessions/s", json={"archived": False})
    assert head_of(client)["fingerprint"] == before["fingerprint"]
    assert redo(client, {"head": before}).status_code == 200


def test_a_turn_that_runs_is_interrupted_by_a_switch_only_if_asked_for(
    client: httpx.Client,
) -> None:
    branched(client)
    append(client, "s", batch(3, started("t4")))
    before = head_of(client)
    running = redo(client, {"rewind_version": 8})
    assert problem(running) == (409, "turn-in-progress", [])
    assert head_of(client) == before

    body = done(redo(client, {"rewind_version": 8, "interrupt": True}))

    last = ["turn-interrupted", "history-rewound", "rewind-reverted"]
    assert types_of(client, "s")[-3:] == last
    assert (body["turns_rewound"], body["turns_restored"]) == (2, 1)


def test_messages_come_back_and_gates_do_not(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1"), started("t2", "two"), asked("t2")))
    rewind(client, {"turns": 1})

    body = done(redo(client))

    assert texts(client)[-1] == "two"
    assert client.get("/sessions/s/approvals").json()["items"] == []
    assert client.get("/sessions/s").json()["turn_status"] is None
    assert problem(append(client, "s", batch(2, approved())))[:2] == (410, "gate-gone")
    assert body["readiness"]["ready"] is True
    assert append(client, "s", batch(2, *turn("t3"))).status_code == 201


def test_the_same_key_redoes_once(client: httpx.Client) -> None:
    three_turns(client)
    rewind(client, {"turns": 2})
    rewind(client, {"turns": 1})
    key = {"Idempotency-Key": "redo-1"}

    first = redo(client, {}, key)
    again = redo(client, {}, key)

    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert types_of(client, "s").count("rewind-reverted") == 1
    assert problem(redo(client, {"rewind_version": 11}, key))[1] == "idempotency-key-reused"
    assert done(redo(client))["rewind_version"] == 11


def test_a_dry_run_of_a_switch_tells_the_consequence_and_leaves_nothing(
    client: httpx.Client,
) -> None:
    _, before = branched(client)
    events = len(events_of(client, "s"))

    told = done(redo(client, {"rewind_version": 8, "dry_run": True}))

    assert (head_of(client), len(events_of(client, "s"))) == (before, events)
    body = done(redo(client, {"rewind_version": 8}))
    head = {**body["head"], "hash": None}
    assert told == {
        **body,
        "dry_run": True,
        "head": head,
        "readiness": {**body["readiness"], "head": head},
    }


def test_branches_of_branches_are_all_reached(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t0", "zero"), *turn("t1", "one"), *turn("t2", "two")))
    heads = {"t2": head_of(client)["fingerprint"]}
    places: dict[str, int] = {}
    for number, name in enumerate(("t3", "t4", "t5", "t6"), start=2):
        places[f"t{number}"] = done(rewind(client, {"turns": 1 + number % 2}))["rewind_version"]
        append(client, "s", batch(number, *turn(name, name)))
        heads[name] = head_of(client)["fingerprint"]
    for name, version in [*places.items(), *reversed(places.items())]:
        if head_of(client)["fingerprint"] != heads[name]:
            done(redo(client, {"rewind_version": version}))
        assert head_of(client)["fingerprint"] == heads[name]
