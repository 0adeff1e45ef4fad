"""Is a client's full history the one that we know?

It agrees if it is ours, as the display or as the model sees it, or a stretch of ours up to its end
(`window`); the newest message may be the next input, which we do not know yet. Else the first
difference says where another conversation begins. Costs what the client sends.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from projections.comparing.differences import Difference, Kind, Sides, Voices, between, squeezed
from projections.comparing.entries import Carries, Entry, Words, entries_of
from projections.comparing.pairing import Pair, pairs_of
from projections.comparing.told import Place, Told

_PARTS_EACH: Final = 4
_SPARE: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What came of it.

    Attributes:
        agrees: Whether it is our conversation.
        difference: The first one that diverges, else the first one at all.
        differences: How often each kind was found.
        common_prefix: Before which message of ours nothing diverges.
        next_input: Whether the client's last message is the next input.
    """

    agrees: bool
    difference: Difference | None
    differences: Mapping[Kind, int]
    common_prefix: int
    next_input: bool

    @property
    def window(self) -> bool:
        """Tell whether it is only the end of our history."""
        return "window" in self.differences

    @property
    def exact(self) -> bool:
        """Tell whether nothing at all differs."""
        return self.difference is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Our history, as much of it as can matter: its first and its last messages, or all twice.

    Attributes:
        total: The index after our last message.
    """

    first: Sequence[Told]
    last: Sequence[Told]
    total: int


def needed(theirs: Sequence[Told]) -> int:
    """Return of how many of our messages the first and the last can matter."""
    return _PARTS_EACH * sum(1 + len(message.parts) for message in theirs) + _SPARE


def compare(
    ours: Known,
    theirs: Sequence[Told],
    carries: Carries,
    *,
    systems: bool = True,
    past: bool = False,
) -> Comparison:
    """Compare a client's history with ours.

    Args:
        ours: What we know.
        theirs: What the client tells.
        carries: Which files the client's form has places for.
        systems: Whether it has a place for system messages after the beginning.
        past: Whether the last message is known to be no next input.
    """
    first = entries_of(ours.first, carries, systems=systems)
    whole = _judged(first, entries_of(theirs, _everything), ours.total, next_input=False)
    if whole.agrees:
        return whole
    last = entries_of(ours.last, carries, systems=systems)
    newer = not past and bool(theirs) and theirs[-1].role == "user"
    prior = entries_of(theirs[:-1], _everything) if newer else []
    before = _judged(first, prior, ours.total, next_input=True) if newer else whole
    if before.agrees:
        return before
    found = _window(last, entries_of(theirs, _everything), ours.total, next_input=False)
    if not newer:
        return found or whole
    found = found or _window(last, prior, ours.total, next_input=True)
    return found or (before if _is_news(last, theirs) else whole)


def better(one: Comparison, other: Comparison) -> Comparison:
    """Return the one that agrees more."""
    return max(one, other, key=lambda c: (c.agrees, not c.window, c.exact, c.common_prefix))


def _everything(*_: object) -> bool:
    return True


def _is_news(ours: Sequence[Entry], theirs: Sequence[Told]) -> bool:
    """Tell whether the last message is most likely one that we do not know yet.

    It is if we ended with an answer, or with something else that a person said.
    """
    if not ours or ours[-1].side != "user":
        return True
    told = entries_of(theirs[-1:], _everything)
    return not (told and squeezed(ours[-1].text).endswith(squeezed(told[-1].text)))


def _judged(
    ours: Sequence[Entry], theirs: Sequence[Entry], total: int, *, next_input: bool
) -> Comparison:
    sides = Sides(ours=Voices(ours), theirs=Voices(theirs))
    counts: Counter[Kind] = Counter()
    first: Difference | None = None
    common, ahead = total, 0
    for pair in pairs_of([*map(_key, ours)], [*map(_key, theirs)]):
        at = ahead if pair.ours is None else pair.ours
        ahead = at + (pair.ours is not None)
        for difference in _differences(pair, ours, theirs, sides):
            counts[difference.kind] += 1
            if difference.diverges and (first is None or not first.diverges):
                first, common = difference, _reached(difference, ours[at:], total)
            first = first or difference
    return Comparison(
        agrees=first is None or not first.diverges,
        difference=first,
        differences=dict(counts),
        common_prefix=common,
        next_input=next_input,
    )


def _key(entry: Entry) -> tuple[str, str]:
    """Answers stand where they are, whatever they say; what people said is known by its words."""
    return entry.side, "" if entry.side == "answer" else squeezed(entry.text)


def _differences(
    pair: Pair, ours: Sequence[Entry], theirs: Sequence[Entry], sides: Sides
) -> Iterator[Difference]:
    known = None if pair.ours is None else ours[pair.ours]
    told = None if pair.theirs is None else theirs[pair.theirs]
    if known is not None and told is not None:
        if pair.moved:
            yield Difference(kind="reordered", ours=known.place, theirs=told.place, diverges=True)
        if known.side != told.side:
            yield Difference(kind="role", ours=known.place, theirs=told.place, diverges=True)
        else:
            yield from between(known, told, sides)
    elif known is not None:
        yield sides.left_out(known.side, Words(known.text, known.place))
    elif told is not None:  # pragma: no branch - a pair has at least one side
        yield sides.put_in(told.side, Words(told.text, told.place))


def _reached(difference: Difference, ahead: Sequence[Entry], total: int) -> int:
    """Return before which message of ours nothing diverges; `ahead` is what we say from there."""
    if difference.ours is not None:
        return difference.ours.index
    return ahead[0].place.index if ahead else total


def _window(
    ours: Sequence[Entry], theirs: Sequence[Entry], total: int, *, next_input: bool
) -> Comparison | None:
    """Return what comes of taking theirs for the end of ours, or None if it is no such thing."""
    start = len(ours) - len(theirs)
    if (
        not theirs
        or start < 0
        or any(one.side != other.side for one, other in zip(ours[start:], theirs, strict=True))
    ):
        return None
    tail = [_end_of(ours[start], theirs[0]), *ours[start + 1 :]]
    found = _judged(tail, theirs, total, next_input=next_input)
    spoken = any(entry.side == "user" for entry in theirs)
    if not found.agrees or not (spoken or found.exact):
        return None
    difference = Difference(
        kind="window", ours=tail[0].place, theirs=theirs[0].place, diverges=False
    )
    return replace(found, difference=difference, differences={"window": 1, **found.differences})


def _end_of(ours: Entry, theirs: Entry) -> Entry:
    """Return the end of an entry that a window may begin within.

    Between two messages of a person, or at any place of an answer.
    """
    if ours.side == "answer":
        return Entry(
            side=ours.side,
            place=ours.place,
            texts=theirs.texts if ours.text.endswith(theirs.text) else ours.texts,
            calls=ours.calls[len(ours.calls) - len(theirs.calls) :] if theirs.calls else [],
            files=ours.files,
            reasoning=ours.reasoning,
            gone=ours.gone,
        )
    kept = _places(ours)[-len(_places(theirs)) :]
    return Entry(
        side=ours.side,
        place=kept[0],
        texts=[words for words in ours.texts if words.place.index >= kept[0].index],
        files=[file for file in ours.files if file.place.index >= kept[0].index],
        gone=ours.gone,
    )


def _places(entry: Entry) -> list[Place]:
    """Return where each message of an entry stands that says something."""
    said = [words.place for words in entry.texts if words.text.strip()]
    found = {place.index: place for place in (*said, *(file.place for file in entry.files))}
    return [found[index] for index in sorted(found)] or [entry.place]
