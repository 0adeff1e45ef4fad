"""A chat whose sessions are purged, and then its lane, has left no name in the database."""

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import text

from tests.api.batches import Json, problem
from tests.api.chats import eventually
from tests.api.lane_chats import Gateway
from tests.api.serving import Served

MARKS = ("zanzibarine", "quincewood", "-100777", "peregrine")
"""A person's name, a chat's, and the ids of both."""
CHAT: Json = {
    "platform": "telegram",
    "chat_type": "group",
    "chat_id": "-100777",
    "chat_name": "Quincewood",
    "chat_topic": "All of Quincewood",
    "thread_id": "7",
    "user_id": "peregrine",
    "user_name": "Zanzibarine",
}
NO_LANE = (404, "no-such-lane")


@pytest.fixture
def gateway(own_server: Served) -> Iterator[Gateway]:
    """A chat of a server that nobody else uses."""
    with own_server.client("default") as client:
        yield Gateway(client, own_server.harnesses, CHAT)


def everything(server: Served) -> str:
    """Return each value of each table, as words, in lower case.

    But for the pieces of SQLite's search index, which keep removed words until space is reclaimed:
    that they go is tested where sessions are purged.
    """
    kind = "sqlite_master WHERE type = 'table'"
    if server.kind == "postgresql":
        kind = "information_schema.tables WHERE table_schema = 'public'"
    name = "name" if server.kind == "sqlite" else "table_name"
    said: list[str] = []
    with server.log.database.read() as connection:
        tables = connection.execute(text(f"SELECT {name} FROM {kind}")).scalars().all()
        assert {"lanes", "bodies", "idempotency", "checkpoints"} <= set(tables)
        for table in tables:
            if table.startswith("search_index") and server.kind == "sqlite":
                continue
            for row in connection.execute(text(f'SELECT * FROM "{table}"')):
                said += [
                    value.decode(errors="replace") if isinstance(value, bytes) else str(value)
                    for value in row
                ]
    return "\n".join(said).lower()


def left(server: Served) -> list[str]:
    """Return which of the marks are still somewhere."""
    found = everything(server)
    return [mark for mark in MARKS if mark in found]


def ask(client: httpx.Client, path: str, **body: object) -> Json:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    told: Json = answer.json()
    return told


def spoken(gateway: Gateway) -> str:
    """Have a chat say something in two sessions and a third waits; return its lane."""
    client = gateway.client
    lane = gateway.said("Zanzibarine was here", "1", reply_to="0")["lane_id"]
    gateway.said("To Quincewood", "2", run=False)
    source = {**CHAT, "message_id": "3"}
    client.post("/lanes/resolve", json={"source": source, "force_new": True})
    client.post("/lanes/resolve", json={"source": CHAT}, headers={"Idempotency-Key": "mine"})
    ask(client, f"/lanes/{lane}/reset", message_id="4")
    gateway.said("And Zanzibarine again", "5")
    search = {"q": "zanzibarine"}
    eventually(
        lambda: client.get("/search", params=search).json()["items"],
        lambda found: len(found) > 1,
    )
    return str(lane)


def test_after_its_sessions_and_its_lane_nothing_tells_of_a_chat(
    own_server: Served, gateway: Gateway
) -> None:
    client, lane = gateway.client, spoken(gateway)
    assert left(own_server) == list(MARKS)
    sessions = client.get(f"/lanes/{lane}/sessions").json()["items"]
    assert len(sessions) == 3
    purge = f"/lanes/{lane}/purge"
    assert problem(client.post(purge, json={}))[:2] == (409, "lane-has-sessions")
    for each in sessions:
        assert client.delete(f"/sessions/{each['session_id']}").status_code == 204
        ask(client, f"/sessions/{each['session_id']}/purge")
    assert left(own_server) == list(MARKS)

    would = ask(client, purge, dry_run=True)
    done = client.post(purge, json={}, headers={"Idempotency-Key": "gone"})

    assert would["removed"].keys() == {"bodies", "lane_sessions", "idempotency"}
    assert done.json() | {"dry_run": True} == would
    assert left(own_server) == []
    again = client.post(purge, json={}, headers={"Idempotency-Key": "gone"})
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (done.json(), "true")
    assert problem(client.post(purge, json={}))[:2] == NO_LANE


def test_a_purged_lane_tells_that_it_is_and_takes_nothing_until_somebody_comes(
    gateway: Gateway,
) -> None:
    client, first = gateway.client, gateway.resolved()
    lane = f"/lanes/{first['lane_id']}"
    client.delete(f"/sessions/{first['session_id']}")
    ask(client, f"{lane}/purge")

    told = client.get(lane).json()
    assert (told["status"], told["source"], told["lane_key"], told["session"]) == (
        "purged",
        {},
        "",
        None,
    )
    assert (told["description"], told["bound_at"]) == ("", None)
    assert client.get(f"{lane}/sessions").json()["items"] == []
    facts = client.get(f"{lane}/events").json()["items"]
    assert [(each["type"], each["data"]) for each in facts] == [
        ("lane-opened", None),
        ("lane-bound", None),
        ("lane-purged", {"events": 2}),
    ]
    assert facts[-1]["actor"] == facts[0]["actor"]
    for path, body in (
        ("messages", {"text": "Hello"}),
        ("reset", {}),
        ("suspend", {"reason": "stuck"}),
    ):
        assert problem(client.post(f"{lane}/{path}", json=body))[:2] == NO_LANE, path
    assert problem(client.get(f"{lane}/context"))[:2] == NO_LANE
    assert client.get("/lanes").json()["items"] == []
    (listed,) = client.get("/lanes", params={"status": "purged"}).json()["items"]
    assert listed["lane_id"] == first["lane_id"]

    anew = gateway.said("Hello", "1")
    assert (anew["lane_id"], anew["created"], anew["lane_reason"]) == (
        first["lane_id"],
        True,
        "created",
    )
    assert client.get(lane).json()["source"]["chat_name"] == "Quincewood"
