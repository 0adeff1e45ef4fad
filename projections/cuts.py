"""How does a reader learn that a part shows only the beginning of something?

By `blobs` in the part: a list that says of each member that was cut, `at` a pointer from the part
on, which blob holds the whole, how large it is, and how much of it is shown.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias, cast

from domain import events as e
from domain.blobs import Blob, Cut, read_cut
from domain.json_text import JsonValue, NotJson, dump, parse
from domain.messages import Message, Part, parts_of
from domain.offloading import Incomplete, inline

FactCuts: TypeAlias = Mapping[int, tuple[Cut, ...]]
"""What was cut of facts, by their versions."""
NO_CUTS: Final[FactCuts] = {}
_MEMBERS: Final = ("/arguments", "/output")
_SUMMARY: Final = "/summary"
_SHOWN_IN_PART: Final[Mapping[str, type | tuple[type, ...]]] = {
    "text": str,
    "signature": str,
    "arguments": (dict, str),
    "output": object,
    "data": object,
}
"""The members of a part that may be the beginning of something, and of what."""


def with_cuts(fact: e.Fact, cuts: Iterable[Cut]) -> e.Fact:
    """Return a fact whose messages say in each part what of it was cut."""
    known = tuple(cuts)
    match fact:
        case e.MessageRecorded(message=message) if known:
            return replace(fact, message=_message(message, "/message/content", known))
        case e.TurnStarted(messages=messages) if known:
            told = (
                _message(message, f"/messages/{number}/content", known)
                for number, message in enumerate(messages)
            )
            return replace(fact, messages=tuple(told))
        case _:
            return fact


def call_cuts(part: Part, cuts: Iterable[Cut]) -> Part:
    """Return a call or a result with what of its arguments or its output was cut."""
    return _told(part, [cut for cut in cuts if cut.at.startswith(_MEMBERS)])


def summary_cuts(part: Part, cuts: Iterable[Cut]) -> Part:
    """Return the text of a summary with what of it was cut."""
    return _told(part, [replace(cut, at="/text") for cut in cuts if cut.at == _SUMMARY])


def cuts_in(part: Mapping[str, JsonValue]) -> tuple[Cut, ...]:
    """Return what a part, as a transcript showed it, says of what was cut."""
    entries = part.get("blobs")
    found = map(read_cut, entries if isinstance(entries, list) else ())
    return tuple(cut for cut in found if cut is not None)


def whole_part(part: Mapping[str, JsonValue], blobs: Iterable[Blob]) -> Mapping[str, JsonValue]:
    """Return a part with all of what it shows the beginning of.

    Itself, if a blob is missing, or if what comes of it is no part: what a client sends as the
    beginning of a blob may be anything.
    """
    rest: dict[str, JsonValue] = {name: item for name, item in part.items() if name != "blobs"}
    entries: list[JsonValue] = [cut.entry() for cut in cuts_in(part)]
    try:
        whole = parse(inline(dump({**rest, "blobs": entries}), blobs))
    except (Incomplete, NotJson):
        return part
    is_part = (
        isinstance(whole, dict)
        and whole.keys() == rest.keys()
        and all(
            whole[name] == told or isinstance(whole[name], _SHOWN_IN_PART.get(name, ()))
            for name, told in rest.items()
        )
    )
    return cast("dict[str, JsonValue]", whole) if is_part else part


def _message(message: Message, place: str, cuts: tuple[Cut, ...]) -> Message:
    if not any(cut.at.startswith(place) for cut in cuts):
        return message
    is_text = isinstance(message.content, str)
    parts = (
        _told(
            part,
            [replace(cut, at="/text") for cut in cuts if cut.at == place]
            if is_text
            else list(_inside(cuts, f"{place}/{number}")),
        )
        for number, part in enumerate(parts_of(message))
    )
    return replace(message, content=tuple(parts))


def _inside(cuts: tuple[Cut, ...], place: str) -> Iterator[Cut]:
    for cut in cuts:
        if cut.at.startswith(f"{place}/"):
            yield replace(cut, at=cut.at.removeprefix(place))


def _told(part: Part, cuts: list[Cut]) -> Part:
    return {**part, "blobs": [cut.entry() for cut in cuts]} if cuts else part
