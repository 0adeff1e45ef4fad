"""Which of the ids that WhatsApp has for a person stands for them all?

A phone number comes with a plus sign, a device and a server, and beside it there are ids that hide
it. Whoever runs the bridge knows which of them are one person's; the shortest stands for them.
These are no E.164 numbers: no plus sign, and nothing about countries.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from domain.json_text import JsonValue
from domain.lanes.source import identifier
from domain.refusals import InvalidValue

IDS_LIMIT: Final = 100_000
PERSON_LIMIT: Final = 100
"""Nobody has more ids than that: it is a mistake, which would make many people one."""
_KNOWN: Final = re.compile(r"[A-Za-z0-9@.+-]+")
_SHOWN_MEMBER: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Aliases:
    """Which ids are one person's.

    Attributes:
        people: Each id, without device and server, to all of the same person: the one that stands
            for them first.
    """

    people: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


NO_ALIASES: Final = Aliases()


def canonical(identifier: str, aliases: Aliases = NO_ALIASES) -> str:
    """Return the id that stands for a person; empty if `identifier` names nobody.

    >>> one = aliases_of({"999999999999999@lid": ["15551234567@s.whatsapp.net"]})
    >>> canonical("+15551234567:12@s.whatsapp.net"), canonical("999999999999999@lid", one)
    ('15551234567', '15551234567')
    """
    return all_of(identifier, aliases)[0]


def all_of(identifier: str, aliases: Aliases) -> tuple[str, ...]:
    """Return all ids of a person, the one that stands for them first; at least one."""
    bare = normalised(identifier)
    return aliases.people.get(bare, (bare,))


def normalised(identifier: str) -> str:
    """Return an id without space around it, plus sign, device and server."""
    user = identifier.replace("+", "").partition(":")[0]
    return user.partition("@")[0].strip()


def aliases_of(pairs: Mapping[str, Iterable[str]]) -> Aliases:
    """Return who is whom, if each id is the same person's as those that it is mapped to.

    Ids with other characters than `A-Z`, `a-z`, `0-9`, `@`, `.`, `+` and `-` are passed over.
    """
    near: dict[str, set[str]] = {}
    for one, others in pairs.items():
        for other in others:
            first, second = normalised(one), normalised(other)
            if _KNOWN.fullmatch(first) and _KNOWN.fullmatch(second):
                near.setdefault(first, set()).add(second)
                near.setdefault(second, set()).add(first)
    people: dict[str, tuple[str, ...]] = {}
    for one in near:
        if one not in people:
            person = tuple(sorted(_reached(one, near), key=lambda known: (len(known), known)))
            people |= dict.fromkeys(person, person)
    return Aliases(people=people)


def read_aliases(value: JsonValue, *at: str | int) -> Aliases:
    """Return the aliases that JSON says: an object of an id to another, or to a list of others.

    Raises:
        InvalidValue: If it says something else, more than `IDS_LIMIT` ids, or more than
            `PERSON_LIMIT` of one person.
    """
    if not isinstance(value, dict):
        raise InvalidValue("aliases are an object of an id to its other ids", *at)
    pairs: dict[str, list[str]] = {}
    count = 0
    for one, said in value.items():
        place = (*at, one[:_SHOWN_MEMBER])
        others = said if isinstance(said, list) else [said]
        count += 1 + len(others)
        if count > IDS_LIMIT:
            raise InvalidValue(f"aliases name at most {IDS_LIMIT} ids", *at)
        if isinstance(said, list):
            found = [identifier(other, *place, index) for index, other in enumerate(others)]
        else:
            found = [identifier(said, *place)]
        pairs[identifier(one, *place)] = found
    aliases = aliases_of(pairs)
    for one in pairs:
        if len(all_of(one, aliases)) > PERSON_LIMIT:
            detail = f"more than {PERSON_LIMIT} ids would be one person's"
            raise InvalidValue(detail, *at, one[:_SHOWN_MEMBER])
    return aliases


def _reached(one: str, near: Mapping[str, set[str]]) -> set[str]:
    """Return all that can be walked to, each once."""
    reached = {one}
    edge = {one}
    while edge:
        edge = {other for known in edge for other in near[known]} - reached
        reached |= edge
    return reached
