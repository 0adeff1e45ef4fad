"""Where in a JSON text does each value stand?

For texts that `domain.json_text.parse` accepted; one value can then take the place of another, and
nothing around it is touched.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_SKIPPER: Final = json.JSONDecoder()


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


def find(text: str, pointer: str) -> tuple[int, int]:
    """Return where the value at a JSON pointer (RFC 6901) stands.

    Raises:
        NoSuchPlace: there is none, or it is the whole text.
    """
    span: Span | None = None
    for token in pointer.split("/")[1:]:
        at = start_of(text) if span is None else span.start
        wanted = token.replace("~1", "/").replace("~0", "~")
        inside = children(text, at) if text[at] in "[{" else iter(())
        span = next((child for child in inside if child.key == wanted), None)
        if span is None:
            raise NoSuchPlace
    if span is None:
        raise NoSuchPlace
    return span.start, span.end


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
