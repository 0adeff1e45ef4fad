"""A message names its files; their bytes are kept beside it, once."""

import base64
import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

from domain.attachments import named_blobs, without_files
from domain.blobs import Blob
from domain.fingerprints import digest
from domain.json_text import parse
from domain.offloading import LIMIT, offload
from domain.refusals import InvalidValue

BYTES = b"hello"
DATA = base64.b64encode(BYTES).decode()
NAME = sha256(BYTES).hexdigest()


def attachment(**more: object) -> dict[str, object]:
    return {"type": "attachment", "attachment_id": "a", **more}


def recorded(*parts: object) -> bytes:
    message = {"role": "user", "content": list(parts)}
    return json.dumps({"turn_id": "t", "message": message}).encode()


def started(*parts: object) -> bytes:
    messages = [{"role": "user", "content": "before"}, {"role": "user", "content": list(parts)}]
    return json.dumps({"turn_id": "t", "messages": messages}).encode()


@pytest.mark.parametrize("body", [recorded, started])
def test_bytes_become_a_blob_and_their_name(body: Callable[..., bytes]) -> None:
    before = attachment(media_type="image/png", data=DATA, filename="f.png")
    text = {"type": "text", "text": "see"}
    stored = without_files(body(text, before, text))
    after = attachment(media_type="image/png", filename="f.png", sha256=NAME, size=5)
    assert parse(stored.body) == parse(body(text, after, text))
    assert stored.blobs == (Blob(sha256=NAME, size=5, media_type="image/png", content=BYTES),)
    assert named_blobs(stored.body) == [Blob(sha256=NAME, size=5, media_type="image/png")]


def test_the_fingerprint_is_the_same_before_and_after() -> None:
    before: Any = attachment(data=DATA)
    value: Any = parse(without_files(recorded(before)).body)
    assert digest("user", [before]) == digest("user", value["message"]["content"])


def test_what_the_client_says_of_the_bytes_may_be_true() -> None:
    part = attachment(data=DATA, sha256=NAME, size=5)
    value: Any = parse(without_files(recorded(part)).body)
    assert value["message"]["content"] == [attachment(sha256=NAME, size=5)]


@pytest.mark.parametrize(
    ("part", "member"),
    [
        (attachment(data="no base64"), "data"),
        (attachment(data="aGVsbG8"), "data"),
        (attachment(data=DATA, sha256="0" * 64), "sha256"),
        (attachment(data=DATA, size=6), "size"),
    ],
)
def test_bytes_that_are_none_or_others_are_refused_with_their_place(
    part: object, member: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        without_files(started({"type": "text", "text": "a"}, part))
    assert refused.value.at == ("messages", 1, "content", 1, member)


@pytest.mark.parametrize(
    ("part", "blobs"),
    [
        (attachment(), []),
        (attachment(data=None), []),
        (attachment(sha256="no digest"), []),
        (attachment(sha256=NAME), [Blob(sha256=NAME, size=None)]),
        (attachment(sha256=NAME, size=True), [Blob(sha256=NAME, size=None)]),
        (
            attachment(sha256=NAME, size=7, media_type="image/png"),
            [Blob(sha256=NAME, size=7, media_type="image/png")],
        ),
        (attachment(sha256=NAME, media_type="text/html\r\nx"), [Blob(sha256=NAME, size=None)]),
    ],
)
def test_bytes_that_are_elsewhere_are_named(part: object, blobs: list[Blob]) -> None:
    stored = without_files(recorded(part))
    assert list(stored.blobs) == blobs
    assert parse(stored.body) == parse(recorded(part))
    assert named_blobs(stored.body) == blobs


def test_an_attachment_is_known_however_it_is_spelled() -> None:
    raw = recorded(attachment(data=DATA)).replace(b'"attachment"', b'"\\u0061ttachment"')
    assert [blob.content for blob in without_files(raw).blobs] == [BYTES]


@pytest.mark.parametrize(
    "raw",
    [
        recorded({"type": "text", "text": "no file"}),
        recorded("attachment", {"no": "type"}),
        b'{"data":{"type":"attachment","data":"aGk="}}',
        b'{"message":"attachment","a":"attachment","messages":"attachment"}',
        b'{"messages":["attachment",{"content":"attachment"}]}',
        b'["attachment"]',
    ],
)
def test_a_body_without_attachments_is_left_alone(raw: bytes) -> None:
    assert without_files(raw).body is raw
    assert without_files(raw).blobs == ()
    assert named_blobs(raw) == []


def test_a_body_names_each_blob_once_files_and_long_texts() -> None:
    part = attachment(data=DATA)
    files = without_files(recorded(part, part, {"type": "text", "text": "x" * (LIMIT + 1)}))
    stored = offload(files.body)
    named = [blob.sha256 for blob in named_blobs(stored.body)]
    assert sorted(named) == sorted([NAME, stored.blobs[0].sha256])
    text = offload(json.dumps({"summary": "x" * (LIMIT + 1)}).encode())
    assert [blob.sha256 for blob in named_blobs(text.body)] == [text.blobs[0].sha256]


def test_what_cannot_be_read_names_nothing() -> None:
    assert named_blobs(b'{"sha256":"attachment"" "attachment"') == []
