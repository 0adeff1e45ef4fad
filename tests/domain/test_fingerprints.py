"""What clients change without meaning it leaves a fingerprint as it is; the rest does not."""

import base64
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.fingerprints import (
    EMPTY,
    Message,
    Part,
    as_reference_messages,
    chain,
    digest,
    history_v1,
    is_empty,
    normalise,
)
from domain.json_text import JsonValue, parse

HELLO_SHA256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

anything: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
kinds: st.SearchStrategy[JsonValue] = st.sampled_from(
    ["text", "reasoning", "tool_call", "tool_result", "attachment", "data", "image", "gate_answer"]
)
fields = ["text", "signature", "name", "arguments", "output", "is_error", "denied", "sha256"]
fields += ["data", "uri", "attachment_id", "attachmentId", "tool_call_id", "toolCallId", "mimeType"]


@st.composite
def odd_parts(draw: st.DrawFn) -> dict[str, JsonValue]:
    rest = draw(st.dictionaries(st.sampled_from(fields), anything))
    return {"type": draw(kinds | anything), **rest}


def text(said: JsonValue) -> dict[str, JsonValue]:
    return {"type": "text", "text": said}


def reasoning(said: JsonValue, **more: JsonValue) -> dict[str, JsonValue]:
    return {"type": "reasoning", "text": said, **more}


def call(arguments: JsonValue, **more: JsonValue) -> dict[str, JsonValue]:
    return {"type": "tool_call", "name": "ls", "arguments": arguments, **more}


def result(output: JsonValue, **more: JsonValue) -> dict[str, JsonValue]:
    return {"type": "tool_result", "output": output, **more}


def attachment(**fields_: JsonValue) -> dict[str, JsonValue]:
    return {"type": "attachment", **fields_}


def user(content: JsonValue) -> dict[str, JsonValue]:
    return {"role": "user", "content": content}


# The chain


def test_the_empty_history_is_the_digest_of_nothing() -> None:
    assert EMPTY.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_a_digest_is_over_the_canonical_text_of_role_and_parts() -> None:
    canonical = b'{"parts":[{"text":"hi","type":"text"}],"role":"user"}'
    assert digest("user", [text("hi")]) == sha256(canonical).digest()


def test_a_chain_is_over_what_came_before_and_the_message() -> None:
    message = digest("user", [text("hi")])
    assert chain(EMPTY, message) == sha256(EMPTY + message).digest()


def test_the_order_of_messages_and_their_roles_matter() -> None:
    one, other = digest("user", [text("a")]), digest("assistant", [text("a")])
    assert one != other
    assert chain(chain(EMPTY, one), other) != chain(chain(EMPTY, other), one)


# Normalisation


def test_text_is_what_it_says() -> None:
    assert normalise([{**text("hi "), "annotations": []}]) == [text("hi ")]


def test_reasoning_loses_its_signature_and_provider() -> None:
    signed = reasoning("so", signature="abc", provider="anthropic")
    assert normalise([signed]) == [reasoning("so")]


def test_adjacent_texts_are_joined() -> None:
    assert normalise([text("a"), text("b"), call({}), text("c")]) == [
        text("ab"),
        call({}),
        text("c"),
    ]


def test_adjacent_reasoning_is_joined_and_kept_apart_from_text() -> None:
    parts = [reasoning("a"), reasoning("b", signature="s"), text("c")]
    assert normalise(parts) == [reasoning("ab"), text("c")]


def test_other_neighbours_are_not_joined() -> None:
    assert normalise([result("a"), result("a")]) == 2 * normalise([result("a")])


@pytest.mark.parametrize(
    "part",
    [text(""), text(None), {"type": "text"}, reasoning(""), reasoning(None, signature="")],
)
def test_what_says_nothing_is_dropped(part: Part) -> None:
    assert normalise([text("a"), part, text("b")]) == [text("ab")]
    assert is_empty([part, part])


@pytest.mark.parametrize("said", ["", None])
def test_empty_reasoning_with_a_signature_is_kept(said: str | None) -> None:
    assert normalise([reasoning(said, signature="abc")]) == [reasoning("")]
    assert not is_empty([reasoning(said, signature="abc")])


def test_blank_text_is_not_empty() -> None:
    assert is_empty([])
    assert not is_empty([text(" ")])


def test_a_call_is_its_name_and_arguments() -> None:
    ours = call({"p": 1}, tool_call_id="t1", status="completed", gate={"gate_id": "g1"})
    assert normalise([ours]) == [call({"p": 1})]


def test_arguments_written_as_the_text_of_an_object_are_that_object() -> None:
    assert normalise([call(' {"p" : 1e0}')]) == [call({"p": 1})]


@pytest.mark.parametrize("written", ["", "{", "[1]", "rm -rf", '{"a":1,"a":2}', "\ud99c"])
def test_arguments_that_are_no_object_stay_text(written: str) -> None:
    assert normalise([call(written)]) == [call(written)]


def test_a_result_is_its_output_and_how_it_ended() -> None:
    assert normalise([result({"n": 1}, tool_call_id="t1", is_error=None)]) == [
        result({"n": 1}, is_error=False, denied=False)
    ]
    failed = result("no", is_error=True, denied=True)
    assert normalise([failed]) == [failed]


@pytest.mark.parametrize(
    "part",
    [
        attachment(attachment_id="a1", sha256=HELLO_SHA256, filename="f", size=5),
        attachment(attachment_id="a2", data="aGVsbG8=", media_type="text/plain"),
    ],
)
def test_an_attachment_is_its_content(part: Part) -> None:
    assert normalise([part]) == [attachment(sha256=HELLO_SHA256)]


@pytest.mark.parametrize("data", [None, "not base64!", "é", 5])
def test_an_attachment_without_content_is_its_id(data: JsonValue) -> None:
    part = attachment(attachment_id="a1", data=data, filename="f")
    assert normalise([part]) == [attachment(attachment_id="a1")]


def test_an_attachment_that_names_no_content_is_kept_whole() -> None:
    part = attachment(data="not base64!", filename="f")
    assert normalise([part]) == [part]


def test_data_is_its_kind_and_content() -> None:
    part: Part = {"type": "data", "kind": "k", "data": [1], "id": "d1"}
    assert normalise([part]) == [{"type": "data", "kind": "k", "data": [1]}]


@pytest.mark.parametrize("kind", ["video", None, 5, ["text"], {"a": 1}])
def test_a_part_of_an_unknown_type_is_kept_whole(kind: JsonValue) -> None:
    part: Part = {"type": kind, "text": "", "id": "x"}
    assert normalise([part]) == [part]
    assert normalise([{"no": "type"}]) == [{"no": "type"}]


def test_text_that_is_no_text_is_not_joined() -> None:
    assert normalise([text([1]), text(2)]) == [text([1]), text(2)]


def test_the_spelling_of_numbers_and_the_order_of_keys_do_not_matter() -> None:
    one = parse(b'{"type":"tool_result","output":{"a":100,"b":0.5}}')
    other = parse(b'{"output":{"b":5e-1,"a":1.0E2},"type":"tool_result"}')
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    assert digest("tool", [one]) == digest("tool", [other])


# The reference's fingerprint


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], "71ed870680a9952a56dbe05c63bbb456adbf53ebf26132d101af56e818e79a6d"),
        ([user("hi")], "46dbc89054e6a17adefa8615f912f9111828c0ad65f8fbda544a4329ba320444"),
        (
            [
                user("hi"),
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_call", "toolCallId": "t1"},
                        {"type": "tool_result", "toolCallId": "t1"},
                    ],
                },
            ],
            "c3bdb50d5a653758dccc52428c01a04e4155d540be3c027a271ce45507cb0780",
        ),
        (
            [user("hi"), user([text("see"), {"type": "attachment", "attachmentId": "a1"}])],
            "04d49d4d3725c12b721017dafb09d33f2565786621414ed23bc8284e0679cedd",
        ),
        (
            [
                user(
                    [
                        {
                            "type": "image",
                            "mimeType": "image/png",
                            "uri": "data:image/png;base64,AAAA",
                        }
                    ]
                )
            ],
            "dc9c26f0a0213e8bab3107bf6a728848806b4b37f127bb390b3f4e4369cf9eef",
        ),
    ],
)
def test_v1_gives_the_test_vectors_of_the_reference(messages: list[Message], expected: str) -> None:
    assert history_v1(messages) == expected


def test_v1_is_blind_to_what_assistants_and_systems_say() -> None:
    said: list[Message] = [
        {"role": "system", "content": "be brief"},
        user("hi"),
        {"role": "assistant", "content": "hello"},
    ]
    assert history_v1(said) == history_v1([user("hi")])


def test_v1_joins_the_texts_of_a_message() -> None:
    blocks = user([text("h"), text("i"), text(5), "stray", {"type": "thinking", "text": "x"}])
    assert history_v1([blocks]) == history_v1([user("hi")])
    assert history_v1([user(None)]) == history_v1([user("")])


def test_v1_sees_the_order_of_attachments() -> None:
    one, other = (
        user([{"type": "attachment", "attachmentId": name} for name in names])
        for names in ("ab", "ba")
    )
    assert history_v1([one]) != history_v1([other])
    assert history_v1([user([attachment(attachmentId=5)])]) == history_v1([user("")])


def test_v1_takes_a_data_uri_whole_and_other_data_as_its_text() -> None:
    def image(**block: JsonValue) -> str:
        return history_v1([user([{"type": "image", **block}])])

    assert image(mimeType="a", uri="https://x", data="d") == image(mimeType="a", data="d")
    assert image(mimeType="a", uri="data:d") == image(mimeType="a", data="data:d")
    assert image(data="d", mimeType=5) == image(data="d") != image(data="d", mimeType="a")
    assert image(data=[1.0, None, ["x", True]]) == image(data="1,,x,true")
    assert image(data={"a": 1}) == image(data="[object Object]")
    assert image(data="") == image(data=None) == image(uri="https://x") == history_v1([user("")])


def test_v1_of_a_transcript_is_v1_of_what_the_reference_holds() -> None:
    transcript: list[Message] = [
        {
            "role": "user",
            "parts": [text("see"), attachment(attachment_id="a1", size=5), attachment(size=1)],
        },
        {
            "role": "assistant",
            "parts": [
                reasoning("so"),
                call({"p": 1}, tool_call_id="t1"),
                result("ok", tool_call_id="t1"),
            ],
        },
        {"role": "user"},
    ]
    reference: list[dict[str, JsonValue]] = [
        user([text("see"), {"type": "attachment", "attachmentId": "a1"}]),
        {
            "role": "assistant",
            "content": [
                {"type": "tool_call", "toolCallId": "t1"},
                {"type": "tool_result", "toolCallId": "t1"},
            ],
        },
        user([]),
    ]
    assert as_reference_messages(transcript) == reference


# Anything at all


@given(st.lists(odd_parts(), max_size=4))
def test_no_part_is_too_odd_for_a_fingerprint(parts: list[dict[str, JsonValue]]) -> None:
    assert len(digest("user", parts)) == len(EMPTY)
    assert is_empty(parts) == (normalise(parts) == [])
    content: list[JsonValue] = [*parts]
    assert len(history_v1([{"role": "user", "content": content, "parts": content}])) == 64
    assert len(as_reference_messages([{"role": "user", "parts": content}])) == 1


@given(st.dictionaries(st.sampled_from(["role", "content", "parts"]), anything))
def test_no_message_is_too_odd_for_a_fingerprint(message: dict[str, JsonValue]) -> None:
    assert len(history_v1([message, *as_reference_messages([message])])) == 64


@given(st.binary())
def test_content_counts_the_same_inline_and_by_digest(content: bytes) -> None:
    inline = attachment(data=base64.b64encode(content).decode())
    by_digest = attachment(sha256=sha256(content).hexdigest())
    assert digest("user", [inline]) == digest("user", [by_digest])
