"""Which words a text has, whatever it is written in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.words import (
    LONGEST,
    SPLIT_LIMIT,
    Word,
    fold,
    lexemes,
    spelled,
    wanted_lexemes,
    wanted_spelled,
    words,
)


def texts(text: str) -> list[str]:
    return [word.text for word in words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("-- *() \n", []),
        ("don't stop", ["don", "t", "stop"]),
        ("src/app/main.py:12", ["src", "app", "main", "py", "12"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("\uff21\uff22\uff23 Straße", ["abc", "strasse"]),
        ("e\u0301te\u0301 naïve", ["ete", "naive"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("한국어", ["한", "국", "어"]),
        ("हिन्दी", ["हिन्दी"]),
        ("a" * (LONGEST + 1), ["a" * LONGEST]),
    ],
)
def test_a_text_falls_into_its_words(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_a_word_says_where_it_and_its_parts_stand() -> None:
    [word] = words("  getURLs2Go ")
    assert (word.text, word.start, word.end) == ("geturls2go", 2, 12)
    assert word.parts == (("get", 2, 5), ("ur", 5, 7), ("ls2", 7, 10), ("go", 10, 12))


def test_a_run_that_is_no_identifier_is_not_taken_apart() -> None:
    [word] = words("aB" * 100)
    assert word.parts == ((word.text, 0, 200),)
    assert lexemes("aB" * 100) == {("ab" * 100)[:LONGEST]}


def test_an_index_keeps_words_their_parts_and_neighbours_without_spaces() -> None:
    assert lexemes("readFile 東京都 x") == {
        "readfile",
        "read",
        "file",
        "東",
        "京",
        "都",
        "東京",
        "京都",
        "x",
    }
    assert lexemes("") == set()


def test_what_folds_to_nothing_is_no_word() -> None:
    iota = "\u037a"  # a letter by its class, and a space with an accent by what it stands for
    assert iota.isalpha()
    assert fold(iota) == ""
    assert texts(f"a {iota} b") == ["a", "b"]
    assert lexemes(f"a {iota} b") == {"a", "b"}


def test_words_in_a_row_are_wanted_whole_or_by_their_parts() -> None:
    assert wanted_lexemes(list(words("readFile"))) == (
        frozenset({"readfile"}),
        frozenset({"read", "file"}),
    )
    assert wanted_lexemes([Word("a", 0, 1, (("a", 0, 1),))]) == (frozenset("a"), frozenset("a"))


@given(st.text(st.characters(max_codepoint=127)))
def test_a_text_of_ascii_has_the_words_that_it_has_among_others(text: str) -> None:
    assert [*texts(text), "東"] == texts(f"{text} 東")
    assert lexemes(text) | {"東"} == lexemes(f"{text} 東")


@given(
    st.text(st.sampled_from("abAB1 _-"))
    | st.text(st.sampled_from("abAB1 _-東京\u0301\u037aß"))
    | st.text(st.sampled_from("aB1"), min_size=LONGEST, max_size=SPLIT_LIMIT + 1)
)
def test_a_text_is_spelled_as_its_words_follow_each_other(text: str) -> None:
    found = list(words(text))
    whole = " ".join(word.text for word in found)
    parts = " ".join(part for word in found for part, _, _ in word.parts)
    assert spelled(text) == wanted_spelled(found) == (f" {whole} ", f" {parts} ")
