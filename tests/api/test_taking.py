"""A file's format is told by its beginning where that is enough, and transcripts have a limit."""

from io import BytesIO

import pytest

from api import taking
from api.taking import TooLarge, UnknownFormat, format_in

ROW = b'{"session_id":"s","external_id":"1","role":"user","content":"hi"}\n'
CHAT = b'[{"role":"user","content":"hi"}]'


def told(content: bytes, limit: int = taking.TRANSCRIPT_LIMIT) -> str:
    file = BytesIO(content)
    found = format_in(file, len(content), "auto", limit)
    assert file.tell() == 0
    return found


def test_the_beginning_tells_rows_and_the_whole_tells_a_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(taking, "BEGINNING", 100)
    assert told(ROW * 10) == "rows"
    assert told(CHAT.replace(b"hi", b"hi" * 100)) == "openai-chat"


def test_a_transcript_has_a_limit_and_rows_have_none_of_that_kind() -> None:
    assert told(ROW * 10, limit=100) == "rows"
    with pytest.raises(UnknownFormat):
        told(CHAT * 10, limit=100)
    with pytest.raises(TooLarge):
        format_in(BytesIO(CHAT), len(CHAT), "openai-chat", limit=10)
