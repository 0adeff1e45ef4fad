r"""Bodies that are no JSON that can be kept: one answer each, the same on both databases."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.api.batches import Problem, append, batch, problem, turn
from tests.api.serving import ON_ONE_DATABASE

DEEP = b"[" * 3_000 + b"]" * 3_000
JSON = {"content-type": "application/json"}

# The body of a value's place in a batch, what is sent there, the reason, and the pointer below it.
UNKEEPABLE: list[tuple[bytes, str, str]] = [
    (rb'"\ud99c"', "lone-surrogate", ""),
    (rb'"\udc00 a"', "lone-surrogate", ""),
    (rb'{"a":["x","\ud83d"]}', "lone-surrogate", "/a/1"),
    (rb'{"\ud99c":1}', "lone-surrogate", "/�"),
    (b"NaN", "not-a-number", ""),
    (b'{"v":NaN}', "not-a-number", "/v"),
    (b"Infinity", "not-a-number", ""),
    (b"[0,-Infinity]", "not-a-number", "/1"),
    (b"1e999", "number-out-of-range", ""),
    (b"[-1e999]", "number-out-of-range", "/0"),
    (b"7" * 5_000, "number-out-of-range", ""),
    (b'{"a":1,"b":2,"a":3}', "duplicate-key", "/a"),
    (rb'{"a":1,"\u0061":3}', "duplicate-key", "/a"),
    (DEEP, "too-deep", "/0" * 96),
    (b'{"a":' * 3_000 + b"1" + b"}" * 3_000, "too-deep", "/a" * 96),
    (b'"tab\there"', "syntax", ""),
    (b'"nul\x00here"', "syntax", ""),
    (b'"line\nhere"', "syntax", ""),
    (b"+1", "syntax", ""),
    (b"'a'", "syntax", ""),
    (b"[1,]", "syntax", "/1"),
    (b'{"a":1,}', "syntax", ""),
    (b"undefined", "syntax", ""),
    (rb'"\x41"', "syntax", ""),
    (rb'"\u12"', "syntax", ""),
]
BODIES: list[tuple[bytes, str]] = [
    (b"\xef\xbb\xbf{}", "byte-order-mark"),
    (b'{"a":"\xff"}', "invalid-utf8"),
    (b'{"a":"\xed\xa0\x80"}', "invalid-utf8"),
    (b'{"a":"\xc0\xaf"}', "invalid-utf8"),
    ('{"a":1}'.encode("utf-16"), "invalid-utf8"),
    (b"{", "syntax"),
    (b'{"a":1} x', "syntax"),
    (b"{}{}", "syntax"),
    (b"a=1&b=2", "syntax"),
    (b"\x00", "syntax"),
    (b"[" * 100_000, "too-deep"),
]


def send(client: httpx.Client, body: bytes, path: str = "/sessions") -> httpx.Response:
    return client.post(path, content=body, headers=JSON)


@pytest.mark.parametrize(("value", "reason", "pointer"), UNKEEPABLE)
def test_a_value_that_cannot_be_kept_refuses_its_batch_with_its_place(
    client: httpx.Client, value: bytes, reason: str, pointer: str
) -> None:
    body = (
        b'{"producer":{"id":"r","epoch":1,"sequence":1},"open":{},'
        b'"events":[{"type":"data-recorded","data":{"kind":"k","data":' + value + b"}}]}"
    )

    answer = send(client, body, "/sessions/s/events")

    place = "/events/0/data/data" + pointer
    assert problem(answer) == (422, "malformed-json", [place])
    assert answer.json()["reason"] == reason
    assert client.get("/sessions/s").status_code == 404


@pytest.mark.parametrize(("value", "reason", "pointer"), UNKEEPABLE[:12])
@pytest.mark.parametrize("name", ["title", "config", "source"])
def test_a_session_is_not_opened_nor_changed_with_what_cannot_be_kept(
    client: httpx.Client, name: str, value: bytes, reason: str, pointer: str
) -> None:
    send(client, b'{"session_id":"s"}')
    body = f'{{"{name}":'.encode() + value + b"}"

    opened = send(client, body)
    changed = client.patch("/sessions/s", content=body, headers=JSON)

    for answer in (opened, changed):
        assert problem(answer) == (422, "malformed-json", [f"/{name}{pointer}"])
        assert answer.json()["reason"] == reason
    assert len(client.get("/sessions").json()["items"]) == 1
    assert client.get("/sessions/s").headers["etag"] == '"1"'


WRITES: list[Callable[[httpx.Client, bytes], httpx.Response]] = [
    lambda client, body: send(client, body, "/sessions"),
    lambda client, body: client.patch("/sessions/s", content=body, headers=JSON),
    lambda client, body: send(client, body, "/sessions/s/restore"),
    lambda client, body: send(client, body, "/sessions/s/events"),
    lambda client, body: send(client, body, "/producers/r/epochs"),
]


@ON_ONE_DATABASE
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(("body", "reason"), BODIES)
def test_a_body_that_is_no_json_text_is_told_on_every_route_that_writes(
    client: httpx.Client,
    write: Callable[[httpx.Client, bytes], httpx.Response],
    body: bytes,
    reason: str,
) -> None:
    answer = write(client, body)

    status, code, _ = problem(answer)
    assert (status, code, answer.json()["reason"]) == (422, "malformed-json", reason)


@ON_ONE_DATABASE
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("body", [b"[]", b'"text"', b"7", b"null", b"true", b" [{}] "])
def test_a_body_that_is_no_object_is_told_on_every_route_that_writes(
    client: httpx.Client, write: Callable[[httpx.Client, bytes], httpx.Response], body: bytes
) -> None:
    assert problem(write(client, body)) == (422, "invalid-value", [""])


@ON_ONE_DATABASE
def test_an_empty_body_is_an_empty_object(client: httpx.Client) -> None:
    required: Problem = (422, "invalid-value", ["/producer", "/events"])

    for body in (b"", b" \r\n\t"):
        assert problem(send(client, body, "/sessions/s/events")) == required
        assert send(client, body).status_code == 201
        assert client.post("/producers/r/epochs", content=body).status_code == 201


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    "declared",
    [
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "json",
        "",
        None,
    ],
)
def test_a_body_that_is_not_declared_as_json_is_refused(
    client: httpx.Client, declared: str | None
) -> None:
    headers = {} if declared is None else {"content-type": declared}

    answer = client.post("/sessions", content=b"{}", headers=headers)

    assert problem(answer) == (415, "unsupported-media-type", [])


@ON_ONE_DATABASE
@pytest.mark.parametrize(
    "declared",
    ["application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"],
)
def test_a_body_may_be_declared_as_any_json(client: httpx.Client, declared: str) -> None:
    answer = client.post("/sessions", content=b"{}", headers={"content-type": declared})

    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("place", "pointer"),
    [
        ({"turn_id": "a\0b"}, "/events/0/data/turn_id"),
        ({"turn_id": "t", "tool_call_id": "a\0b"}, "/events/1/data/tool_call_id"),
        ({"turn_id": "t", "name": "a\0b"}, "/events/1/data/name"),
        ({"turn_id": "t", "message_id": "a\0b"}, "/events/0/data/messages/0/message_id"),
        ({"turn_id": "t", "subject_id": "a\0b"}, "/events/0/data/messages/0/author/subject_id"),
        ({"turn_id": "t", "name": "line\nbreak"}, "/events/1/data/name"),
        ({"turn_id": "t", "name": "\x1b[31mred"}, "/events/1/data/name"),
        ({"turn_id": "t", "name": "x" * 257}, "/events/1/data/name"),
        ({"turn_id": "t", "name": ""}, "/events/1/data/name"),
    ],
)
def test_nul_and_other_controls_are_refused_in_what_names_things(
    client: httpx.Client, place: dict[str, str], pointer: str
) -> None:
    turn_id = place["turn_id"]
    message = {
        "role": "user",
        "content": "a\0b is fine here",
        "message_id": place.get("message_id", "m"),
        "author": {"subject_id": place.get("subject_id", "s")},
    }
    call = {
        "turn_id": turn_id,
        "tool_call_id": place.get("tool_call_id", "c"),
        "name": place.get("name", "bash"),
        "arguments": "",
    }
    events = [
        {"type": "turn-started", "data": {"turn_id": turn_id, "messages": [message]}},
        {"type": "tool-call-requested", "data": call},
    ]

    answer = append(client, "s", batch(1, *events))

    assert problem(answer) == (422, "invalid-value", [pointer])


@ON_ONE_DATABASE
def test_others_are_served_while_a_long_body_is_looked_through(
    client: httpx.Client, browser: httpx.Client
) -> None:
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(send, client, b"[" + b"0," * 300_000 + b"x]")
        served = 0
        while not sent.done():
            served += browser.get("/healthz").is_success

        assert problem(sent.result()) == (422, "malformed-json", ["/300000"])
    assert served > 3


@ON_ONE_DATABASE
@pytest.mark.parametrize("size", [8 * 1024 * 1024 + 1, 9 * 1024 * 1024])
def test_a_request_of_more_than_8_mib_is_too_large(client: httpx.Client, size: int) -> None:
    answer = send(client, b"{" + b" " * (size - 2) + b"}")

    assert problem(answer) == (413, "body-too-large", [])


def test_a_request_of_8_mib_and_an_event_of_1_mib_are_taken(client: httpx.Client) -> None:
    part = b'{"type":"text","text":"' + b"x" * 60_000 + b'"},'
    start = b'{"turn_id":"t","messages":[{"role":"user","content":['
    before, end = start + part * 17 + b'{"type":"text","text":"', b'"}]}]}'
    data = before + b"x" * (1024 * 1024 - len(before) - len(end)) + end
    start = b'{"producer":{"id":"r","epoch":1,"sequence":1},"open":{},"events":['
    event = b'{"type":"turn-started","data":' + data + b"}"
    body = start + event + b"]" + b" " * (8 * 1024 * 1024 - len(start) - len(event) - 2) + b"}"
    assert (len(data), len(body)) == (1024 * 1024, 8 * 1024 * 1024)

    assert send(client, body, "/sessions/s/events").status_code == 201

    larger = body.replace(b'x"}', b'xx"}', 1)[: -len(b" }") - 1] + b"}"
    answer = send(client, larger, "/sessions/s2/events")
    assert problem(answer) == (413, "body-too-large", ["/events/0/data"])


@ON_ONE_DATABASE
def test_a_batch_has_1000_events_at_most(client: httpx.Client) -> None:
    note = {"type": "data-recorded", "data": {"kind": "k", "data": 1}}

    answer = append(client, "s", batch(1, *[note] * 1_001))

    assert problem(answer) == (413, "too-many-events", ["/events"])
    assert append(client, "s", batch(1, *[note] * 1_000)).status_code == 201
    assert append(client, "s", batch(2, *turn("t1"))).json()["head"]["version"] == 1_004
