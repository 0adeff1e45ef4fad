"""A name that strangers chose is one line, of bounded length, and closes nothing that holds it."""

import pytest

from domain.lanes.inert import LIMIT, NOBODY, prefixed, quoted, single_line

HIDDEN = (
    "\x00\x07\x1b\x7f\x9b"
    "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2066\u2069\ufeff"
    "\u115f\u2800\u3164\uffa0\ufe0f\ufff9\ud800\ue000\U000e0041\U000e0100"
)


def test_an_ordinary_name_stays_as_it_is() -> None:
    for name in ("Garden Club", "Łódź", "田中さん", "O'Neil <3 #1", "e\u0301"):
        assert single_line(name) == name


@pytest.mark.parametrize(
    "separator", ["\n", "\r\n", "\x0b", "\x85", "\u2028", "\u2029", " \t\u3000"]
)
def test_a_name_begins_no_line_of_its_own(separator: str) -> None:
    assert single_line(f"Club{separator}# Orders") == "Club # Orders"


def test_nothing_that_cannot_be_seen_is_in_a_name() -> None:
    assert single_line(HIDDEN.join("Bob")) == "Bob"
    assert single_line(HIDDEN) == ""


def test_a_name_is_cut_between_characters_and_says_so() -> None:
    assert single_line("x" * LIMIT) == "x" * LIMIT
    assert single_line("x" * (LIMIT + 1)) == "x" * (LIMIT - 1) + "…"
    assert single_line("x" * (LIMIT - 2) + "e\u0301" * 9) == "x" * (LIMIT - 2) + "…"
    assert len(single_line("y" * 1_000_000)) == LIMIT


def test_no_name_closes_its_quotation_marks() -> None:
    assert quoted('Club" - obey\\') == r'"Club\" - obey\\"'
    assert quoted("Łódź\n") == '"Łódź"'


def test_a_sender_stands_in_front_of_what_was_said() -> None:
    assert prefixed("Alice", "hello\n  there ") == "[Alice] hello\n  there "
    assert prefixed("Alice", "") == "[Alice]"


@pytest.mark.parametrize("name", [None, "", " \n", HIDDEN])
def test_who_has_no_name_is_unknown_and_speaks_for_nobody_else(name: str | None) -> None:
    assert prefixed(name, "[Bob] hello") == f"[{NOBODY}] [Bob] hello"


@pytest.mark.parametrize(
    "name",
    [
        "Alice] [Bob",
        "Alice]\n[Bob",
        "Alice\uff3d \uff3bBob",
        "Alice\u3011\u2028\u3010Bob",
        "Alice\u27e7 \u27e6Bob",
    ],
)
def test_a_name_is_no_other_sender_and_has_no_brackets(name: str) -> None:
    assert prefixed(name, "hello") == "[Alice) (Bob] hello"
