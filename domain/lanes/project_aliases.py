"""Which ids does a project say are one person's, platform by platform?"""

from typing import Final

from domain.json_text import JsonValue
from domain.lanes.whatsapp import NO_ALIASES, Aliases, read_aliases
from domain.refusals import InvalidValue

PLATFORM: Final = "whatsapp"
"""The only one whose ids have others beside them."""


def read_project_aliases(value: JsonValue) -> Aliases:
    """Return who is whom.

    Raises:
        InvalidValue: it says something else, or too much, with the place.
    """
    if not isinstance(value, dict):
        raise InvalidValue("aliases are an object of a platform to its ids")
    for platform in value:
        if platform != PLATFORM:
            raise InvalidValue(f"only {PLATFORM} has several ids for a person", platform)
    return read_aliases(value[PLATFORM], PLATFORM) if PLATFORM in value else NO_ALIASES


def counted(aliases: Aliases) -> JsonValue:
    """Return how many people there are with several ids, and how many ids they have."""
    people = len(set(aliases.people.values()))
    return {PLATFORM: {"people": people, "ids": len(aliases.people)}}
