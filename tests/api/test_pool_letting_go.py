"""Letting a parked harness go by request: what comes after is cold, and nothing is lost."""

import httpx

from tests.api.batches import Json, events_of, problem


def say(client: httpx.Client, text: str, **more: object) -> Json:
    """Have the demo agent answer, on a harness of the server."""
    body: Json = {"messages": [{"role": "user", "content": text}], **more}
    answer = client.post("/sessions/s/turns", json=body)
    assert answer.status_code == 200, answer.text
    told: Json = answer.json()
    return told


def test_after_it_the_next_turn_is_cold_and_remembers(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "s"})
    say(client, "remember colour=green")

    let_go = client.delete("/pool/s")

    assert (let_go.status_code, let_go.content) == (204, b"")
    assert client.get("/pool").json()["seats"] == []
    (evicted,) = [each for each in events_of(client, "s") if each["type"] == "harness-evicted"]
    assert evicted["data"]["reason"] == "request"
    again = say(client, "what is colour?")
    assert (again["path"], again["messages"][-1]["parts"][0]["text"]) == (
        "cold",
        "colour is green.",
    )


def test_a_gate_outlives_it(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "s"})
    (gate,) = say(client, 'ask: add {"a":1,"b":2}')["gates"]

    assert client.delete("/pool/s").status_code == 204

    answers = [{"gate": gate["gate_id"], "verdict": "approved"}]
    ended = client.post("/sessions/s/turns", json={"answers": answers}).json()
    assert ended["messages"][-1]["parts"][0]["text"] == 'add gave {"sum":3}.'


def test_without_a_harness_here_there_is_nothing_to_let_go(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "s"})

    assert problem(client.delete("/pool/s"))[:2] == (404, "no-such-seat")
    assert problem(client.delete("/pool/nobody"))[:2] == (404, "no-such-seat")


def test_one_that_works_is_left_alone(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "s"})
    body = {"messages": [{"role": "user", "content": "tool: wait"}]}
    started = client.post("/sessions/s/turns", json=body, headers={"Prefer": "respond-async"})
    assert started.status_code == 202, started.text

    assert problem(client.delete("/pool/s"))[:2] == (409, "turn-in-progress")
    assert client.post("/sessions/s/interrupt", json={}).status_code == 202
