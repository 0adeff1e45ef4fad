"""A model's view can be had without the files in it, and says what was left out."""

import pytest

from domain.raw_json import RawJson
from projections.files import LARGE, large_files, without_files
from projections.openai_chat import openai_chat
from projections.transcript import TranscriptMessage


def message(*parts: dict[str, object], role: str = "user") -> TranscriptMessage:
    return TranscriptMessage(
        index=0,
        message_id="m1",
        turn_id="t1",
        version=2,
        role=role,  # type: ignore[arg-type]
        state="live",
        parts=parts,
    )


def result(output: bytes) -> dict[str, object]:
    return {"type": "tool_result", "tool_call_id": "c", "output": RawJson(output)}


TEXT: dict[str, object] = {"type": "text", "text": "see"}


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ({}, "[A file was left out.]"),
        ({"filename": "a.png", "media_type": "image/png", "size": 6}, None),
        ({"media_type": "image/png"}, "[A file was left out: image/png.]"),
    ],
)
def test_a_text_stands_where_a_file_stood(file: dict[str, object], words: str | None) -> None:
    attachment = {"type": "attachment", "attachment_id": "a", **file}
    (shown,), losses = without_files([message(TEXT, attachment)])
    words = words or "[A file was left out: a.png, image/png, 6 bytes.]"
    assert shown.parts == (TEXT, {"type": "text", "text": words})
    assert [(loss.code, loss.message_id) for loss in losses] == [("attachment-left-out", "m1")]
    assert openai_chat([shown]).losses == []


def test_of_a_file_that_a_provider_may_refuse_a_reader_is_warned() -> None:
    sizes = (LARGE + 1, LARGE, None)
    files: list[dict[str, object]] = [{"type": "attachment", "size": size} for size in sizes]
    warned = large_files([message(TEXT, *files)])
    assert [(loss.code, loss.message_id) for loss in warned] == [("attachment-large", "m1")]


def test_what_has_no_file_stays_as_it_is() -> None:
    plain = message(TEXT, {"type": "data", "kind": "k", "data": 1})
    results = message(result(b'"text"'), result(b'[{"type":"text","text":"a"}, 1]'), role="tool")
    shown, losses = without_files([plain, results])
    assert shown[0] is plain
    assert shown[1] is results
    assert losses == []


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (b'{"type":"image","data":"aGk=","mimeType":"image/png"}', ": image/png"),
        (b'{"type":"image","source":{"type":"base64","media_type":"image/gif"}}', ": image/gif"),
        (b'{"type":"document","source":"x"}', ""),
    ],
)
def test_an_image_that_a_tool_gave_back_is_left_out_too(item: bytes, words: str) -> None:
    output = b'[{"type":"text","text":"a"},' + item + b"]"
    (shown,), losses = without_files([message(result(output), role="tool")])
    text = b'{"type":"text","text":"[A file was left out%s.]"}' % words.encode()
    assert shown.parts == (result(b'[{"type":"text","text":"a"},' + text + b"]"),)
    assert len(losses) == 1
