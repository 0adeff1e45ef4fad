"""An administrator accepts that records are missing, by REST."""

from typing import Any

import httpx
import pytest

from infrastructure.accepting import MARKER
from tests.api.batches import (
    NO_SESSION,
    append,
    batch,
    completed,
    event,
    events_of,
    problem,
    started,
    turn,
)
from tests.api.serving import served
from tests.databases import DatabaseKind

LOST = event("records-lost", count=3, reason="disk-full")
ACCEPT = "/sessions/s/readiness/accept"


def lossy(client: httpx.Client, *more: dict[str, Any]) -> dict[str, Any]:
    """Record two turns between which records were lost; return the head."""
    head: dict[str, Any] = append(
        client, "s", batch(1, *turn("t1"), LOST, *turn("t2"), *more)
    ).json()["head"]
    return head


def reasons(client: httpx.Client) -> list[str]:
    shown = client.get("/sessions/s/readiness").json()
    return [reason["code"] for reason in shown["reasons"]]


def test_what_is_missing_is_accepted_and_the_model_is_told(client: httpx.Client) -> None:
    lossy(client)
    assert reasons(client) == ["records-lost"]

    answer = client.post(ACCEPT, json={})

    told = answer.json()
    assert (answer.status_code, told["accepted"], told["gap_version"]) == (
        200,
        ["records-lost"],
        11,
    )
    assert told["readiness"]["ready"]
    assert answer.headers["Turnlog-Ready"] == "?1"
    assert told["head"]["version"] == told["gap_version"]
    assert reasons(client) == []
    shown = client.get("/sessions/s/transcript").json()["items"]
    assert [(item["role"], item["parts"][0]["text"]) for item in shown[-2:]] == [
        ("assistant", "Hello."),
        ("system", MARKER),
    ]


def test_the_log_keeps_what_was_accepted(client: httpx.Client) -> None:
    lossy(client)
    client.post(ACCEPT, json={"message": "[An hour is missing.]"})

    begun, ended, accepted = events_of(client, "s")[-3:]
    assert begun["data"]["messages"] == [{"role": "system", "content": "[An hour is missing.]"}]
    assert ended["type"] == "turn-completed"
    assert (accepted["type"], accepted["data"]) == ("gap-accepted", {"reasons": ["records-lost"]})
    assert begun["data"]["turn_id"].startswith("gap-")


def test_a_client_may_send_only_its_newest_message_after_it(client: httpx.Client) -> None:
    lossy(client)
    head = client.post(ACCEPT, json={}).json()["head"]
    more = append(client, "s", batch(2, *turn("t3"), expected_version=head["version"]))

    assert more.json()["readiness"]["ready"]


def test_nothing_is_accepted_where_nothing_is_missing(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    assert problem(client.post(ACCEPT, json={})) == (409, "nothing-to-accept", [])

    append(client, "s", batch(2, started("t2")))
    assert reasons(client) == ["turn-running"]
    assert problem(client.post(ACCEPT, json={})) == (409, "nothing-to-accept", [])
    assert len(events_of(client, "s")) == 5


def test_a_gap_is_accepted_between_turns(client: httpx.Client) -> None:
    lossy(client, started("t3"))
    answer = client.post(ACCEPT, json={})

    assert problem(answer) == (409, "turn-in-progress", [])
    assert answer.json()["turn_id"] == "t3"
    append(client, "s", batch(2, completed("t3")))
    assert client.post(ACCEPT, json={}).status_code == 200


def test_nothing_is_accepted_that_was_not_named(client: httpx.Client) -> None:
    lossy(client)
    named = client.post(ACCEPT, json={"reasons": ["restored"]})

    assert problem(named) == (409, "other-reasons", ["/reasons"])
    assert named.json()["reasons"] == ["records-lost"]
    more = {"reasons": ["restored", "records-lost"]}
    assert client.post(ACCEPT, json=more).json()["accepted"] == ["records-lost"]


def test_the_claimed_head_and_version_have_to_be_the_newest(client: httpx.Client) -> None:
    head = lossy(client)
    claim = {"history_version": head["history_version"], "fingerprint": "0" * 64}

    assert problem(client.post(ACCEPT, json={"head": claim}))[:2] == (409, "head-mismatch")
    match = {"If-Match": '"3"'}
    assert problem(client.post(ACCEPT, json={}, headers=match))[:2] == (412, "version-mismatch")
    current = {name: head[name] for name in ("history_version", "fingerprint")}
    assert client.post(ACCEPT, json={"head": current}).status_code == 200


def test_the_same_request_is_answered_once(client: httpx.Client) -> None:
    lossy(client)
    key = {"Idempotency-Key": "accept-1"}
    first = client.post(ACCEPT, json={}, headers=key)
    again = client.post(ACCEPT, json={}, headers=key)

    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert problem(client.post(ACCEPT, json={})) == (409, "nothing-to-accept", [])


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"message": " "}, "/message"),
        ({"message": "x" * 1_001}, "/message"),
        ({"reasons": "records-lost"}, "/reasons"),
        ({"why": "x"}, "/why"),
    ],
)
def test_a_body_that_means_nothing_is_refused(
    client: httpx.Client, body: dict[str, Any], pointer: str
) -> None:
    lossy(client)

    assert problem(client.post(ACCEPT, json=body)) == (422, "invalid-value", [pointer])


def test_only_an_open_session_has_a_gap_to_accept(client: httpx.Client) -> None:
    assert problem(client.post(ACCEPT, json={})) == NO_SESSION
    lossy(client)
    client.patch("/sessions/s", json={"archived": True})
    assert problem(client.post(ACCEPT, json={}))[:2] == (409, "session-archived")
    client.delete("/sessions/s")
    assert problem(client.post(ACCEPT, json={})) == NO_SESSION


def test_a_rewind_to_before_the_gap_leaves_it_accepted(client: httpx.Client) -> None:
    lossy(client)
    client.post(ACCEPT, json={})
    client.post("/sessions/s/rewind", json={"turns": 1})

    assert reasons(client) == []


def test_the_agreement_that_a_project_asks_for_is_no_gap(
    database_url: str, database_kind: DatabaseKind
) -> None:
    with (
        served(database_kind, database_url, require_agreement="2") as running,
        running.client("default") as client,
    ):
        append(client, "s", batch(1, *turn("t1")))
        assert reasons(client) == ["agreement-required"]
        assert problem(client.post(ACCEPT, json={})) == (409, "nothing-to-accept", [])

        append(client, "s", batch(2, LOST))
        told = client.post(ACCEPT, json={"reasons": ["records-lost"]}).json()
        assert told["accepted"] == ["records-lost"]
        assert [each["code"] for each in told["readiness"]["reasons"]] == ["agreement-required"]
