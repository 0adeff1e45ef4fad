"""The description of the interface: complete, valid, and true."""

from collections.abc import Iterator
from typing import cast

import httpx
import jsonschema_rs
import pytest

from tests.api.batches import Json, append, batch, completed, event, said, started, turn
from tests.api.chats import ASYNC, chat_at, eventually, opened
from tests.api.serving import Served

_SESSION = "/sessions/{session_id}"
METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture
def described(sqlite_server: Served) -> Json:
    with sqlite_server.browser() as browser:
        answer = browser.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    document: Json = answer.json()
    return document


def operations(described: Json) -> Iterator[tuple[str, str, Json]]:
    for path, item in described["paths"].items():
        assert item.keys() <= METHODS
        for method, operation in item.items():
            yield method, path, operation


def walk(value: object) -> Iterator[Json]:
    if isinstance(value, dict):
        members = cast("Json", value)
        yield members
        for item in members.values():
            yield from walk(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from walk(item)


def validator(described: Json, schema: Json) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({**schema, "components": described["components"]})


def test_every_reference_leads_to_a_schema_and_every_schema_is_valid(described: Json) -> None:
    schemas = described["components"]["schemas"]
    references = {node["$ref"] for node in walk(described) if isinstance(node.get("$ref"), str)}

    assert references <= {f"#/components/schemas/{name}" for name in schemas}
    assert not any("$defs" in node for node in walk(described))
    for name, schema in schemas.items():
        assert jsonschema_rs.meta.is_valid(schema), name
        validator(described, {"$ref": f"#/components/schemas/{name}"})


def test_every_operation_has_a_name_words_and_its_problems(described: Json) -> None:
    names: list[str] = []
    for method, path, operation in operations(described):
        names.append(operation["operationId"])
        assert operation["description"], (method, path)
        problem = operation["responses"]["default"]["content"]
        assert problem.keys() == {"application/problem+json"}, (method, path)
        assert "422" not in operation["responses"], (method, path)
        for parameter in operation.get("parameters", []):
            plain = parameter["in"] == "path" or parameter["name"] in {"order", "status"}
            assert plain or parameter["description"], (path, parameter["name"])
    assert len(set(names)) == len(names)


def test_every_event_type_that_producers_append_is_described(described: Json) -> None:
    variants = described["components"]["schemas"]["EventBody"]["oneOf"]
    types = [variant["properties"]["type"]["const"] for variant in variants]

    assert len(types) == 18
    body = validator(described, {"$ref": "#/components/schemas/AppendBody"})
    who = {"id": "r", "epoch": 1, "sequence": 1}
    good = {"type": "turn-completed", "data": {"turn_id": "t"}}
    assert body.is_valid({"producer": who, "events": [good]})
    for bad in ({**good, "type": "nope"}, {**good, "data": {}}, {**good, "data": {"kind": "k"}}):
        assert not body.is_valid({"producer": who, "events": [bad]})


def test_examples_are_valid_and_taken(server: Served, described: Json) -> None:
    """Each is sent as it is shown, in the order in which the document shows them."""
    sent: list[str] = []
    with server.client("examples") as client:
        for method, path, operation in operations(described):
            for media, content in operation.get("requestBody", {}).get("content", {}).items():
                if "example" not in content:
                    continue
                assert validator(described, content["schema"]).is_valid(content["example"]), path
                answer = _send(client, method, path, media, content["example"])
                assert answer.is_success, (path, answer.text)
                sent.append(path)
    assert len(sent) >= 4


def _send(
    client: httpx.Client, method: str, path: str, media: str, example: object
) -> httpx.Response:
    relative = path.removeprefix("/v1/projects/{project_id}")
    known = {"session_id": "chat-1", "producer_id": "runner-1", "platform": "telegram"}
    if "{gate_id}" in relative:
        known |= _gate(client)
    if "{lane_id}" in relative:
        known["lane_id"] = _lane(client, relative)
    if relative.endswith("/accept"):
        known["session_id"] = "lossy"
        lost = event("records-lost", count=None, reason="unknown")
        append(client, "lossy", batch(1, lost, *turn("t"), producer="losing"))
    if relative.endswith("/purge"):
        known["session_id"] = "deleted"
        client.post("/sessions", json={"session_id": "deleted"})
        client.delete("/sessions/deleted")
        if "lane_id" in known:
            lane: Json = client.get(f"/lanes/{known['lane_id']}").json()
            client.delete(f"/sessions/{lane['session_id']}")
    url = relative.format(**known)
    return client.request(method, url, json=example, headers={"content-type": media})


def _gate(client: httpx.Client) -> dict[str, str]:
    """Have a runner ask something in a session of its own; the hosted turn has ended."""
    count = len(client.get("/approvals", params={"status": "all"}).json()["items"])
    session_id, producer = f"gated-{count}", f"asking-{count}"
    asked = event("gate-opened", turn_id="t", kind="permission", permission_id="p")
    append(client, session_id, batch(1, started("t"), asked, producer=producer))
    [gate] = client.get(f"/sessions/{session_id}/approvals").json()["items"]
    return {"session_id": session_id, "gate_id": gate["gate_id"]}


def _lane(client: httpx.Client, chat_id: str) -> str:
    """Have a conversation at a place of its own; return its lane."""
    source = {"platform": "telegram", "chat_id": chat_id, "user_id": chat_id}
    lane: Json = client.post("/lanes/resolve", json={"source": source}).json()
    append(client, lane["session_id"], batch(1, *turn("t"), producer=lane["lane_id"]))
    client.patch(f"/sessions/{lane['session_id']}", json={"title": "The garden"})
    lane_id: str = lane["lane_id"]
    return lane_id


def test_what_came_before_to_a_session_that_is_gone_is_what_the_document_says(
    client: httpx.Client, described: Json
) -> None:
    source = {"platform": "telegram", "chat_id": "gone"}
    first = client.post("/lanes/messages", json={"source": source, "text": "Hello"}).json()
    lane = f"/lanes/{first['lane_id']}"
    begin = {"turn_id": "t", "producer": {"id": "gone", "epoch": 1, "sequence": 1}, "lease_s": 60}
    runner = {"source": source, "text": "c", "message_id": 3, "owner": "r", "begin": begin}
    asked: list[tuple[str, Json]] = [
        (f"{lane}/queue", {"text": "a", "message_id": 1}),
        (f"{lane}/retry", {"message_id": 2}),
        ("/lanes/dispatch", runner),
    ]
    for path, body in asked:
        assert client.post(path, json=body).is_success
    client.post(f"{lane}/stop", json={})
    client.delete(f"/sessions/{first['session_id']}")

    for path, body in asked:
        answer = client.post(path, json=body)
        assert (answer.status_code, answer.json()["status"]) == (200, "gone")
        of = f"/v1/projects/{{project_id}}{path.replace(first['lane_id'], '{lane_id}')}"
        told = described["paths"][of]["post"]["responses"]["200"]["content"]["application/json"]
        assert validator(described, told["schema"]).is_valid(answer.json()), path


def test_problems_are_what_the_document_says(client: httpx.Client, described: Json) -> None:
    problem = validator(described, {"$ref": "#/components/schemas/Problem"})
    answers = [
        client.get("/nowhere"),
        client.put("/sessions"),
        client.get("/sessions/none"),
        client.get("/sessions", params={"limit": 0}),
        client.post("/sessions", json={"x": 1}),
        client.post("/sessions", content=b"{"),
    ]

    for answer in answers:
        assert problem.is_valid(answer.json()), answer.text


def test_every_success_says_what_it_is(described: Json) -> None:
    for method, path, operation in operations(described):
        successes = [each for code, each in operation["responses"].items() if code[0] == "2"]
        assert successes, (method, path)
        for answer in successes:
            assert answer["description"] != "Successful Response", (method, path)


def test_answers_are_what_the_document_says(client: httpx.Client, described: Json) -> None:
    append(client, "s1", batch(1, *turn("t1")))
    held: Json = {"messages": [{"role": "user", "content": "Hello?"}]}
    more = batch(2, started("t2"), said("t2", "Hm."), completed("t2"))
    edited = batch(3, *turn("t3"), rewind={"turns": 1})
    summed_up: Json = {"summary": "They said hello.", "through_message_id": "t1:2"}
    asked: list[tuple[str, str, str, Json | None]] = [
        ("post", "/sessions", "/sessions", {"session_id": "s2"}),
        ("get", "/sessions", "/sessions", None),
        ("get", _SESSION, "/sessions/s1", None),
        ("patch", _SESSION, "/sessions/s1", {"title": "t"}),
        ("post", f"{_SESSION}/events", "/sessions/s1/events", more),
        ("get", f"{_SESSION}/events", "/sessions/s1/events", None),
        ("get", f"{_SESSION}/events/{{version}}", "/sessions/s1/events/2", None),
        ("get", f"{_SESSION}/transcript", "/sessions/s1/transcript", None),
        ("get", f"{_SESSION}/transcript", "/sessions/s1/transcript?format=ui", None),
        ("get", f"{_SESSION}/readiness", "/sessions/s1/readiness", None),
        ("get", f"{_SESSION}/state", "/sessions/s1/state", None),
        ("get", f"{_SESSION}/state", "/sessions/s1/state?at=2", None),
        ("get", f"{_SESSION}/diff", "/sessions/s1/diff?from=2", None),
        ("get", f"{_SESSION}/diff", "/sessions/s1/diff?from=4&to=3", None),
        ("post", f"{_SESSION}/compare", "/sessions/s1/compare", held),
        ("get", f"{_SESSION}/usage", "/sessions/s1/usage", None),
        ("get", "/usage", "/usage", None),
        ("get", "/errors", "/errors", None),
        ("get", "/search", "/search?q=x", None),
        ("get", f"{_SESSION}/audit", "/sessions/s1/audit", None),
        ("get", f"{_SESSION}/lineage", "/sessions/s1/lineage", None),
        ("get", f"{_SESSION}/subagents", "/sessions/s1/subagents", None),
        ("post", f"{_SESSION}/rewind", "/sessions/s1/rewind", {"turns": 1, "dry_run": True}),
        ("post", f"{_SESSION}/rewind", "/sessions/s1/rewind", {"turns": 1}),
        ("post", f"{_SESSION}/redo", "/sessions/s1/redo", {"dry_run": True}),
        ("post", f"{_SESSION}/redo", "/sessions/s1/redo", {}),
        ("post", f"{_SESSION}/events", "/sessions/s1/events", edited),
        ("post", f"{_SESSION}/compact", "/sessions/s1/compact", summed_up),
    ]

    for method, path, url, body in asked:
        answer = client.request(method, url, json=body)
        operation = described["paths"][f"/v1/projects/{{project_id}}{path}"][method]
        success = operation["responses"][str(answer.status_code)]["content"]["application/json"]
        assert success["schema"], path
        wrong = validator(described, success["schema"]).iter_errors(answer.json())
        assert not [error.message for error in wrong], (method, path)


def test_what_a_server_does_by_itself_is_what_the_document_says(
    server: Served, client: httpx.Client, described: Json
) -> None:
    chat = opened(chat_at(server, client, "by-itself"))
    chat.begun("tool: wait {}")
    assert chat.say("Hello", ASYNC, on_busy="queue").status_code == 202
    client.post(f"{chat.path}/interrupt", json={})

    [begun] = eventually(lambda: chat.events("input-dequeued"), bool)

    assert "actor" not in begun
    event_schema = validator(described, {"$ref": "#/components/schemas/Event"})
    wrong = [error.message for each in chat.events() for error in event_schema.iter_errors(each)]
    assert not wrong


def test_the_documentation_page_is_there(server: Served) -> None:
    with server.browser() as browser:
        assert browser.get("/docs").headers["content-type"] == "text/html; charset=utf-8"
