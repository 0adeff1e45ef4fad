"""Rows are kept by session on disk, and what is no row is named with its line."""

from io import BytesIO

import pytest

from infrastructure import row_spool
from infrastructure.imports.translation import Loss
from infrastructure.row_spool import RowSpool


def row(session: str, external: str) -> bytes:
    return b'{"session_id":"%s","external_id":"%s","role":"user","content":"hi"}' % (
        session.encode(),
        external.encode(),
    )


def spooled(content: bytes) -> tuple[list[tuple[str, int]], list[Loss], list[int]]:
    losses: list[Loss] = []
    heard: list[int] = []
    with RowSpool(losses.append) as spool:
        spool.read(BytesIO(content), heard.append)
        return [(each.session_id, each.rows) for each in spool.sessions()], losses, heard


def test_rows_in_turns_come_out_by_session_in_their_order() -> None:
    content = b"\n".join([row("b", "1"), row("a", "1"), b"", row("b", "0"), row("a", "2")])
    with RowSpool(lambda _: None) as spool:
        spool.read(BytesIO(content))
        found = {
            each.session_id: [(one.line, one.external_id) for one, _ in spool.rows(each.session_id)]
            for each in spool.sessions()
        }
        assert spool.lines == 5
    assert found == {"a": [(2, "1"), (5, "2")], "b": [(1, "1"), (4, "0")]}


def test_each_beginning_of_a_sessions_rows_has_a_digest_of_its_own() -> None:
    with RowSpool(lambda _: None) as spool, RowSpool(lambda _: None) as longer:
        spool.read(BytesIO(row("a", "1")))
        longer.read(BytesIO(row("a", "1") + b"\n" + row("b", "9") + b"\n" + row("a", "2")))
        assert longer.digests("a", {1, 2, 3})[1] == spool.digests("a", {1})[1]
        assert set(longer.digests("a", {1, 2, 3})) == {1, 2}


def test_half_a_last_line_waits_for_its_end() -> None:
    sessions, losses, _ = spooled(row("a", "1") + b"\n" + row("a", "2")[:-5])
    assert sessions == [("a", 1)]
    assert losses == [Loss(line=2, code="incomplete-last-line", detail="syntax")]


def test_half_a_surrogate_pair_is_replaced_and_counted() -> None:
    sessions, losses, _ = spooled(row("a", "1").replace(b"hi", b"\\ud83d") + b"\n")
    assert sessions == [("a", 1)]
    assert losses == [Loss(line=1, code="lone-surrogate", detail="1")]


def test_a_line_that_is_too_long_is_skipped_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_spool, "LONGEST_LINE", 200)
    long = row("a", "1").replace(b"hi", b"x" * 500)
    sessions, losses, _ = spooled(long + b"\n" + row("a", "2") + b"\n")
    assert sessions == [("a", 1)]
    assert losses == [Loss(line=1, code="line-too-long", detail="")]


def test_it_is_heard_how_many_lines_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_spool, "HEARD_EVERY", 10)
    _, _, heard = spooled(b"\n".join(row("a", f"{number}") for number in range(25)))
    assert heard == [10, 20, 25]
