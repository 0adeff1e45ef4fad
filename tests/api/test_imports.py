"""Are files that are sent over HTTP imported once, and told of without what was said?"""

import json
from importlib.resources import files

import httpx
import pytest

from tests.api.recording import TURN, record_turn

SAMPLE = files("infrastructure").joinpath("samples", "claude-code-session.jsonl").read_bytes()
SESSION = "5f0d8a3e-6c1b-4a57-9b0e-2d41c7f8a960"
FILE = {"Content-Type": "application/x-ndjson"}


def send(
    client: httpx.Client, content: bytes, headers: dict[str, str] | None = None, **query: str
) -> httpx.Response:
    return client.post("/imports", content=content, params=query, headers=FILE | (headers or {}))


def record_more(client: httpx.Client, session_id: str) -> None:
    """Have a session go on with a turn of its own."""
    body = {"producer": {"id": "p1", "epoch": 1, "sequence": 1}, "events": TURN}
    assert client.post(f"/sessions/{session_id}/events", json=body).status_code == 201


def test_a_claude_code_file_becomes_a_session_with_a_report(client: httpx.Client) -> None:
    answer = send(client, SAMPLE, source_name="sample.jsonl")

    told = answer.json()
    assert (answer.status_code, told["status"], told["format"]) == (201, "completed", "claude-code")
    assert told["report"]["status"] == "imported"
    assert told["report"]["sessions"] == [SESSION]
    assert (told["report"]["lines"], told["report"]["turns"]) == (20, 3)
    assert [loss["code"] for loss in told["report"]["losses"]] == ["fields-not-carried"]
    assert "parcel of" not in answer.text
    session = client.get(f"/sessions/{SESSION}").json()
    assert session["head"]["version"] == told["report"]["events"]
    assert client.get(answer.headers["location"].split("/", 4)[4]).json() == told


def test_the_same_file_again_adds_nothing(client: httpx.Client) -> None:
    send(client, SAMPLE)

    told = send(client, SAMPLE).json()

    assert (told["report"]["status"], told["report"]["events"]) == ("unchanged", 0)


def test_a_longer_version_of_a_file_adds_what_is_new(client: httpx.Client) -> None:
    lines = SAMPLE.splitlines(keepends=True)
    first = send(client, b"".join(lines[:9])).json()

    second = send(client, SAMPLE).json()

    assert first["report"]["status"] == second["report"]["status"] == "imported"
    version = client.get(f"/sessions/{SESSION}").json()["head"]["version"]
    assert version == first["report"]["events"] + second["report"]["events"]


def test_a_session_that_went_on_is_not_written_over(client: httpx.Client) -> None:
    lines = SAMPLE.splitlines(keepends=True)
    send(client, b"".join(lines[:12]))
    record_more(client, SESSION)

    refused = send(client, SAMPLE)
    skipped = send(client, SAMPLE, on_conflict="skip")
    forked = send(client, SAMPLE, on_conflict="fork")

    assert (refused.status_code, refused.json()["code"]) == (409, "import-conflict")
    assert (skipped.status_code, skipped.json()["report"]["status"]) == (201, "skipped")
    assert forked.json()["report"]["sessions"] == [f"{SESSION}-2"]


def test_an_export_comes_back_only_as_what_it_was(client: httpx.Client) -> None:
    record_turn(client)
    export = client.get("/sessions/s1/export").content

    again = send(client, export).json()
    damaged = send(client, export.replace(b"I did", b"I dud"), format="turnlog")
    cut_off = send(client, export[:-40])

    assert (again["format"], again["report"]["status"], again["report"]["events"]) == (
        "turnlog",
        "unchanged",
        0,
    )
    problem = damaged.json()
    assert (damaged.status_code, problem["code"], problem["line"]) == (422, "bad-export", 4)
    assert "I dud" not in damaged.text
    assert cut_off.json()["code"] == "bad-export"


def test_an_export_of_another_project_is_refused(client: httpx.Client) -> None:
    record_turn(client)
    export = client.get("/sessions/s1/export").content
    project = str(client.base_url).rstrip("/").rpartition("/")[2].encode()

    problem = send(client, export.replace(project, b"another")).json()

    assert (problem["code"], problem["line"], problem["reason"]) == (
        "bad-export",
        1,
        "other-project",
    )


def test_a_key_gets_the_first_answer_again(client: httpx.Client) -> None:
    key = {"Idempotency-Key": "import-1"}

    first = send(client, SAMPLE, key)
    record_more(client, SESSION)
    again = send(client, SAMPLE, key)
    other = send(client, SAMPLE + b"\n", key)

    assert again.json() == first.json()
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")


def test_a_refused_import_leaves_nothing_behind(client: httpx.Client) -> None:
    key = {"Idempotency-Key": "import-2"}

    refused = send(client, b'{"nothing":1}\n', key, format="claude-code")

    assert (refused.status_code, refused.json()["code"]) == (422, "nothing-to-import")
    assert client.get("/sessions").json()["items"] == []
    assert send(client, SAMPLE, key).status_code == 201


@pytest.mark.parametrize(
    ("content", "media", "query", "status", "code"),
    [
        (b"", "application/x-ndjson", {}, 422, "nothing-to-import"),
        (
            b"\xff\xfe",
            "application/octet-stream",
            {"format": "claude-code"},
            422,
            "nothing-to-import",
        ),
        (SAMPLE, "application/json", {}, 415, "unsupported-media-type"),
        (SAMPLE, "text/plain", {}, 415, "unsupported-media-type"),
        (SAMPLE, "application/x-ndjson", {"format": "zip"}, 422, "invalid-value"),
        (SAMPLE, "application/x-ndjson", {"on_conflict": "merge"}, 422, "invalid-value"),
        (SAMPLE, "application/x-ndjson", {"source_name": "a\nb"}, 422, "invalid-value"),
        (SAMPLE, "application/x-ndjson", {"format": "turnlog"}, 422, "bad-export"),
        (b"x" * (64 * 1024 * 1024 + 1), "application/x-ndjson", {}, 413, "body-too-large"),
    ],
)
def test_what_cannot_be_imported_is_refused_by_code(
    client: httpx.Client, content: bytes, media: str, query: dict[str, str], status: int, code: str
) -> None:
    answer = client.post("/imports", content=content, params=query, headers={"Content-Type": media})

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_an_import_of_another_project_is_not_there(client: httpx.Client) -> None:
    told = send(client, SAMPLE).json()
    path = f"/imports/{told['import_id']}"

    elsewhere = client.get(f"{str(client.base_url).rstrip('/').rpartition('/')[0]}/other{path}")

    assert client.get(path).status_code == 200
    for answer in (elsewhere, client.get("/imports/none"), client.get("/imports/%20")):
        assert (answer.status_code, answer.json()["code"]) == (404, "no-such-import")


def test_a_report_is_json_even_of_lines_that_are_not(client: httpx.Client) -> None:
    told = send(client, SAMPLE + b"not json \xff\n").json()

    codes = {loss["code"] for loss in told["report"]["losses"]}
    assert "unreadable-line" in codes
    assert json.dumps(told).isascii()
