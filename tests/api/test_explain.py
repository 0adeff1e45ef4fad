"""Why was a turn warm or cold? By REST, from what a runner told."""

import httpx
import pytest

from domain.commands import Note
from domain.events import DispatchRefused
from infrastructure.command_handler import Caller, Target
from infrastructure.runner import Attempt
from tests.api.batches import append, batch, event, problem, said, started, turn
from tests.api.going_back import done, rewind
from tests.api.harnesses import cold, ended, explained, launched, let_go, parked, told, warm
from tests.api.serving import Served


def test_a_turn_that_a_parked_harness_went_on_with_is_warm(client: httpx.Client) -> None:
    told(client, "s", 1, *cold("t1"), *warm("t2"))

    found = explained(client, "t2")

    assert (found["path"], found["reason"], found["history_from"]) == ("warm", None, "harness")
    assert found["explain"] == (
        "Warm: the parked harness remembered the history (history version 4), and got what was new"
        " alone. It took 40 ms in all."
    )
    seat = found["seat"]
    assert seat.pop("parked_at").endswith("Z")
    assert seat == {
        "seat_id": "seat-1",
        "owner": "runner-1",
        "state": "idle",
        "pinned": {"history_version": 4, "version": 5},
        "ttl_s": 60,
        "config_fingerprint": "0a",
        "gone": None,
    }
    assert (found["moved_by"], found["refused"]) == ([], [])
    assert (found["timings"], found["total_ms"]) == ({"total": 40}, 40)
    assert found["through_version"] == 11


def test_the_first_turn_of_a_session_is_cold(client: httpx.Client) -> None:
    told(client, "s", 1, *cold("t1", reason="no-seat"))

    found = explained(client, "t1")

    assert (found["path"], found["reason"], found["history_from"]) == ("cold", "no-seat", "log")
    assert found["seat"] is None
    assert found["explain"] == (
        "Cold: no harness was parked for the session; a new one was started with the log's history."
        " It took 900 ms in all: 400 ms to its first output, 350 ms to start the harness."
    )


def test_a_turn_is_cold_since_the_harness_was_let_go_before(client: httpx.Client) -> None:
    told(client, "s", 1, *cold("t1"), let_go(), *cold("t2", "seat-2", reason="no-seat"))

    found = explained(client, "t2")

    assert (found["seat"]["seat_id"], found["seat"]["state"]) == ("seat-1", "gone")
    assert found["seat"]["gone"]["version"] == 7
    assert found["seat"]["gone"]["reason"] == "expire"
    assert found["seat"]["pinned"] == {"history_version": 4, "version": 5}
    assert found["explain"].startswith("Cold: the harness that was kept was let go at ")
    assert "since nobody came for it in time" in found["explain"]


def test_a_harness_that_knew_another_history_names_what_moved_it(client: httpx.Client) -> None:
    told(client, "s", 1, *cold("t1"), *warm("t2"))
    done(rewind(client, {"turns": 1}))
    told(
        client,
        "s",
        2,
        event("data-recorded", kind="note", data=1),
        started("t3"),
        let_go(reason="history", turn_id="t3"),
        launched("t3", "seat-2", "evicted", reason="history"),
        *ended("t3"),
    )

    found = explained(client, "t3")

    assert (found["path"], found["reason"]) == ("evicted", "history")
    assert (found["seat"]["state"], found["seat"]["pinned"]["history_version"]) == ("idle", 9)
    [moved] = found["moved_by"]
    assert moved.pop("at").endswith("Z")
    assert moved == {
        "version": 12,
        "type": "history-rewound",
        "actor": "local",
        "producer": None,
    }
    assert "(since version 9: history-rewound at version 12)" in found["explain"]


def test_what_moved_the_history_is_told_up_to_twenty(client: httpx.Client) -> None:
    others = [each for number in range(11) for each in turn(f"o{number}")]
    end = launched("t2", "seat-2", "evicted", reason="history")
    told(client, "s", 1, *cold("t1"), *others, started("t2"), end)

    found = explained(client, "t2")

    versions = [version for number in range(10) for version in (7 + 3 * number, 8 + 3 * number)]
    assert [moved["version"] for moved in found["moved_by"]] == versions
    assert found["moved_by"][0]["producer"] == "runner"
    assert (
        "message-recorded at version 8, turn-started at version 10, and more)" in found["explain"]
    )


def test_a_harness_of_another_configuration_tells_what_differs(client: httpx.Client) -> None:
    detail = {"facets": ["model", "tools"], "before": "0a", "after": "0b"}
    again = launched("t2", "seat-2", "evicted", reason="config", detail=detail)
    told(client, "s", 1, *cold("t1"), started("t2"), again)

    found = explained(client, "t2")

    assert (found["facets"], found["before"], found["after"]) == (["model", "tools"], "0a", "0b")
    assert "another configuration was asked for (model, tools)" in found["explain"]


STRANGE: list[object] = [
    None,
    5,
    "[]",
    {"facets": 5},
    {"facet": "\n"},
    {"before": {"a": 1}, "facets": [1, None]},
]


@pytest.mark.parametrize("detail", STRANGE)
def test_whatever_a_runner_tells_of_a_difference_does_no_harm(
    client: httpx.Client, detail: object
) -> None:
    again = launched("t2", "seat-2", "evicted", reason="config", detail=detail)
    told(client, "s", 1, *cold("t1"), started("t2"), again)

    found = explained(client, "t2")

    assert (found["facets"], found["before"], found["after"]) == ([], None, None)


def test_a_turn_of_which_no_harness_was_told_says_so(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))

    found = explained(client, "t1")

    assert (found["path"], found["reason"], found["history_from"]) == (None, None, None)
    assert found["seat"] is None
    assert found["explain"].startswith("Nobody told which harness ran it")


def test_a_turn_that_went_on_cold_after_a_decision_tells_of_the_harness_that_waited(
    client: httpx.Client,
) -> None:
    gate = event("gate-opened", turn_id="t1", kind="permission", permission_id="p")
    decided = event(
        "gate-decided", permission_id="p", verdict="approved", decided_by="person", via="in-band"
    )
    told(
        client,
        "s",
        1,
        started("t1"),
        launched("t1"),
        gate,
        parked(state="awaiting_approval", turn_id="t1"),
        decided,
        let_go(reason="approval-ttl-expire"),
        launched("t1", "seat-2", reason="no-seat"),
    )

    found = explained(client, "t1")

    assert (found["path"], found["reason"]) == ("cold", "no-seat")
    assert found["seat"]["pinned"] == {"history_version": 4, "version": 4}
    assert found["seat"]["gone"]["reason"] == "approval-ttl-expire"
    assert "since nobody decided in time" in found["explain"]


def test_requests_that_were_refused_before_the_turn_are_told(
    client: httpx.Client, server: Served, project: str
) -> None:
    told(client, "s", 1, *cold("t1"))
    refusal = DispatchRefused(
        code="history-not-ready", request="minimal", reasons=("open-loss",), seat="history"
    )
    log, target = server.log, Target(project_id=project, session_id="s")

    def refuse(attempt: Attempt) -> None:
        log.handler.carry_out(attempt, target, [Note(event=refusal)], caller=Caller(actor="u1"))

    for _ in range(2):
        log.runner.run(refuse)
    told(client, "s", 2, *warm("t2"), *warm("t3"))

    found = explained(client, "t2")
    first, second = found["refused"]

    assert (first["version"], second["version"]) == (7, 8)
    assert first.pop("at").endswith("Z")
    assert first == {
        "version": 7,
        "code": "history-not-ready",
        "request": "minimal",
        "reasons": ["open-loss"],
        "seat": "history",
    }
    assert "requests were refused: history-not-ready (2)." in found["explain"]
    assert explained(client, "t3")["refused"] == []


def test_a_turn_is_explained_as_it_was_known_at_a_version(client: httpx.Client) -> None:
    told(client, "s", 1, *cold("t1"), *warm("t2"))

    assert explained(client, "t2", at=7)["path"] is None
    assert explained(client, "t2", at=8)["path"] == "warm"
    gone = client.get("/sessions/s/turns/t2/explain", params={"at": 6})
    assert problem(gone)[:2] == (404, "no-such-turn")


def test_a_turn_that_a_fork_shares_is_explained_by_the_session_that_ran_it(
    client: httpx.Client,
) -> None:
    told(client, "s", 1, *cold("t1"), *warm("t2"))
    assert client.post("/sessions/s/fork", json={"session_id": "f"}).status_code == 201
    told(client, "f", 1, *cold("t3", "seat-9", reason="no-seat"))

    shared, own = explained(client, "t2", "f"), explained(client, "t3", "f")

    assert (shared["path"], shared["seat"]["seat_id"]) == ("warm", "seat-1")
    assert (own["path"], own["seat"]) == ("cold", None)


def test_nothing_that_was_said_is_in_an_explanation(client: httpx.Client) -> None:
    told(client, "s", 1, *cold("t1"), started("t2", "SECRET"), said("t2", "SECRET"))
    told(client, "s", 2, *ended("t2"), started("t3", "SECRET"), launched("t3", "x", "evicted",
         reason="history", detail={"facets": ["SECRET"], "moved_by": "SECRET"}))  # fmt: skip

    answer = client.get("/sessions/s/turns/t3/explain")

    assert answer.json()["moved_by"]
    assert "SECRET" not in answer.text


@pytest.mark.parametrize("turn_id", ["t9", "%00"])
def test_a_turn_that_is_not_there_is_not_explained(client: httpx.Client, turn_id: str) -> None:
    told(client, "s", 1, *cold("t1"))
    answer = client.get(f"/sessions/s/turns/{turn_id}/explain")
    assert problem(answer)[:2] == (404, "no-such-turn")
