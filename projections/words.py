"""Which words does a text have, so that code and every script can be searched?

A run of letters and digits is a word; `snake_case`, paths and dots fall apart by themselves, and a
`camelCase` word is known whole and by its parts. Scripts that are written without spaces count
character by character. Case, accents and width do not matter. No database's own idea of a word
ever enters, so that every database finds the same.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias
from unicodedata import category, normalize

LONGEST: Final = 64
"""Of a longer word only so many characters count."""
SPLIT_LIMIT: Final = 128
"""A longer run is no identifier, and is not taken apart."""
Part: TypeAlias = tuple[str, int, int]
_ALONE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_STANDS_ALONE: Final = re.compile(f"[{_ALONE}]")
_HUMP: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_IN_ASCII: Final = re.compile("[0-9A-Za-z]+")
_NO_LETTER: Final = re.compile(r"[\s\x00-/:-@\[-`{-\x7f]")


class Word(NamedTuple):
    """One word of a text, and where it stands there, in code points.

    Attributes:
        parts: What a `camelCase` word is made of; of any other the word itself.
        alone: Whether it is a character of a script that is written without spaces.
    """

    text: str
    start: int
    end: int
    parts: tuple[Part, ...]
    alone: bool = False


def words(text: str) -> Iterator[Word]:
    """Yield the words of a text, in their order.

    >>> [word.text for word in words("def read_file(path): ...")]
    ['def', 'read', 'file', 'path']
    >>> [part for word in words("parseHTTPRequest") for part, _, _ in word.parts]
    ['parse', 'http', 'request']
    """
    for found in _pattern_of(text).finditer(text):
        start, end = found.span()
        folded, parts, alone = _known(found.group())
        if parts:
            placed = tuple((part, start + low, start + high) for part, low, high in parts)
            yield Word(folded, start, end, placed, alone)
        elif folded:
            yield Word(folded, start, end, ((folded, start, end),), alone)


def fold(text: str) -> str:
    """Return a text as it is compared: without case, accents, or another width.

    >>> fold("Ｃａｆé"), fold("STRASSE") == fold("straße")
    ('cafe', True)
    """
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", normalize("NFKD", text))
    return _NO_LETTER.sub("", normalize("NFKC", normalize("NFKC", bare).casefold()))


def lexemes(text: str) -> set[str]:
    """Return what an index keeps of a text."""
    whole, parts = _streams(text)
    kept = {*whole, *parts}
    if not text.isascii():
        runs: list[str] = _pattern().findall(text)
        kept.update(
            _folded(one) + _folded(other)
            for one, other in pairwise(run for run in runs if _folded(run))
            if _is_alone(one) and _is_alone(other)
        )
    return kept


def spelled(text: str) -> tuple[str, str]:
    """Return the words of a text in their order, whole and by their parts, a space around each.

    What follows each other in the text does so here, and the other way round.

    >>> spelled("Call parseHttp()")
    (' call parsehttp ', ' call parse http ')
    """
    whole, parts = _streams(text)
    return _spaced(whole), _spaced(parts)


def wanted_spelled(found: Sequence[Word]) -> tuple[str, str]:
    """Return what the words of a text that has these one after the other have, as `spelled`.

    It has the first among its whole words, or the second among their parts.
    """
    whole = _spaced([word.text for word in found])
    return whole, _spaced([part for word in found for part, _, _ in word.parts])


def wanted_lexemes(found: Sequence[Word]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the lexemes of a text that has these words one after the other.

    It has all of the first set, by whole words, or all of the second, by their parts.
    """
    pairs = frozenset(a.text + b.text for a, b in pairwise(found) if a.alone and b.alone)
    whole = frozenset(word.text for word in found)
    parts = frozenset(part for word in found for part, _, _ in word.parts)
    return whole | pairs, parts | pairs


@lru_cache(maxsize=65_536)
def _known(raw: str) -> tuple[str, tuple[Part, ...], bool]:
    return _folded(raw), _parts(raw), _is_alone(raw)


def _folded(raw: str) -> str:
    return fold(raw)[:LONGEST]


def _is_alone(raw: str) -> bool:
    return _STANDS_ALONE.match(raw) is not None


def _parts(raw: str) -> tuple[Part, ...]:
    """Return the parts of a word that has more than one, each with its place in it."""
    if len(raw) > SPLIT_LIMIT or raw.islower():
        return ()
    cuts = [0, *(hump.start() for hump in _HUMP.finditer(raw)), len(raw)]
    if len(cuts) == 2:  # noqa: PLR2004 - its start and its end
        return ()
    return tuple((fold(raw[low:high]), low, high) for low, high in pairwise(cuts))


def _streams(text: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words of a text in their order, whole and by their parts."""
    if text.isascii():
        plain = text.lower()
        runs: list[str] = _IN_ASCII.findall(plain)
        if max(map(len, runs), default=0) <= LONGEST:
            if plain == text:
                return runs, runs
            return runs, _IN_ASCII.findall(_HUMP.sub(" ", text).lower())
    known = map(_known, _pattern_of(text).findall(text))
    found = [(word, parts) for word, parts, _ in known if word]
    by_parts = [part for word, parts in found for part, _, _ in parts or ((word, 0, 0),)]
    return [word for word, _ in found], by_parts


def _spaced(pieces: Sequence[str]) -> str:
    return f" {' '.join(pieces)} "


def _pattern_of(text: str) -> re.Pattern[str]:
    """Return the pattern, or a quicker one that finds the same in a text without other letters."""
    return _IN_ASCII if text.isascii() else _pattern()


@cache
def _pattern() -> re.Pattern[str]:
    """Return what a word looks like: letters and digits, and the marks that belong to them."""
    marks = "".join(
        chr(code) for code in range(0x300, 0xFE30) if category(chr(code)) in {"Mn", "Mc"}
    )
    letter = f"[^\\W_{_ALONE}]"
    return re.compile(f"(?=[^\\W_])[{_ALONE}][{marks}]*|{letter}(?:{letter}|[{marks}])*")
