"""What went wrong with undo in other session stores, and must not here.

Each test is named after its case: what was reported there, and what holds here.
"""

from typing import Any

import httpx
import pytest

from infrastructure.rebuilding import rebuild
from tests.api.batches import (
    NO_SESSION,
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
    turn,
    types_of,
)
from tests.api.going_back import (
    done,
    head_of,
    model_view,
    redo,
    rewind,
    texts,
    transcript,
    whole_transcript,
)
from tests.api.serving import Served

CUT = event("turn-interrupted", turn_id="t2", reason="crashed")
READS = (
    "",
    "/events",
    "/transcript",
    "/transcript?include=archived,rewound",
    "/transcript?format=openai",
    "/transcript?format=anthropic",
    "/transcript?format=ui",
    "/turns",
    "/turns/t2",
    "/approvals?status=all",
    "/fingerprint",
    "/readiness",
    "/audit",
    "/usage",
    "/export",
)


def assert_every_view_is_a_fresh_fold(server: Served, project: str) -> None:
    log = server.log
    found = rebuild(log.database, log.runner, project, "s", check_only=True)
    assert (found.sessions, found.differences) == (1, ())


def two_turns(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1", "one"), *turn("t2", "two")))


@pytest.mark.parametrize("form", ["openai", "anthropic", "ui"])
def test_a5_what_broke_stays_readable_and_the_branch_before_it_is_valid(
    client: httpx.Client, form: str
) -> None:
    broken = [
        answered("t2", "t0", "no such call"),
        called("t2", "t1"),
        CUT,
        started("t3"),
        called("t3", "t2"),
        event("turn-interrupted", turn_id="t3", reason="crashed"),
    ]
    append(client, "s", batch(1, *turn("t1", "one"), started("t2", "two"), *broken))
    shown = transcript(client)

    rewind(client, {"to_turn": "t2"})
    append(client, "s", batch(2, *turn("t4", "four")))

    assert texts(client) == ["one", "Hello.", "four", "Hello."]
    answer = client.get("/sessions/s/transcript", params={"format": form}).json()
    assert answer["losses"] == []
    assert len(answer["messages"]) == 4
    then = transcript(client, at="11")
    assert [item["parts"] for item in then] == [item["parts"] for item in shown]
    kept = [item["data"].get("tool_call_id") for item in events_of(client, "s")]
    assert [name for name in kept if name] == ["t0", "t1", "t2"]


def test_c1_after_an_undo_and_a_new_turn_everything_loads(
    client: httpx.Client, server: Served, project: str
) -> None:
    two_turns(client)
    rewind(client, {"turns": 1})
    append(client, "s", batch(2, *turn("t3", "three")))

    answers = {path: client.get(f"/sessions/s{path}").status_code for path in READS}

    assert answers == dict.fromkeys(READS, 200)
    assert_every_view_is_a_fresh_fold(server, project)
    assert client.post("/sessions/s/verify").json()["ok"] is True


def test_c2_the_answer_says_what_was_taken_out_and_an_unknown_target_is_404(
    client: httpx.Client,
) -> None:
    two_turns(client)

    assert problem(rewind(client, {"to_turn": "t7"}))[0] == 404
    assert problem(rewind(client, {"before_message": "t7:1"}))[0] == 404
    body = done(rewind(client, {"before_message": "t2:1"}))
    [rewound] = events_of(client, "s")[-1:]

    assert body["target"]["turn_id"] == rewound["data"]["turn_id"] == "t2"
    assert rewound["version"] == body["rewind_version"]


def test_c3_every_view_equals_a_fresh_fold_after_undo_and_redo(
    client: httpx.Client, server: Served, project: str
) -> None:
    writes = [
        [
            started(f"t{n}"),
            called(f"t{n}", "c"),
            answered(f"t{n}", "c", f"F{n}"),
            completed(f"t{n}"),
        ]
        for n in (1, 2)
    ]
    append(client, "s", batch(1, *writes[0], *writes[1]))
    before = client.get("/sessions/s").json()
    rewind(client, {"turns": 1})
    assert_every_view_is_a_fresh_fold(server, project)
    assert client.get("/sessions/s").json()["turns"] == 1

    redo(client)

    assert_every_view_is_a_fresh_fold(server, project)
    after = client.get("/sessions/s").json()
    assert (after["turns"], after["messages"]) == (before["turns"], before["messages"])


def test_c4_undo_destroys_nothing_and_its_fact_says_so(client: httpx.Client) -> None:
    two_turns(client)
    before = events_of(client, "s")

    rewind(client, {"turns": 1})

    after = events_of(client, "s")
    assert after[:-1] == before
    assert after[-1]["type"] == "history-rewound"
    assert texts(client) == ["one", "Hello."]
    found = client.get("/sessions/s/audit", params={"limit": 200}).json()["items"]
    assert {item["version"] for item in found} == set(range(1, 9))


def test_c5_the_fact_says_that_only_the_conversation_goes_back(client: httpx.Client) -> None:
    two_turns(client)
    rewind(client, {"turns": 1})

    assert events_of(client, "s")[-1]["data"]["scope"] == "conversation"


def test_c6_what_the_session_was_opened_with_stays_and_what_a_turn_said_goes(
    client: httpx.Client,
) -> None:
    opening = {"title": "Sums", "config": {"tenant": 1}, "approval_mode": "always-ask"}
    client.post("/sessions", json={"session_id": "s", **opening})
    before = client.get("/sessions/s").json()
    append(client, "s", batch(1, *turn("t1", "k")))

    rewind(client, {"turns": 1})

    after = client.get("/sessions/s").json()
    for name in ("title", "config", "approval_mode", "source"):
        assert after[name] == before[name]
    assert after["head"]["fingerprint"] == before["head"]["fingerprint"]
    assert texts(client) == []


def test_c7_nothing_of_a_rewound_turn_reaches_what_is_decided_next(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1", "one")))
    plain = model_view(client)
    agent = [started("t2", "ask B"), called("t2", "hand-over"), said("t2", "B here")]
    append(client, "s", batch(2, *agent, asked_b(), completed("t2")))
    rewind(client, {"turns": 1})

    assert model_view(client) == plain
    begun = done(append(client, "s", batch(3, started("t3", "who?"))))
    assert begun["readiness"]["reasons"] == [
        {"code": "turn-running", "detail": "turn t3 has not ended"}
    ]
    assert model_view(client)[: len(plain)] == plain
    assert client.get("/sessions/s").json()["open_gates"] == 0


def asked_b() -> Json:
    return event("gate-opened", turn_id="t2", kind="input", permission_id="b")


def test_c8_the_fact_has_the_versions_that_were_not_those_that_were_guessed(
    client: httpx.Client,
) -> None:
    two_turns(client)
    client.patch("/sessions/s", json={"title": "somebody else wrote"})
    client.patch("/sessions/s", json={"title": "and once more"})

    rewind(client, {"turns": 1})

    [begun] = [item for item in events_of(client, "s") if item["data"].get("turn_id") == "t2"][:1]
    data = events_of(client, "s")[-1]["data"]
    assert data["from_version"] == begun["version"] == 5
    assert data["through_version"] == 9
    assert (data["turns"], data["messages"]) == (1, 2)


def test_c9_a_rewind_leaves_the_same_on_every_database(
    sqlite_server: Served, postgresql_server: Served, project: str
) -> None:
    seen: list[Any] = []
    for server in (sqlite_server, postgresql_server):
        with server.client(project) as client:
            two_turns(client)
            rewind(client, {"turns": 1})
            append(client, "s", batch(2, *turn("t3", "three")))
            rewind(client, {"turns": 2})
            redo(client)
            events = [(item["type"], item["data"]) for item in events_of(client, "s")]
            fingerprint = client.get("/sessions/s/fingerprint").json()["history"]
            seen.append((transcript(client), whole_transcript(client), events, fingerprint))

    assert seen[0] == seen[1]


def test_c11_an_end_that_was_left_can_be_addressed_for_ever(client: httpx.Client) -> None:
    every = [each for n in range(1, 11) for each in turn(f"t{n}", f"question {n}")]
    append(client, "s", batch(1, *every))
    old = head_of(client)
    shown = texts(client)
    version = done(rewind(client, {"to_turn": "t4"}))["rewind_version"]
    append(client, "s", batch(2, *turn("t11", "elsewhere")))

    assert len(texts(client)) == 8
    assert texts(client, at=str(old["version"])) == shown
    assert done(redo(client, {"rewind_version": version}))["turns_restored"] == 7
    assert texts(client) == shown
    assert head_of(client)["fingerprint"] == old["fingerprint"]


def test_c14_after_going_back_the_head_moves_on_with_what_is_appended(
    client: httpx.Client,
) -> None:
    two_turns(client)
    rewind(client, {"turns": 1})
    for sequence, events in enumerate((turn("t3", "three"), turn("t4", "four")), start=2):
        answer = done(append(client, "s", batch(sequence, *events)))
        last = answer["events"][-1]
        assert (answer["head"]["version"], answer["head"]["hash"]) == (
            last["version"],
            last["hash"],
        )
        assert head_of(client) == answer["head"]
    assert texts(client) == ["one", "Hello.", "three", "Hello.", "four", "Hello."]
    assert client.get("/sessions/s/readiness").json()["head"] == head_of(client)


def test_c19_undo_of_undo_of_undo(client: httpx.Client) -> None:
    two_turns(client)
    versions = [done(rewind(client, {"turns": 1}))["rewind_version"] for _ in range(2)]

    assert problem(rewind(client, {"turns": 1})) == (409, "nothing-to-rewind", [])
    assert versions == [8, 9]
    assert client.get("/sessions/s/readiness").json()["empty"] is True


def test_c19_undo_past_the_start_takes_all_there_is(client: httpx.Client) -> None:
    two_turns(client)

    body = done(rewind(client, {"turns": 1_000_000}))

    assert (body["turns_rewound"], body["target"]["turn_id"]) == (2, "t1")


def test_c19_undo_on_an_empty_session(client: httpx.Client) -> None:
    assert problem(rewind(client, {"turns": 1})) == NO_SESSION
    client.post("/sessions", json={"session_id": "s"})
    before = head_of(client)

    assert problem(rewind(client, {"turns": 1})) == (409, "nothing-to-rewind", [])
    assert problem(rewind(client, {"to_version": 1})) == (409, "nothing-to-rewind", [])
    assert problem(rewind(client, {"to_turn": "t1"})) == (404, "no-such-turn", ["/to_turn"])
    assert head_of(client) == before


@pytest.mark.parametrize("turns", [0, -1])
def test_c19_undo_of_nothing_or_less(client: httpx.Client, turns: int) -> None:
    two_turns(client)

    assert problem(rewind(client, {"turns": turns})) == (422, "invalid-value", ["/turns"])


def test_c19_undo_while_a_turn_runs(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1"), started("t2")))

    assert problem(rewind(client, {"turns": 1})) == (409, "turn-in-progress", [])
    assert client.get("/sessions/s").json()["turn_status"] == "running"
    assert types_of(client, "s")[-1] == "turn-started"
