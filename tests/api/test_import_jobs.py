"""A large import runs beside the requests, tells how far it has come, and goes on after an end."""

import json
from time import monotonic
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from tests.api.serving import PATIENCE_S, Served, served
from tests.databases import DatabaseKind, Databases

ROWS = "application/x-ndjson"
ASYNC = {"Content-Type": ROWS, "Prefer": "respond-async, wait=5"}


def rows(sessions: int, messages: int) -> bytes:
    lines = [
        json.dumps(
            {
                "session_id": f"s{session}",
                "external_id": f"m{message}",
                "role": ("user", "assistant")[message % 2],
                "content": f"secret {message}",
            }
        )
        for message in range(messages)
        for session in range(sessions)
    ]
    return "\n".join(lines).encode()


def ended(client: httpx.Client, location: str) -> Any:  # noqa: ANN401
    path = location.split("/", 4)[4]
    deadline = monotonic() + PATIENCE_S
    while (told := client.get(path).json())["status"] == "running":
        assert monotonic() < deadline, told
        client.get("/sessions")
    return told


def test_a_client_that_does_not_want_to_wait_is_told_where_to_look(client: httpx.Client) -> None:
    answer = client.post("/imports", content=rows(3, 4), headers=ASYNC)

    assert (answer.status_code, answer.json()["status"]) == (202, "running")
    assert answer.headers["preference-applied"] == "respond-async"
    told = ended(client, answer.headers["location"])
    assert (told["status"], told["format"], told["report"]["status"]) == (
        "completed",
        "rows",
        "imported",
    )
    assert told["progress"] == {"files": 1, "lines": 12, "events": told["report"]["events"]}
    assert (told["report"]["turns"], told["report"]["messages"]) == (6, 12)
    assert told["finished_at"] is not None
    assert "secret" not in json.dumps(told)
    assert len(client.get("/sessions").json()["items"]) == 3


def test_a_large_file_is_a_job_by_itself_and_the_same_file_again_adds_nothing(
    client: httpx.Client,
) -> None:
    line = rows(1, 1)
    padding = b" " * (4 * 1024 * 1024)
    first = client.post("/imports", content=line + padding, headers={"Content-Type": ROWS})
    assert first.status_code == 202
    assert ended(client, first.headers["location"])["report"]["status"] == "imported"

    again = client.post("/imports", content=line, headers={"Content-Type": ROWS})

    assert (again.status_code, again.json()["report"]["status"]) == (201, "unchanged")


def test_one_bad_line_stops_no_import(client: httpx.Client) -> None:
    lines = rows(2, 20).split(b"\n")
    lines.insert(7, b'{"session_id":')
    answer = client.post("/imports", content=b"\n".join(lines), headers=ASYNC)

    told = ended(client, answer.headers["location"])

    assert told["report"]["losses"] == [{"line": 8, "code": "unreadable-line", "detail": "syntax"}]
    assert told["report"]["messages"] == 40


def test_a_job_that_fails_says_why(client: httpx.Client) -> None:
    answer = client.post(
        "/imports", params={"on_conflict": "fork"}, content=rows(1, 2), headers=ASYNC
    )

    told = ended(client, answer.headers["location"])

    assert (told["status"], told["report"]["problem"]["code"]) == ("failed", "import-conflict")


def test_a_key_starts_one_job(client: httpx.Client) -> None:
    headers = ASYNC | {"Idempotency-Key": "job-1"}
    first = client.post("/imports", content=rows(2, 2), headers=headers)
    again = client.post("/imports", content=rows(2, 2), headers=headers)

    assert again.json()["import_id"] == first.json()["import_id"]
    assert again.headers["idempotent-replayed"] == "true"
    ended(client, first.headers["location"])


def test_a_job_that_is_not_heard_of_was_interrupted_and_goes_on_when_sent_again(
    own_server: Served,
) -> None:
    headers = ASYNC | {"Idempotency-Key": "job-2"}
    with own_server.client("p") as client:
        first = client.post("/imports", content=rows(2, 2), headers=headers)
        ended(client, first.headers["location"])
        forget(own_server)
        path = first.headers["location"].split("/", 4)[4]
        assert client.get(path).json()["status"] == "interrupted"

        again = client.post("/imports", content=rows(2, 4), headers=headers)
        assert again.status_code == 422  # another file under the same key
        again = client.post("/imports", content=rows(2, 2), headers=headers)

        assert again.status_code == 202
        assert again.json()["import_id"] == first.json()["import_id"]
        assert ended(client, again.headers["location"])["report"]["status"] == "unchanged"


def test_a_server_that_stops_leaves_a_job_that_goes_on_when_sent_again(
    databases: Databases, database_kind: DatabaseKind
) -> None:
    url = databases.ready()
    content = rows(20, 120)
    with served(database_kind, url) as server, server.client("p") as client:
        first = client.post("/imports", content=content, headers=ASYNC)
    path = first.headers["location"].split("/", 4)[4]

    with served(database_kind, url) as server, server.client("p") as client:
        stopped = client.get(path).json()
        again = client.post("/imports", content=content, headers=ASYNC)
        told = ended(client, again.headers["location"])
        counted = [
            client.get(f"/sessions/s{session}/turns", params={"limit": 200}).json()["items"]
            for session in (0, 19)
        ]
        ready = client.get("/sessions/s0/readiness").json()["ready"]
    databases.drop(url)

    assert stopped["status"] == "interrupted"
    assert (told["status"], told["report"]["losses"]) == ("completed", [])
    assert [len(turns) for turns in counted] == [60, 60]
    assert ready


def forget(server: Served) -> None:
    """Have it look as if the process of every import had died long ago."""
    engine = create_engine(server.database_url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("UPDATE imports SET status = 'running', seen_at = 0"))


@pytest.mark.parametrize("kind", ["text/csv", "application/octet-stream"])
def test_a_table_may_be_sent_as_csv(client: httpx.Client, kind: str) -> None:
    table = b"session_id,external_id,role,content,occurred_at\ns,1,user,hi,\n"
    answer = client.post("/imports", content=table, headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["format"]) == (201, "rows")


def test_a_stream_of_chunks_is_refused_with_what_to_send(client: httpx.Client) -> None:
    chunks = b'{"type":"start"}\n{"type":"text-delta","id":"t","delta":"secret"}\n'
    answer = client.post("/imports", content=chunks, headers={"Content-Type": ROWS})
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown-format")
    assert "messages" in answer.json()["detail"]
    assert "secret" not in answer.text
