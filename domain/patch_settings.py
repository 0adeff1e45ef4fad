"""What does a project have set after a merge patch of it (RFC 7396)?

What was set is kept as a JSON object that holds nothing else, so that all that is left out has the
default of whoever reads it; null restores it.
"""

from collections.abc import Mapping, Sequence

from domain.json_text import JsonValue
from domain.merge_patch import merged
from domain.read_settings import GROUPS, MEMBERS, UNKNOWN, InvalidSettings, Wrong, read_settings


class UnreadableSettings(InvalidSettings):
    """What is stored holds what this build cannot read, and a patch leaves it there."""


def patched(stored: JsonValue, patch: JsonValue) -> JsonValue:
    """Return what is to be stored after a merge patch; null restores a default.

    What cannot be read is not written over but by a null for it or for its group.

    Raises:
        InvalidSettings: the patch would set what means nothing, or names what there is not.
        UnreadableSettings: what is stored stays unreadable.
    """
    # What is no object at all stands for both groups: nobody knows what it forbade.
    nothing_known: dict[str, JsonValue] = dict.fromkeys(GROUPS, stored)
    base = stored if isinstance(stored, dict) else nothing_known
    changes = patch if isinstance(patch, dict) else {}
    unreadable = _wrong(base)
    unknown = _unknown_nulls(base, changes)
    if unknown:
        raise InvalidSettings(unknown)
    kept = [
        wrong
        for wrong in unreadable
        if len(wrong.at) == 1 and changes.get(str(wrong.at[0])) is not None
    ]
    if kept:
        raise UnreadableSettings(kept)
    value = merged(base, patch)
    wrong = _wrong(value)
    new = [each for each in wrong if each not in unreadable]
    if new:
        raise InvalidSettings(new)
    if wrong:
        raise UnreadableSettings(wrong)
    return value


def _wrong(value: JsonValue) -> Sequence[Wrong]:
    try:
        read_settings(value)
    except InvalidSettings as error:
        return error.wrong
    return ()


def _unknown_nulls(base: Mapping[str, JsonValue], patch: Mapping[str, JsonValue]) -> list[Wrong]:
    """Return what a patch takes away and there never was; everything else unknown is left over."""
    found = [
        Wrong((name,), UNKNOWN)
        for name, value in patch.items()
        if value is None and name not in GROUPS and name not in base
    ]
    for group, members in MEMBERS.items():
        changes, there = patch.get(group), base.get(group)
        found += [
            Wrong((group, name), UNKNOWN)
            for name, value in (changes.items() if isinstance(changes, dict) else ())
            if value is None
            and name not in members
            and not (isinstance(there, dict) and name in there)
        ]
    return found
