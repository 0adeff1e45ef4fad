"""What in a session can be found, by which words, and where do they stand?

The one judge of what a search finds: an index only proposes texts that have the words, and what it
proposes is looked at here. So whichever index it is, the answers are the same.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Final, TypeAlias

from domain import events as e
from domain.messages import Message, Part, Role, parts_of
from domain.raw_json import without_raw
from projections.words import Word, lexemes, spelled, wanted_lexemes, wanted_spelled, words

FOLD_VERSION: Final = 1
TEXT_LIMIT: Final = 256 * 1024
"""Only so many characters of a text can be found."""
INDEX_LIMIT: Final = 500_000
"""An index keeps only so many bytes of a text's words."""
TERMS_LIMIT: Final = 32
SNIPPET: Final = 200
BEFORE: Final = 60
Mark: TypeAlias = tuple[int, int]
_QUOTES: Final = re.compile('["\u201c\u201d\u201e]')


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text that can be found: a message of a fact, or what a tool was given or gave.

    Attributes:
        item: Which of the fact's messages it is.
        message_id: The name that its message was given, if it was.
        partial: Whether a later one of this name takes its place.
    """

    item: int
    role: Role
    text: str
    message_id: str | None = None
    partial: bool = False

    def lexemes(self) -> list[str]:
        """Return what an index keeps of it, in an order that depends on nothing else."""
        every = sorted(lexemes(self.text))
        sizes = accumulate(len(lexeme.encode()) for lexeme in every)
        return [lexeme for lexeme, size in zip(every, sizes, strict=True) if size <= INDEX_LIMIT]


@dataclass(frozen=True, slots=True)
class Term:
    """Words that have to follow each other."""

    words: tuple[Word, ...]

    def alternatives(self) -> list[list[str]]:
        """Return the sets of lexemes of which a text that has the term has one, whole."""
        whole, parts = wanted_lexemes(self.words)
        return [sorted(whole)] if whole == parts else [sorted(whole), sorted(parts)]


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text, and the ranges in it that were looked for, in code points."""

    text: str
    marks: tuple[Mark, ...]


def documents(fact: e.Fact) -> list[Document]:
    """Return the texts of a fact that have a word in them."""
    return [document for document in _documents(fact) if not document.text.isspace()]


def terms(query: str) -> list[Term]:
    """Return what a query asks for: each word, and each text in quotes as a whole.

    Nothing is an operator, so that nothing is an error.

    >>> [[word.text for word in term.words] for term in terms('"read file" AND -x* (')]
    [['read', 'file'], ['and'], ['x']]
    """
    pieces: list[str] = []
    for number, stretch in enumerate(_QUOTES.split(query)):
        pieces += [stretch] if number % 2 else stretch.split()
    found = (Term(tuple(words(piece))) for piece in pieces)
    return [term for term in found if term.words][:TERMS_LIMIT]


def find(text: str, wanted: Sequence[Term]) -> Snippet | None:
    """Return the piece of `text` where the terms are, or None if one is nowhere."""
    whole, parts = spelled(text)
    for term in wanted:
        as_words, as_parts = wanted_spelled(term.words)
        if as_words not in whole and as_parts not in parts:
            return None
    # Where they are is found out only once it is known that they are: that takes far longer.
    found = list(words(text))
    return _snippet(text, sorted(place for term in wanted for place in _places(found, term)))


def _documents(fact: e.Fact) -> Iterator[Document]:
    match fact:
        case e.TurnStarted(messages=messages):
            for item, message in enumerate(messages):
                yield _message(message, item)
        case e.MessageRecorded(message=message):
            yield _message(message, 0)
        case e.ToolCallRequested(name=name, arguments=arguments):
            yield Document(item=0, role="assistant", text=_joined([name, *_leaves(arguments)]))
        case e.ToolCallCompleted(output=output):
            yield Document(item=0, role="tool", text=_joined(_leaves(output)))
        case _:
            return


def _message(message: Message, item: int) -> Document:
    return Document(
        item=item,
        role=message.role,
        text=_joined(chain.from_iterable(map(_of_part, parts_of(message)))),
        message_id=message.message_id,
        partial=message.status == "partial",
    )


def _of_part(part: Part) -> Iterator[str]:
    match part.get("type"):
        case "text" | "reasoning":
            yield from _leaves(part.get("text"))
        case "tool_call":
            yield from _leaves([part.get("name"), part.get("arguments")])
        case "tool_result":
            yield from _leaves(part.get("output"))
        case "attachment":
            yield from _leaves(part.get("filename"))
        case _:
            return


def _leaves(value: object) -> Iterator[str]:
    """Yield every text and every member's name in a JSON value, in their order."""
    rest = [without_raw(value)]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            rest += reversed(item)
        elif isinstance(item, dict):
            rest += reversed([piece for member in item.items() for piece in member])
        elif item is not None and not isinstance(item, bool):
            yield str(item)


def _joined(texts: Sequence[str] | Iterator[str]) -> str:
    return "\n".join(texts)[:TEXT_LIMIT] or " "


def _places(found: Sequence[Word], term: Term) -> list[Mark]:
    """Return where the term's words follow each other, as whole words or by their parts."""
    whole = [(word.text, word.start, word.end) for word in found]
    wanted = [word.text for word in term.words]
    parts = list(chain.from_iterable(word.parts for word in found))
    wanted_parts = [part for word in term.words for part, _, _ in word.parts]
    return sorted({*_runs(whole, wanted), *_runs(parts, wanted_parts)})


def _runs(stream: Sequence[tuple[str, int, int]], wanted: Sequence[str]) -> Iterator[Mark]:
    length = len(wanted)
    first = wanted[0]
    for number in range(len(stream) - length + 1):
        if stream[number][0] == first and all(
            stream[number + ahead][0] == wanted[ahead] for ahead in range(1, length)
        ):
            yield stream[number][1], stream[number + length - 1][2]


def _snippet(text: str, spans: Sequence[Mark]) -> Snippet:
    start = max(0, spans[0][0] - BEFORE)
    end = min(len(text), start + SNIPPET)
    marks: list[Mark] = []
    for low, high in spans:
        if low >= end:
            break
        last = marks[-1] if marks else (0, 0)
        if marks and low - start < last[1]:
            marks[-1] = (last[0], max(last[1], min(high, end) - start))
        else:
            marks.append((low - start, min(high, end) - start))
    return Snippet(text[start:end], tuple(marks))
