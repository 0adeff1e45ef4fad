"""Forks and lineages over HTTP: how a fork begins, how it is called, and who is told of it."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.api.recording import record_turn
from tests.api.streams import stream

Json = dict[str, Any]


def fork(client: httpx.Client, parent: str = "s1", /, **body: object) -> httpx.Response:
    return client.post(f"/sessions/{parent}/fork", json=body)


def append(client: httpx.Client, session_id: str, sequence: int, *events: Json) -> Json:
    body = {"producer": {"id": "p1", "epoch": 1, "sequence": sequence}, "events": events}
    answer = client.post(f"/sessions/{session_id}/events", json=body)
    assert answer.status_code == 201, answer.text
    answered: Json = answer.json()
    return answered


def turn(turn_id: str, text: str) -> list[Json]:
    return [
        {
            "type": "turn-started",
            "data": {"turn_id": turn_id, "messages": [{"role": "user", "content": text}]},
        },
        {"type": "turn-completed", "data": {"turn_id": turn_id, "record_count": 1}},
    ]


def read(client: httpx.Client, path: str, status: int = 200) -> Json:
    answer = client.get(f"/sessions/{path}")
    assert answer.status_code == status, answer.text
    answered: Json = answer.json()
    return answered


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_a_fork_is_a_session_with_the_history_of_another(client: httpx.Client) -> None:
    record_turn(client)
    answer = fork(client, session_id="s2", title="Another way")
    assert answer.status_code == 201
    assert answer.headers["Location"].endswith("/sessions/s2")
    made, parent = answer.json(), read(client, "s1")
    assert made == read(client, "s2")
    assert (made["title"], made["title_by"], made["status"]) == ("Another way", "person", "open")
    assert made["forked_from"] == {"session_id": "s1", "version": 4}
    assert (made["messages"], made["turns"], made["ready"]) == (2, 1, parent["ready"])
    assert made["head"]["version"] == 5
    assert made["head"]["fingerprint"] == parent["head"]["fingerprint"]
    assert parent["head"]["version"] == 4
    assert parent["forked_from"] is None


def test_a_fork_gets_an_id_if_none_is_named(client: httpx.Client) -> None:
    record_turn(client)
    ids = {fork(client).json()["session_id"] for _ in range(3)}
    assert len(ids) == 3


def test_the_same_fork_again_is_the_one_that_is_there(client: httpx.Client) -> None:
    record_turn(client)
    assert fork(client, session_id="s2").status_code == 201
    append(client, "s1", 2, *turn("t2", "more"))
    assert fork(client, session_id="s2").status_code == 200
    assert fork(client, session_id="s2", at=4).status_code == 200
    assert code(fork(client, session_id="s2", at=3)) == (409, "session-exists")
    assert code(fork(client, session_id="s2", title="x")) == (409, "session-exists")
    assert code(fork(client, session_id="s1")) == (409, "session-exists")
    client.delete("/sessions/s2")
    assert code(fork(client, session_id="s2")) == (409, "session-exists")


def test_a_key_makes_one_fork(client: httpx.Client) -> None:
    record_turn(client)
    headers = {"Idempotency-Key": "once"}
    first = client.post("/sessions/s1/fork", json={}, headers=headers)
    again = client.post("/sessions/s1/fork", json={}, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"


def test_a_fork_is_made_of_what_the_caller_saw(client: httpx.Client) -> None:
    record_turn(client)
    stale = client.post("/sessions/s1/fork", json={}, headers={"If-Match": '"3"'})
    assert code(stale) == (412, "version-mismatch")
    fresh = client.post("/sessions/s1/fork", json={}, headers={"If-Match": '"4"'})
    assert fresh.status_code == 201


def test_two_places_to_begin_at_are_refused_with_a_pointer(client: httpx.Client) -> None:
    record_turn(client)

    refused = fork(client, at=1, at_turn="t1")

    assert refused.json()["errors"] == [
        {"pointer": "/at", "detail": "name one of at_turn and at"},
    ]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"title": ""}, (422, "invalid-value")),
        ({"title": "  "}, (422, "invalid-value")),
        ({"session_id": ""}, (422, "invalid-value")),
        ({"session_id": "a/b"}, (422, "invalid-value")),
        ({"at": 0}, (422, "invalid-value")),
        ({"at": -1}, (422, "invalid-value")),
        ({"at": 5}, (422, "invalid-value")),
        ({"at": 1, "at_turn": "t1"}, (422, "invalid-value")),
        ({"at_turn": "t9"}, (404, "no-such-turn")),
        ({"at_turn": "/"}, (422, "invalid-value")),
        ({"unknown": 1}, (422, "invalid-value")),
    ],
)
def test_what_means_nothing_makes_no_fork(
    client: httpx.Client, body: Mapping[str, object], problem: tuple[int, str]
) -> None:
    record_turn(client)
    assert code(fork(client, **body)) == problem
    assert read(client, "s1/lineage")["children"] == {"items": [], "next_cursor": None}


def test_what_is_not_there_is_not_forked(client: httpx.Client) -> None:
    assert code(fork(client, "nobody")) == (404, "no-such-session")
    record_turn(client)
    client.delete("/sessions/s1")
    assert code(fork(client)) == (404, "no-such-session")


def test_titles_number_themselves_and_no_number_comes_twice(client: httpx.Client) -> None:
    record_turn(client)
    client.patch("/sessions/s1", json={"title": "Trip"})
    made = [fork(client, session_id=f"f{n}").json()["title"] for n in range(2)]
    assert made == ["Trip (2)", "Trip (3)"]
    client.delete("/sessions/f1")
    assert fork(client).json()["title"] == "Trip (4)"
    assert fork(client, "f0").json()["title"] == "Trip (5)"
    client.patch("/sessions/f0", json={"title": "Tour"})
    assert fork(client, "f0").json()["title"] == "Tour (2)"
    client.patch("/sessions/f0", json={"title": "Tour (9)"})
    assert fork(client, "f0").json()["title"] == "Tour (10)"
    client.patch("/sessions/f0", json={"title": None})
    assert fork(client, "f0").json()["title"] is None


def test_forks_at_once_get_ids_and_numbers_of_their_own(client: httpx.Client) -> None:
    record_turn(client)
    client.patch("/sessions/s1", json={"title": "Trip"})
    with ThreadPoolExecutor(4) as pool:
        made = [each.json() for each in pool.map(fork, [client] * 8)]
    assert len({each["session_id"] for each in made}) == 8
    assert {each["title"] for each in made} == {f"Trip ({n})" for n in range(2, 10)}


def test_of_forks_with_one_id_one_is_made(client: httpx.Client) -> None:
    record_turn(client)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(fork, client, session_id="x", title=f"T{n}") for n in range(4)]
        made = [each.result() for each in asked]
    assert sorted(each.status_code for each in made) == [201, 409, 409, 409]


def test_a_lineage_is_read_both_ways(client: httpx.Client) -> None:
    record_turn(client)
    fork(client, session_id="f1", at=3, title="one")
    append(client, "f1", 1, *turn("t2", "more"))
    fork(client, "f1", session_id="f2", title="two")
    fork(client, "f1", session_id="f3", at=2, title="three")
    head = read(client, "f1")["head"]["version"]
    older = [
        {"session_id": "s1", "title": "go on", "status": "open", "version": 3},
        {"session_id": "f1", "title": "one", "status": "open", "version": head},
    ]
    assert read(client, "f2/lineage")["ancestors"] == older
    assert read(client, "f1/lineage")["children"]["items"] == [
        {"session_id": "f2", "title": "two", "status": "open", "version": head}
    ]
    # What is forked below the base of a fork is forked from whom the version belongs to.
    assert read(client, "f3/lineage")["ancestors"] == [older[0] | {"version": 2}]
    assert [each["session_id"] for each in read(client, "s1/lineage")["children"]["items"]] == [
        "f3",
        "f1",
    ]
    listed = client.get("/sessions", params={"forked_from": "s1"}).json()["items"]
    assert [each["session_id"] for each in listed] == ["f3", "f1"]


def test_the_children_come_by_pages(client: httpx.Client) -> None:
    record_turn(client)
    for number in range(5):
        fork(client, session_id=f"f{number}")
    seen: list[object] = []
    cursor: object = None
    while True:
        query = "limit=2" if cursor is None else f"limit=2&cursor={cursor}"
        children = read(client, f"s1/lineage?{query}")["children"]
        seen += [each["session_id"] for each in children["items"]]
        cursor = children["next_cursor"]
        if cursor is None:
            break
    assert seen == ["f4", "f3", "f2", "f1", "f0"]


def test_a_lineage_is_so_deep_and_no_deeper(client: httpx.Client) -> None:
    record_turn(client)
    parent = "s1"
    for number in range(32):
        child = f"f{number}"
        assert fork(client, parent, session_id=child).status_code == 201
        parent = child
    assert code(fork(client, parent, session_id="too-deep")) == (409, "lineage-too-deep")
    assert len(read(client, f"{parent}/lineage")["ancestors"]) == 32


def versions(client: httpx.Client, path: str) -> list[int]:
    return [event["version"] for event in read(client, path)["items"]]


def test_the_events_of_a_fork_are_its_own_and_those_that_it_shares_are_read_on_request(
    client: httpx.Client,
) -> None:
    record_turn(client)
    fork(client, session_id="f1")
    append(client, "f1", 1, *turn("t2", "more"))
    fork(client, "f1", session_id="f2", at=7)
    append(client, "f2", 1, *turn("t3", "else"))
    append(client, "s1", 2, *turn("t9", "elsewhere"))
    assert versions(client, "f1/events") == [5, 6, 7]
    assert versions(client, "f2/events") == [8, 9, 10]
    assert versions(client, "f2/events?order=desc") == [10, 9, 8]
    assert versions(client, "f2/events?after=0") == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert versions(client, "f2/events?after=3&limit=4") == [4, 5, 6, 7]
    assert versions(client, "f2/events?before=7&order=desc&limit=3") == [6, 5, 4]
    page = read(client, "f2/events?after=0&limit=5")
    assert versions(client, f"f2/events?limit=5&cursor={page['next_cursor']}") == [6, 7, 8, 9, 10]
    assert read(client, "f2/events/3") == read(client, "s1/events/3")
    assert read(client, "f2/events/5") == read(client, "f1/events/5")
    assert read(client, "f2/events/7") == read(client, "f1/events/7")
    assert read(client, "f2/events/8")["type"] == "session-forked"
    read(client, "f1/events/8", 404)


def test_what_is_shared_is_read_as_it_was(client: httpx.Client) -> None:
    record_turn(client)
    append(client, "s1", 2, *turn("t2", "more"))
    was = {at: read(client, f"s1/transcript?at={at}") for at in (2, 4, 6)}
    fork(client, session_id="f1", at_turn="t1")
    append(client, "f1", 1, *turn("t3", "another way"))
    mine = read(client, "f1/transcript")
    assert [each["turn_id"] for each in mine["items"]] == ["t1", "t1", "t3"]
    for at in (2, 4):
        assert read(client, f"f1/transcript?at={at}")["items"] == was[at]["items"]
    assert read(client, "s1/transcript")["items"] == was[6]["items"]
    openai = read(client, "f1/transcript?format=openai&at=4")["messages"]
    assert openai == read(client, "s1/transcript?format=openai&at=4")["messages"]


def test_a_fork_goes_on_when_its_parent_is_rewound_or_deleted(client: httpx.Client) -> None:
    record_turn(client)
    append(client, "s1", 2, *turn("t2", "more"))
    fork(client, session_id="f1")
    was = read(client, "f1/transcript")
    client.post("/sessions/s1/rewind", json={"turns": 2})
    assert read(client, "f1/transcript") == was
    client.delete("/sessions/s1")
    assert read(client, "f1/transcript") == was
    append(client, "f1", 1, *turn("t3", "still here"))
    client.post("/sessions/f1/rewind", json={"to_turn": "t2"})
    assert [each["turn_id"] for each in read(client, "f1/transcript")["items"]] == ["t1", "t1"]
    redone = client.post("/sessions/f1/redo", json={}).json()
    assert redone["turns_restored"] == 2
    assert len(read(client, "f1/transcript")["items"]) == 4


def test_a_rewind_of_the_parent_is_redone_in_the_fork(client: httpx.Client) -> None:
    record_turn(client)
    append(client, "s1", 2, *turn("t2", "more"))
    whole = read(client, "s1/transcript")["items"]
    client.post("/sessions/s1/rewind", json={"turns": 1})
    fork(client, session_id="f1")
    client.post("/sessions/f1/redo", json={})
    assert read(client, "f1/transcript")["items"] == whole
    assert len(read(client, "s1/transcript")["items"]) == 2


def test_an_id_of_the_shared_history_is_taken(client: httpx.Client) -> None:
    record_turn(client)
    fork(client, session_id="f1")
    body = {"producer": {"id": "p1", "epoch": 1, "sequence": 1}, "events": turn("t1", "again")}
    assert code(client.post("/sessions/f1/events", json=body)) == (409, "turn-exists")


def test_a_result_that_comes_too_late_is_recorded_where_it_is_sent(client: httpx.Client) -> None:
    record_turn(client)
    call: Json = {
        "type": "tool-call-requested",
        "data": {"turn_id": "t2", "tool_call_id": "c1", "name": "ls", "arguments": {}},
    }
    append(client, "s1", 2, turn("t2", "list")[0], call)
    made = fork(client, session_id="f1").json()
    assert (made["turn_id"], made["ready"]) == (None, True)
    result: Json = {
        "type": "tool-call-completed",
        "data": {"turn_id": "t2", "tool_call_id": "c1", "output": "a.txt"},
    }
    append(client, "f1", 1, result)
    append(client, "s1", 3, result)
    calls = {
        name: [
            part["status"]
            for each in read(client, f"{name}/transcript")["items"]
            for part in each["parts"]
            if part["type"] == "tool_call"
        ]
        for name in ("s1", "f1")
    }
    assert calls == {"s1": ["completed"], "f1": ["interrupted"]}


def test_what_waits_for_an_answer_waits_in_the_parent_alone(client: httpx.Client) -> None:
    record_turn(client)
    gate: Json = {
        "type": "gate-opened",
        "data": {"turn_id": "t2", "kind": "permission", "permission_id": "perm-1"},
    }
    answer = append(client, "s1", 2, turn("t2", "ask")[0], gate)
    gate_id = answer["events"][1]["gate_id"]
    fork(client, session_id="f1")
    waiting = client.get("/approvals").json()["items"]
    assert [(each["session_id"], each["gate_id"]) for each in waiting] == [("s1", gate_id)]
    assert client.get(f"/approvals/{gate_id}").json()["session_id"] == "s1"
    gone = read(client, f"f1/approvals/{gate_id}")
    assert (gone["status"], gone["permission_id"]) == ("withdrawn", "perm-1")
    assert gone["opened_at"] == read(client, f"s1/approvals/{gate_id}")["opened_at"]
    assert read(client, f"s1/approvals/{gate_id}")["status"] == "open"
    assert read(client, "f1/turns/t2")["status"] == "interrupted"
    assert read(client, "s1/turns/t2")["status"] == "paused"


def test_a_fork_of_a_fork_shows_all_that_it_shares(client: httpx.Client) -> None:
    record_turn(client)
    append(client, "s1", 2, *turn("t2", "not shared"))
    fork(client, session_id="f1", at=4)
    append(client, "f1", 1, *turn("t3", "shared"))
    client.post("/sessions/f1/compact", json={"summary": "So far.", "through_message_id": "t1:2"})
    fork(client, "f1", session_id="f2")
    append(client, "f1", 2, *turn("t4", "not shared either"))
    base = read(client, "f2")["forked_from"]["version"]
    shown = read(client, "f2/transcript?include=archived")["items"]
    assert shown == read(client, f"f1/transcript?include=archived&at={base}")["items"]
    for form in ("openai", "anthropic", "ui"):
        mine = read(client, f"f2/transcript?format={form}")["messages"]
        assert mine == read(client, f"f1/transcript?format={form}&at={base}")["messages"]
    mine, there = read(client, "f2/fingerprint"), read(client, f"f1/fingerprint?at={base}")
    for chain in ("history", "model_history"):
        assert mine[chain] == there[chain]


def test_the_id_of_a_fork_is_not_opened_again(client: httpx.Client) -> None:
    record_turn(client)
    fork(client, session_id="f1")
    again = client.post("/sessions", json={"session_id": "f1"})
    assert code(again) == (409, "session-exists")


def test_a_fork_is_followed_from_its_own_beginning_or_from_any_version(
    client: httpx.Client,
) -> None:
    record_turn(client)
    fork(client, session_id="f1")
    append(client, "f1", 1, *turn("t2", "more"))
    own = ["5", "6", "7"]
    for following, seen in (
        (stream(client, "f1"), own),
        (stream(client, "f1", after=2), ["3", "4", *own]),
    ):
        with following as frames:
            told = [next(frames) for _ in range(len(seen) + 2)]
        assert [frame.id for frame in told if frame.name == "event"] == seen
        assert [frame.name for frame in told[-2:]] == ["state", "synced"]
