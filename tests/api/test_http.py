"""Methods, headers and framing: what HTTP asks of a server."""

import socket

import httpx
import pytest

from tests.api.batches import append, batch, problem, turn
from tests.api.serving import ON_ONE_DATABASE, PATIENCE_S, Served


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/sessions", {"GET", "POST", "DELETE"}),
        ("PATCH", "/sessions", {"GET", "POST", "DELETE"}),
        ("POST", "/sessions/s", {"GET", "PATCH", "DELETE"}),
        ("PUT", "/sessions/s/events", {"GET", "POST"}),
        ("DELETE", "/sessions/s/events/1", {"GET"}),
        ("GET", "/sessions/s/restore", {"POST"}),
        ("GET", "/producers/p/epochs", {"POST"}),
        ("OPTIONS", "/sessions/s/events/1", {"GET"}),
        ("BREW", "/sessions/s/events/1", {"GET"}),
    ],
)
def test_a_method_that_a_resource_does_not_have_is_told_with_those_it_has(
    client: httpx.Client, method: str, path: str, allowed: set[str]
) -> None:
    answer = client.request(method, path)

    assert problem(answer) == (405, "method-not-allowed", [])
    with_head = allowed | {"HEAD"} if "GET" in allowed else allowed
    assert set(answer.headers["allow"].split(", ")) == with_head


@ON_ONE_DATABASE
def test_head_is_get_without_the_body(client: httpx.Client, browser: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))

    for path in ("/sessions", "/sessions/s", "/sessions/s/events", "/sessions/s/events/2"):
        head, get = client.head(path), client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert {**head.headers, "date": ""} == {**get.headers, "date": ""}
    assert client.head("/sessions/none").status_code == 404
    assert client.head("/sessions/s/restore").status_code == 405
    assert browser.head("/healthz").status_code == 200


@ON_ONE_DATABASE
def test_head_of_a_stream_ends_with_its_headers(client: httpx.Client) -> None:
    append(client, "s", batch(1, *turn("t1")))

    answer = client.head("/sessions/s/events/stream")

    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.content == b""
    assert client.get("/sessions/s").status_code == 200


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    "tag", ["7", '"7', 'W/"7"', '"1", "2"', '""', '"01"', '"-1"', '"x"', "*,*"]
)
def test_an_if_match_that_names_no_version_is_refused(client: httpx.Client, tag: str) -> None:
    client.post("/sessions", json={"session_id": "s"})
    headers = {"If-Match": tag}
    answers = [
        client.patch("/sessions/s", json={"title": "x"}, headers=headers),
        client.delete("/sessions/s", headers=headers),
        append(client, "s", batch(1, *turn("t1")), headers),
    ]

    for answer in answers:
        assert problem(answer) == (400, "invalid-header", [])
    assert client.get("/sessions/s").headers["etag"] == '"1"'


@ON_ONE_DATABASE
@pytest.mark.parametrize("tag", ["junk", '"', ",,,", "W/", '"99999999999999999999"', "\u00ff"])
def test_an_if_none_match_that_means_nothing_matches_nothing(
    client: httpx.Client, tag: str
) -> None:
    client.post("/sessions", json={"session_id": "s"})
    headers = [(b"If-None-Match", tag.encode())]

    assert client.get("/sessions/s", headers=headers).status_code == 200


@ON_ONE_DATABASE
@pytest.mark.parametrize("trace", ["", "junk", "00-xyz", "\u00ff", "0" * 5_000])
def test_a_trace_context_that_means_nothing_is_left_out(client: httpx.Client, trace: str) -> None:
    headers = [(b"traceparent", trace.encode()), (b"content-type", b"application/json")]

    answer = client.post("/sessions", content=b'{"session_id":"s"}', headers=headers)

    assert answer.status_code == 201
    assert "trace_id" not in client.get("/sessions/s/events/1").json()


def raw(server: Served, request: bytes) -> bytes:
    """Send bytes, and return everything that comes until the server hangs up."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    return answer


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    "request_",
    [
        b"NOT HTTP AT ALL\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: \0\r\n\r\n",
        b"POST /v1/projects/p/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/projects/p/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 2\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 80_000,
        b"GET /" + b"y" * 80_000,
        b"GET /caf\xc3\xa9\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
    ],
)
def test_what_is_no_http_is_told_as_a_problem(server: Served, request_: bytes) -> None:
    answer = raw(server, request_ + b"\r\n")

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 "), answer
    assert b"content-type: application/problem+json" in head.lower()
    assert b'"code":"malformed-request"' in body


@ON_ONE_DATABASE
def test_a_large_header_within_64_kib_is_read(client: httpx.Client) -> None:
    answer = client.get("/sessions", headers={"X-Large": "y" * 40_000})

    assert answer.status_code == 200


@ON_ONE_DATABASE
def test_a_body_in_chunks_is_read_whole(client: httpx.Client) -> None:
    def pieces() -> list[bytes]:
        return [b'{"session', b'_id":', b'"s"}']

    headers = {"content-type": "application/json"}
    answer = client.post("/sessions", content=iter(pieces()), headers=headers)

    assert (answer.status_code, answer.json()["session_id"]) == (201, "s")


def test_a_request_that_is_cut_writes_nothing_and_disturbs_nobody(
    client: httpx.Client, server: Served, project: str, caplog: pytest.LogCaptureFixture
) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    path = f"/v1/projects/{project}/sessions"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    for _ in range(3):
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
            connection.sendall(f'{head}Content-Length: 500\r\n\r\n{{"title":"cut'.encode())
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        body = '{"session_id":"whole"}'
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())

    assert client.post("/sessions", json={"session_id": "whole"}).status_code in {200, 201}
    assert [item["session_id"] for item in client.get("/sessions").json()["items"]] == ["whole"]
    assert caplog.records == []


def test_a_server_that_stops_takes_no_new_work(own_server: Served, project: str) -> None:
    with own_server.client(project) as client, own_server.browser() as browser:
        own_server.log.stop()

        refused = client.post("/sessions", json={})
        ready = browser.get("/readyz")

    assert problem(refused) == (503, "shutting-down", [])
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["retry_after_s"] == 1
    assert (ready.status_code, ready.json()) == (503, {"status": "stopping"})
