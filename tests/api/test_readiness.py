"""Readiness by REST."""

import httpx

from tests.api.batches import append, batch, completed, event, said, started, turn


def test_a_new_session_is_ready_and_empty(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "s"})
    answer = client.get("/sessions/s/readiness")
    shown = answer.json()

    assert (shown["ready"], shown["empty"], shown["reasons"]) == (True, True, [])
    assert shown["through_version"] == shown["head"]["version"] == 1
    assert answer.headers["Turnlog-Ready"] == "?1"


def test_a_running_turn_is_a_reason(client: httpx.Client) -> None:
    append(client, "s", batch(1, started("t1")))
    answer = client.get("/sessions/s/readiness")

    assert answer.json()["ready"] is False
    assert [reason["code"] for reason in answer.json()["reasons"]] == ["turn-running"]
    assert answer.headers["Turnlog-Ready"] == "?0"
    assert answer.headers["Turnlog-Reasons"] == "turn-running"


def test_a_turn_that_is_paused_on_a_gate_is_none(client: httpx.Client) -> None:
    gate = event("gate-opened", turn_id="t1", kind="input")
    append(client, "s", batch(1, started("t1"), gate))

    assert client.get("/sessions/s/readiness").json()["ready"] is True


def test_readiness_of_the_past_is_told_as_it_was(client: httpx.Client) -> None:
    lost = event("records-lost", count=None, reason="restart")
    healed = event("loss-healed", loss_version=3)
    append(client, "s", batch(1, started("t1"), lost, said("t1", "x"), completed("t1"), healed))

    def codes(at: int) -> list[str]:
        shown = client.get("/sessions/s/readiness", params={"at": at}).json()
        assert shown["through_version"] == shown["head"]["version"] == at
        return [reason["code"] for reason in shown["reasons"]]

    assert [codes(at) for at in range(1, 7)] == [
        [],
        ["turn-running"],
        ["records-lost", "turn-running"],
        ["records-lost", "turn-running"],
        ["records-lost"],
        [],
    ]


def test_the_head_of_the_past_is_the_one_that_the_append_answered(client: httpx.Client) -> None:
    first = append(client, "s", batch(1, *turn("t1"))).json()["head"]
    append(client, "s", batch(2, *turn("t2")))
    past = client.get("/sessions/s/readiness", params={"at": first["version"]})

    assert past.json()["head"] == first
    assert past.headers["ETag"] == '"7"'


def test_the_caller_is_not_told_twice(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    answer = client.get("/sessions/s/readiness", headers={"If-None-Match": '"4"'})

    assert (answer.status_code, answer.headers["Turnlog-Ready"]) == (304, "?1")
