"""What is a session called while no person has named it, and who may name it then?

The first words of what a person says stand at once, with the turn that they are said in; a better
title of a harness or a hook takes their place. What a person, an import or a fork called it stays.
"""

from collections.abc import Iterable
from typing import Final
from unicodedata import category

from domain.commands import RenameSession
from domain.events.session import TitleBy
from domain.graphemes import shortened
from domain.messages import Part, readable, texts
from domain.state import Head

FIRST_WORDS: Final = 60
"""So many code points of what was said make a title."""
HARNESS_LIMIT: Final = 200
_READ: Final = 8 * 1024
"""More of a text is not looked at."""
_PROPOSES: Final[frozenset[TitleBy]] = frozenset({"first-words", "harness", "hook"})
_TURNING: Final = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They change in which direction what stands around a title is read."""


def gives_way(known_by: str | None) -> bool:
    """Tell whether a title of this origin can be replaced by one that no person chose."""
    return known_by is None or known_by in _PROPOSES


def proposes(by: TitleBy) -> bool:
    """Tell whether a title of this origin only proposes itself."""
    return by in _PROPOSES


def stands(asked: RenameSession, head: Head) -> bool:
    """Tell whether a session is called as was asked, and by whoever asked."""
    return (head.title, head.title_by) == (asked.title, asked.by if asked.title else None)


def one_line(text: str, most: int = HARNESS_LIMIT) -> str | None:
    r"""Return a text of another program as a title: one line, nothing that cannot be seen.

    >>> one_line(" Trip\n to \x1b[1mRome ")
    'Trip to [1mRome'
    """
    line = " ".join(shortened(text.lstrip(), _READ).split())
    shown = "".join(c for c in line if c not in _TURNING and category(c) not in {"Cc", "Cs"})
    return shortened(shown, most).strip() or None


def first_words(text: str, most: int = FIRST_WORDS) -> str | None:
    """Return the words that a text begins with; a word longer than that is cut.

    >>> first_words("Plan a trip to Rome", 13)
    'Plan a trip'
    """
    line = one_line(text, _READ)
    if line is None or len(line) <= most:
        return line
    begun = shortened(line, most)
    words = begun if line[len(begun)] == " " else begun.rpartition(" ")[0]
    return words.rstrip() or begun


def first_words_of(parts: Iterable[Part]) -> str | None:
    """Return the first words of a message; None if it has no text."""
    said = texts(readable(parts))
    return next((words for text in said if (words := first_words(text)) is not None), None)
