"""A call and its result are one pair, through summaries, approvals, crashes and recoveries."""

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
    events_of,
    problem,
    said,
    started,
    types_of,
)
from tests.api.breaking import FAIL, change
from tests.api.serving import Served


def parts(client: httpx.Client) -> list[Json]:
    items = client.get("/sessions/s/transcript").json()["items"]
    return [part for item in items for part in item["parts"]]


def calls(client: httpx.Client) -> list[tuple[str, str]]:
    return [(p["tool_call_id"], p["status"]) for p in parts(client) if p["type"] == "tool_call"]


def results(client: httpx.Client) -> list[tuple[str, object]]:
    return [(p["tool_call_id"], p["output"]) for p in parts(client) if p["type"] == "tool_result"]


def compaction(through: str) -> Json:
    return event("history-compacted", summary="so far", through_message_id=through)


@pytest.mark.parametrize("through", ["t1:2", "t1:3", "t1:4"])
def test_a_summary_that_would_keep_a_result_without_its_call_is_refused(
    client: httpx.Client, through: str
) -> None:
    """Row A2, also where other results and words lie between the two."""
    append(
        client,
        "s",
        batch(
            1,
            *(started("t1"), called("t1", "a"), called("t1", "b"), answered("t1", "a")),
            *(said("t1", "half"), answered("t1", "b"), said("t1", "done"), completed("t1")),
        ),
    )
    before = events_of(client, "s")
    asked = {"summary": "so far", "through_message_id": through}
    pointer = "/events/0/data/through_message_id"
    assert problem(append(client, "s", batch(2, compaction(through)))) == (
        422,
        "invalid-value",
        [pointer],
    )
    assert problem(client.post("/sessions/s/compact", json=asked))[0] == 422
    assert events_of(client, "s") == before

    whole = client.post("/sessions/s/compact", json=asked | {"through_message_id": "t1:5"})
    assert whole.status_code == 200
    assert (calls(client), results(client)) == ([], [])


def test_a_branch_beside_a_broken_part_is_whole_and_the_broken_part_stays_readable(
    client: httpx.Client,
) -> None:
    """Row A5: a result without a call, a call without a result, a crash; then back before it."""
    broken = (
        *(started("t1"), answered("t1", "c0", "orphan"), said("t1", "on"), called("t1", "c1")),
        *(event("turn-interrupted", turn_id="t1", reason="crash"), started("t2")),
        *(called("t2", "c2"), event("turn-interrupted", turn_id="t2", reason="crash")),
    )
    append(client, "s", batch(1, started("t0"), said("t0", "Hi."), completed("t0"), *broken))
    assert client.post("/sessions/s/rewind", json={"to_turn": "t1"}).status_code == 200
    fresh = (started("t3"), called("t3", "c1"), answered("t3", "c1"), completed("t3"))
    assert append(client, "s", batch(2, *fresh)).status_code == 201

    assert (calls(client), results(client)) == ([("c1", "completed")], [("c1", "done")])
    for form in ("openai", "anthropic", "ui"):
        shown = client.get("/sessions/s/transcript", params={"format": form})
        assert shown.status_code == 200
        assert not [told for told in ('"orphan"', '"c0"', '"c2"') if told in shown.text], form
    everything = client.get("/sessions/s/transcript", params={"include": "archived,rewound"}).json()
    gone = [item["turn_id"] for item in everything["items"] if item["state"] == "rewound"]
    assert (gone.count("t1"), gone.count("t2")) == (3, 2)


def test_a_call_is_on_record_while_it_waits_and_a_pair_once_it_was_approved(
    client: httpx.Client,
) -> None:
    """Row A6."""
    waiting = event(
        "gate-opened", turn_id="t1", kind="permission", permission_id="p", tool_call_id="x"
    )
    append(client, "s", batch(1, started("t1"), called("t1", "x"), waiting))
    assert (calls(client), results(client)) == ([("x", "open")], [])

    yes = event(
        "gate-decided",
        permission_id="p",
        verdict="approved",
        decided_by="person",
        via="in-band",
    )
    rest = (yes, answered("t1", "x", "moved"), said("t1", "Done."), completed("t1"))
    assert append(client, "s", batch(2, *rest)).status_code == 201
    assert (calls(client), results(client)) == ([("x", "completed")], [("x", "moved")])


FAILS = {
    "sqlite": [
        "CREATE TRIGGER heads_fail BEFORE UPDATE ON heads BEGIN SELECT RAISE(ABORT, 'disk'); END"
    ],
    "postgresql": [
        FAIL,
        "CREATE TRIGGER heads_fail BEFORE UPDATE ON heads EXECUTE FUNCTION fail()",
    ],
}
WORKS = {
    "sqlite": ["DROP TRIGGER heads_fail"],
    "postgresql": ["DROP TRIGGER heads_fail ON heads"],
}


def test_a_head_that_could_not_move_leaves_no_event_and_the_error_joins_its_call(
    own_server: Served, project: str
) -> None:
    """Row A8: events and head are one transaction; what recovers goes on from both or neither."""
    with own_server.client(project) as client:
        append(client, "s", batch(1, started("t1"), called("t1", "x")))
        before = client.get("/sessions/s").json()["head"]
        crashed = event(
            "tool-call-completed", turn_id="t1", tool_call_id="x", output="lost", is_error=True
        )
        change(own_server, FAILS[own_server.kind])
        refused = append(client, "s", batch(2, crashed))
        change(own_server, WORKS[own_server.kind])
        assert refused.status_code == 503
        assert client.get("/sessions/s").json()["head"] == before
        assert len(events_of(client, "s")) == before["version"]

        assert append(client, "s", batch(2, crashed)).status_code == 201
        assert (calls(client), results(client)) == ([("x", "failed")], [("x", "lost")])


def test_a_tool_that_ran_again_after_its_recovery_brings_no_second_result(
    client: httpx.Client,
) -> None:
    """Row A9."""
    append(client, "s", batch(1, started("t1"), called("t1", "x")))
    error = event(
        "tool-call-completed", turn_id="t1", tool_call_id="x", output="restarted", is_error=True
    )
    append(client, "s", batch(2, error))
    second = append(client, "s", batch(3, answered("t1", "x", "ran after all")))
    assert problem(second)[:2] == (409, "call-already-completed")
    assert append(client, "s", batch(3, completed("t1"))).status_code == 201

    again = append(client, "s", batch(4, answered("t1", "x", "ran after all")))
    assert problem(again)[:2] == (409, "call-already-completed")
    assert results(client) == [("x", "restarted")]
    assert types_of(client, "s").count("tool-call-completed") == 1
