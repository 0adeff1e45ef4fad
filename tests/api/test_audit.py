"""The audit by REST."""

import httpx
import pytest

from tests.api.batches import Json, append, batch, event, problem, said, started, turn


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
    assert lines(client, actor="nobody") == []
    assert len(lines(client, actor=lines(client)[0]["actor"])) == 7


@pytest.mark.usefixtures("two_turns")
@pytest.mark.parametrize("name", ["type", "actor", "turn_id"])
def test_a_filter_that_nothing_can_match_is_a_problem(client: httpx.Client, name: str) -> None:
    answer = client.get("/sessions/s/audit", params={name: "\x00"})

    assert problem(answer) == (422, "invalid-value", [f"/query/{name}"])


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
    assert "SECRET" not in answer.text
