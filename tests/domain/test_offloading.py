"""What is long leaves a body, and comes back as it was."""

import base64
import json
from hashlib import sha256
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.blobs import JSON, TEXT, Blob, Cut, read_cut
from domain.json_text import parse
from domain.offloading import (
    LIMIT,
    PREVIEW,
    Incomplete,
    cuts_of,
    inline,
    offload,
)

LONG = "x" * (LIMIT + 1)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400
PICTURE = base64.b64encode(PNG).decode()


def body(value: object, *, spaced: bool = False) -> bytes:
    separators = None if spaced else (",", ":")
    return json.dumps(value, ensure_ascii=False, separators=separators).encode()


def back(raw: bytes) -> bytes:
    stored = offload(raw)
    return inline(stored.body, stored.blobs)


def test_a_short_body_is_left_alone_and_not_even_read() -> None:
    raw = b"no JSON at all"
    assert offload(raw).body is raw
    assert offload(raw).blobs == ()


def test_a_long_text_leaves_its_beginning_and_says_what_is_behind_it() -> None:
    raw = body({"turn_id": "t", "message": {"role": "user", "content": LONG}})
    stored = offload(raw)
    digest = sha256(LONG.encode()).hexdigest()
    assert parse(stored.body) == {
        "turn_id": "t",
        "message": {"role": "user", "content": "x" * PREVIEW},
        "blobs": [
            {
                "at": "/message/content",
                "sha256": digest,
                "size": LIMIT + 1,
                "media_type": TEXT,
                "kept": PREVIEW,
            }
        ],
    }
    assert stored.blobs == (
        Blob(sha256=digest, size=LIMIT + 1, media_type=TEXT, content=LONG.encode()),
    )
    assert inline(stored.body, stored.blobs) == raw


def test_a_text_of_just_the_limit_stays_however_it_is_spelled() -> None:
    at_limit = "\u00e9" * (LIMIT // 2)
    for raw in (body({"summary": at_limit}), json.dumps({"summary": at_limit}).encode()):
        assert offload(raw).body == raw
    assert len(offload(body({"summary": at_limit + "y"})).blobs) == 1


def test_bytes_are_counted_and_not_lines_or_letters() -> None:
    returns = "\r" * 41_208
    assert offload(body({"turn_id": "t", "output": returns})).blobs == ()
    stored = offload(body({"turn_id": "t", "output": returns * 2}))
    assert [blob.size for blob in stored.blobs] == [2 * 41_208]


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ({"messages": [{"content": "a"}, {"content": LONG}]}, ["/messages/1/content"]),
        (
            {"message": {"content": [{"type": "text", "text": LONG}, {"text": LONG}]}},
            ["/message/content/0/text", "/message/content/1/text"],
        ),
        ({"message": {"author": {"display": LONG}}}, ["/message/author/display"]),
        ({"error": {"code": "c", "message": LONG}}, ["/error/message"]),
        ({"summary": LONG}, ["/summary"]),
        ({"arguments": LONG}, ["/arguments"]),
        ({"arguments": {"path": "p", "text": LONG}}, ["/arguments/text"]),
        ({"output": {"a/b": [1, {"c~d": LONG}]}}, ["/output/a~1b/1/c~0d"]),
        ({"output": [LONG, "a", LONG]}, ["/output/0", "/output/2"]),
    ],
)
def test_what_leaves_is_the_long_text_wherever_it_stands(value: object, at: list[str]) -> None:
    raw = body(value)
    stored = offload(raw)
    assert [cut.at for cut in cuts_of(stored.body)] == at
    assert {cut.media_type for cut in cuts_of(stored.body)} == {TEXT}
    assert len(stored.body) < 10 * PREVIEW
    assert inline(stored.body, stored.blobs) == raw


def test_an_opaque_value_that_is_long_without_long_texts_leaves_as_it_was_sent() -> None:
    numbers = b"[" + b", ".join([b"1.50"] * LIMIT) + b"]"
    raw = b'{"turn_id":"t", "output": ' + numbers + b' ,"is_error":false}\n'
    stored = offload(raw)
    assert [blob.content for blob in stored.blobs] == [numbers]
    assert [cut.media_type for cut in cuts_of(stored.body)] == [JSON]
    value: Any = parse(stored.body)
    assert value["output"] == numbers[:PREVIEW].decode()
    assert inline(stored.body, stored.blobs) == raw.rstrip()


def test_an_opaque_value_that_stays_long_leaves_as_a_whole() -> None:
    value = {"output": {"long": LONG, "many": ["y" * 1_000] * 100}}
    stored = offload(body(value))
    assert [(cut.at, cut.media_type) for cut in cuts_of(stored.body)] == [("/output", JSON)]
    assert back(body(value)) == body(value)


def test_a_long_key_and_a_text_that_is_long_only_as_it_is_spelled_are_no_long_texts() -> None:
    for value in ({LONG: 1}, {LONG: {"a": LONG}}, {"a": ["\r" * 41_208]}):
        stored = offload(body({"output": value}))
        assert [(cut.at, cut.media_type) for cut in cuts_of(stored.body)] == [("/output", JSON)]
        assert back(body({"output": value})) == body({"output": value})
    escaped = {"output": ["\r" * 10_000, {'\\"': ['"', LONG + '\\"', "a"]}]}
    stored = offload(body(escaped, spaced=True))
    assert [cut.at for cut in cuts_of(stored.body)] == ['/output/1/\\"/1']
    assert back(body(escaped, spaced=True)) == body(escaped, spaced=True)


def test_however_deep_a_long_value_lies_each_letter_of_it_is_read_a_few_times() -> None:
    long = "x" * 2_000_000
    many = "[" + "1," * 500_000 + "1]"
    short = "[" + "1," * 10_000
    for inner in (f'"{long}"', many, f'{short}"{long}"]'):
        raw = b'{"output":' + b"[" * 95 + inner.encode() + b"]" * 95 + b"}"
        before = process_time()
        stored = offload(raw)
        whole = inline(stored.body, stored.blobs)
        took = process_time() - before
        before = process_time()
        parse(raw)
        assert took < 10 * (process_time() - before) + 3
        assert whole == raw


def test_many_texts_among_many_others_are_put_back_in_one_walk() -> None:
    parts = [{"type": "text", "text": ""}] * 10_000
    value = {"messages": [{"role": "user", "content": [*parts, *[{"text": LONG}] * 60]}]}
    raw = body(value)
    stored = offload(raw)
    assert len(cuts_of(stored.body)) == 60
    before = process_time()
    assert inline(stored.body, stored.blobs) == raw
    took = process_time() - before
    before = process_time()
    parse(raw)
    assert took < 20 * (process_time() - before) + 2


def test_a_file_in_base64_leaves_as_the_file() -> None:
    raw = body({"output": [{"type": "image", "data": PICTURE}], "is_error": False})
    stored = offload(raw)
    digest = sha256(PNG).hexdigest()
    assert stored.blobs == (
        Blob(sha256=digest, size=len(PNG), media_type="image/png", content=PNG),
    )
    assert cuts_of(stored.body) == (
        Cut(
            at="/output/0/data",
            sha256=digest,
            size=len(PNG),
            media_type="image/png",
            kept=0,
            base64=True,
        ),
    )
    assert inline(stored.body, stored.blobs) == raw


@pytest.mark.parametrize(
    "text",
    [
        PICTURE + "!",
        PICTURE[:-1] + "\n",
        "iVBORw0KGgo\u00e9" + PICTURE,
        base64.b64encode(bytes(LIMIT)).decode(),
        base64.b64encode(PNG + b"zz").decode()[:-2] + "p=",  # bits after the end that say nothing
    ],
)
def test_what_only_looks_like_a_file_stays_a_text(text: str) -> None:
    stored = offload(body({"output": text}))
    assert [blob.media_type for blob in stored.blobs] == [TEXT]
    assert back(body({"output": text})) == body({"output": text})


def test_previews_end_between_characters() -> None:
    text = "a" + "e\u0301" * LIMIT
    value: Any = parse(offload(body({"summary": text})).body)
    assert value["summary"] == text[: len(value["summary"])]
    assert value["summary"].endswith("\u0301")


def test_a_body_that_is_no_object_has_nothing_to_leave() -> None:
    raw = body([LONG])
    assert offload(raw).body == raw


@pytest.mark.parametrize(
    "raw",
    [
        b'{"data":{"blobs":[{"at":"/a"}]}}',
        b'{"data":{"a":1,"blobs":[{"at":"/a"}]}}',
        b'{"data":1,"blobs":[{"at":"/a"}]}',
        b'{"data":1,"blobs":[{"at":1}]}',
        b'{"data":{"a":1,"blobs":[{"at":"/a"}]},"c":[{}]}',
        b'{"data":"}]}',
        b'{"data":1,"blobs":[{"at":"/data","sha256":"00","size":1,"media_type":"","kept":1}]}',
        b"",
    ],
)
def test_what_only_looks_like_a_list_of_blobs_is_left_alone(raw: bytes) -> None:
    assert cuts_of(raw) == ()
    assert inline(raw, ()) == raw


def test_nothing_but_an_object_is_an_entry() -> None:
    assert read_cut([1]) is None


STORED = offload(body({"turn_id": "t", "summary": LONG})).body
DIGEST = sha256(LONG.encode()).hexdigest()
ENTRY = STORED[STORED.rindex(b'{"at"') : -2]
"""What the stored body says of its text: said twice it has no meaning."""


@pytest.mark.parametrize(
    ("raw", "content"),
    [
        (STORED, None),
        (STORED, b"short"),
        (STORED.replace(b'"at":"/summary"', b'"at":"/gone"'), LONG.encode()),
        (STORED.replace(b'"at":"/summary"', b'"at":"/summary/0"'), LONG.encode()),
        (STORED.replace(b'"at":"/summary"', b'"at":""'), LONG.encode()),
        (STORED.replace(b'"size":65537', b'"size":999999999999'), LONG.encode()),
        (STORED.replace(b',"kept":4096}', b',"kept":4096},' + ENTRY), LONG.encode()),
        (STORED.replace(b"xxx", b"\xff"), LONG.encode()),
        (STORED.replace(b'{"turn_id"', b'x"turn_id"'), LONG.encode()),
    ],
)
def test_a_body_whose_blobs_do_not_fit_is_not_put_together(
    raw: bytes, content: bytes | None
) -> None:
    with pytest.raises(Incomplete):
        inline(raw, [Blob(sha256=DIGEST, size=None, content=content)])
    with pytest.raises(Incomplete):
        inline(raw, [])


values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.sampled_from([LONG, LONG + "\U0001f600"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
parts = st.fixed_dictionaries({"type": st.just("text"), "text": st.sampled_from(["", "a", LONG])})
messages = st.fixed_dictionaries(
    {"role": st.just("user"), "content": st.lists(parts, max_size=3) | st.sampled_from(["a", LONG])}
)
bodies = st.dictionaries(
    st.sampled_from(["output", "arguments", "data", "a/b~"]), values, max_size=3
) | st.fixed_dictionaries({"messages": st.lists(messages, max_size=3)})


@settings(max_examples=30, deadline=None)
@given(bodies, st.booleans())
def test_the_whole_always_comes_back_and_what_is_stored_is_small(
    value: dict[str, Any], spaced: bool
) -> None:
    raw = body(value, spaced=spaced)
    stored = offload(raw)
    assert inline(stored.body, stored.blobs) == raw
    assert len(stored.body) <= LIMIT * (len(value) + 1) + PREVIEW * 20
    assert parse(stored.body) is not None
