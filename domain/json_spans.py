"""Where in a JSON text does each value stand?

For texts that `domain.json_text.parse` accepted; one value can then take the place of another, and
nothing around it is touched.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_SKIPPER: Final = json.JSONDecoder()
_Wanted: TypeAlias = tuple[int, list[str]]


class Span(NamedTuple):
    """A member's or an item's value: its key or number, and where its text stands."""

    key: str
    start: int
    end: int


class NoSuchPlace(ValueError):
    """The pointer leads to nothing in this text."""


def start_of(text: str) -> int:
    """Return where the text's value begins."""
    return _after_space(text, 0)


def children(text: str, at: int) -> Iterator[Span]:
    """Yield each member or item of the object or array that begins at `at`, in order."""
    is_object = text[at] == "{"
    at = _after_space(text, at + 1)
    number = 0
    while text[at] not in "]}":
        key = str(number)
        if is_object:
            key, at = _SKIPPER.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
        _, end = _SKIPPER.raw_decode(text, at)
        yield Span(key, at, end)
        number += 1
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def find(text: str, pointers: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the value at each of these JSON pointers (RFC 6901) stands, in one walk.

    Raises:
        NoSuchPlace: at one there is none, or it is the whole text.
    """
    found: dict[int, tuple[int, int]] = {}
    _find(text, start_of(text), list(enumerate(map(_tokens, pointers))), found)
    if len(found) < len(pointers):
        raise NoSuchPlace
    return [found[number] for number in range(len(pointers))]


def _find(text: str, at: int, wanted: Sequence[_Wanted], found: dict[int, tuple[int, int]]) -> None:
    """Note where the values stand whose numbers and ways from `at` on are `wanted`."""
    by_key: dict[str, list[_Wanted]] = {}
    for number, tokens in wanted:
        if tokens:
            by_key.setdefault(tokens[0], []).append((number, tokens[1:]))
    inside = children(text, at) if by_key and text[at] in "[{" else iter(())
    for child in inside:
        here = by_key.pop(child.key, [])
        found.update({number: (child.start, child.end) for number, tokens in here if not tokens})
        deeper = [(number, tokens) for number, tokens in here if tokens]
        if deeper:
            _find(text, child.start, deeper, found)
        if not by_key:
            return


def _tokens(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def pointer(path: Sequence[str]) -> str:
    """Return the JSON pointer of a path.

    >>> pointer(["a/b", "0"])
    '/a~1b/0'
    """
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in path)


def _after_space(text: str, at: int) -> int:
    if text[at] > " ":
        return at
    space = _SPACE.match(text, at)
    return space.end() if space else at
