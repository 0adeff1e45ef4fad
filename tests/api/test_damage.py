"""A session that was damaged by hand is readable around it, and is told to be damaged."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import httpx
import pytest

from infrastructure.rebuilding import rebuild
from tests.api.batches import (
    Json,
    answered,
    append,
    batch,
    called,
    completed,
    problem,
    said,
    started,
    turn,
)
from tests.api.serving import Served
from tests.api.streams import stream, until_synced
from tests.api.waiting import caught_up
from tests.databases import DatabaseKind
from tests.infrastructure.journeys import by_hand, eventful
from tests.infrastructure.writing import Store

VERSIONS = 19
"""What `eventful` records."""
DAMAGES = {
    "no-event": "DELETE FROM events WHERE session_key = {} AND version = {}",
    "no-body": "DELETE FROM bodies WHERE session_key = {} AND version = {}",
    "garbled": "UPDATE bodies SET body = salt WHERE session_key = {} AND version = {}",
}
PLACES = (1, 2, 3, 5, 6, 8, 10, 11, 14, 15, 19)
"""A fact of each kind, the first and the last."""
UNREADABLE = ("no-body", "garbled")
"""Read alike; each place has one of them."""
DAMAGED: dict[DatabaseKind, list[str]] = {
    "sqlite": [f"no-event-{place}" for place in PLACES]
    + [f"{UNREADABLE[number % 2]}-{place}" for number, place in enumerate(PLACES)],
    "postgresql": ["no-event-1", "no-event-6", "no-event-19", "no-body-3", "garbled-2"],
}
"""What is lost is read around in the same way on both: on one everywhere, on one of each kind."""
HELLO: Json = {"messages": [{"role": "user", "content": "again"}]}
AGAIN = batch(1, *turn("t9"), producer="p1")
KNOWN = {200, 201, 409}
GETS = (
    "",
    "/events?limit=200",
    "/events?order=desc&types=message-recorded,turn-started",
    "/events/6",
    "/transcript",
    "/transcript?include=archived&order=desc&limit=2",
    "/transcript?at=4",
    "/transcript?at=12&include=archived",
    "/transcript?at=2100-01-01T00:00:00Z",
    "/transcript?format=openai",
    "/transcript?format=anthropic&at=9",
    "/transcript?format=ui",
    "/turns",
    "/turns?at=5",
    "/turns/t1",
    "/turns/t2",
    "/approvals?status=all",
    "/approvals?status=all&at=6",
    "/fingerprint?v1=true",
    "/fingerprint?at=7&v1=true",
    "/readiness",
    "/readiness?at=10",
    "/audit?limit=200",
    "/export",
    "/usage",
)
ELSEWHERE = (
    "/sessions?limit=200&status=all",
    "/approvals?status=all&limit=200",
    "/usage",
    "/errors",
    "/search?q=again",
    "/agreement",
)


@dataclass
class Damaged:
    """A server with a session that is whole, and one for each damage; what went wrong."""

    client: httpx.Client
    store: Store
    sessions: list[str]
    wrong: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def get(self, path: str) -> httpx.Response:
        return self.noted(path, self.client.get(path))

    def post(self, path: str, body: Json) -> httpx.Response:
        return self.noted(path, self.client.post(path, json=body))

    def noted(self, path: str, answer: httpx.Response) -> httpx.Response:
        if answer.status_code not in {200, 201} and path != "/sessions/no-event-6/events/6":
            self.wrong.append((path, answer.status_code))
        return answer


@pytest.fixture
def damaged(own_server: Served) -> Iterator[Damaged]:
    store, sessions = Store(own_server.log.database), DAMAGED[own_server.kind]
    for session_id in ("whole", *sessions):
        eventful(store, session_id)
    with by_hand(store) as connection:
        for key, session_id in enumerate(sessions, 2):
            damage, _, version = session_id.rpartition("-")
            connection.exec_driver_sql(DAMAGES[damage].format(key, version))
    with own_server.client("default") as client:
        yield Damaged(client, store, sessions)
    store.runner.close()


def messages(damaged: Damaged, session_id: str) -> list[Json]:
    """Return all messages, as if every session had the same id."""
    path = f"/sessions/{session_id}/transcript?include=archived&limit=200"
    found: list[Json] = json.loads(
        damaged.get(path).text.replace(f'"g-{session_id}"', '"g-whole"')
    )["items"]
    return found


def is_whole(message: Json) -> bool:
    return all(part["type"] != "missing" for part in message["parts"])


def test_every_route_answers_and_shows_what_is_left(damaged: Damaged, own_server: Served) -> None:
    for session_id in damaged.sessions:
        for path in GETS:
            answer = damaged.get(f"/sessions/{session_id}{path}")
            if path != "/export":
                answer.json()
        damaged.post(f"/sessions/{session_id}/compare", HELLO)
    caught_up(own_server)
    for path in ELSEWHERE:
        damaged.get(path)
    assert damaged.wrong == []

    whole = messages(damaged, "whole")
    for session_id in damaged.sessions:
        shown = messages(damaged, session_id)
        assert [each["index"] for each in shown] == [each["index"] for each in whole]
        left = [(a, b) for a, b in zip(shown, whole, strict=True) if is_whole(a)]
        assert len(left) >= len(whole) - 1
        assert [a["parts"] for a, _ in left] == [b["parts"] for _, b in left], session_id


def test_the_place_is_named(damaged: Damaged) -> None:
    reasons = {"no-event": "missing-event", "no-body": "missing-body", "garbled": "body-mismatch"}
    assert damaged.post("/sessions/whole/verify", {}).json()["ok"]
    for session_id in damaged.sessions:
        damage, _, version = session_id.rpartition("-")
        found = damaged.post(f"/sessions/{session_id}/verify", {}).json()
        assert found["first_bad"] == {"version": int(version), "reason": reasons[damage]}
    assert damaged.wrong == []


def test_once_rebuilt_a_session_that_lost_history_is_not_ready(own_server: Served) -> None:
    store, lost = Store(own_server.log.database), list(product(DAMAGES, [3, 7]))
    with own_server.client("default") as client:
        for damage, version in lost:
            session_id = f"{damage}-{version}"
            append(client, session_id, batch(1, *turn("t1"), *turn("t2"), producer=session_id))
            assert client.get(f"/sessions/{session_id}/readiness").json()["ready"]
        with by_hand(store) as connection:
            for key, (damage, version) in enumerate(lost, 1):
                connection.exec_driver_sql(DAMAGES[damage].format(key, version))
        rebuild(own_server.log.database, own_server.log.runner)
        for damage, version in lost:
            told = client.get(f"/sessions/{damage}-{version}/readiness").json()
            assert not told["ready"]
            if damage == "no-event" or version == 3:  # the end of a turn is no history
                assert "unreadable-events" in [reason["code"] for reason in told["reasons"]]
    store.runner.close()


def test_a_session_that_lost_its_blobs_answers_on_every_route(own_server: Served) -> None:
    store = Store(own_server.log.database)
    long = "far too long for an event " * 5_000
    with own_server.client("default") as client:
        damaged = Damaged(client, store, ["s"])
        events = [called("t1", "c", {"x": long}), answered("t1", "c", long), said("t1", long)]
        append(client, "s", batch(1, started("t1", long), *events, completed("t1")))
        append(client, "s", batch(2, *turn("t2"), *turn("t3")))
        with by_hand(store) as connection:
            connection.exec_driver_sql("DELETE FROM blob_references")
            connection.exec_driver_sql("DELETE FROM blobs")
        for path in GETS:
            damaged.get(f"/sessions/s{path}")
        damaged.post("/sessions/s/compare", HELLO)
        found = damaged.post("/sessions/s/verify", {}).json()
        assert found["first_bad"] == {"version": 2, "reason": "missing-blob"}
        assert [len(each["parts"]) for each in messages(damaged, "s")] == [1, 1, 1, 1, 1, 1, 1, 1]
        rebuild(own_server.log.database, own_server.log.runner)
        assert not client.get("/sessions/s/readiness").json()["ready"]
        assert damaged.wrong == []
    store.runner.close()


def test_a_session_that_lost_its_head_says_so_until_it_is_rebuilt(own_server: Served) -> None:
    store = Store(own_server.log.database)
    eventful(store, "s")
    more = batch(1, *turn("t9"), producer="later")
    with own_server.client("default") as client:
        before = client.get("/sessions/s/transcript").json()
        with by_hand(store) as connection:
            connection.exec_driver_sql("DELETE FROM heads")
        answers = [client.get(f"/sessions/s{path}") for path in GETS]
        answers += [append(client, "s", more), client.post("/sessions", json={"session_id": "s"})]
        answers += [client.patch("/sessions/s", json={"title": "T"}), client.delete("/sessions/s")]
        assert {problem(answer)[:2] for answer in answers} == {(409, "session-damaged")}
        bodies = {"turns": HELLO, "dispatch": HELLO | {"owner": "r"}, "compact": {}}
        runs = [client.post(f"/sessions/s/{path}", json=body) for path, body in bodies.items()]
        assert {problem(answer)[:2] for answer in runs} == {(409, "session-unrecoverable")}
        rebuild(own_server.log.database, own_server.log.runner)
        assert client.get("/sessions/s/transcript").json() == before
        assert append(client, "s", more).status_code == 201
    store.runner.close()


def test_a_stream_tells_what_is_left(damaged: Damaged) -> None:
    for session_id in DAMAGED["postgresql"]:
        with stream(damaged.client, session_id) as frames:
            told = [frame.json["version"] for frame in until_synced(frames)]
        lost = {int(session_id.rpartition("-")[2])} if "no-event" in session_id else set[int]()
        assert told == sorted({*range(1, VERSIONS + 1)} - lost)


def test_a_damaged_session_goes_on(damaged: Damaged) -> None:
    for session_id in damaged.sessions:
        answer = append(damaged.client, session_id, batch(1, *turn("t9"), producer="later"))
        damaged.noted(session_id, answer)
        # Whether it is the same request again cannot always be told.
        for path, again in (("", {"session_id": session_id}), (f"/{session_id}/events", AGAIN)):
            assert damaged.client.post(f"/sessions{path}", json=again).status_code in KNOWN
        path = f"/sessions/{session_id}"
        damaged.noted(path, damaged.client.patch(path, json={"title": "T", "archived": True}))
        assert messages(damaged, session_id)[-1]["parts"] == [{"type": "text", "text": "Hello."}]
    assert damaged.wrong == []
