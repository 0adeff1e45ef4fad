"""Does the export route give a session away whole, and nothing else?"""

import json
from hashlib import sha256

import httpx

from tests.api.recording import record_turn
from tests.api.serving import Served


def test_an_export_is_a_manifest_every_event_and_an_end(client: httpx.Client) -> None:
    record_turn(client)

    answer = client.get("/sessions/s1/export")

    lines = answer.content.splitlines(keepends=True)
    manifest, *events, end = map(json.loads, lines)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"] == 'attachment; filename="s1.turnlog.jsonl"'
    assert (manifest["format"], manifest["events"]) == ("turnlog-export-1", 4)
    assert [event["version"] for event in events] == [1, 2, 3, 4]
    assert end["sha256"] == sha256(b"".join(lines[:-1])).hexdigest()


def test_a_session_that_is_not_there_has_no_export(client: httpx.Client, server: Served) -> None:
    record_turn(client)

    assert client.get("/sessions/s2/export").json()["code"] == "no-such-session"
    elsewhere = httpx.get(f"{server.url}/v1/projects/other/sessions/s1/export")
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (404, "no-such-session")


def test_a_deleted_session_has_no_export(client: httpx.Client) -> None:
    record_turn(client)
    client.delete("/sessions/s1")

    assert client.get("/sessions/s1/export").status_code == 404


def test_a_long_export_comes_in_pieces_and_whole(client: httpx.Client) -> None:
    client.post("/sessions", json={"session_id": "long"})
    for number in range(4):
        events = [{"type": "data-recorded", "data": {"kind": "n", "data": "x" * 900}}] * 200
        body = {
            "producer": {"id": "p1", "epoch": 1, "sequence": number + 1},
            "events": events,
        }
        assert client.post("/sessions/long/events", json=body).status_code == 201

    lines = client.get("/sessions/long/export").content.splitlines()

    assert len(lines) == 803
    assert json.loads(lines[-1])["events"] == 801
