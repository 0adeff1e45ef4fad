"""Where can a text be cut so that nobody sees half a character?

Extended grapheme clusters of UAX #29, by what the standard library knows of a character: combining
marks, joiners, variation selectors, emoji modifiers, flags, Hangul syllables, and CR LF.
"""

from typing import Final
from unicodedata import category

_JOINER: Final = "\u200d"
_EXTENDING: Final = frozenset({"Mn", "Me", "Mc"})
_TONES: Final = range(0x1F3FB, 0x1F400)
_TAGS: Final = range(0xE0020, 0xE0080)
_FLAGS: Final = range(0x1F1E6, 0x1F200)
_LEADING: Final = (range(0x1100, 0x1160), range(0xA960, 0xA97D))
_VOWELS: Final = (range(0x1160, 0x11A8), range(0xD7B0, 0xD7C7))
_TRAILING: Final = (range(0x11A8, 0x1200), range(0xD7CB, 0xD7FC))
_SYLLABLES: Final = range(0xAC00, 0xD7A4)
_TRAILS: Final = 28
"""Every so many syllables one has no trailing consonant, and can still take a vowel."""


def beginning(text: str, most: int) -> str:
    """Return the longest beginning of `text` of at most `most` bytes that ends between characters.

    A single character of more bytes than that is cut between its code points.

    >>> beginning("cafe\u0301", 5)
    'caf'
    """
    if len(text) <= most and len(text.encode()) <= most:
        return text
    kept = text[:most].encode()[:most].decode(errors="ignore")
    return kept[: _boundary(text, len(kept))]


def shortened(text: str, most: int) -> str:
    """Return the longest beginning of at most `most` code points that ends between characters.

    >>> shortened("cafe\u0301", 4)
    'caf'
    """
    return text if len(text) <= most else text[: _boundary(text, most)]


def _boundary(text: str, at: int) -> int:
    """Return the last place up to `at` where a character ends; `at` itself if there is none."""
    place = at
    while place > 0 and _joined(text, place):
        place -= 1
    return place or at


def _joined(text: str, at: int) -> bool:
    """Tell whether the code points before and after `at` belong to one character."""
    before, after = text[at - 1], text[at]
    left, right = ord(before), ord(after)
    if before == "\r":
        return after == "\n"
    if after == _JOINER or category(after) in _EXTENDING or right in _TONES or right in _TAGS:
        return category(before) != "Cc"
    if before == _JOINER:
        return category(after) == "So"
    if left in _FLAGS and right in _FLAGS:
        return _flags_before(text, at) % 2 == 1
    return _is_one_syllable(left, right)


def _flags_before(text: str, at: int) -> int:
    start = at
    while start > 0 and ord(text[start - 1]) in _FLAGS:
        start -= 1
    return at - start


def _is_one_syllable(left: int, right: int) -> bool:
    vowel = any(right in row for row in _VOWELS)
    trailing = any(right in row for row in _TRAILING)
    if any(left in row for row in _LEADING):
        return vowel or right in _SYLLABLES or any(right in row for row in _LEADING)
    open_ = left in _SYLLABLES and (left - _SYLLABLES.start) % _TRAILS == 0
    if open_ or any(left in row for row in _VOWELS):
        return vowel or trailing
    return trailing and (left in _SYLLABLES or any(left in row for row in _TRAILING))
