"""How can two histories differ, and which of it matters?

What the agent said is ours to know: a client that shows it otherwise still means the same
conversation. What the user said, which messages there are, and in which order: that is the
conversation, and another one is a divergence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, TypeAlias, get_args

from projections.comparing.content import arguments_key, same_result
from projections.comparing.entries import Entry, SaidCall, Side, Words, place_in
from projections.comparing.pairing import pairs_of
from projections.comparing.told import Place
from projections.wire_names import plain_name

Kind: TypeAlias = Literal[
    "text",
    "whitespace-only",
    "tool-output",
    "tool-arguments",
    "attachment",
    "missing",
    "extra",
    "reordered",
    "role",
    "window",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference, and where it is on each side; None where there is nothing.

    Attributes:
        diverges: Whether it makes another conversation.
    """

    kind: Kind
    ours: Place | None
    theirs: Place | None
    diverges: bool


class Voices:
    """What each side said, to know words again that somebody else is said to have spoken."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._said: Final[dict[Side, set[str]]] = {"user": set(), "answer": set(), "system": set()}
        for entry in entries:
            self._said[entry.side] |= {words.text for words in entry.texts}

    def others(self, side: Side, text: str) -> bool:
        """Tell whether another side said this."""
        return bool(text) and any(
            text in said for other, said in self._said.items() if other != side
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Both histories' voices."""

    ours: Voices
    theirs: Voices

    def left_out(self, side: Side, words: Words) -> Difference:
        """Return that we have something which they do not have, or have from somebody else."""
        kind: Kind = "role" if self.theirs.others(side, words.text) else "missing"
        return Difference(kind=kind, ours=words.place, theirs=None, diverges=True)

    def put_in(self, side: Side, words: Words) -> Difference:
        """Return that they have something which we do not have, or have from somebody else."""
        kind: Kind = "role" if self.ours.others(side, words.text) else "extra"
        return Difference(kind=kind, ours=None, theirs=words.place, diverges=True)


def between(ours: Entry, theirs: Entry, sides: Sides) -> Iterator[Difference]:
    """Yield what differs between two entries of one side; nothing where ours is not stored."""
    if ours.gone:
        return
    if ours.side == "answer":
        if ours.text != theirs.text:
            yield _answered(ours, theirs, sides)
        yield from _reasoning(ours, theirs)
    elif ours.text != theirs.text:
        yield from _spoken(ours, theirs, sides)
    yield from _calls(ours, theirs)
    yield from _files(ours, theirs)


def squeezed(text: str) -> str:
    """Return a text without any space: texts that are then alike differ in space only."""
    return "".join(text.split())


def _reasoning(ours: Entry, theirs: Entry) -> Iterator[Difference]:
    """Yield where they first reasoned what we did not; what they leave out is not compared."""
    known, at = squeezed("".join(words.text for words in ours.reasoning)), 0
    for words in theirs.reasoning:
        told = squeezed(words.text)
        found = known.find(told, at)
        if found < 0:
            place = ours.reasoning[0].place if ours.reasoning else None
            yield Difference(kind="text", ours=place, theirs=words.place, diverges=False)
            return
        at = found + len(told)


def _answered(ours: Entry, theirs: Entry, sides: Sides) -> Difference:
    """Return how the agent's words differ; only whole messages at the end are another history."""
    more = _goes_on(ours, theirs.text)
    if more is not None:
        return sides.left_out(ours.side, more)
    more = _goes_on(theirs, ours.text)
    if more is not None:
        return sides.put_in(ours.side, more)
    return _reworded(ours.texts, theirs.texts, diverges=False)


def _goes_on(longer: Entry, shorter: str) -> Words | None:
    """Return the message with which an answer goes on after all that the other has of it."""
    said, end = "", squeezed(shorter)
    for words in _messages(longer):
        begun = longer.calls[0].place.index if longer.calls else words[0].place.index
        if said == end and words[0].place.index > begun:
            return Words(_text(words), words[0].place)
        said += _heard(words)
    return None


def _spoken(ours: Entry, theirs: Entry, sides: Sides) -> Iterator[Difference]:
    """Yield how what a person said differs, message by message, unless it is in space only."""
    if squeezed(ours.text) == squeezed(theirs.text):
        yield _reworded(ours.texts, theirs.texts, diverges=False)
        return
    known, told = _messages(ours), _messages(theirs)
    for pair in pairs_of([*map(_heard, known)], [*map(_heard, told)]):
        one = None if pair.ours is None else known[pair.ours]
        other = None if pair.theirs is None else told[pair.theirs]
        if one and other:
            if pair.moved:
                yield _moved(one[0].place, other[0].place)
            elif _heard(one) != _heard(other):
                yield _reworded(one, other, diverges=True)
        elif one:
            yield sides.left_out(ours.side, Words(_text(one), one[0].place))
        elif other:  # pragma: no branch - a pair has at least one side
            yield sides.put_in(ours.side, Words(_text(other), other[0].place))


def _moved(ours: Place, theirs: Place) -> Difference:
    return Difference(kind="reordered", ours=ours, theirs=theirs, diverges=True)


def _messages(entry: Entry) -> list[list[Words]]:
    """Return the words of each message that an entry is joined from."""
    spoken = (words for words in entry.texts if words.text.strip())
    return [list(run) for _, run in groupby(spoken, lambda words: words.place.index)]


def _heard(words: Sequence[Words]) -> str:
    return squeezed(_text(words))


def _text(words: Sequence[Words]) -> str:
    return "".join(each.text for each in words)


def _reworded(ours: Sequence[Words], theirs: Sequence[Words], *, diverges: bool) -> Difference:
    """Return where two texts first differ. A text's beginning is never that text."""
    at = _first_difference(_text(ours), _text(theirs))
    return Difference(
        kind="text" if _heard(ours) != _heard(theirs) else "whitespace-only",
        ours=place_in(ours, at),
        theirs=place_in(theirs, at),
        diverges=diverges,
    )


def _first_difference(one: str, other: str) -> int:
    """Return the first index at which two texts differ, in steps that halve."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _calls(ours: Entry, theirs: Entry) -> Iterator[Difference]:
    keys = [[_key(call) for call in entry.calls] for entry in (ours, theirs)]
    for pair in pairs_of(*keys):
        known = None if pair.ours is None else ours.calls[pair.ours]
        told = None if pair.theirs is None else theirs.calls[pair.theirs]
        if known is not None and told is not None:
            yield from _call(known, told, moved=pair.moved)
        else:
            yield Difference(
                kind="extra" if known is None else "missing",
                ours=None if known is None else known.place,
                theirs=None if told is None else told.place,
                diverges=True,
            )


def _key(call: SaidCall) -> tuple[str, bytes]:
    return plain_name(call.name), arguments_key(call.arguments)


def _call(ours: SaidCall, theirs: SaidCall, *, moved: bool) -> Iterator[Difference]:
    if moved or _key(ours) != _key(theirs):
        kind: Kind = "reordered" if moved else "tool-arguments"
        yield Difference(kind=kind, ours=ours.place, theirs=theirs.place, diverges=False)
    if not same_result(ours.result, theirs.result):
        yield Difference(
            kind="tool-output", ours=ours.result_place, theirs=theirs.result_place, diverges=False
        )


def _files(ours: Entry, theirs: Entry) -> Iterator[Difference]:
    """Yield where attachments differ; one that the client's form cannot carry may be absent."""
    told = [*theirs.files]
    for file in ours.files:
        if told and file.keys & told[0].keys:
            told.pop(0)
        elif file.carried:
            other = told.pop(0).place if told else None
            yield Difference(kind="attachment", ours=file.place, theirs=other, diverges=True)
    for file in told:
        yield Difference(kind="attachment", ours=None, theirs=file.place, diverges=True)
