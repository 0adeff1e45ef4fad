"""A text is cut between characters, as people see them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.graphemes import beginning, shortened

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
CHARACTERS = [
    "e\u0301",  # a letter and its accent
    "\r\n",
    FAMILY,
    "\U0001f44d\U0001f3fd",  # a thumb and its tone
    "\u2764\ufe0f",  # a heart and its variation selector
    "\U0001f1e9\U0001f1ea",  # a flag
    "\U0001f3f4\U000e0067\U000e007f",  # a flag made of tags
    "\u1112\u1161\u11ab",  # a syllable, letter by letter
    "\u1100\u1100\u1161",
    "\u1100\uac00",
    "\uac00\u11a8",  # a syllable, and a consonant that ends it
    "\uac01\u11a8",
    "\u1161\u1161\u11a8\u11a8",
    "\u0915\u093e",
]


@pytest.mark.parametrize("character", CHARACTERS)
def test_what_is_seen_as_one_character_is_kept_whole_or_not_at_all(character: str) -> None:
    text = f"a{character}b"
    size = len(text.encode())
    whole = len(f"a{character}".encode())
    assert {beginning(text, most) for most in range(1, whole)} == {"a"}
    assert {beginning(text, most) for most in range(whole, size)} == {f"a{character}"}
    assert beginning(text, size) == text
    assert {shortened(text, most) for most in range(1, len(character) + 1)} == {"a"}
    assert shortened(text, len(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "ab",
        "\n\u0301",  # a mark has nothing to stand on
        "\r\r",
        "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7",  # two flags
        "\u200da",
        "\uac01\u1161",  # a whole syllable takes no vowel any more
        "\u11a8\u1161",
        "\u1161\u1100",
        "a\u1161",
    ],
)
def test_two_characters_can_be_parted(text: str) -> None:
    middle = len(text) // 2
    assert shortened(text, middle) == text[:middle]


def test_a_single_character_that_is_too_long_is_cut_between_its_code_points() -> None:
    assert beginning("e" + "\u0301" * 10_000, 8) == "e" + "\u0301" * 3
    assert shortened("e" + "\u0301" * 10_000, 8) == "e" + "\u0301" * 7
    assert beginning("\U0001f600", 3) == ""


@given(st.text(), st.integers(0, 40))
def test_a_beginning_is_one_and_fits(text: str, most: int) -> None:
    kept = beginning(text, most)
    assert text.startswith(kept)
    assert len(kept.encode()) <= most
