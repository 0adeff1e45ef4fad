"""Turns that broke off half way: what is left is kept, closed, and fit for every model."""

import os
import signal
from collections.abc import Iterator

import httpx
import pytest

from tests.api.batches import (
    Json,
    answered,
    append,
    batch,
    called,
    completed,
    event,
    problem,
    said,
    started,
    turn,
    types_of,
)
from tests.api.breaking import FAIL, change
from tests.api.serving import PATIENCE_S, Served
from tests.faults.forked import forked

FORMS = ("openai", "anthropic", "ui")
PARTIAL = '{"q":'
INTERRUPTED = event("turn-interrupted", turn_id="t1", reason="aborted")


def transcript(client: httpx.Client, form: str = "turnlog") -> Json:
    answer = client.get("/sessions/s/transcript", params={"format": form})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def call_ids(client: httpx.Client, form: str) -> tuple[list[str], list[str]]:
    """Return the ids of the calls of a form, and those of its results."""
    messages = transcript(client, form)["messages"]
    if form == "openai":
        calls = [call["id"] for each in messages for call in each.get("tool_calls", [])]
        return calls, [each["tool_call_id"] for each in messages if each["role"] == "tool"]
    if form == "anthropic":
        blocks = [block for each in messages for block in each["content"]]
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        return calls, results
    parts = [part for each in messages for part in each["parts"] if "toolCallId" in part]
    ids = [part["toolCallId"] for part in parts]
    closed = [part["toolCallId"] for part in parts if part["state"].startswith("output")]
    return ids, closed


_BEFORE = "CREATE TRIGGER bodies_fail BEFORE INSERT ON bodies"
FAILS = {
    "sqlite": [f"{_BEFORE} BEGIN SELECT RAISE(ABORT, 'disk'); END"],
    "postgresql": [FAIL, f"{_BEFORE} EXECUTE FUNCTION fail()"],
}
WORKS = {
    "sqlite": ["DROP TRIGGER bodies_fail"],
    "postgresql": ["DROP TRIGGER bodies_fail ON bodies"],
}


def test_a_result_whose_saving_failed_once_is_there_once_after_the_retry(
    own_server: Served, project: str
) -> None:
    with own_server.client(project) as client:
        append(client, "s", batch(1, started("t1"), called("t1", "x")))
        result = batch(2, answered("t1", "x", "done"))
        change(own_server, FAILS[own_server.kind])
        refused = append(client, "s", result)
        change(own_server, WORKS[own_server.kind])
        again = [append(client, "s", result) for _ in range(2)]

        assert (refused.status_code, refused.json()["action"]) == (503, "retry")
        assert [answer.status_code for answer in again] == [201, 201]
        assert again[1].headers["idempotent-replayed"] == "true"
        assert types_of(client, "s").count("tool-call-completed") == 1
        assert append(client, "s", batch(3, completed("t1", record_count=3))).status_code == 201
        assert client.get("/sessions/s/readiness").json()["ready"]


def test_arguments_that_broke_off_stay_text_and_the_call_is_closed_in_every_form(
    client: httpx.Client,
) -> None:
    append(client, "s", batch(1, started("t1"), called("t1", "x", PARTIAL), INTERRUPTED))
    append(client, "s", batch(2, *turn("t2", "And now?")))

    [call] = transcript(client)["items"][1]["parts"]
    assert (call["arguments"], call["status"]) == (PARTIAL, "interrupted")
    for form in FORMS:
        calls, closed = call_ids(client, form)
        assert calls == closed == ["x"], form
    [block] = transcript(client, "anthropic")["messages"][1]["content"]
    assert isinstance(block["input"], dict)


def test_an_id_that_comes_back_names_one_call_in_each_form(client: httpx.Client) -> None:
    for number in (1, 2, 3):
        name = f"t{number}"
        events = [
            started(name),
            called(name, "call_0"),
            called(name, "call_0", {"again": True}),
            answered(name, "call_0", f"{name} first"),
            answered(name, "call_0", f"{name} second"),
            said(name, "Done."),
            completed(name),
        ]
        append(client, "s", batch(number, *events))

    for form in FORMS:
        calls, results = call_ids(client, form)
        assert len(calls) == 6, form
        assert len(set(calls)) == 6, form
        assert results == calls, form
        assert call_ids(client, form) == (calls, results)
    shown = [
        (message["turn_id"], part["tool_call_id"], part.get("occurrence", 1))
        for message in transcript(client)["items"]
        for part in message["parts"]
        if part["type"] == "tool_call"
    ]
    assert len(set(shown)) == 6


@pytest.fixture
def killed(database_url: str) -> Iterator[httpx.Client]:
    with forked(database_url) as processes:
        pid, port = processes.start("serve")
        with _client(port) as client:
            append(client, "s", batch(1, started("t1"), said("t1", "Let me look.")))
            append(client, "s", batch(2, called("t1", "x", {"q": 1})))
            gate = event("gate-opened", turn_id="t1", kind="permission", tool_call_id="x")
            append(client, "s", batch(3, gate))
        os.kill(pid, signal.SIGKILL)
        assert processes.ended(pid) == signal.SIGKILL
        _, port = processes.start("serve")
        with _client(port) as client:
            yield client


def _client(port: int) -> httpx.Client:
    base = f"http://127.0.0.1:{port}/v1/projects/default"
    return httpx.Client(base_url=base, timeout=PATIENCE_S, verify=False)  # noqa: S501


def test_half_a_turn_after_a_kill_is_closed_by_an_event_and_the_session_goes_on(
    killed: httpx.Client,
) -> None:
    client = killed
    minted = client.post("/producers/runner/epochs", json={"on_open_turns": "interrupt"}).json()
    [left] = minted["open_turns"]
    assert (left["session_id"], left["turn_id"], left["open_calls"]) == ("s", "t1", 1)
    assert types_of(client, "s")[-2:] == ["gate-withdrawn", "turn-interrupted"]

    late = append(client, "s", batch(4, answered("t1", "x")))
    assert problem(late) == (409, "fenced", [])
    stated = {"id": "runner", "epoch": 2, "sequence": 1, "previous": {"epoch": 1, "sequence": 3}}
    answer = append(client, "s", batch(1, *turn("t2")) | {"producer": stated})
    assert answer.status_code == 201
    assert answer.json()["readiness"]["ready"]
    [_, call] = transcript(client)["items"][1]["parts"]
    assert call["status"] == "interrupted"
    for form in FORMS:
        calls, closed = call_ids(client, form)
        assert calls == closed, form
