"""What the blocks of a message become."""

import hashlib

import pytest

from tests.infrastructure.imports.session_file import (
    A,
    R,
    U,
    call,
    data_of,
    only,
    read,
    told,
)
from tests.infrastructure.imports.session_file import text as t

PICTURE = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}


def parts(*blocks: object) -> object:
    session = only(read(U("u1", None, "hi"), A("a1", "u1", "m1", *blocks)))
    return data_of(session, "message-recorded")[0]["message"]["content"]


def result_of(output: object, structured: object = None, *, is_error: bool = False) -> list[str]:
    more = {"toolUseResult": structured} if structured is not None else {}
    lines = [
        U("u1", None, "hi"),
        A("a1", "u1", "m1", call("c1")),
        R("r1", "a1", "c1", output, is_error=is_error, **more),
    ]
    return told(only(read(*lines)))[2:]


def test_reasoning_keeps_its_signature_and_stands_in_its_place() -> None:
    redacted = {"type": "redacted_thinking", "data": "b3BhcXVl"}
    assert parts(
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, redacted, t("so")
    ) == [
        {"type": "reasoning", "text": "hm", "signature": "c2ln", "provider": "anthropic"},
        {"type": "data", "kind": "anthropic/redacted_thinking", "data": redacted},
        {"type": "text", "text": "so"},
    ]


def test_an_unknown_block_is_a_data_part_as_it_was() -> None:
    strange = {"type": "hologram", "depth": 3}
    odd = {"type": "no such/kind", "x": 1}
    assert parts(strange, odd) == [
        {"type": "data", "kind": "anthropic/hologram", "data": strange},
        {"type": "data", "kind": "anthropic/unknown", "data": odd},
    ]


def test_a_picture_is_an_attachment_named_after_its_bytes() -> None:
    session = only(read(U("u1", None, [t("see"), {"type": "image", "source": PICTURE}])))
    messages = data_of(session, "turn-started")[0]["messages"]
    assert messages[0]["content"][1] == {
        "type": "attachment",
        "attachment_id": f"sha256-{hashlib.sha256(b'hello').hexdigest()}",
        "media_type": "image/png",
        "data": "aGVsbG8=",
    }


@pytest.mark.parametrize(
    "source",
    [{"type": "url", "url": "https://example.org/a.png"}, {**PICTURE, "data": "not base64!"}, None],
)
def test_a_picture_that_is_not_there_is_a_data_part(source: object) -> None:
    block = {"type": "image", "source": source}
    assert parts(block) == [{"type": "data", "kind": "anthropic/image", "data": block}]


def test_output_is_kept_as_it_is_and_a_picture_stays_in_it() -> None:
    output = [t("a"), {"type": "image", "source": PICTURE}]
    lines = [U("u1", None, "hi"), A("a1", "u1", "m1", call("c1")), R("r1", "a1", "c1", output)]
    assert data_of(only(read(*lines)), "tool-call-completed") == [
        {"turn_id": "u1", "tool_call_id": "c1", "output": output}
    ]


@pytest.mark.parametrize(
    ("output", "is_error", "denied"),
    [
        ("The user doesn't want to proceed with this tool use. The tool use was", True, True),
        ("The user doesn't want to take this action right now. STOP", True, True),
        ("Permission to use Bash with command ls has been denied.", True, True),
        ("Claude requested permissions to use Bash, but you haven't granted it yet.", True, True),
        ("The user doesn't want to proceed with this tool use. As text in a file", False, False),
        ("No such file", True, False),
    ],
)
def test_a_refused_call_is_denied(output: str, is_error: bool, denied: bool) -> None:
    lines = [
        U("u1", None, "hi"),
        A("a1", "u1", "m1", call("c1")),
        R("r1", "a1", "c1", output, is_error=is_error),
    ]
    (data,) = data_of(only(read(*lines)), "tool-call-completed")
    assert data.get("denied", False) is denied
    assert data.get("is_error", False) is is_error


@pytest.mark.parametrize(
    ("output", "structured"),
    [
        ("done", "done"),
        ("no", "Error: no"),
        ("<tool_use_error>no</tool_use_error>", "Error: no"),
        ("done", {"stdout": "done", "stderr": "", "interrupted": False}),
        ([t("a")], [t("a")]),
        (
            [{"type": "image", "source": PICTURE}],
            {
                "type": "image",
                "file": {"base64": "aGVsbG8=", "type": "image/png", "originalSize": 5},
            },
        ),
    ],
)
def test_a_structured_result_that_only_repeats_is_dropped(
    output: object, structured: object
) -> None:
    assert result_of(output, structured) == ["call-completed c1"]


@pytest.mark.parametrize(
    ("output", "structured"),
    [
        ("done", {"stdout": "done", "exitCode": 3}),
        ("done", {"stdout": "done", "interrupted": True}),
        ("done", {"agentId": "a-7"}),
        ("done", "something else"),
        ([t("a")], [t("b")]),
    ],
)
def test_a_structured_result_that_says_more_is_kept(output: object, structured: object) -> None:
    assert result_of(output, structured) == ["call-completed c1", "code/tool-use-result"]


def test_a_call_with_odd_names_and_arguments_is_still_told() -> None:
    odd: dict[str, object] = {"type": "tool_use", "id": "", "name": None, "input": [1]}
    session = only(read(U("u1", None, "hi"), A("a1", "u1", "m1", odd)))
    assert data_of(session, "tool-call-requested") == [
        {"turn_id": "u1", "tool_call_id": "call-line-2", "name": "tool-unnamed", "arguments": "[1]"}
    ]


def test_a_document_is_an_attachment_under_its_title() -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "aGVsbG8="}
    assert parts({"type": "document", "source": source, "title": "plan.pdf"}) == [
        {
            "type": "attachment",
            "attachment_id": f"sha256-{hashlib.sha256(b'hello').hexdigest()}",
            "media_type": "application/pdf",
            "filename": "plan.pdf",
            "data": "aGVsbG8=",
        }
    ]


def test_reasoning_without_a_text_or_a_signature_is_kept_as_far_as_it_goes() -> None:
    wordless = {"type": "thinking", "signature": "c2ln"}
    assert parts(wordless, {"type": "thinking", "thinking": "hm"}) == [
        {"type": "data", "kind": "anthropic/thinking", "data": wordless},
        {"type": "reasoning", "text": "hm", "provider": "anthropic"},
    ]


def test_a_result_without_content_is_null() -> None:
    session = only(
        read(
            U("u1", None, "hi"),
            A("a1", "u1", "m1", call("c1")),
            U("r1", "a1", [{"type": "tool_result", "tool_use_id": "c1"}], toolUseResult={"n": [7]}),
        )
    )
    assert data_of(session, "tool-call-completed")[0]["output"] is None
    assert data_of(session, "data-recorded")[0]["data"] == {
        "tool_call_id": "c1",
        "tool_use_result": {"n": [7]},
    }
