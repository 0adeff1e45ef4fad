"""Bytes are read under their digest, whole or in part, and stored ahead of what names them."""

import base64
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.ranges import ByteRange, Unsatisfiable, byte_range
from tests.api.batches import append, batch, event, problem, turn
from tests.api.serving import Served

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 1_000
NAME = sha256(PNG).hexdigest()
LONG = "na\u00efve \U0001f642\r\n" * 20_000


def named(content: bytes) -> str:
    return sha256(content).hexdigest()


def attached(**part: object) -> dict[str, Any]:
    content = [{"type": "attachment", "attachment_id": "a1", **part}]
    return event("turn-started", turn_id="t1", messages=[{"role": "user", "content": content}])


def sent(client: httpx.Client, session: str = "s1", **part: object) -> None:
    part = part or {"data": base64.b64encode(PNG).decode(), "media_type": "image/png"}
    assert append(client, session, batch(1, attached(**part))).status_code == 201


def get(client: httpx.Client, digest: str = NAME, **headers: str) -> httpx.Response:
    return client.get(f"/blobs/{digest}", headers=headers)


def put(client: httpx.Client, content: bytes, digest: str | None = None) -> httpx.Response:
    return client.put(f"/blobs/{digest or named(content)}", content=content)


def test_an_attachment_comes_back_as_a_file_that_no_browser_runs(client: httpx.Client) -> None:
    sent(client)
    answer = get(client)
    assert (answer.status_code, answer.content) == (200, PNG)
    headers = answer.headers
    assert headers["content-type"] == "image/png"
    assert headers["content-length"] == str(len(PNG))
    assert headers["content-disposition"] == "attachment"
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]
    assert headers["cache-control"] == "private, max-age=31536000, immutable"
    assert headers["etag"] == f'"{NAME}"'
    head = client.head(f"/blobs/{NAME}")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(PNG))


def test_who_has_it_is_told_so(client: httpx.Client) -> None:
    sent(client)
    for tags in (f'"{NAME}"', f'W/"x", "{NAME}"', "*"):
        assert get(client, **{"If-None-Match": tags}).status_code == 304
    assert get(client, **{"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        (f"bytes={len(PNG) - 1}-", len(PNG) - 1, len(PNG)),
        ("bytes=100-99999999", 100, len(PNG)),
        ("Bytes=-8", len(PNG) - 8, len(PNG)),
        ("bytes=-99999999", 0, len(PNG)),
    ],
)
def test_a_part_is_given_where_a_part_is_asked_for(
    client: httpx.Client, asked: str, start: int, end: int
) -> None:
    sent(client)
    answer = get(client, Range=asked)
    assert answer.status_code == 206
    assert answer.content == PNG[start:end]
    assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(PNG)}"
    assert get(client, Range=asked, **{"If-Range": f'"{NAME}"'}).status_code == 206
    assert get(client, Range=asked, **{"If-Range": '"other"'}).content == PNG


@pytest.mark.parametrize("asked", ["lines=1-2", "bytes=2-1", "bytes=a-", "bytes=0-1,5-6", "bytes"])
def test_a_range_that_says_nothing_is_left_aside(client: httpx.Client, asked: str) -> None:
    sent(client)
    answer = get(client, Range=asked)
    assert (answer.status_code, answer.content) == (200, PNG)


@pytest.mark.parametrize("asked", [f"bytes={len(PNG)}-", "bytes=-0", "bytes=999999999-9999999999"])
def test_a_range_beyond_the_end_is_refused_with_the_size(client: httpx.Client, asked: str) -> None:
    sent(client)
    answer = get(client, Range=asked)
    assert problem(answer) == (416, "range-not-satisfiable", [])
    assert answer.headers["content-range"] == f"bytes */{len(PNG)}"


def test_nothing_is_found_in_another_project_or_under_no_digest(
    client: httpx.Client, server: Served
) -> None:
    sent(client)
    with server.client("somebody-else") as other:
        assert problem(get(other)) == (404, "no-such-blob", [])
    assert problem(get(client, named(b"?"))) == (404, "no-such-blob", [])
    for odd in ("x", NAME.upper(), NAME[1:]):
        assert problem(get(client, odd)) == (422, "invalid-value", ["/path/sha256"])
        assert problem(put(client, b"", odd)) == (422, "invalid-value", ["/path/sha256"])


def test_what_is_stored_ahead_can_be_named_and_is_stored_once(client: httpx.Client) -> None:
    answer = put(client, PNG)
    assert answer.status_code == 201
    assert answer.json() == {"sha256": NAME, "size": len(PNG)}
    assert answer.headers["location"].endswith(f"/blobs/{NAME}")
    assert put(client, PNG).status_code == 200
    assert get(client).headers["content-type"] == "application/octet-stream"
    sent(client, sha256=NAME, media_type="image/png")
    assert get(client).headers["content-type"] == "image/png"
    lines = client.get("/sessions/s1/export").text.splitlines()
    assert sum(line.startswith('{"blob"') for line in lines) == 1


def test_what_was_only_named_is_there_once_it_is_stored(client: httpx.Client) -> None:
    sent(client, sha256=NAME, size=len(PNG))
    assert problem(get(client)) == (404, "no-such-blob", [])
    assert put(client, PNG).status_code == 201
    assert get(client).content == PNG
    assert client.post("/sessions/s1/verify").json()["ok"] is True


def test_other_bytes_than_the_path_says_are_refused(client: httpx.Client) -> None:
    answer = put(client, b"others", NAME)
    assert problem(answer) == (422, "digest-mismatch", ["/path/sha256"])
    assert get(client).status_code == 404


def test_a_blob_has_at_most_32_mib(client: httpx.Client) -> None:
    largest = bytes(32 * 1024 * 1024)
    assert put(client, largest).status_code == 201
    tail = get(client, named(largest), Range="bytes=-3")
    assert (tail.status_code, tail.content) == (206, bytes(3))
    assert get(client, named(largest)).content == largest
    assert problem(put(client, largest + b"!")) == (413, "body-too-large", [])


def test_who_sends_far_too_much_is_told_so(client: httpx.Client) -> None:
    def sending() -> Iterator[bytes]:
        yield from [bytes(2**20)] * 48

    answer = client.put(f"/blobs/{NAME}", content=sending())
    assert problem(answer) == (413, "body-too-large", [])
    assert problem(append(client, "s1", {"more": "x" * 20_000_000})) == (413, "body-too-large", [])


def test_nothing_at_all_is_a_blob_too(client: httpx.Client) -> None:
    assert put(client, b"").status_code == 201
    answer = get(client, named(b""))
    assert (answer.status_code, answer.content) == (200, b"")
    assert get(client, named(b""), Range="bytes=0-").status_code == 416


def test_a_media_type_that_is_none_never_becomes_a_header(client: httpx.Client) -> None:
    sent(client, data="aGVsbG8=", media_type="text/html\r\nSet-Cookie: x")
    answer = get(client, named(b"hello"))
    assert answer.headers["content-type"] == "application/octet-stream"
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("part", "member"),
    [
        ({"data": "no base64"}, "data"),
        ({"data": "aGVsbG8=", "sha256": NAME}, "sha256"),
        ({"data": "aGVsbG8=", "size": 6}, "size"),
    ],
)
def test_a_file_that_is_none_or_another_is_refused_with_its_place(
    client: httpx.Client, part: dict[str, object], member: str
) -> None:
    body = batch(1, *turn("t0"), attached(**part))
    place = f"/events/3/data/messages/0/content/0/{member}"
    assert problem(append(client, "s1", body)) == (422, "invalid-value", [place])
    assert client.get("/sessions/s1").status_code == 404


def test_a_list_of_blobs_is_the_logs_own(client: httpx.Client) -> None:
    own = event("data-recorded", kind="k", data=1, blobs=[])
    answer = append(client, "s1", batch(1, own))
    assert problem(answer) == (422, "invalid-value", ["/events/0/data/blobs"])
    inside = event("data-recorded", kind="k", data={"blobs": [{"at": "/a"}]})
    assert append(client, "s1", batch(1, inside)).status_code == 201


def test_an_event_shows_the_beginning_and_names_the_rest(client: httpx.Client) -> None:
    long = event("data-recorded", kind="k", data=LONG)
    assert append(client, "s1", batch(1, long)).status_code == 201
    data = client.get("/sessions/s1/events/2").json()["data"]
    (blob,) = data["blobs"]
    assert LONG.startswith(data["data"])
    assert blob == {
        "at": "/data",
        "sha256": named(LONG.encode()),
        "size": len(LONG.encode()),
        "media_type": "text/plain; charset=utf-8",
        "kept": len(data["data"].encode()),
    }
    answer = get(client, blob["sha256"])
    assert answer.text == LONG
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_large_configuration_is_read_whole_and_the_same_opening_is_known(
    client: httpx.Client,
) -> None:
    opening = {"session_id": "s1", "config": {"system": LONG, "n": [1.5] * 20_000}}
    assert client.post("/sessions", json=opening).status_code == 201
    assert client.post("/sessions", json=opening).status_code == 200
    assert client.get("/sessions/s1").json()["config"] == opening["config"]
    other = {"session_id": "s1", "config": {"system": LONG + "!"}}
    assert client.post("/sessions", json=other).status_code == 409


@given(st.integers(0, 30), st.integers(0, 40), st.integers(0, 40) | st.none())
def test_a_range_is_what_python_would_cut(size: int, first: int, last: int | None) -> None:
    text = f"bytes={first}-{'' if last is None else last}"
    if last is not None and last < first:
        assert byte_range(text, size) is None
        return
    wanted = range(size)[first : None if last is None else last + 1]
    try:
        found = byte_range(text, size)
    except Unsatisfiable:
        assert not wanted
    else:
        assert found == ByteRange(wanted.start, wanted.stop)
