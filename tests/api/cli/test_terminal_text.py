"""Is text of others shown inert, within its columns, and with what is missing?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from api.cli.terminal_text import cut, cut_lines, inert, one_line

STEERING = (
    {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))}
    | {chr(code) for code in range(0x202A, 0x202F)}
    | {chr(code) for code in range(0x2066, 0x206A)}
)


@given(st.text())
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    assert not STEERING & set(inert(text))
    assert "\n" not in one_line(text)


@given(st.text(max_size=200), st.integers(20, 60))
def test_a_cut_line_fits_its_columns(text: str, width: int) -> None:
    assert cell_len(cut(text, width)) <= width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("exactly twenty chars", "exactly twenty chars"),
        ("a" * 21, "aaaaaaaa…(+13 chars)"),
        ("漢" * 20, "漢漢漢漢…(+16 chars)"),
        ("a\nb", "a b"),
    ],
)
def test_a_cut_line_says_how_much_is_missing(text: str, shown: str) -> None:
    assert cut(text, 20) == shown


def test_cut_lines_say_how_many_are_missing() -> None:
    assert cut_lines("1\n2\n3\n4", 20, 2) == ["1", "2", "…(+2 lines, 3 chars)"]
    assert cut_lines("1\n2\n3", 20, 2) == ["1", "2", "…(+1 line, 1 chars)"]
    assert cut_lines("1\n2\n", 20, 2) == ["1", "2"]
