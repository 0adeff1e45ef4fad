"""The shape of a batch and of its events: what is refused before any rule is asked."""

from copy import deepcopy

import httpx
import pytest

from api.examples import TURN_BATCH
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
)
from tests.api.serving import ON_ONE_DATABASE

MISSHAPEN: list[tuple[Json, list[str]]] = [
    ({"producer": None}, ["/producer"]),
    ({"producer": {"id": "r", "epoch": 0, "sequence": 1}}, ["/producer/epoch"]),
    ({"producer": {"id": "r", "epoch": 2**31, "sequence": 1}}, ["/producer/epoch"]),
    ({"producer": {"id": "r", "epoch": 1, "sequence": 0}}, ["/producer/sequence"]),
    ({"producer": {"id": "r", "epoch": 1, "sequence": 2**63}}, ["/producer/sequence"]),
    ({"producer": {"id": "r", "epoch": 1, "sequence": "1"}}, ["/producer/sequence"]),
    ({"producer": {"id": "r", "epoch": 1, "sequence": 1.5}}, ["/producer/sequence"]),
    ({"producer": {"id": "r", "epoch": True, "sequence": 1}}, ["/producer/epoch"]),
    ({"producer": {"id": "r s", "epoch": 1, "sequence": 1}}, ["/producer/id"]),
    ({"expected_version": -1}, ["/expected_version"]),
    ({"events": []}, ["/events"]),
    ({"events": {}}, ["/events"]),
    ({"events": [7]}, ["/events/0"]),
    ({"events": [{"type": "turn-started"}]}, ["/events/0/data"]),
    ({"events": [{"type": 1, "data": {}}]}, ["/events/0/type"]),
    ({"events": [{"type": "data-recorded", "data": []}]}, ["/events/0/data"]),
    ({"fence": 0}, ["/fence"]),
    ({"open": "yes"}, ["/open"]),
    ({"open": {"session_id": "s"}}, ["/open/session_id"]),
]


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    ("change", "pointers"),
    MISSHAPEN,
)
def test_a_batch_of_another_shape_is_refused_with_its_place(
    client: httpx.Client, change: Json, pointers: list[str]
) -> None:
    body = {**deepcopy(TURN_BATCH), **change}

    answer = append(client, "s", body)

    assert problem(answer) == (422, "invalid-value", pointers)


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    ("bad", "pointer"),
    [
        (event("turn-started", messages=[]), "/turn_id"),
        (event("turn-started", turn_id="t1", messages=[]), "/messages"),
        (started("t1", role="tool"), "/messages/0/role"),
        (started("t1", role="assistant"), "/messages/0/role"),
        (started("t1", content=[{"type": "video"}]), "/messages/0/content/0"),
        (started("t1", content=[{"text": "a"}]), "/messages/0/content/0"),
        (started("t1", content=[{"type": ["text"], "text": "a"}]), "/messages/0/content/0"),
        (started("t1", content=[{"type": dict[str, str](), "text": "a"}]), "/messages/0/content/0"),
        (started("t1", content=[{"type": "text"}]), "/messages/0/content/0/text"),
        (started("t1", content=[{"type": "text", "text": "a", "x": 1}]), "/messages/0/content/0/x"),
        (started("t1", content=[{"type": "data", "kind": "k"}]), "/messages/0/content/0/data"),
        (started("t1", content=7), "/messages/0/content"),
        (started("t1", author={"name": "x"}), "/messages/0/author/subject_id"),
        (event("gate-opened", turn_id="t1", kind="permission", gate_id="mine"), "/gate_id"),
        (event("usage-recorded", turn_id="t1", model="m", input_tokens=-1, output_tokens=0), None),
        (event("records-lost", reason="r"), "/count"),
        (event("records-lost", count=0, reason="r"), "/count"),
        (event("records-lost", count=2**40, reason="r"), "/count"),
        (completed("t1", record_count=2**60), "/record_count"),
        (event("loss-healed", loss_version=2**31), "/loss_version"),
        (called("t1", "c", 5), "/arguments"),
        (called("t1", "c", ["a"]), "/arguments"),
        (event("tool-call-completed", turn_id="t1", tool_call_id="c"), "/output"),
        (event("turn-completed", turn_id="t1", timings=[1]), "/timings"),
        (event("turn-failed", turn_id="t1", error="oh"), "/error"),
    ],
)
def test_an_event_of_another_shape_is_refused_with_its_place(
    client: httpx.Client, bad: Json, pointer: str | None
) -> None:
    answer = append(client, "s", batch(1, event("data-recorded", kind="k", data=1), bad))

    status, code, pointers = problem(answer)
    assert (status, code) == (422, "invalid-value")
    assert f"/events/1/data{pointer or '/input_tokens'}" in pointers
    assert client.get("/sessions/s").status_code == 404


@ON_ONE_DATABASE
@pytest.mark.parametrize("type_", ["session-opened", "history-imported", "gate-expired", "nope"])
def test_a_type_that_producers_do_not_append_is_refused(client: httpx.Client, type_: str) -> None:
    answer = append(client, "s", batch(1, {"type": type_, "data": {}}))

    assert problem(answer) == (422, "unknown-event-type", ["/events/0/type"])


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    "when",
    [
        "2026-01-01",
        "2026-01-01T00:00:00",
        "yesterday",
        "",
        "2026-13-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
    ],
)
def test_a_time_that_is_none_is_refused(client: httpx.Client, when: str) -> None:
    happened = append(client, "s", batch(1, {**started("t1"), "occurred_at": when}))
    waits = event("gate-opened", turn_id="t1", kind="permission", expires_at=when)
    expires = append(client, "s", batch(1, started("t1"), waits))

    assert problem(happened) == (422, "invalid-value", ["/events/0/occurred_at"])
    assert problem(expires) == (422, "invalid-value", ["/events/1/data/expires_at"])


def test_the_first_and_the_last_moment_of_the_calendar_come_back(client: httpx.Client) -> None:
    moments = ["0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"]
    gates = [
        event("gate-opened", turn_id="t1", kind="permission", expires_at=moment)
        | {"occurred_at": moment}
        for moment in moments
    ]
    append(client, "s", batch(1, started("t1"), *gates))

    assert [item["occurred_at"] for item in events_of(client, "s")[2:]] == moments
    assert client.get("/approvals").status_code == 200


SECRET = "what was said: 4711"
PARTS: list[object] = [
    {"type": SECRET},
    {"type": "text", "text": [SECRET]},
    {"type": "data", "kind": {}},
    SECRET,
]


@pytest.mark.parametrize(
    "said",
    [
        *(started("t1", content=[part]) for part in PARTS),
        started("t1", role=SECRET),
        started("t1", status=SECRET),
        started("t1", message_id="\n" + SECRET),
        started("\n" + SECRET),
        event(SECRET, turn_id="t1"),
        event("gate-opened", turn_id="t1", kind=SECRET),
        event("gate-opened", turn_id="t1", kind="input", expires_at=SECRET),
        event("turn-started", turn_id="t1", messages=SECRET),
        completed("t1", record_count=SECRET),
        {"type": "data-recorded", "data": SECRET},
        {**started("t1"), "occurred_at": SECRET},
    ],
)
def test_what_was_said_is_never_repeated_in_an_error(client: httpx.Client, said: Json) -> None:
    answer = append(client, "s", batch(1, said))

    assert answer.status_code == 422
    assert SECRET not in answer.text
