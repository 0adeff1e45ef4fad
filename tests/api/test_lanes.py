"""Lanes over HTTP: found by where a message came from, listed, followed, and never mixed up."""

import random
from typing import Any

import httpx
import pytest

from tests.api.batches import Json, append, batch, problem, turn
from tests.api.test_odd_ids import ODD

GROUP: Json = {"platform": "discord", "chat_type": "group", "chat_id": "guild-123"}
ONE = (500, 11, 1)
"""So many characters of four bytes: as much as a key can be made of."""


def resolve(client: httpx.Client, source: Json, **more: object) -> dict[str, Any]:
    """Return what a source is told."""
    answer = client.post("/lanes/resolve", json={"source": source, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_place_is_told_its_session_and_why(client: httpx.Client) -> None:
    first = resolve(client, GROUP | {"user_id": "alice", "user_name": "Alice"})
    assert (first["created"], first["reason"], first["shared"]) == (True, "created", False)
    assert first["lane_key"] == "agent:main:discord:group:guild-123:alice"
    assert first["policy"]["group_sessions_per_user"] is True
    again = resolve(client, GROUP | {"user_id": "alice"})
    assert again == first | {"created": False, "reason": "existing"}
    session = client.get(f"/sessions/{first['session_id']}").json()
    assert session["source"]["lane_id"] == first["lane_id"]
    assert session["source"]["user_name"] == "Alice"
    bob = resolve(client, GROUP | {"user_id": "bob"})
    assert bob["session_id"] != first["session_id"]

    client.patch("/settings", json={"lanes": {"group_sessions_per_user": False}})
    shared = resolve(client, GROUP | {"user_id": "alice"})
    assert (shared["shared"], shared["created"]) == (True, True)
    assert shared["policy"]["group_sessions_per_user"] is False
    assert resolve(client, GROUP | {"user_id": "bob"})["session_id"] == shared["session_id"]


def test_ids_of_every_odd_kind_are_refused_or_places_of_their_own(client: httpx.Client) -> None:
    lanes: dict[str, str] = {}
    for name, odd in ODD.items():
        answer = client.post(
            "/lanes/resolve", json={"source": {"platform": "matrix", "chat_id": odd}}
        )
        if answer.status_code == 422:
            assert problem(answer) == (422, "invalid-value", ["/source/chat_id"])
        else:
            lanes[name] = answer.json()["lane_id"]
    assert set(ODD) - set(lanes) == {"newline", "NUL"}
    assert len(set(lanes.values())) == len(lanes)


def test_the_longest_ids_that_are_taken_have_a_key_that_is_found(client: httpx.Client) -> None:
    chosen = random.Random(7)  # noqa: S311 - nothing that a database could make shorter
    chat, thread, user = ("".join(map(chr, chosen.sample(range(0x10000, 0x20000), n))) for n in ONE)
    source: Json = {"platform": "slack", "chat_id": chat, "thread_id": thread, "user_id": user}
    found = resolve(client, source | {"chat_type": "channel"})
    listed = client.get("/lanes", params={"key": found["lane_key"]}).json()["items"]
    assert [each["lane_id"] for each in listed] == [found["lane_id"]]
    longer = {"source": source | {"scope_id": "T"}}
    answer = client.post("/lanes/resolve", json=longer)
    assert problem(answer) == (422, "invalid-value", ["/source"])


def test_why_what_was_cut_off_waits_is_told(client: httpx.Client) -> None:
    lane = resolve(client, GROUP)["lane_id"]
    assert client.get(f"/lanes/{lane}").json()["held_back"] is None
    client.post(f"/lanes/{lane}/resume-mark", json={"reason": "restart-timeout"})
    assert resolve(client, GROUP)["resume_pending"] is True
    told = client.get(f"/lanes/{lane}").json()
    assert (told["resume_reason"], told["held_back"]) == ("restart-timeout", "not-connected")
    client.put("/lanes/platforms/discord", json={"connected": True})
    assert client.get(f"/lanes/{lane}").json()["held_back"] != "not-connected"
    assert client.get(f"/lanes/{lane}").json()["resume_pending"] is True


def test_a_session_that_was_deleted_is_not_gone_on_with(client: httpx.Client) -> None:
    first = resolve(client, GROUP)
    append(client, first["session_id"], batch(1, *turn("t1")))
    client.delete(f"/sessions/{first['session_id']}")
    after = resolve(client, GROUP)
    assert (after["reason"], after["created"]) == ("session-ended", True)
    assert after["previous_session_id"] == first["session_id"]
    client.post(f"/sessions/{first['session_id']}/restore")
    assert resolve(client, GROUP)["session_id"] == after["session_id"]


def test_a_new_session_is_begun_once_for_one_message(client: httpx.Client) -> None:
    first = resolve(client, GROUP, open={"title": "A trip", "config": {"model": "m1"}})
    new = {"source": GROUP | {"message_id": "7"}, "force_new": True}
    answers = [client.post("/lanes/resolve", json=new) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert [a.headers.get("Idempotent-Replayed") for a in answers] == [None, "true"]
    forced = answers[0].json()
    assert (forced["reason"], forced["previous_session_id"]) == ("forced", first["session_id"])
    session = client.get(f"/sessions/{forced['session_id']}").json()
    assert session["config"] == {"model": "m1"}
    before = client.get(f"/sessions/{first['session_id']}").json()
    assert (before["status"], before["archived_reason"]) == ("archived", "lane-reset")
    other = resolve(client, GROUP | {"message_id": "8"}, force_new=True)
    assert other["session_id"] != forced["session_id"]
    path = f"/lanes/{other['lane_id']}/suspend"
    assert client.post(path, json={"reason": "stuck", "message_id": "9"}).status_code == 200
    same_words = resolve(client, GROUP | {"message_id": "suspend 9"}, force_new=True)
    assert same_words["previous_session_id"] == other["session_id"]


def test_what_is_asked_with_a_key_is_answered_once(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "new"}
    bodies = [{"source": GROUP, "force_new": True}] * 2
    first, again = (client.post("/lanes/resolve", json=each, headers=headers) for each in bodies)
    assert first.json() == again.json()
    other = client.post("/lanes/resolve", json={"source": GROUP}, headers=headers)
    assert problem(other)[:2] == (422, "idempotency-key-reused")


def test_lanes_are_listed_by_what_came_last_in_pages(client: httpx.Client) -> None:
    ids = [
        resolve(client, {"platform": "telegram", "chat_id": str(number)})["lane_id"]
        for number in range(5)
    ]
    seen: list[str] = []
    cursor = None
    while True:
        page = client.get(
            "/lanes", params={"limit": 2} | ({"cursor": cursor} if cursor else {})
        ).json()
        seen += [each["lane_id"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ids[::-1]
    (one,) = client.get("/lanes", params={"key": "agent:main:telegram:dm:3"}).json()["items"]
    assert (one["lane_id"], one["description"]) == (ids[3], "DM with 3")
    by_session = client.get("/lanes", params={"session_id": one["session_id"]}).json()["items"]
    assert [each["lane_id"] for each in by_session] == [ids[3]]
    assert client.get("/lanes", params={"platform": "slack"}).json()["items"] == []
    assert client.get("/lanes", params={"status": "suspended"}).json()["items"] == []


def test_what_became_of_a_lane_is_told(client: httpx.Client) -> None:
    first = resolve(client, GROUP)
    second = resolve(client, GROUP, force_new=True)
    path = f"/lanes/{first['lane_id']}"
    lane = client.get(path)
    assert lane.headers["ETag"] == '"3"'
    assert lane.json()["reset"] == {
        "reason": "forced",
        "at": lane.json()["bound_at"],
        "automatic": False,
        "had_activity": False,
        "fresh": True,
    }
    sessions = client.get(f"{path}/sessions").json()["items"]
    assert [(each["session_id"], each["current"], each["status"]) for each in sessions] == [
        (second["session_id"], True, "open"),
        (first["session_id"], False, "archived"),
    ]
    assert [each["archived_reason"] for each in sessions] == [None, "lane-reset"]
    facts = client.get(f"{path}/events", params={"limit": 2}).json()
    assert [each["type"] for each in facts["items"]] == ["lane-opened", "lane-bound"]
    rest = client.get(f"{path}/events", params={"after": facts["next_after"]}).json()
    assert [(each["type"], each["lane_id"]) for each in rest["items"]] == [
        ("lane-reset", first["lane_id"])
    ]
    assert rest["next_after"] is None


def test_what_a_person_may_see_is_found_from_their_lanes_alone(client: httpx.Client) -> None:
    for person in ("alice", "bob"):
        found = resolve(client, GROUP | {"user_id": person})
        said = turn("t1", f"the heron of {person}")
        append(client, found["session_id"], batch(1, *said, producer=person))
    alice = resolve(client, GROUP | {"user_id": "alice"})["session_id"]
    at_home = resolve(client, {"platform": "discord", "chat_id": "dm-1", "user_id": "alice"})
    wait = {"Prefer": "wait=10"}
    everybody = client.get("/search", params={"q": "heron"}, headers=wait).json()["items"]
    assert len(everybody) == len({"alice", "bob"})
    asked = {"q": "heron", "lane": at_home["lane_id"]}
    own = client.get("/search", params=asked).json()["items"]
    assert [each["session_id"] for each in own] == [alice]

    group: Json = {"platform": "telegram", "chat_type": "group", "chat_id": "-1"}
    topic = resolve(client, group | {"thread_id": "7"})
    append(client, topic["session_id"], batch(1, *turn("t1", "our heron")))
    resolve(client, group | {"thread_id": "7"}, force_new=True)
    there = {"source": group | {"chat_id": "-1001", "thread_id": "7"}}
    moved = client.post(f"/lanes/{topic['lane_id']}/move", json=there).json()["lane_id"]
    found = client.get("/search", params={"q": "heron", "lane": moved}, headers=wait).json()
    assert [each["session_id"] for each in found["items"]] == [topic["session_id"]]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "/source"),
        ({"source": {}}, "/source/platform"),
        ({"source": {"platform": "pigeon"}}, "/source/platform"),
        ({"source": {"platform": "telegram", "chat_type": "group"}}, "/source/chat_id"),
        ({"source": {"platform": "telegram", "trusted": True}}, "/source/trusted"),
        ({"source": {"platform": "telegram"}, "force_new": "yes"}, "/force_new"),
        ({"source": {"platform": "telegram"}, "open": {"mode": 1}}, "/open/mode"),
    ],
)
def test_what_is_no_origin_is_refused_with_its_place(
    client: httpx.Client, body: Json, place: str
) -> None:
    assert problem(client.post("/lanes/resolve", json=body)) == (422, "invalid-value", [place])


def test_a_lane_that_is_none_is_not_found(client: httpx.Client) -> None:
    for path in ("", "/sessions", "/events"):
        answer = client.get(f"/lanes/{'0' * 32}{path}")
        assert problem(answer)[:2] == (404, "no-such-lane")
        odd = client.get(f"/lanes/{'X' * 32}{path}")
        assert problem(odd)[:2] == (422, "invalid-value")
    assert problem(client.get("/search", params={"q": "x", "lane": "0" * 32}))[:2] == (
        404,
        "no-such-lane",
    )
