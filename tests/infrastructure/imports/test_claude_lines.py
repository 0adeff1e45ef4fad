"""One bad line never stops the rest, and every line is accounted for."""

import base64
import json
from datetime import UTC, datetime

import pytest

from infrastructure.imports.claude_code import translate
from tests.infrastructure.imports.session_file import (
    A,
    U,
    data_of,
    js,
    line,
    losses,
    only,
    read,
    told,
)
from tests.infrastructure.imports.session_file import text as t


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (b'{"type":"user"', "syntax"),
        (b"[1,2]", "not-an-object"),
        (b'{"type":"\xff"}', "invalid-utf8"),
        (b"\x00\x00\x00\x00", "syntax"),
        (b'{"v":NaN}', "not-a-number"),
        (b'{"a":1,"a":2}', "duplicate-key"),
        (b'{"v":' + b"[" * 3000 + b"]" * 3000 + b"}", "too-deep"),
    ],
)
def test_a_line_that_is_no_json_object_is_kept_byte_for_byte_and_listed(
    bad: bytes, code: str
) -> None:
    result = read(U("u1", None, "hi"), bad, A("a1", "u1", "m1", t("hello")))
    session = only(result)
    assert told(session)[:3] == ["turn-started u1", "code/unreadable-line", "assistant m1"]
    kept = data_of(session, "data-recorded")[0]["data"]
    assert kept == {"base64": base64.b64encode(bad).decode()}
    (loss,) = [loss for loss in result.report.losses if loss.line == 2]
    assert (loss.code, loss.detail) == ("unreadable-line", code)


def test_one_bad_line_of_ten_thousand_is_one_loss() -> None:
    lines = [U("u1", None, "go")]
    lines += [A(f"a{n}", f"a{n - 1}" if n else "u1", f"m{n}", t("x")) for n in range(9_998)]
    lines.insert(5_000, b'{"type":"assis')
    result = read(*lines)
    assert losses(result) == [(5_001, "unreadable-line")]
    assert result.report.messages == 9_999


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    raw = (
        b'{"type":"user","uuid":"u1","message":{"content":'
        b'"a\\ud83d b\\ud83d\\ude00 c\\\\ud83d d\\uDE00"}}'
    )
    result = read(raw)
    message = data_of(only(result), "turn-started")[0]["messages"]
    assert message[0]["content"] == "a\ufffd b\U0001f600 c\\ud83d d\ufffd"
    (loss,) = [loss for loss in result.report.losses if loss.code == "lone-surrogate"]
    assert (loss.line, loss.detail) == (1, "2")


def test_numbers_and_control_characters_come_through_unharmed() -> None:
    raw = (
        b'{"type":"assistant","uuid":"a1","message":{"id":"m1","content":[{"type":"tool_use",'
        b'"id":"c1","name":"Run","input":{"n":123456789012345678901234567890,'
        b'"d":0.1000000000000000055511151231257827,"nul":"\\u0000"}}]}}'
    )
    (event,) = [e for e in only(read(raw)).events if e.type == "tool-call-requested"]
    assert b'"n":123456789012345678901234567890' in event.data
    assert b'"d":0.1000000000000000055511151231257827' in event.data
    assert b'"nul":"\\u0000"' in event.data


def test_a_byte_order_mark_line_ends_and_blank_lines_do_no_harm() -> None:
    result = read(b"\xef\xbb\xbf" + U("u1", None, "hi") + b"\r\n", b"", b"  \n")
    assert told(only(result)) == ["turn-started u1"]
    assert losses(result) == []
    assert result.report.lines == 3


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("2026-03-02T09:14:00.250Z", datetime(2026, 3, 2, 9, 14, 0, 250_000, tzinfo=UTC)),
        ("2026-03-02T10:14:00+01:00", datetime(2026, 3, 2, 9, 14, tzinfo=UTC)),
        ("2026-03-02T09:14:00", datetime(2026, 3, 2, 9, 14, tzinfo=UTC)),
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
        (1_772_442_840, None),
    ],
)
def test_times_are_aware_utc_or_none(stamp: object, at: datetime | None) -> None:
    session = only(read(U("u1", None, "hi", timestamp=stamp)))
    assert [event.occurred_at for event in session.events] == [at]


def test_unknown_lines_are_kept_verbatim_under_their_type() -> None:
    strange = js(type="from-the-future", value=[1, {"x": None}])
    session = only(read(strange, js(note="no type"), line("user", "u1", None, message="text")))
    assert data_of(session, "data-recorded") == [
        {"kind": "claude-code/from-the-future", "data": json.loads(strange)},
        {"kind": "claude-code/unknown", "data": {"note": "no type"}},
        {
            "kind": "claude-code/user",
            "data": {
                "type": "user",
                "uuid": "u1",
                "parentUuid": None,
                "sessionId": "s-1",
                "message": "text",
            },
        },
    ]


def test_a_message_without_content_is_listed_and_an_empty_prompt_is_data() -> None:
    result = read(U("u0", None, " "), U("u1", None, "hi"), A("a1", "u1", "m1"))
    assert told(only(result)) == ["code/empty-user", "turn-started u1"]
    assert losses(result) == [(3, "empty-message")]


def test_fields_that_no_event_carries_are_named_once_a_file() -> None:
    result = read(U("u1", None, "hi", cwd="/x", **{"odd key!": 1}), U("u2", "u1", "x", cwd="/y"))
    (loss,) = result.report.losses
    assert (loss.line, loss.code, loss.detail) == (None, "fields-not-carried", "cwd, 1 more")


def test_an_empty_file_is_no_session() -> None:
    result = translate([], source_name="empty.jsonl")
    assert result.sessions == ()
    assert result.report.events == 0
