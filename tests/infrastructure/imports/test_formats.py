"""A file says by its content what it is, or is refused with what would settle it."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.json_text import JsonValue, dump
from infrastructure.imports.formats import (
    A_STREAM,
    FORMATS,
    UNSURE,
    TranscriptFormat,
    UnknownFormat,
    format_of,
)
from infrastructure.imports.rows import COLUMNS, BadRow, RowsOfSession, row_of

ROW = b'{"session_id":"s","external_id":"1","role":"user","content":"hi"}'
CHAT = b'{"role":"user","content":"hi"}'


@pytest.mark.parametrize(
    ("content", "format_"),
    [
        (ROW, "rows"),
        (ROW + b"\n" + ROW + b"\n", "rows"),
        (b"\xef\xbb\xbfsession_id,external_id,role,content,occurred_at\r\na,b,user,c,\r\n", "rows"),
        (b"[" + CHAT + b"]", "openai-chat"),
        (b'{\n "messages": [' + CHAT + b"]\n}", "openai-chat"),
        (CHAT + b"\n" + CHAT, "openai-chat"),
        (b'{"messages":[' + CHAT + b"]}\n" * 2, "openai-chat"),
        (b'[{"id":"u","role":"user","parts":[]}]', "ui-messages"),
        (b'{"type":"session_meta","payload":{"id":"s"}}\n', "codex"),
        (b'not json\n{"type":"user","uuid":"u","sessionId":"s","message":{}}\n', "claude-code"),
        (b'{"format":"turnlog-export-1","events":3}\n{"type":"x"}\n', "turnlog"),
    ],
)
def test_a_file_says_what_it_is(content: bytes, format_: str) -> None:
    assert format_of(content) == format_


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", UNSURE),
        (b"dear diary\n", UNSURE),
        (b'{"a":1}\n', UNSURE),
        (CHAT + b"\n" + ROW, UNSURE),
        (b'[{"role":"user","content":[{"type":"tool_result"}]}]', UNSURE),
        (b'{"type":"start"}\n{"type":"text-delta","delta":"x"}\n', A_STREAM),
    ],
)
def test_what_cannot_be_told_is_refused_with_what_would_settle_it(
    content: bytes, reason: str
) -> None:
    with pytest.raises(UnknownFormat, match=reason[:20]):
        format_of(content)


def test_the_beginning_of_a_large_file_is_enough() -> None:
    assert format_of(ROW + b"\n" + ROW[:20], whole=False) == "rows"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["user", "tool", "x", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "role",
                    "content",
                    "parts",
                    "payload",
                    "messages",
                    "id",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "tool_call_id",
                    "state",
                    "approval",
                    "toolCallId",
                    "metadata",
                    "call_id",
                    "output",
                    "summary",
                    "text",
                    "url",
                ]
            ),
            inner
            | st.sampled_from(
                [
                    "response_item",
                    "event_msg",
                    "message",
                    "function_call",
                    "assistant",
                    "tool-x",
                    "input-available",
                    "compacted",
                    "image_url",
                    "data:,x",
                ]
            ),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(values=st.lists(_JSON, max_size=6))
def test_whatever_a_file_says_its_format_is_told_or_refused(values: list[JsonValue]) -> None:
    for content in (dump(values), b"\n".join(map(dump, values))):
        with suppress(UnknownFormat):
            format_of(content)


@given(value=st.dictionaries(st.sampled_from(sorted(COLUMNS)), _JSON))
def test_whatever_a_row_says_it_is_taken_or_named(value: dict[str, JsonValue]) -> None:
    session = RowsOfSession()
    for role in ("user", "assistant", "tool", "system"):
        with suppress(BadRow):
            session.take(row_of({"session_id": 1, "external_id": role, **value, "role": role}, 1))


@pytest.mark.parametrize("name", ["openai-chat", "codex", "ui-messages"])
@given(values=st.lists(_JSON, max_size=6), cut=st.integers(0, 6))
def test_whatever_the_lines_say_is_translated_and_more_of_them_only_add(
    name: TranscriptFormat, values: list[JsonValue], cut: int
) -> None:
    lines = [dump(value) for value in values]
    translate = FORMATS[name].translate
    whole = translate(lines, source_name="s.jsonl", flush_after=[cut])
    before = translate(lines[:cut], source_name="s.jsonl")
    for session in before.sessions:
        later = next(s for s in whole.sessions if s.session_id == session.session_id)
        assert later.events[: len(session.events)] == session.events
