"""Long lists, long sessions and long texts come whole, page by page."""

import httpx

from domain.commands import BeginBatch, OpenSession, Record, SessionCommand
from infrastructure.runner import Attempt
from tests.api.batches import (
    Json,
    append,
    batch,
    completed,
    event,
    events_of,
    problem,
    said,
    started,
)
from tests.api.serving import Served
from tests.api.waiting import caught_up
from tests.databases import DatabaseKind
from tests.infrastructure.writing import NOBODY, Store, note, target

SESSIONS: dict[DatabaseKind, int] = {"sqlite": 5_000, "postgresql": 1_000}
FIRST_PAGE_S = 0.05
EVENTS: dict[DatabaseKind, int] = {"sqlite": 5_000, "postgresql": 2_000}
PARTIALS = 256
BOOK = "It was the best of times, it was the worst of times, " * 10_000  # 530 KB


def pages(client: httpx.Client, path: str, **query: str | int) -> list[Json]:
    """Return the items of all pages."""
    found: list[Json] = []
    cursor: str | None = None
    while True:
        at = {} if cursor is None else {"cursor": cursor}
        answer = client.get(path, params={"limit": 200, **query, **at})
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return found


def test_thousands_of_sessions_are_listed_whole_and_at_once(own_server: Served) -> None:
    store = Store(own_server.log.database)
    names = [f"s{number}" for number in range(SESSIONS[own_server.kind])]
    steps: list[SessionCommand] = [
        BeginBatch(open=OpenSession(), events=1),
        Record(proposal=note(b"1")),
    ]
    with store.transaction() as commit:
        for name in names:
            store.handler.carry_out(
                Attempt(commit, patient=False), target(name), steps, caller=NOBODY
            )
    store.runner.close()
    with own_server.client("default") as client:
        newest = [each["session_id"] for each in pages(client, "/sessions")]
        oldest = [each["session_id"] for each in pages(client, "/sessions", order="asc", limit=77)]
        found = client.get("/sessions/s999").json()["head"]["version"]
        took = [client.get("/sessions").elapsed.total_seconds() for _ in range(20)]
    assert min(took) < FIRST_PAGE_S
    assert newest == names[::-1]
    assert oldest == names
    assert found == 2


def test_thousands_of_events_come_whole_in_either_order(
    client: httpx.Client, database_kind: DatabaseKind
) -> None:
    count = EVENTS[database_kind]
    notes = [event("data-recorded", kind="k", data=number) for number in range(count)]
    for number in range(0, count, 1_000):
        body = batch(number // 1_000 + 1, *notes[number : number + 1_000])
        assert append(client, "s", body).status_code == 201

    found = events_of(client, "s")
    assert [each["version"] for each in found] == list(range(1, count + 2))
    assert [each["data"]["data"] for each in found[1:]] == list(range(count))
    backwards = pages(client, "/sessions/s/events", order="desc")
    assert backwards == found[::-1]
    audit = pages(client, "/sessions/s/audit")
    assert [each["version"] for each in audit] == list(range(1, count + 2))


def test_a_session_that_begins_with_a_book_is_listed_and_read(
    own_server: Served,
) -> None:
    with own_server.client("default") as client:
        append(client, "s", batch(1, started("t1", BOOK), said("t1", "Long."), completed("t1")))
        [listed] = client.get("/sessions").json()["items"]
        assert listed["session_id"] == "s"
        shown = client.get("/sessions/s/transcript").json()["items"][0]["parts"]
        assert [part["type"] for part in shown] == ["text"]
        assert len(client.get("/sessions").content) < 2_000
        caught_up(own_server)
        found = client.get("/search", params={"q": "worst of times"}).json()["items"]
        assert [each["session_id"] for each in found] == ["s"]


def test_an_answer_of_many_partial_messages_is_completed_and_stays_one_message(
    client: httpx.Client,
) -> None:
    def partial(number: int) -> Json:
        return said("t1", "x" * number, message_id="m", status="partial")

    append(client, "s", batch(1, started("t1")))
    for number in range(4):
        flushes = [partial(number * 64 + n + 1) for n in range(64)]
        assert append(client, "s", batch(number + 2, *flushes)).status_code == 201
    refused = append(client, "s", batch(6, partial(PARTIALS + 1)))
    assert problem(refused) == (
        409,
        "message-closed",
        ["/events/0/data/message/message_id"],
    )
    whole = said("t1", "x" * 300, message_id="m")
    assert append(client, "s", batch(6, whole, completed("t1"))).status_code == 201
    [_, answer] = client.get("/sessions/s/transcript").json()["items"]
    assert answer["parts"] == [{"type": "text", "text": "x" * 300}]
    assert "status" not in answer
    past = client.get("/sessions/s/transcript", params={"at": 102}).json()["items"][1]
    assert (past["parts"], past["status"]) == ([{"type": "text", "text": "x" * 100}], "partial")
