"""Which policies does a project have, and what do they make of a lane's key?"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from sqlalchemy import Connection, select

from domain.json_text import JsonValue, NotJson, dump, parse
from domain.lanes.keys import KeyPolicy
from domain.lanes.whatsapp import NO_ALIASES
from domain.patch_settings import patched
from domain.project_settings import ProjectSettings
from domain.read_settings import InvalidSettings, read_settings
from domain.refusals import SettingsUnreadable
from infrastructure import tables as t
from infrastructure.lane_aliases import PLATFORM, aliases_of
from infrastructure.setting_rows import Change, Name, Stored, replaced, stored

_NAME: Final = "settings"
_READ_AT_ONCE: Final = 256


def settings_of(connection: Connection, project_id: str) -> ProjectSettings:
    """Return a project's policies; if they cannot be read, the defaults, marked as such."""
    found = stored(connection, _of(project_id))
    return read_stored(found.value, found.version)


def key_policy(
    connection: Connection,
    project_id: str,
    platform: str,
    settings: ProjectSettings | None = None,
) -> KeyPolicy:
    """Return what a project wants to be one conversation on a platform.

    Whoever has the settings at hand gives them, and they are not looked up again.

    Raises:
        SettingsUnreadable: who shares a conversation cannot be read, or which ids people have
            where they have several. With a default in its place somebody could come to what others
            said, or begin anew.
    """
    found = settings or settings_of(connection, project_id)
    if not found.readable:
        raise SettingsUnreadable("who shares a conversation")
    lanes = found.lanes
    known = aliases_of(connection, project_id) if platform == PLATFORM else NO_ALIASES
    return KeyPolicy(
        group_sessions_per_user=lanes.group_sessions_per_user,
        thread_sessions_per_user=lanes.thread_sessions_per_user,
        profiles=lanes.profiles,
        aliases=known,
    )


@lru_cache(_READ_AT_ONCE)
def read_stored(value: bytes, version: int) -> ProjectSettings:
    """Return the policies that a stored text sets, readable or not."""
    try:
        return read_settings(_parsed(value), version)
    except InvalidSettings:
        return replace(ProjectSettings(), version=version, readable=False)


def settings_by_project(connection: Connection) -> Iterator[tuple[str, ProjectSettings]]:
    """Yield each project that ever changed its policies, with these, readable or not."""
    s = t.project_settings.c
    rows = connection.execute(
        select(s.project_id, s.value, s.version).where(s.name == _NAME).order_by(s.project_id)
    )
    for project_id, value, version in rows:
        yield project_id, read_stored(bytes(value), version)


def stored_settings(connection: Connection, project_id: str) -> Stored:
    """Return what is stored, and who changed it when."""
    return stored(connection, _of(project_id))


def change_settings(
    connection: Connection, project_id: str, patch: JsonValue, change: Change
) -> Stored:
    """Apply a merge patch; what changes nothing is not written.

    Raises:
        InvalidSettings: the patch means nothing, or what is stored is unreadable and stays so.
        VersionMoved: the settings are not at the version that the caller saw.
        Contended: another writer came first.
    """
    found = stored_settings(connection, project_id)
    before = _parsed(found.value)
    after = patched(before, patch)
    value = found.value if after == before else dump(after)
    return replaced(connection, _of(project_id), found, value, change)


def _of(project_id: str) -> Name:
    return Name(project_id, _NAME)


def _parsed(text: bytes) -> JsonValue:
    try:
        return parse(text)
    except NotJson:
        return None


__all__ = [
    "aliases_of",
    "change_settings",
    "key_policy",
    "read_stored",
    "settings_by_project",
    "settings_of",
    "stored_settings",
]
