"""Which words does a text have, so that code and every script can be searched?

A run of letters and digits is a word; `snake_case`, paths and dots fall apart by themselves, and a
`camelCase` word is known whole and by its parts. Scripts that are written without spaces count
character by character. Case, accents and width do not matter. No database's own idea of a word
ever enters, so that every database finds the same.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from unicodedata import category, normalize

LONGEST: Final = 64
"""Of a longer word only so many characters count."""
SPLIT_LIMIT: Final = 128
"""A longer run is no identifier, and is not taken apart."""
_ALONE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_HUMP: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ACCENTS: Final = re.compile("[\u0300-\u036f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word of a text, and where it stands there, in code points.

    Attributes:
        parts: What a `camelCase` word is made of; of any other the word itself.
        alone: Whether it is a character of a script that is written without spaces.
    """

    text: str
    start: int
    end: int
    parts: tuple[tuple[str, int, int], ...]
    alone: bool = False


def words(text: str) -> Iterator[Word]:
    """Yield the words of a text, in their order.

    >>> [word.text for word in words("def read_file(path): ...")]
    ['def', 'read', 'file', 'path']
    >>> [part for word in words("parseHTTPRequest") for part, _, _ in word.parts]
    ['parse', 'http', 'request']
    """
    for found in _pattern().finditer(text):
        start, end = found.span()
        raw = found.group()
        folded = fold(raw)[:LONGEST]
        if folded:
            yield Word(
                text=folded,
                start=start,
                end=end,
                parts=_parts(raw, start) or ((folded, start, end),),
                alone=found.lastgroup == "alone",
            )


def fold(text: str) -> str:
    """Return a text as it is compared: without case, accents, or another width.

    >>> fold("Ｃａｆé"), fold("STRASSE") == fold("straße")
    ('cafe', True)
    """
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", normalize("NFKD", text))
    return normalize("NFKC", normalize("NFKC", bare).casefold())


def lexemes(found: Sequence[Word]) -> Iterator[str]:
    """Yield what an index keeps of these words; some more than once."""
    for word in found:
        yield word.text
        if len(word.parts) > 1:
            for part, _, _ in word.parts:
                yield part
    yield from pairs(found)


def pairs(found: Sequence[Word]) -> Iterator[str]:
    """Yield each two neighbours of a script without spaces: alone they are too common."""
    for one, other in zip(found, found[1:], strict=False):
        if one.alone and other.alone:
            yield one.text + other.text


def _parts(raw: str, start: int) -> tuple[tuple[str, int, int], ...]:
    if len(raw) > SPLIT_LIMIT or raw.islower():
        return ()
    cuts = [0, *(hump.start() for hump in _HUMP.finditer(raw)), len(raw)]
    return tuple(
        (fold(raw[low:high]), start + low, start + high)
        for low, high in zip(cuts, cuts[1:], strict=False)
    )


@cache
def _pattern() -> re.Pattern[str]:
    """Return what a word looks like: letters and digits, and the marks that belong to them."""
    marks = "".join(
        chr(code) for code in range(0x300, 0xFE30) if category(chr(code)) in {"Mn", "Mc"}
    )
    letter = f"[^\\W_{_ALONE}]"
    return re.compile(f"(?P<alone>(?=[^\\W_])[{_ALONE}][{marks}]*)|{letter}(?:{letter}|[{marks}])*")
