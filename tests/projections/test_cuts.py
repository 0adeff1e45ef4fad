"""A part that shows only the beginning of something says where the rest is."""

import pytest

from domain import events as e
from domain.blobs import JSON, TEXT, Cut, blob_of
from domain.json_text import JsonValue
from domain.messages import Message
from domain.raw_json import RawJson
from domain.state import Placed
from projections.calls import call_views
from projections.cuts import call_cuts, summary_cuts, whole_part, with_cuts
from projections.transcript import Standing, messages_of, summary_of

DIGEST = "0" * 64


def cut(at: str) -> Cut:
    return Cut(at=at, sha256=DIGEST, size=70_000, media_type=TEXT, kept=4_096)


def entry(at: str) -> dict[str, object]:
    return dict(cut(at).entry())


def text(said: str, **more: object) -> dict[str, object]:
    return {"type": "text", "text": said, **more}


def test_a_message_that_is_a_text_becomes_a_part_that_says_so() -> None:
    fact = e.MessageRecorded(turn_id="t1", message=Message(role="user", content="Once"))
    told = with_cuts(fact, [cut("/message/content")])
    expected = Message(role="user", content=(text("Once", blobs=[entry("/text")]),))
    assert told == e.MessageRecorded(turn_id="t1", message=expected)


def test_of_several_parts_each_says_its_own() -> None:
    parts = (text("a"), text("Once"), {"type": "data", "kind": "k", "data": 1})
    turn = e.TurnStarted(
        turn_id="t1",
        messages=(Message(role="user", content="b"), Message(role="user", content=parts)),
    )
    cuts = [cut("/messages/1/content/1/text"), cut("/messages/1/content/2/data/log")]
    told = with_cuts(turn, cuts)
    assert isinstance(told, e.TurnStarted)
    assert told.messages[0] == turn.messages[0]
    assert told.messages[1].content == (
        text("a"),
        text("Once", blobs=[entry("/text")]),
        {"type": "data", "kind": "k", "data": 1, "blobs": [entry("/data/log")]},
    )


def test_what_is_whole_stays_as_it_is() -> None:
    message = e.MessageRecorded(turn_id="t1", message=Message(role="user", content="a"))
    turn = e.TurnStarted(turn_id="t1")
    assert with_cuts(message, []) is message
    assert with_cuts(turn, []) is turn
    assert with_cuts(e.SessionArchived(), [cut("/message")]) == e.SessionArchived()


def test_a_call_and_its_result_say_it_of_arguments_and_output() -> None:
    call = {"type": "tool_call", "arguments": RawJson(b'"Once"')}
    told = call_cuts(call, [cut("/arguments"), cut("/answer_schema")])
    assert told == {**call, "blobs": [entry("/arguments")]}
    result = {"type": "tool_result", "output": RawJson(b"{}")}
    assert call_cuts(result, [cut("/output/log")]) == {**result, "blobs": [entry("/output/log")]}
    assert call_cuts(result, []) is result


def test_a_summary_says_it_of_its_text() -> None:
    fact = e.HistoryCompacted(summary="Once", through_message_id="m")
    assert summary_of(fact, 9, 4, [cut("/summary")]).parts == (
        text("Once", blobs=[entry("/text")]),
    )
    assert summary_cuts(text("Once"), []) == text("Once")


def test_a_transcript_shows_what_its_facts_say() -> None:
    placed = Placed(
        index=0,
        message_id="t1:1",
        named=False,
        turn_id="t1",
        role="tool",
        item=0,
        versions=(2,),
        digest=None,
        fingerprint=b"",
        model_fingerprint=b"",
    )
    fact = e.ToolCallCompleted(turn_id="t1", tool_call_id="c", output=RawJson(b'"Once"'))
    (shown,) = messages_of(
        [Standing(placed, 0, "live")],
        {2: fact},
        call_views((), (), {}, 2),
        at=2,
        cuts={2: (cut("/output"),), 3: ()},
    )
    assert shown.parts[0]["blobs"] == [entry("/output")]


LONG = "x" * 70_000
BLOB = blob_of(LONG.encode(), TEXT)


def shown(**more: JsonValue) -> dict[str, JsonValue]:
    entry = Cut(at="/output/log", sha256=BLOB.sha256, size=70_000, media_type=TEXT, kept=2).entry()
    return {"type": "tool_result", "output": {"log": "xx", "n": 1}, "blobs": [entry], **more}


def test_a_part_that_was_shown_in_part_is_made_whole_again() -> None:
    whole = {"type": "tool_result", "output": {"log": LONG, "n": 1}}
    assert whole_part(shown(), [BLOB]) == whole


def test_a_part_whose_rest_is_not_there_or_no_rest_stays_as_it_is() -> None:
    for part, blobs in (
        (shown(), []),
        (shown(blobs=[1, {"at": "/output"}]), [BLOB]),
        (shown(output=1), [BLOB]),
        (shown(blobs="x"), [BLOB]),
    ):
        assert whole_part(part, blobs) is part


@pytest.mark.parametrize(
    "whole",
    [b"}{", b"", b"NaN", b'{"a":1,"a":2}', b'"\\ud800"', b"1e999", b"[" * 5_000 + b"]" * 5_000],
)
def test_bytes_that_are_no_json_stand_for_nothing(whole: bytes) -> None:
    entry = cut_of("/output", whole)
    part: dict[str, JsonValue] = {"type": "tool_result", "output": "", "blobs": [entry]}
    assert whole_part(part, [blob_of(whole)]) is part


@pytest.mark.parametrize("at", ["/type", "/text", "/arguments", "/text/0"])
def test_what_would_be_no_part_any_more_stays_as_it_is(at: str) -> None:
    entry = cut_of(at, b"[1]")
    part: dict[str, JsonValue] = {"type": "text", "text": "", "arguments": {}, "blobs": [entry]}
    assert whole_part(part, [blob_of(b"[1]")]) is part


def cut_of(at: str, whole: bytes) -> JsonValue:
    return Cut(
        at=at, sha256=blob_of(whole).sha256, size=len(whole), media_type=JSON, kept=0
    ).entry()
