"""How does what a project has set look outside, and what is told of a change that means nothing?"""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection

from api.problems import Flaw, ProblemError, pointer
from api.shapes import Shape
from domain.json_text import JsonValue
from domain.lanes.project_aliases import counted
from domain.lanes.whatsapp import Aliases
from domain.patch_settings import UnreadableSettings
from domain.project_settings import settings_json
from domain.read_settings import InvalidSettings
from domain.times import rfc3339
from infrastructure.project_settings import change_settings, read_stored
from infrastructure.setting_rows import Change, Stored

FLAWS_SHOWN: Final = 20


def settings_shape(found: Stored) -> Shape:
    """Return the policies, with the default of each that nobody set."""
    settings = read_stored(found.value, found.version)
    return {**_changed(found), "readable": settings.readable, **settings_json(settings)}


def aliases_shape(found: Stored, aliases: Aliases) -> Shape:
    """Return how many people have several ids, and how many ids they have."""
    return {**_changed(found), "counts": counted(aliases)}


def tag_of(found: Stored) -> Mapping[str, str]:
    """Return the entity tag, as a header."""
    return {"ETag": f'"{found.version}"'}


def changed(connection: Connection, project_id: str, patch: JsonValue, change: Change) -> Stored:
    """Apply a merge patch of the settings.

    Raises:
        ProblemError: it means nothing, or what was there cannot be read and would be lost.
        Refusal: the settings are not at the version that the caller saw.
    """
    try:
        return change_settings(connection, project_id, patch, change)
    except InvalidSettings as error:
        code = "settings-unreadable" if isinstance(error, UnreadableSettings) else "invalid-value"
        first = error.wrong[0]
        raise ProblemError(
            code,
            f"{pointer(first.at)}: {first.detail}",
            flaws=[Flaw(each.detail, each.at) for each in error.wrong[:FLAWS_SHOWN]],
        ) from None


def _changed(found: Stored) -> Shape:
    return {
        "version": found.version,
        "changed_at": None if found.changed_at is None else rfc3339(found.changed_at),
        "changed_by": found.actor,
    }
