"""State by REST: bounded, and of any version what it was when that was the newest."""

import httpx

from tests.api.batches import (
    NO_SESSION,
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
)
from tests.api.going_back import redo, rewind


def test_each_version_tells_what_was_told_when_it_was_the_newest(client: httpx.Client) -> None:
    gate = event(
        "gate-opened",
        turn_id="t2",
        kind="permission",
        permission_id="p",
        tool_call_id="c1",
        tool="rm",
    )
    decided = event(
        "gate-decided", permission_id="p", verdict="approved", decided_by="person", via="in-band"
    )
    lost = event("records-lost", count=None, reason="restart")
    client.post("/sessions", json={"session_id": "s", "config": {"model": "m"}})
    told = [client.get("/sessions/s/state").json()]
    batches = (turn("t1"), [started("t2")], [gate], [decided], [called("t2", "c1"), lost])
    for sequence, events in enumerate((*batches, [answered("t2", "c1"), completed("t2")]), 1):
        append(client, "s", batch(sequence, *events))
        told.append(client.get("/sessions/s/state").json())
    client.patch("/sessions/s", json={"title": "Trip"})
    told.append(client.get("/sessions/s/state").json())
    assert rewind(client, {"turns": 1}).status_code == 200
    told.append(client.get("/sessions/s/state").json())
    assert redo(client).status_code == 200
    told.append(client.get("/sessions/s/state").json())
    append(client, "s", batch(7, event("loss-healed", loss_version=9)))

    for state in told:
        version = state["through_version"]
        assert state["head"]["version"] == state["readiness"]["through_version"] == version
        assert client.get("/sessions/s/state", params={"at": version}).json() == state
    assert [state["turn"] and state["turn"]["status"] for state in told[1:6]] == [
        None,
        "running",
        "paused",
        "running",
        "running",
    ]
    assert [len(state["open_gates"]) for state in told] == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert [len(state["open_calls"]) for state in told] == [0, 0, 0, 1, 1, 1, 0, 0, 0, 0]
    assert [state["losses"]["open"] for state in told[4:]] == [0, 1, 1, 1, 1, 1]
    assert [state["redo_version"] for state in told[-3:]] == [
        None,
        told[-2]["through_version"],
        None,
    ]
    assert (told[-3]["title"], told[-4]["title"]) == ("Trip", "Hello?")
    assert told[0]["config_version"] == 1


def test_the_state_of_now_has_a_tag_and_is_not_sent_twice(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    first = client.get("/sessions/s/state")
    again = client.get("/sessions/s/state", headers={"If-None-Match": first.headers["ETag"]})
    assert (first.headers["ETag"], again.status_code) == ('"4"', 304)
    append(client, "s", batch(2, started("t2"), said("t2", "x")))
    past = client.get("/sessions/s/state", params={"at": "4"})
    assert past.headers["ETag"] == '"6"'
    assert past.json() == first.json()


def test_a_state_that_never_was_is_refused(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))
    for at, expected in (
        ("0", (404, "no-such-event", ["/query/at"])),
        ("99", (404, "no-such-event", ["/query/at"])),
        ("1999-01-01T00:00:00Z", (404, "no-such-event", ["/query/at"])),
        ("yesterday", (422, "invalid-value", ["/query/at"])),
    ):
        assert problem(client.get("/sessions/s/state", params={"at": at})) == expected
    assert problem(client.get("/sessions/none/state")) == NO_SESSION
